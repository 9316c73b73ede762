/*
 * Processes as the daemon sees them: their numbers and signals; their death,
 * how it came and the steps in which they leave; and reaping, of orphans, too.
 */

#include <assert.h>
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/carry.h"
#include "daemon/counter.h"
#include "daemon/worker.h"
#include "sys/fdpass.h"
#include "sys/procinfo.h"

/*
 * The work of a turn, and what a death costs of it. The kernel may look at all
 * living children to find a dead one: thousands, if a worker has left us its
 * own. Their deaths are in no hurry, and take turns a while apart.
 */
#define WORK_TURN 8
#define WORK_WORKER 1
#define WORK_ORPHAN 4
#define ORPHANS_PAUSE TSPAN_MSECONDS(1)

#define LOOKS_TURN 32 /* workers looked at in a turn with more deaths */
#define LOOKS_DEATH 8 /* a dead one counts as many */

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

/*
 * The kernel counts whom it kills for want of memory, and does not say who it
 * was. Where it kills several at once, their deaths are seen within this time.
 */
#define OOM_BURST TSPAN_SECONDS(1)

#define WHY_MAX 256 /* the longest explanation of a failure */

/* So many processes in a row that leave after one session are told of. */
#define LEAVES_TOLD 10

static int
worker_compare(const struct worker *a, const struct worker *b)
{
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

RB_GENERATE_STATIC(pids, worker, by_pid, worker_compare)

const char *
worker_name(const struct worker *w, char *buf, size_t size)
{
	pid_t pid = w->pid != 0 ? w->pid : w->leaving.death.pid;

	(void)snprintf(buf, size, "%s: worker %s (pid %ld)",
	    w->group->conf->name, w->id, (long)pid);
	return buf;
}

const char *
worker_tell_request(const struct worker *w, char buf[WORKER_REQUEST])
{
	const char *request = worker_request(w);

	buf[0] = '\0';
	if (request != NULL)
		(void)snprintf(
		    buf, WORKER_REQUEST, ", request \"%s\"", request);
	return buf;
}

/* --- coming and going -------------------------------------------------- */

/* On no list, and without a slot. */
static struct worker *
worker_make(struct group *g, uint32_t process)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->sup = g->sup;
	w->group = g;
	w->process = process;
	w->slot = WORKER_TEMPLATE;
	w->child_end = -1;
	w->memory_fd = -1;
	w->channel.fd = -1;
	w->pickup.unread_since = TSTAMP_NEVER;
	timer_init(&w->pickup.timer, pickup_look);
	worker_disown(w);
	if (process != WORKER_TEMPLATE)
		g->sup->workers[process] = w;
	return w;
}

struct worker *
worker_new(struct group *g, uint32_t process)
{
	struct worker *w = worker_make(g, process), *after;

	if (w == NULL || process == WORKER_TEMPLATE)
		return w;
	/* The list has the order of the slots: the first gap is the place. */
	w->slot = 0;
	TAILQ_FOREACH(after, &g->workers, next) {
		if (after->slot != w->slot) {
			TAILQ_INSERT_BEFORE(after, w, next);
			return w;
		}
		w->slot++;
	}
	TAILQ_INSERT_TAIL(&g->workers, w, next);
	return w;
}

void
worker_disown(struct worker *w)
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";

	(void)keeper_leave(&w->output, NULL, NULL, loop_now(&w->sup->loop));
	channel_close(w);
	/* Connections that lie there may linger. */
	if (w->child_end != -1 &&
	    (w->group == NULL || fdpass_unread(w->child_end) == 0))
		close(w->child_end);
	else if (w->child_end != -1)
		keeper_close(w->group->keeper, w->child_end, false);
	w->child_end = -1;
	for (unsigned i = 0; i < WORKER_ID_LEN; i++)
		w->id[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
}

