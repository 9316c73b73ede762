/* The death of a process. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/tell.h"
#include "daemon/worker.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/procinfo.h"
#include "sys/turn.h"

/*
 * The work of a turn, and what a death costs of it. The kernel may look at all
 * living children to find a dead one: thousands, if a worker has left us its
 * own. Their deaths are in no hurry, and take turns a while apart.
 */
#define WORK_TURN 8
#define WORK_WORKER 1
#define WORK_ORPHAN 4
#define ORPHANS_PAUSE TSPAN_MSECONDS(1)

/* Workers looked at in a turn with more deaths; a dead one counts as many. */
#define LOOKS_TURN 32
#define LOOKS_DEATH 8

/*
 * With thousands of children a look at all of them is most of a turn. After one
 * that took so long there is none for that many times as long (fewer, if there
 * are orphans to reap); meanwhile the kernel's signal names the dead, and what
 * several at a time leave out is found by looking at workers, some every while.
 */
#define LONG_LOOK TSPAN_USECONDS(250)
#define LOOK_REST 300
#define LOOK_REST_ORPHANS 1
#define LOOK_REST_MAX TSPAN_SECONDS(1)
#define WORKERS_PAUSE TSPAN_MSECONDS(1)

/* Deaths that the kernel had at one time come to us within this. */
#define OOM_BURST TSPAN_SECONDS(1)

/* The longest explanation of a failure. */
#define WHY_MAX 256

/* --- how it ended ------------------------------------------------------- */

static enum process_end
end_of(const struct reap_death *d)
{
	if (d->signal != 0)
		return END_SIGNAL;
	return d->status == 0 ? END_EXIT : END_FAILURE;
}

/* The word of the end under which the pool counts it. */
static const char *
reason_of(const struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];

	return process_end_name(x->asked ? x->end : end_of(&w->death));
}

/* The session the process died in, or "". */
static const char *
describe_session(const struct worker *w, char *buf, size_t size, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	uint32_t conn = p->processes[w->process].conns.first;

	buf[0] = '\0';
	if (conn != ILIST_NONE && p->conns[conn].state == CONN_HANDED)
		(void)snprintf(buf, size, " in a session of %.3f s",
		    tspan_to_seconds(now - p->conns[conn].begun));
	return buf;
}

/* With handoff = stdio an exit ends the session, whatever its status. */
static bool
ended_session(const struct worker *w)
{
	return w->one_session && w->death.signal == 0 &&
	    w->sup->pool.processes[w->process].handed > 0;
}

/*
 * Whether the process has served: a job that ends well has. Where sessions are
 * not known a process has that ends well after min_server_life.
 */
static bool
has_served(const struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const struct app_options *o = &w->sup->pool.apps[x->app].options;

	if (o->sessions)
		return x->requests > 0;
	return !o->listens ||
	    loop_now(&w->sup->loop) - x->started >= o->min_server_life;
}

/* A RETIRE without a session is a failure before min_server_life. */
static bool
left_early(const struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const struct app_options *o = &w->sup->pool.apps[x->app].options;

	return x->asked && x->end == END_RETIRED && x->handed == 0 &&
	    x->step_at - x->started < o->min_server_life;
}

/* How the process ended, if that is a failure of its own; else false. */
static bool
explain_failure(
    const struct worker *w, const char *session, char *buf, size_t size)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	bool clean = w->death.signal == 0 && w->death.status == 0;
	const char *when = session;
	char how[64];

	if (left_early(w)) {
		(void)snprintf(buf, size, "retired without a session");
		return true;
	}
	if (x->asked || ended_session(w) || (clean && has_served(w)))
		return false;
	if (!x->ready)
		when = " before it was ready";
	else if (clean && !w->sup->pool.apps[x->app].options.sessions)
		when = " within min_server_life";
	else if (clean && session[0] == '\0')
		when = " without a session";
	(void)snprintf(buf, size, "%s%s%s%s%s",
	    reap_explain(&w->death, how, sizeof(how)), when,
	    w->starved ? ", perhaps for want of memory" : "",
	    w->words != NULL ? ": " : "", w->words != NULL ? w->words : "");
	return true;
}

/*
 * Whether the kernel may have killed the process for want of memory: it has
 * killed one since the last look, or that look was just now.
 */
