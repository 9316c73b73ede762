/* Reports of where slow processes hang. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/request_timeout.h"
#include "sys/hang.h"
#include "sys/log.h"

/* Processes of one app that are looked at in one second at most. */
#define REPORTS_MAX 10

/* A signal waits for its report no longer. */
#define PATIENCE TSPAN_SECONDS(1)

/* A report may outlive its process; see worker_of(). */
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
worker_of(const struct timeout_report *r)
{
	struct worker *w = r->sup->workers[r->process];

	return w != NULL && w->report == r ? w : NULL;
}

/* --- the text ----------------------------------------------------------- */

/* The age of its oldest session. */
static tspan
session_age(const struct worker *w, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	uint32_t conn = p->processes[w->process].conns.first;

	return conn == ILIST_NONE ? 0 : now - p->conns[conn].begun;
}

static void
describe(
    const struct worker *w, bool terminate, char *buf, size_t size, tstamp now)
{
	double age = tspan_to_seconds(session_age(w, now));

	if (terminate)
		(void)snprintf(
		    buf, size, "is terminated: its request is %.1f s old", age);
	else
		(void)snprintf(
		    buf, size, "is slow: its session is %.1f s old", age);
}

/* Says, once, what we may not see. */
static void
log_denied(const struct hang *h)
{
	static bool call_told, stack_told;

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
}

static void
log_report(const struct timeout_report *r)
{
	char text[384], program[48] = "";

	/* The process ended by itself meanwhile, which death.c logs. */
	if (r->hang.state == 0)
		return;
	if (r->hang.pid != r->pid)
		(void)snprintf(program, sizeof(program),
		    "its program (pid %ld) ", (long)r->hang.pid);
	log_warnx("%s %s, %s%s", r->name, r->what, program,
	    hang_describe(&r->hang, text, sizeof(text)));
	if (r->hang.stack[0] != '\0')
		log_warnx("%s its kernel stack: %s", r->name, r->hang.stack);
	log_denied(&r->hang);
}

/* --- looking ------------------------------------------------------------ */

static void
look(struct lane_job *job)
{
	struct timeout_report *r = LOOP_OWNER(job, struct timeout_report, job);

	hang_read(r->folder, &r->hang);
}

static void
send_signal(struct timeout_report *r)
{
	struct worker *w = worker_of(r);

	timer_set(&r->sup->loop.timers, &r->timer, TSTAMP_NEVER);
	if (w != NULL)
		worker_signal(w, SIGTERM, false);
}

static void
patience_over(struct timer *t, tstamp now)
{
	(void)now;
	send_signal(TIMER_OWNER(t, struct timeout_report, timer));
}

static void
looked(struct lane_job *job, tstamp now)
{
	struct timeout_report *r = LOOP_OWNER(job, struct timeout_report, job);
	struct worker *w = worker_of(r);

	(void)now;
	log_report(r);
	if (r->timer.at != TSTAMP_NEVER)
		send_signal(r);
	if (w != NULL)
		w->report = NULL;
	close(r->folder);
	free(r);
}

/* Whether one more process of the app is looked at in this second. */
static bool
may_report(struct group *g, tstamp now)
{
	if (now - g->reports_since >= TSPAN_SECONDS(1)) {
		g->reports_since = now;
		g->reports = 0;
	}
	return ++g->reports <= REPORTS_MAX;
}

/* Asks for a report; NULL: there will be none. */
static struct timeout_report *
begin(struct worker *w, tstamp now)
{
	struct timeout_report *r;

	if (w->pid == 0 || !may_report(w->group, now) ||
	    (r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	r->folder = worker_program(w);
	if (r->folder == -1) {
		free(r);
		return NULL;
	}
	r->job.work = look;
	r->job.done = looked;
	timer_init(&r->timer, patience_over);
	r->sup = w->sup;
	r->process = w->process;
	r->pid = w->pid;
	(void)worker_name(w, r->name, sizeof(r->name));
	w->report = r;
	lane_submit(&w->sup->looker, &r->job);
	return r;
}

void
request_timeout_slow(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	struct timeout_report *r;

	/* The report before is still being made. */
	if (w->report != NULL)
		return;
	r = begin(w, now);
	if (r != NULL)
		describe(w, false, r->what, sizeof(r->what), now);
	else if (w->group->reports == REPORTS_MAX + 1)
		log_warnx("%s: more than %d processes are slow: not all are "
			  "told",
		    w->group->conf->name, REPORTS_MAX);
}

void
request_timeout_terminate(struct worker *w, tstamp now)
{
	struct timeout_report *r =
	    w->report != NULL ? w->report : begin(w, now);
	char name[96], what[96];

	describe(w, true, what, sizeof(what), now);
	if (r == NULL) {
		log_warnx("%s %s", worker_name(w, name, sizeof(name)), what);
		worker_signal(w, SIGTERM, false);
		return;
	}
	(void)snprintf(r->what, sizeof(r->what), "%s", what);
	timer_set(&r->sup->loop.timers, &r->timer, tstamp_add(now, PATIENCE));
}