void
worker_free(struct worker *w)
{
	struct supervisor *s = w->sup;

	assert(w->start.result == NULL && w->start.fork == NULL);
	fork_forget(w);
	worker_disown(w);
	timer_set(&s->loop.timers, &w->pickup.timer, TSTAMP_NEVER);
	if (w->memory_fd != -1)
		close(w->memory_fd);
	if (w->process != WORKER_TEMPLATE) {
		s->workers[w->process] = NULL;
		/* Its measurements count no more. */
		w->group->autosize.own -= w->usage.found.own;
		w->group->autosize.most -= w->usage.found.most;
		w->group->autosize.measured -= w->usage.found.most != 0;
		TAILQ_REMOVE(&w->group->workers, w, next);
	}
	free(w->status);
	free(w);
}

static void
worker_watch(const struct worker *w)
{
	const struct conf_app *conf = w->group->conf;

	watch_child(&w->sup->watch, w->process,
	    &(struct watch_child){
		.pid = w->pid,
		.signal = group_has_channels(conf)
		    ? 0
		    : conf_signal(conf->stop_signal + 1),
		.wait = conf->pool.stop_timeout,
		.grace = conf->pool.kill_timeout,
	    });
}

void
worker_started(struct worker *w, pid_t pid, tstamp now)
{
	struct group *g = w->group;
	struct worker *other;

	w->pid = pid;
	other = RB_INSERT(pids, &w->sup->pids, w);
	assert(other == NULL);
	if (w->channel.fd != -1)
		(void)loop_set(&w->sup->loop, &w->channel, EPOLLIN);
	if (w->start.signal != 0)
		worker_signal(w, w->start.signal);
	if (w->template != NULL)
		return;
	worker_watch(w);
	tell_worker(w, LOG_LEVEL_DEBUG, EVENT_SPAWN, NULL, "started");
	pool_spawned(&w->sup->pool, w->process, now);
	sampling_begin(g, now);
	/* A process that stays silent may listen elsewhere. */
	if ((g->conf->handoff <= CONF_HANDOFF_ACCEPT ||
		(g->config->choice != NULL && group_accepts_itself(g))) &&
	    !g->sup->pool.apps[g->app].announced)
		timer_advance(&g->sup->loop.timers, &g->backlog.timer,
		    tstamp_add(now, BACKLOG_SILENCE));
}

void
worker_died(struct worker *w, const struct reap_death *death)
{
	RB_REMOVE(pids, &w->sup->pids, w);
	timer_set(&w->sup->loop.timers, &w->pickup.timer, TSTAMP_NEVER);
	w->leaving.death = *death;
	/* From here on a signal could meet another process of that number. */
	w->pid = 0;
	if (w->template == NULL)
		watch_child(
		    &w->sup->watch, w->process, &(struct watch_child){ 0 });
	w->report = NULL;
}

struct worker *
worker_find(struct supervisor *s, pid_t pid)
{
	struct worker key = { .pid = pid }, *w = RB_FIND(pids, &s->pids, &key);

	if (w == NULL)
		TAILQ_FOREACH(w, &s->starting.list, start.next)
			if (w->start.result->pid == pid)
				break;
	return w;
}

/*
 * A start that hangs before exec (a dead file server) is killed too: as long
 * as it is under way, no other process can have its number.
 */
void
worker_signal(struct worker *w, int sig)
{
	pid_t starting = w->start.result == NULL ? 0 : w->start.result->pid;

	if (sig == 0)
		return;
	if (w->pid == 0) {
		w->start.signal = sig;
		if (w->start.fork != NULL)
			fork_signal(w->start.fork, sig);
		if (sig == SIGKILL && starting != 0)
			(void)child_signal(starting, sig, false);
		return;
	}
	log_debug(
	    "sending signal %d to %s (pid %ld)", sig, w->id, (long)w->pid);
	(void)child_signal(w->pid, sig, sig == SIGKILL);
}

/* --- how it ended ------------------------------------------------------ */

