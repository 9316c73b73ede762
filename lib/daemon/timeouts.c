/*
 * Delays of a living process: a connection that it does not receive
 * (pickup_timeout), and a session that lasts (slow_timeout, request_timeout).
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/worker.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/procinfo.h"
#include "sys/wire.h"

/*
 * Looks in each pickup_timeout, within bounds, as long as there may be
 * something unread; and one at its very end.
 */
#define PICKUP_LOOKS 10
#define PICKUP_PAUSE_MIN TSPAN_MSECONDS(10)
#define PICKUP_PAUSE_MAX TSPAN_SECONDS(1)

/* Processes of one app that are looked at in one second at most. */
#define REPORTS_MAX 10

/* SIGTERM waits for the report no longer. */
#define REPORT_PATIENCE TSPAN_SECONDS(1)

/* --- pickup_timeout ---------------------------------------------------- */

tstamp
timeouts_unread_since(struct worker *w, tstamp now)
{
	const size_t stop = sizeof(WIRE_STOP) - 1;
	const struct pool *p = &w->sup->pool;
	uint32_t current = p->apps[w->group->app].options.concurrency;
	size_t bytes = 0, prefetched = 0;
	int unread = w->child_end == -1 ? 0 : fdpass_unread(w->child_end);

	/*
	 * At most a STOP is unread, and a busy worker need not have read it:
	 * nothing is overdue.
	 */
	if (unread <= (int)stop) {
		w->pickup.unread_since = TSTAMP_NEVER;
		return TSTAMP_NEVER;
	}
	bytes = (size_t)unread;
	/*
	 * Connections beyond its concurrency are prefetched, and so lie last,
	 * for as long as the sessions before them take: time counts from their
	 * turn. (Those that could not be taken back count as received in the
	 * core.)
	 */
	for (uint32_t c = p->processes[w->process].conns.first; c != ILIST_NONE;
	     c = p->conn_links[c].next) {
		if (current > 0)
			current--;
		else if (p->conns[c].state == CONN_HANDED)
			prefetched += w->sup->accepted[c].len;
	}
	if (w->pickup.sent - bytes > w->pickup.received ||
	    bytes <= prefetched + stop) {
		w->pickup.received = w->pickup.sent - bytes;
		w->pickup.unread_since = now;
	}
	return bytes <= prefetched + stop ? TSTAMP_NEVER
					  : w->pickup.unread_since;
}

/*
 * The next look at a worker that was handed a connection. A worker that has
 * received all is not looked at again before the next hand-over: so thousands
 * of workers cost nothing while they are served well.
 */
void
timeouts_look(struct timer *t, tstamp now)
{
	struct worker *w = TIMER_OWNER(t, struct worker, pickup.timer);
	struct pool *p = &w->sup->pool;
	tstamp since = TSTAMP_NEVER, next = TSTAMP_NEVER, end;

	if (ilist_empty(&p->processes[w->process].conns))
		w->pickup.unread_since = TSTAMP_NEVER;
	else
		since = timeouts_unread_since(w, now);
	if (w->pickup.unread_since == TSTAMP_NEVER)
		return;
	if (since != TSTAMP_NEVER) {
		pool_unread(p, w->process, since, now);
		end = tstamp_add(since, w->group->conf->pool.pickup_timeout);
		if (end > now)
			next = end;
	}
	timeouts_await_pickup(w, now);
	timer_advance(&w->sup->loop.timers, t, next);
}

void
timeouts_await_pickup(struct worker *w, tstamp now)
{
	tspan pause = w->group->conf->pool.pickup_timeout / PICKUP_LOOKS;

	if (w->pickup.timer.at != TSTAMP_NEVER)
		return;
	if (pause < PICKUP_PAUSE_MIN)
		pause = PICKUP_PAUSE_MIN;
	else if (pause > PICKUP_PAUSE_MAX)
		pause = PICKUP_PAUSE_MAX;
	timer_set(&w->sup->loop.timers, &w->pickup.timer, now + pause);
}

/* --- slow_timeout and request_timeout ---------------------------------- */

/*
 * Where a process hangs. That is looked up in a lane, and logged when it is
 * known; the process may be dead by then, and its struct gone.
 */