static bool
was_starved(const struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	unsigned long kills;

	if (w->death.signal != SIGKILL || s->pool.processes[w->process].asked ||
	    procinfo_oom_kills(&kills) == -1)
		return false;
	if (kills != s->oom_kills)
		s->starved_until = now + OOM_BURST;
	s->oom_kills = kills;
	return now < s->starved_until;
}

/* Warns if the end was not asked for, or took a session with it. */
static void
tell_end(struct worker *w, tstamp now)
{
	const char *reason = reason_of(w);
	char how[64], session[48], why[WHY_MAX];

	(void)describe_session(w, session, sizeof(session), now);
	(void)reap_explain(&w->death, how, sizeof(how));
	if (explain_failure(w, session, why, sizeof(why))) {
		group_failed(w->group, "%s", why);
		tell_worker(w, LOG_LEVEL_WARN, EVENT_EXIT, reason, "%s", why);
	} else if (session[0] != '\0' && !ended_session(w)) {
		tell_worker(w, LOG_LEVEL_WARN, EVENT_EXIT, reason, "%s%s", how,
		    session);
	} else {
		tell_worker(w, LOG_LEVEL_DEBUG, EVENT_EXIT, reason, "%s%s", how,
		    session);
	}
}

/* The pool counts sessions that the process had not ended as lost. */
static void
finish(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;

	tell_end(w, now);
	if (w->backs_off)
		group_log_backoff(w->group, now);
	parking_close_all(w);
	fork_forget(w);
	worker_free(w);
	pool_gone(&s->pool, process, now);
}

static void hear_words(void *arg, const char *line, size_t len, tstamp now);

/*
 * Whether the last line on stderr is awaited, which may explain a failure. It
 * is asked for once; of SIGKILL no process can tell.
 */
static bool
awaits_words(struct worker *w, tstamp now)
{
	char why[WHY_MAX];

	if (w->asked || w->death.signal == SIGKILL ||
	    !explain_failure(w, "", why, sizeof(why)))
		return false;
	w->asked = true;
	return keeper_leave(w->output, hear_words, w, now);
}

/* The log tells of the end after all that the process has printed. */
static void
bury(struct worker *w, tstamp now)
{
	if (!awaits_words(w, now))
		finish(w, now);
}

/* --- what is taken back ------------------------------------------------- */

static void
taken(struct retake *r, const char *buf, size_t len, int fd, tstamp now)
{
	struct worker *w = LOOP_OWNER(r, struct worker, retake);
	struct supervisor *s = w->sup;
	uint32_t conn = channel_conn(s, buf, len);
	bool its_own =
	    conn != ILIST_NONE && s->pool.conns[conn].process == w->process;

	/* With keep_alive our copy does if theirs could not be received. */
	if (its_own && (fd != -1 || s->accepted[conn].fd != -1)) {
		parking_taken(w->group, &s->accepted[conn], fd);
		pool_retaken(&s->pool, conn, now);
		return;
	}
	if (its_own)
		w->unread_lost = true;
	if (fd != -1)
		keeper_close(w->group, fd);
}

static void
take_ended(struct retake *r, bool complete, tstamp now)
{
	struct worker *w = LOOP_OWNER(r, struct worker, retake);
	char name[96];

	if (!complete || w->unread_lost)
		log_warnx("%s: what it left unread could not be taken back",
		    worker_name(w, name, sizeof(name)));
	bury(w, now);
}

static void
take_back(struct worker *w)
{
	/* Its descriptor may be just the one that a connection needs. */
	worker_hang_up(w);
	w->retake.id = w->id;
	w->retake.child_end = w->child_end;
	w->retake.message = taken;
	w->retake.end = take_ended;
	keeper_take_back(w->group, &w->retake);
}

/* --- reaping ------------------------------------------------------------ */

/* The pool learns of the death; what was never received is taken back. */
static void
depart(struct worker *w, tstamp now)
{
	char why[WHY_MAX];

	if (explain_failure(w, "", why, sizeof(why)))
		group_failed(w->group, "%s", why);
	pool_died(&w->sup->pool, w->process, end_of(&w->death), now);
	if (w->child_end != -1 && fdpass_unread(w->child_end) > 0)
		take_back(w);
	else
		bury(w, now);
}

static void
hear_words(void *arg, const char *line, size_t len, tstamp now)
{
	struct worker *w = arg;

	w->output = NULL;
	if (len > 0)
		w->words = strndup(line, len);
	if (w->sup->pool.processes[w->process].state == PROCESS_DYING)
		finish(w, now);
	else
		depart(w, now);
}