/* The kernel has killed a process of the app whose death was not seen yet. */
static bool
death_by_oom(struct group *g)
{
	uint64_t kills = 0;

	if (g == NULL || g->cgroup.events == -1 ||
	    cgroup_oom_kills(g->cgroup.events, &kills) == -1 ||
	    kills <= g->cgroup.oom_kills)
		return false;
	g->cgroup.oom_kills++;
	return true;
}

static enum process_end
death_end_of(const struct worker *w)
{
	const struct reap_death *d = &w->leaving.death;

	if (d->signal != 0)
		return w->leaving.oom ? END_OOM : END_SIGNAL;
	if (d->status != 0)
		return END_FAILURE;
	/* Some leave after so many connections, at whatever age that is. */
	return w->accepts ||
		(w->sup->pool.processes[w->process].ready &&
		    w->group->backlog.falls)
	    ? END_RETIRED
	    : END_EXIT;
}

/* With handoff = stdio an exit ends the session, whatever its status. */
static bool
death_ended_session(const struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];

	return w->sup->pool.apps[x->app].options.exit_ends &&
	    w->leaving.death.signal == 0 && x->handed > 0;
}

/*
 * The last line on standard error that is not blank, without blanks around it.
 * Lines of a trace, as those of Ruby and Node, follow the line that says what
 * is wrong, and are indented; Node prints its version last. Gives the length;
 * 0: no line is known.
 */
static int
death_last_line(const struct worker *w, const char **out)
{
	struct events_place place = { .output = true };
	struct event line;
	size_t len = 0;

	while (events_next(&w->sup->events, &place, &line)) {
		if (line.kind != EVENT_STDERR || strcmp(line.id, w->id) != 0)
			continue;
		while (line.len > 0 &&
		    isspace((unsigned char)line.text[line.len - 1]))
			line.len--;
		if (line.len == 0 ||
		    (len > 0 && strchr(" \t}", *line.text) != NULL) ||
		    (len > 0 && strncmp(line.text, "Node.js v", 9) == 0))
			continue;
		while (isspace((unsigned char)*line.text)) {
			line.text++;
			line.len--;
		}
		*out = line.text;
		len = line.len;
	}
	return (int)len;
}

/* False: that is no failure of its own. session: that it died in, or "". */
static bool
death_explain(
    const struct worker *w, const char *session, char *buf, size_t size)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const struct app_options *o = &w->sup->pool.apps[x->app].options;
	const struct reap_death *d = &w->leaving.death;
	const char *when = session, *line = "";
	int len;
	bool clean = d->signal == 0 && d->status == 0, served;
	char how[64];

	/* A RETIRE without a session is a failure before min_server_life. */
	if (x->asked && x->end == END_RETIRED && x->handed == 0 &&
	    x->step_at - x->started < o->min_server_life) {
		(void)snprintf(buf, size, "retired without a session");
		return true;
	}
	/*
	 * A job that ends well has served; where sessions are not known, a
	 * process that ends well after min_server_life.
	 */
	if (o->sessions)
		served = x->requests > 0;
	else
		served = !o->listens || death_end_of(w) == END_RETIRED ||
		    loop_now(&w->sup->loop) - x->started >= o->min_server_life;
	if (x->asked || death_ended_session(w) || (clean && served))
		return false;
	if (!x->ready)
		when = clean
		    ? " before it was ready (it must run in the foreground)"
		    : " before it was ready";
	else if (clean && !o->sessions)
		when = " within min_server_life";
	else if (clean && session[0] == '\0')
		when = " without a session";
	len = w->leaving.asked ? death_last_line(w, &line) : 0;
	(void)snprintf(buf, size, "%s%s%s%s%.*s",
	    reap_explain(d, how, sizeof(how)), when,
	    w->leaving.oom           ? " for want of memory"
		: w->leaving.starved ? ", perhaps for want of memory"
				     : "",
	    len > 0 ? ": " : "", len, line);
	return true;
}

/* --- the steps of leaving ---------------------------------------------- */