struct timeout_report {
	struct lane_job job;
	struct timer timer; /* set: SIGTERM is sent then, or after the report */
	struct supervisor *sup;
	uint32_t process;
	pid_t pid; /* of the process */
	int folder; /* of its program */
	struct hang hang;
	char name[96];
	char what[96]; /* has happened to it */
};

/* The worker that the report is about; NULL: it is dead. */
static struct worker *
report_worker(const struct timeout_report *r)
{
	struct worker *w = r->sup->workers[r->process];

	return w != NULL && w->report == r ? w : NULL;
}

/* "is slow: its session is 2.5 s old", of its oldest session. */
static void
report_describe(const struct worker *w, const char *what, char *buf,
    size_t size, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	uint32_t conn = p->processes[w->process].conns.first;
	tspan age = conn == ILIST_NONE ? 0 : now - p->conns[conn].begun;

	(void)snprintf(
	    buf, size, "%s is %.1f s old", what, tspan_to_seconds(age));
}

/* SIGTERM would end what is to be reported, and so comes behind the report. */
static void
report_terminate(struct timer *t, tstamp now)
{
	struct timeout_report *r = TIMER_OWNER(t, struct timeout_report, timer);
	struct worker *w = report_worker(r);

	(void)now;
	timer_set(&r->sup->loop.timers, &r->timer, TSTAMP_NEVER);
	if (w != NULL)
		worker_signal(w, SIGTERM);
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
	char text[384], program[48] = "";

	if (h->pid != r->pid)
		(void)snprintf(program, sizeof(program),
		    "its program (pid %ld) ", (long)h->pid);
	/* A process that has ended by itself meanwhile is told of elsewhere. */
	if (h->state != 0)
		log_warnx("%s %s, %s%s", r->name, r->what, program,
		    hang_describe(h, text, sizeof(text)));
	if (h->stack[0] != '\0')
		log_warnx("%s its kernel stack: %s", r->name, h->stack);
	/* A look that is not allowed is told once. */
	if (h->call_error != 0 && !call_told) {
		log_info("in which system call a slow process is cannot be "
			 "seen: %s",
		    strerror(h->call_error));
		call_told = true;
	}
	if (h->stack_error != 0 && !stack_told) {
		log_info("where in the kernel a slow process waits cannot be "
			 "seen in full: %s (that takes CAP_SYS_ADMIN)",
		    strerror(h->stack_error));
		stack_told = true;
	}
	if (r->timer.at != TSTAMP_NEVER)
		report_terminate(&r->timer, now);
	if (w != NULL)
		w->report = NULL;
	close(r->folder);
	free(r);
}

/* Asks for a report; NULL: there will be none. */
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
	timer_init(&r->timer, report_terminate);
	r->sup = w->sup;
	r->process = w->process;
	r->pid = w->pid;
	(void)worker_name(w, r->name, sizeof(r->name));
	w->report = r;
	lane_submit(&w->sup->looker, &r->job);
	return r;
}

void
timeouts_slow(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	struct timeout_report *r;

	/* The report before is still being made. */
	if (w->report != NULL)
		return;
	r = report_begin(w, now);
	if (r != NULL)
		report_describe(
		    w, "is slow: its session", r->what, sizeof(r->what), now);
	else if (w->group->reports == REPORTS_MAX + 1)
		log_warnx("%s: more than %d processes are slow: not all are "
			  "told",
		    w->group->conf->name, REPORTS_MAX);
}

void
timeouts_terminate(struct worker *w, tstamp now)
{
	struct timeout_report *r = w->report;
	char name[96], what[96];

	if (r == NULL)
		r = report_begin(w, now);
	report_describe(
	    w, "is terminated: its request", what, sizeof(what), now);
	if (r == NULL) {
		log_warnx("%s %s", worker_name(w, name, sizeof(name)), what);
		worker_signal(w, SIGTERM);
		return;
	}
	(void)snprintf(r->what, sizeof(r->what), "%s", what);
	timer_set(
	    &r->sup->loop.timers, &r->timer, tstamp_add(now, REPORT_PATIENCE));
}
