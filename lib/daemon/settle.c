/*
 * The pool's actions, carried out.
 *
 * A fact that an event of the loop brings is told to the core at once, and what
 * the core wants done for it waits here for the end of the turn. No handler
 * acts by itself: what it would act on may still change in the same turn (a
 * process that has died is handed no connection because its death was read
 * after that), and an action may fail and be a fact itself, in the middle of
 * another fact, when the core's tables are not in order.
 *
 * So the ring of actions is emptied in its order, with whatever the actions
 * bring; the starts they ask for are begun when all apps have said what they
 * need, for a turn may begin only a few. The core drops an action that was
 * overtaken, so that what each one is about is there.
 */

#include <sys/socket.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/counter.h"
#include "daemon/worker.h"
#include "sys/procinfo.h"

#define REPORTS_MAX 10 /* processes of an app looked at in a second */
#define REPORT_PATIENCE TSPAN_SECONDS(1) /* how long a signal waits for one */

/* Waiters of one app that are looked at in one sweep, from the first on. */
#define WAITERS_SWEEP_MAX 1024

/* --- waiters -------------------------------------------------------------- */

static void
waiters_tell_full(struct group *g, tstamp now)
{
	const struct app *app = &g->sup->pool.apps[g->app];
	char suffix[LOG_SUFFIX];

	if (log_rate_allows(&g->full_rate, now, suffix))
		tell_app(g, LOG_LEVEL_WARN, EVENT_REFUSAL, NULL,
		    "max_queue (%u) is reached with %u of %u processes: %s%s",
		    (unsigned)app->options.max_queue,
		    (unsigned)app_processes(app),
		    (unsigned)app->options.max_processes,
		    app->options.close_when_full ? "a connection is refused"
						 : "more wait in the kernel",
		    suffix);
}

static void
waiters_refuse(struct supervisor *s, const struct action *a, tstamp now)
{
	static const char *const causes[] = {
		[CAUSE_TIMED_OUT] = "it waited for queue_timeout",
		[CAUSE_APP_FAILED] = "the app has failed",
		[CAUSE_LIMIT] = "its limit does not let it in",
		[CAUSE_RETRIES] = "retry_limit processes died under it",
		[CAUSE_STOPPING] = "the app stops",
	};
	struct group *g = s->groups[a->app];
	struct accepted *c = &s->accepted[a->conn];
	char suffix[LOG_SUFFIX];

	if (a->cause == CAUSE_FULL)
		waiters_tell_full(g, now);
	else if (log_rate_allows(&g->refuse_rate, now, suffix))
		tell_app(g, LOG_LEVEL_WARN, EVENT_REFUSAL, NULL,
		    "a connection is refused: %s%s", causes[a->cause], suffix);
	parking_forget(s, c);
	refusal_begin(g, c->fd, c->tcp, c->handed, now);
	c->fd = -1;
	parking_close(g, c);
}

/*
 * Whether the client is gone for good. A client that wrote and closed is not,
 * where its bytes may be all it wants to be served; requests want an answer.
 * Nor is one that a process was given before, whose bytes are not looked at.
 */
static bool
waiters_is_gone(
    const struct pollfd *p, enum conf_protocol protocol, bool handed)
{
	char byte;

	if (p->revents & (POLLERR | POLLNVAL))
		return true;
	if ((p->revents & POLLHUP) == 0)
		return false;
	if (protocol != CONF_PROTOCOL_RAW)
		return true;
	return !handed && recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

static void
waiters_sweep(struct timer *t, tstamp now)
{
	static struct pollfd polls[WAITERS_SWEEP_MAX];
	static uint32_t conns[WAITERS_SWEEP_MAX];
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, second);
	const struct pool *p = &s->pool;
	struct group *g = NULL;

	while ((g = group_next(s, g)) != NULL) {
		nfds_t n = 0;

		for (uint32_t c = p->apps[g->app].queue.first;
		     c != ILIST_NONE && n < WAITERS_SWEEP_MAX;
		     c = p->conn_links[c].next) {
			polls[n] = (struct pollfd){ .fd = s->accepted[c].fd };
			conns[n++] = c;
		}
		if (n == 0 || poll(polls, n, 0) <= 0)
			continue;
		for (nfds_t i = 0; i < n; i++) {
			struct accepted *c = &s->accepted[conns[i]];

			/* Dropping one may have let others be handed out. */
			if (polls[i].revents == 0 ||
			    p->conns[conns[i]].state != CONN_WAITING ||
			    !waiters_is_gone(&polls[i],
				g->conf->refusal.protocol, c->handed))
				continue;
			parking_close(g, c);
			pool_abandoned(&s->pool, conns[i], now);
		}
	}
}