/*
 * A process leaves in these steps, some of which wait for the keeper. What was
 * seen without one of them: a session counted as lost whose DONE lay in the
 * socket; a line "failed before it was ready" without the reason that the
 * program had printed; a connection lost that a sibling could have served.
 *
 *	wait		What is being taken back from it comes first.
 *	hear		What it has said still counts.
 *	hear out	One that was never ready has no connections: so the pool
 *			learns of its death when all that it has printed is
 *			there, of which its failure is told with the last line.
 *	pool_died	From here on others may be started in its place.
 *	take_back	What it had not received goes back to the queue.
 *	hear out	Of one that was ready that comes behind: its connections
 *			shall not wait for it.
 *	end		The log tells of the end after all that the process has
 *			printed. The struct is freed, and the number with it.
 */
static bool
leaving_wait(struct worker *w, tstamp now)
{
	(void)now;
	return w->retake.end == NULL;
}

static bool
leaving_hear(struct worker *w, tstamp now)
{
	struct reaping *r = &w->sup->reaping;
	unsigned long kills;

	/*
	 * The kernel may have killed the process for want of memory: it has
	 * killed one since the last look, or that look was just now. Where the
	 * app has a cgroup, that says so exactly.
	 */
	if (w->leaving.death.signal == SIGKILL &&
	    w->group->cgroup.events == -1 &&
	    !w->sup->pool.processes[w->process].asked &&
	    procinfo_oom_kills(&kills) == 0) {
		if (kills != r->oom_kills)
			r->starved_until = now + OOM_BURST;
		r->oom_kills = kills;
		w->leaving.starved = now < r->starved_until;
	}
	channel_read_rest(w, now);
	return true;
}

static void
leaving_heard_out(void *arg, tstamp now)
{
	struct worker *w = arg;

	w->output = NULL;
	death_go_on(w, now);
}

/* Once, for a line that may explain a failure; of SIGKILL none can tell. */
static bool
leaving_hear_out(struct worker *w, tstamp now)
{
	char why[WHY_MAX];

	if (w->leaving.asked || w->leaving.death.signal == SIGKILL ||
	    !death_explain(w, "", why, sizeof(why)))
		return true;
	w->leaving.asked = true;
	return !keeper_leave(&w->output, leaving_heard_out, w, now);
}

static bool
leaving_hear_out_unready(struct worker *w, tstamp now)
{
	return w->sup->pool.processes[w->process].ready ||
	    leaving_hear_out(w, now);
}

static bool
leaving_pool_died(struct worker *w, tstamp now)
{
	char why[WHY_MAX];

	if (death_explain(w, "", why, sizeof(why)))
		group_failed(w->group, "%s", why);
	pool_died(&w->sup->pool, w->process, death_end_of(w), now);
	return true;
}

static bool
leaving_take_back(struct worker *w, tstamp now)
{
	(void)now;
	if (w->child_end == -1 || fdpass_unread(w->child_end) <= 0)
		return true;
	/* The channel's descriptor may be the one that a connection needs. */
	channel_close(w);
	channel_take_back(w, false);
	return false;
}

/*
 * Warns if the end was not asked for, or took a session with it. The pool
 * counts sessions that the process had not ended as lost.
 */