/*
 * The process is reaped, and its group killed. What it said last still counts.
 * A process that was never ready has no connections: so the pool learns of its
 * death when all is known that its failure, and that of the app, is told with.
 */
static void
take_leave(struct worker *w, const struct reap_death *death, tstamp now)
{
	turn_for(w->group->app);
	worker_died(w, death);
	w->starved = was_starved(w, now);
	channel_read_rest(w, now);
	if (w->sup->pool.processes[w->process].ready || !awaits_words(w, now))
		depart(w, now);
}

void
death_taken(struct worker *w, const struct reap_death *death, tstamp now)
{
	take_leave(w, death, now);
}

static void
reap_worker(struct worker *w, const struct reap_death *death, tstamp now)
{
	reap_take(death->pid);
	if (w->template != NULL)
		template_died(w, death, now);
	else
		take_leave(w, death, now);
}

/* Reaps a child that is dead; what it cost, or 0: it has to wait. */
static int
reap(struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct worker *w = worker_find(s, death->pid);

	if (w != NULL) {
		reap_worker(w, death, now);
		return WORK_WORKER;
	}
	if (worker_is_starting(s, death->pid)) {
		s->reaping_waits = true;
		return 0;
	}
	fork_reap(s, death, now);
	(void)keeper_exited(s, death->pid, now);
	(void)watch_exited(&s->watch, death->pid, now);
	return WORK_ORPHAN;
}

/* Reaps the next that is dead; likewise, and 0: there is none. */
static int
reap_next(struct supervisor *s, tstamp now)
{
	struct reap_death death;
	tspan began = loop_lasts(&s->loop), took;
	bool found = reap_peek(&death);
	int cost = 0, rest = 0;

	took = loop_lasts(&s->loop) - began;
	if (found)
		cost = reap(s, &death, now);
	if (took > LONG_LOOK)
		rest = cost == WORK_ORPHAN ? LOOK_REST_ORPHANS : LOOK_REST;
	/* A busy machine may have taken so long, and not the children. */
	s->look_at =
	    now + (rest * took < LOOK_REST_MAX ? rest * took : LOOK_REST_MAX);
	return cost;
}

/*
 * The kernel tells of all dead orphans first: they are children of this thread,
 * and workers of the one that started them. Returns when to go on.
 */
static tstamp
look_at_workers(struct supervisor *s, tstamp now)
{
	struct reap_death death;
	struct worker *w;
	tstamp next = now + WORKERS_PAUSE;

	for (int left = LOOKS_TURN; left > 0; left--) {
		w = worker_after(s, s->looked_at);
		s->looked_at = w == NULL ? 0 : w->pid;
		if (w == NULL)
			return s->look_at;
		if (reap_peek_at(w->pid, &death)) {
			reap_worker(w, &death, now);
			left -= LOOKS_DEATH - 1;
			next = now;
		}
	}
	return next < s->look_at ? next : s->look_at;
}

static void
reap_some(struct supervisor *s, tstamp now)
{
	/* Another signal does not come for those that are left. */
	tstamp next = tstamp_add(now, 1), later;
	int cost, work = 0;

	while (work < WORK_TURN && now >= s->look_at) {
		cost = reap_next(s, now);
		if (cost == 0) {
			timer_set(&s->loop.timers, &s->reaping, TSTAMP_NEVER);
			return;
		}
		if (cost == WORK_ORPHAN)
			next = tstamp_add(now, ORPHANS_PAUSE);
		work += cost;
	}
	later = look_at_workers(s, now);
	timer_set(&s->loop.timers, &s->reaping, later > next ? later : next);
}

static void
go_on(struct timer *t, tstamp now)
{
	reap_some(TIMER_OWNER(t, struct supervisor, reaping), now);
}

void
death_signalled(struct supervisor *s, pid_t pid, tstamp now)
{
	struct reap_death death;

	if (reap_peek_at(pid, &death))
		(void)reap(s, &death, now);
	if (s->reaping.at == TSTAMP_NEVER || now < s->look_at)
		reap_some(s, now);
}

void
death_init(struct supervisor *s)
{
	timer_init(&s->reaping, go_on);
	(void)procinfo_oom_kills(&s->oom_kills);
}