/* --- where a process hangs that is late ---------------------------------- */

/*
 * The report of it is made in a lane, and logged when it is known; the process
 * may be dead by then, and its struct gone.
 */
struct timeout_report {
	struct lane_job job;
	struct timer timer; /* set: then, or after the report, it is sent */
	int signal; /* which may end what is to be reported */
	struct supervisor *sup;
	uint32_t process;
	pid_t pid; /* of the process */
	int folder; /* of its program */
	struct hang hang;
	char name[96];
	char what[64 + WORKER_REQUEST]; /* has happened to it */
};

/* The worker that the report is about; NULL: it is dead. */
static struct worker *
report_worker(const struct timeout_report *r)
{
	struct worker *w = r->sup->workers[r->process];

	return w != NULL && w->report == r ? w : NULL;
}

static void
report_signal(struct timer *t, tstamp now)
{
	struct timeout_report *r = TIMER_OWNER(t, struct timeout_report, timer);
	struct worker *w = report_worker(r);

	(void)now;
	timer_set(&r->sup->loop.timers, &r->timer, TSTAMP_NEVER);
	if (w != NULL)
		worker_signal(w, r->signal);
}

static void
report_work(struct lane_job *job)
{
	struct timeout_report *r = LOOP_OWNER(job, struct timeout_report, job);

	hang_read(r->folder, &r->hang);
}

static void
report_done(struct lane_job *job, tstamp now)
{
	static bool call_told, stack_told;
	struct timeout_report *r = LOOP_OWNER(job, struct timeout_report, job);
	const struct hang *h = &r->hang;
	struct worker *w = report_worker(r);
	char program[48] = "", dead[sizeof(r->name) + 1] = "";

	if (w == NULL)
		(void)snprintf(dead, sizeof(dead), "%s ", r->name);
	if (h->pid != r->pid)
		(void)snprintf(program, sizeof(program),
		    "its program (pid %ld) ", (long)h->pid);
	/* A process that has ended by itself meanwhile is told of elsewhere. */
	if (h->pid != 0)
		tell_event(r->sup, w == NULL ? NULL : w->group, w,
		    LOG_LEVEL_WARN, EVENT_SLOW, NULL, "%s%s, %s%s", dead,
		    r->what, program, h->text);
	if (h->stack[0] != '\0')
		tell_event(r->sup, w == NULL ? NULL : w->group, w,
		    LOG_LEVEL_WARN, EVENT_SLOW, NULL, "%sits kernel stack: %s",
		    dead, h->stack);
	/* A look that is not allowed is told once. */
	if (h->call_error != 0 && !call_told)
		log_info("in which system call a slow process is cannot be "
			 "seen: %s",
		    strerror(h->call_error));
	call_told |= h->call_error != 0;
	if (h->stack_error != 0 && !stack_told)
		log_info("where in the kernel a slow process waits cannot be "
			 "seen in full: %s (that takes CAP_SYS_ADMIN)",
		    strerror(h->stack_error));
	stack_told |= h->stack_error != 0;
	if (r->timer.at != TSTAMP_NEVER)
		report_signal(&r->timer, now);
	if (w != NULL)
		w->report = NULL;
	close(r->folder);
	free(r);
}