static bool
leaving_end(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	const struct pool *p = &s->pool;
	uint32_t process = w->process, conn = p->processes[process].conns.first;
	const struct process *x = &p->processes[process];
	const struct reap_death *d = &w->leaving.death;
	const char *reason =
	    process_end_names[x->asked ? x->end : death_end_of(w)];
	char how[64], session[48] = "", why[WHY_MAX], request[WORKER_REQUEST];
	struct app_listener *l;

	/* Some processes remove the file of a Unix socket when they end. */
	TAILQ_FOREACH(l, &w->group->listeners, next)
		if (group_accepts_itself(w->group) && !l->leaving)
			acceptor_keep(&l->acceptor);
	if (conn != ILIST_NONE && p->conns[conn].state == CONN_HANDED)
		(void)snprintf(session, sizeof(session),
		    " in a session of %.3f s",
		    tspan_to_seconds(now - p->conns[conn].begun));
	if (death_explain(w, session, why, sizeof(why))) {
		group_failed(w->group, "%s", why);
		tell_worker(w, LOG_LEVEL_WARN, EVENT_EXIT, reason, "%s%s", why,
		    worker_tell_request(w, request));
	} else {
		tell_worker(w,
		    session[0] != '\0' && !death_ended_session(w)
			? LOG_LEVEL_WARN
			: LOG_LEVEL_DEBUG,
		    EVENT_EXIT, reason, "%s%s%s",
		    reap_explain(d, how, sizeof(how)), session,
		    worker_tell_request(w, request));
	}
	if (w->leaving.backs_off)
		group_tell_backoff(w->group, now);
	if (w->group->conf->handoff != CONF_HANDOFF_ACCEPT ||
	    (x->asked && x->end != END_RETIRED) || d->signal != 0 ||
	    d->status != 0 || x->handed != 1)
		w->group->leaves = 0;
	else if (++w->group->leaves == LEAVES_TOLD)
		log_warnx("%s: its processes leave after each session: "
			  "a start is paid for each",
		    w->group->conf->name);
	for (; conn != ILIST_NONE; conn = p->conn_links[conn].next)
		parking_close(w->group, &s->accepted[conn]);
	worker_free(w);
	pool_gone(&s->pool, process, now);
	return false;
}

void
death_go_on(struct worker *w, tstamp now)
{
	/* A step is over, or else goes on when it has its answer. */
	static bool (*const steps[])(struct worker *, tstamp) = { leaving_wait,
		leaving_hear, leaving_hear_out_unready, leaving_pool_died,
		leaving_take_back, leaving_hear_out, leaving_end };

	while (steps[w->leaving.step++](w, now))
		continue;
}

void
death_begin(struct worker *w, const struct reap_death *death, tstamp now)
{
	char how[64];

	worker_died(w, death);
	w->leaving.oom = death->signal == SIGKILL && death_by_oom(w->group);
	if (w->template != NULL) {
		template_tried(
		    w->template, reap_explain(death, how, sizeof(how)), now);
		return;
	}
	turn_for(w->group->app);
	death_go_on(w, now);
}

/* --- reaping ----------------------------------------------------------- */

/* Reaps a child that is dead. Returns what it cost; 0: it has to wait. */
static int
death_reap(struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct worker *w = worker_find(s, death->pid);

	if (w != NULL && w->pid == 0) {
		s->reaping.waits = true;
		return 0;
	}
	if (w != NULL) {
		/* The zombie pins the number of its group. */
		reap_take(death->pid, true);
		death_begin(w, death, now);
		return WORK_WORKER;
	}
	fork_reap(s, death, now);
	(void)keeper_exited(s, death->pid, now);
	(void)upgrade_exited(s, death, now);
	poolcounter_exited(s, death, now);
	(void)watch_exited(&s->watch, death->pid, now);
	return WORK_ORPHAN;
}

/*
 * The kernel tells of all dead orphans first: they are children of this thread,
 * and workers of the one that started them. Returns when to go on.
 */
static tstamp
death_look_at_workers(struct supervisor *s, tstamp now)
{
	struct reap_death death;
	struct worker *w, after = { .pid = 0 };
	tstamp next = now + WORKERS_PAUSE;

	for (int left = LOOKS_TURN; left > 0; left--) {
		after.pid = s->reaping.looked_at + 1;
		w = RB_NFIND(pids, &s->pids, &after);
		s->reaping.looked_at = w == NULL ? 0 : w->pid;
		if (w == NULL)
			return s->reaping.look_at;
		if (reap_peek(w->pid, &death)) {
			(void)death_reap(s, &death, now);
			left -= LOOKS_DEATH - 1;
			next = now;
		}
	}
	return tstamp_min(next, s->reaping.look_at);
}