/* NULL: there will be none. */
static struct timeout_report *
report_begin(struct worker *w, tstamp now)
{
	struct group *g = w->group;
	struct timeout_report *r;

	if (w->pid == 0)
		return NULL;
	if (now - g->reports_since >= TSPAN_SECONDS(1)) {
		g->reports_since = now;
		g->reports = 0;
	}
	if (++g->reports > REPORTS_MAX || (r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	/* The program of an adapter is its child. */
	r->folder = procinfo_folder(w->pid, w->adapted);
	if (r->folder == -1) {
		free(r);
		return NULL;
	}
	r->job.work = report_work;
	r->job.done = report_done;
	timer_init(&r->timer, report_signal);
	r->sup = w->sup;
	r->process = w->process;
	r->pid = w->pid;
	(void)worker_name(w, r->name, sizeof(r->name));
	w->report = r;
	lane_submit(&w->sup->looker, &r->job);
	return r;
}

/*
 * ACTION_SLOW: the oldest session is over slow_timeout old. ACTION_TERM: over
 * request_timeout. Their signals come behind the report, but soon.
 */
static void
settle_late(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	struct timeout_report *r = w->report;
	uint32_t conn = s->pool.processes[a->process].conns.first;
	tspan age = conn == ILIST_NONE ? 0 : now - s->pool.conns[conn].begun;
	bool slow = a->kind == ACTION_SLOW;
	int sig =
	    slow ? w->slow_signal : conf_signal(w->group->conf->timeout_signal);
	char what[sizeof(r->what)], request[WORKER_REQUEST];

	/* The report before may still be made. */
	if (r != NULL && slow) {
		worker_signal(w, sig);
		return;
	}
	if (r == NULL)
		r = report_begin(w, now);
	(void)snprintf(what, sizeof(what), "%s is %.1f s old%s",
	    slow ? "is slow: its session" : "is terminated: its request",
	    tspan_to_seconds(age), worker_tell_request(w, request));
	if (r != NULL) {
		memcpy(r->what, what, sizeof(what));
		r->signal = sig;
		timer_set(&s->loop.timers, &r->timer,
		    tstamp_add(now, REPORT_PATIENCE));
		return;
	}
	if (!slow)
		tell_worker(w, LOG_LEVEL_WARN, EVENT_SLOW, NULL, "%s", what);
	else if (w->group->reports == REPORTS_MAX + 1)
		log_warnx("%s: more than %d processes are slow: not all are "
			  "told",
		    w->group->conf->name, REPORTS_MAX);
	worker_signal(w, sig);
}

/* --- ends ---------------------------------------------------------------- */

/* ACTION_STOP, and what follows if the process stays: TERM, KILL. */
static void
settle_end_process(struct supervisor *s, const struct action *a, tstamp now)
{
	const struct process *x = &s->pool.processes[a->process];
	const struct app_options *o = &s->pool.apps[a->app].options;
	struct worker *w = s->workers[a->process];
	const char *late = NULL;
	tspan limit = o->start_timeout;

	if (w->start.queued) {
		start_call_off(w, now);
		return;
	}
	if (a->kind == ACTION_TERM && x->end == END_START_TIMEOUT) {
		late = "it was not ready";
	} else if (a->kind == ACTION_KILL && x->end == END_PICKUP_TIMEOUT) {
		late = "it did not receive its connection";
		limit = o->pickup_timeout;
	}
	if (late != NULL) {
		group_failed(
		    w->group, "%s within %g s", late, tspan_to_seconds(limit));
		tell_worker(w, LOG_LEVEL_WARN, EVENT_FAILURE,
		    process_end_names[x->end], "is killed: %s",
		    w->group->failure.why);
	}
	/* Its calls of accept() may be none that the library answers. */
	if (late != NULL && !x->ready && !w->adapted)
		(void)group_leave_library(w, late, now);
	if (a->kind == ACTION_STOP)
		channel_stop(w);
	else if (a->kind == ACTION_TERM && x->end == END_REQUEST_TIMEOUT)
		settle_late(s, a, now);
	else if (a->kind == ACTION_KILL && w->start.fork != NULL)
		fork_refuse(w->start.fork, 0,
		    "a process that it forked does not speak", now);
	else
		worker_signal(w, a->kind == ACTION_TERM ? SIGTERM : SIGKILL);
}

/* --- news --------------------------------------------------------------- */

bool
settle_ends(struct group *g, bool at_once, const char *why, tstamp now)
{
	struct supervisor *s = g->sup;
	bool awaited = s->background && !s->told.ready;

	if (!awaited && !s->exit_on_failed && !g->conf->exit_on_failed)
		return false;
	tell_app(g, LOG_LEVEL_ERROR, EVENT_FAILURE, NULL, "failed: %s", why);
	s->exit_status = EX_UNAVAILABLE;
	if (!awaited)
		log_errorx("%s: exit_on_failed: stopping", g->conf->name);
	supervisor_stop(s, awaited || at_once, now);
	return true;
}

static void
settle_tell_failed(struct supervisor *s, struct group *g, tstamp now)
{
	const struct app *app = &s->pool.apps[g->app];
	const char *broken = g->conf->broken;
	char why[GROUP_FAILURE_MAX];

	if (settle_ends(
		g, false, broken != NULL ? broken : group_failure(g, why), now))
		return;
	if (broken != NULL)
		tell_app(g, LOG_LEVEL_ERROR, EVENT_FAILURE, NULL,
		    "failed: %s; a reload tries again", broken);
	else
		tell_app(g, LOG_LEVEL_ERROR, EVENT_FAILURE, NULL,
		    "failed: %s; trying again %severy %g s",
		    group_failure(g, why),
		    app_has_jobs(app) ? "" : "when a connection comes, and ",
		    tspan_to_seconds(app->options.restart_delay_max));
}

/* After a canary, what is started is what was started before. */
static void
settle_tell_given_up(
    struct group *g, const struct app_canary *canary, tstamp now)
{
	const struct canary_sessions *old = &canary->old, *new = &canary->new;
	struct group_failure *f = &g->given_up;
	bool back;

	f->at = now;
	if (canary->fault == CANARY_LOST)
		(void)snprintf(f->why, sizeof(f->why),
		    "%u of %u sessions of the new processes were lost, %u of "
		    "%u of the old ones",
		    new->lost, new->all, old->lost, old->all);
	else if (canary->fault == CANARY_SLOW)
		(void)snprintf(f->why, sizeof(f->why),
		    "%u of %u sessions of the new processes took longer than "
		    "%.3g s, %u of %u of the old ones",
		    new->slow, new->all, tspan_to_seconds(canary->slow),
		    old->slow, old->all);
	else if (canary->fault == CANARY_CALLED_OFF)
		(void)strlcpy(f->why, GROUP_ROLLED_BACK, sizeof(f->why));
	else
		memcpy(f->why, g->failure.why, sizeof(f->why));
	if (canary->fault == CANARY_CALLED_OFF)
		return;
	/* The end of the look has begun another generation. */
	back = canary->fault != CANARY_WELL &&
	    g->former.generation + 1 == g->sup->pool.apps[g->app].generation &&
	    group_roll_back(g, now);
	tell_app(g, LOG_LEVEL_ERROR, EVENT_FAILURE, NULL,
	    "the new processes fail, the old ones stay%s: %s",
	    back ? " and successors have the former options" : "", f->why);
}

static void
settle_tell_news(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	const struct app *app = &s->pool.apps[a->app];
	struct worker *w =
	    a->process == ILIST_NONE ? NULL : s->workers[a->process];

	switch ((enum action_news)a->cause) {
	case NEWS_BACKOFF:
		/* The end that is the cause of it is told first. */
		if (w != NULL && w->output != NULL &&
		    w->output->patience.at != TSTAMP_NEVER)
			w->leaving.backs_off = true;
		else
			group_tell_backoff(g, now);
		break;
	case NEWS_FAILED:
		settle_tell_failed(s, g, now);
		break;
	case NEWS_RECOVERED:
		tell_app(g, LOG_LEVEL_INFO, EVENT_RECOVERY, NULL, "recovered");
		break;
	case NEWS_READY:
		tell_app(g, LOG_LEVEL_INFO, EVENT_READY, NULL,
		    "ready, %u of at most %u processes",
		    (unsigned)app_ready(app),
		    (unsigned)app->options.max_processes);
		if (!group_accepts_itself(g))
			g->backlog.wrong_port[0] = '\0';
		break;
	case NEWS_FULL:
		/* Otherwise each refusal is logged. */
		if (!app->options.close_when_full)
			waiters_tell_full(g, now);
		break;
	case NEWS_GIVEN_UP:
		settle_tell_given_up(g, &app->rollout.canary, now);
		break;
	case NEWS_AT_REST:
		tell_app(g, LOG_LEVEL_INFO, EVENT_STOP, NULL, "%s",
		    app_state_name(app));
		app_cgroup_leave(g);
		break;
	case NEWS_STUCK:
		tell_app(g, LOG_LEVEL_ERROR, EVENT_FAILURE, NULL,
		    "a process is still there after SIGKILL; it counts no "
		    "longer");
		break;
	}
}

void
settle_actions(struct supervisor *s)
{
	static void (*const carry_out[])(
	    struct supervisor *, const struct action *, tstamp) = {
		[ACTION_SPAWN] = start_process,
		[ACTION_HAND] = channel_hand,
		[ACTION_TAKE] = channel_take,
		[ACTION_REFUSE] = waiters_refuse,
		[ACTION_STOP] = settle_end_process,
		[ACTION_TERM] = settle_end_process,
		[ACTION_KILL] = settle_end_process,
		[ACTION_SLOW] = settle_late,
		[ACTION_RESUME] = accepting_resume,
		[ACTION_LOCK] = limiter_ask,
		[ACTION_UNLOCK] = limiter_give_back,
		[ACTION_OVER] = apps_over,
		[ACTION_TELL] = settle_tell_news,
	};
	tstamp now = loop_now(&s->loop);
	struct action a;

	/* While there are connections, those that wait are looked at. */
	s->second.fire = waiters_sweep;
	if (s->second.at == TSTAMP_NEVER &&
	    s->pool.nconns > s->pool.free_conns.count)
		timer_set(&s->loop.timers, &s->second, now + TSPAN_SECONDS(1));
	do {
		while (pool_next_action(&s->pool, &a)) {
			turn_for(a.app);
			carry_out[a.kind](s, &a, now);
		}
		turn_for(TURN_NO_APP);
	} while (start_queued(s, now));
}