void
death_reap_some(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, reaping.timer);
	/* No signal comes for the dead that are left. */
	tstamp next = tstamp_add(now, 1), later;
	struct reap_death death;
	tspan began, took, rest;
	int cost, work = 0;
	bool found;

	while (work < WORK_TURN && now >= s->reaping.look_at) {
		began = loop_lasts(&s->loop);
		found = reap_peek(0, &death);
		took = loop_lasts(&s->loop) - began;
		cost = found ? death_reap(s, &death, now) : 0;
		rest = took <= LONG_LOOK  ? 0
		    : cost == WORK_ORPHAN ? LOOK_REST_ORPHANS * took
					  : LOOK_REST * took;
		/* A busy machine may take so long for few children. */
		s->reaping.look_at =
		    tstamp_min(now + rest, now + LOOK_REST_MAX);
		if (cost == 0) {
			timer_set(&s->loop.timers, t, TSTAMP_NEVER);
			return;
		}
		if (cost == WORK_ORPHAN)
			next = tstamp_add(now, ORPHANS_PAUSE);
		work += cost;
	}
	later = death_look_at_workers(s, now);
	timer_set(&s->loop.timers, t, later > next ? later : next);
}

void
death_signalled(struct supervisor *s, pid_t pid, tstamp now)
{
	struct reap_death death;

	if (reap_peek(pid, &death))
		(void)death_reap(s, &death, now);
	if (s->reaping.timer.at == TSTAMP_NEVER || now < s->reaping.look_at)
		death_reap_some(&s->reaping.timer, now);
}

/* --- carried over ------------------------------------------------------ */

/* Of a process that was not started yet the start is queued again. */
static bool
worker_restore(struct carry *c, struct group *g, void *record)
{
	struct supervisor *s = c->sup;
	const struct worker *row = record, *last;
	struct worker *w = c->template;
	const struct process *x = NULL;
	uint32_t of = c->of;

	c->template = NULL;
	if (of < s->pool.nprocesses)
		x = &s->pool.processes[of];
	if (of != WORKER_TEMPLATE) {
		if (x == NULL || x->state == PROCESS_GONE ||
		    s->workers[of] != NULL)
			return false;
		/* They were written in the order of their slots. */
		g = s->groups[x->app];
		last = TAILQ_LAST(&g->workers, workers);
		if ((last != NULL && last->slot >= row->slot) ||
		    (w = worker_make(g, of)) == NULL)
			return false;
		TAILQ_INSERT_TAIL(&g->workers, w, next);
	}
	if (w == NULL || !carry_copy(c, w, record))
		return false;
	c->output = &w->output;
	if (w->template == NULL)
		w->channel.ready = channel_ready;
	if (w->pickup.unread_since != TSTAMP_NEVER)
		timer_set(&s->loop.timers, &w->pickup.timer, c->now);
	if (w->pid == 0) {
		start_queue(w, c->now);
		return x != NULL && x->queued;
	}
	if (w->template == NULL)
		worker_watch(w);
	return RB_INSERT(pids, &s->pids, w) == NULL;
}

#define F(m) CARRY(struct worker, m)
static const struct carry_field worker_fields[] = { F(slot),
	CARRY_TEXT(struct worker, id), F(pid), F(adapted), F(parks),
	F(slow_signal), F(keeps), CARRY_FD(struct worker, child_end),
	CARRY_IO(struct worker, channel), F(refuses), F(start.signal),
	F(pickup.sent), F(pickup.received),
	CARRY_TIME(struct worker, pickup.unread_since), F(memory_at), F(cpu),
	F(cpu_at), F(processors), F(accepts),
	CARRY_OWNED(struct worker, status) };
#undef F

CARRY_KIND(carry_worker, "worker", struct worker, worker_fields,
    .restore = worker_restore);

void
worker_carry(struct carry *c, const struct worker *w)
{
	carry_put(c, CARRIED_WORKER, w->process, w);
	if (w->output != NULL)
		carry_put(c, CARRIED_OUTPUT, w->group->app, w->output);
}
