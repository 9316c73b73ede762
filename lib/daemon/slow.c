/* Where processes hang. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/slow.h"
#include "daemon/supervisor.h"
#include "sys/hang.h"
#include "sys/log.h"

/* Processes of one app that are looked at in one second at most. */
#define SLOW_LOOKS 10

/* A signal waits so long for its look. */
#define SLOW_PATIENCE TSPAN_SECONDS(1)

struct slow {
	struct lane_job job;
	struct worker *worker; /* NULL: it is dead */
	pid_t pid; /* of the process */
	int folder; /* of its program */
	bool terminate; /* when that is told */
	tstamp since; /* the look was asked for then */
	struct hang hang;
	char name[96];
	char what[96]; /* is told of it */
};

/* --- telling ------------------------------------------------------------ */

/* Of its oldest session. */
static tspan
slow_age(const struct worker *w, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	uint32_t conn = p->processes[w->process].conns.first;

	return conn == ILIST_NONE ? 0 : now - p->conns[conn].begun;
}

static void
slow_describe(
    const struct worker *w, bool terminate, char *buf, size_t size, tstamp now)
{
	double age = (double)slow_age(w, now) / 1e9;

	if (terminate)
		(void)snprintf(
		    buf, size, "is terminated: its request is %.1f s old", age);
	else
		(void)snprintf(
		    buf, size, "is slow: its session is %.1f s old", age);
}

/* What we may not see is said once. */
static void
slow_tell_denied(const struct hang *h)
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
slow_tell(const struct slow *l)
{
	char text[384], program[48] = "";

	/* It ended by itself meanwhile, which is told elsewhere. */
	if (l->hang.state == 0)
		return;
	if (l->hang.pid != l->pid)
		(void)snprintf(program, sizeof(program),
		    "its program (pid %ld) ", (long)l->hang.pid);
	log_warnx("%s %s, %s%s", l->name, l->what, program,
	    hang_describe(&l->hang, text, sizeof(text)));
	if (l->hang.stack[0] != '\0')
		log_warnx("%s its kernel stack: %s", l->name, l->hang.stack);
	slow_tell_denied(&l->hang);
}

/* --- looking ------------------------------------------------------------ */

static void
slow_work(struct lane_job *job)
{
	struct slow *l = LOOP_OWNER(job, struct slow, job);

	hang_read(l->folder, &l->hang);
}

static void
slow_signal(struct slow *l)
{
	if (!l->terminate)
		return;
	l->terminate = false;
	worker_signal(l->worker, SIGTERM, false);
}

static void
slow_done(struct lane_job *job, tstamp now)
{
	struct slow *l = LOOP_OWNER(job, struct slow, job);

	(void)now;
	slow_tell(l);
	if (l->worker != NULL) {
		slow_signal(l);
		l->worker->slow = NULL;
	}
	close(l->folder);
	free(l);
}

/* Whether one more process of the app is looked at in this second. */
static bool
slow_may_look(struct group *g, tstamp now)
{
	if (now - g->looks_since >= TSPAN_SECONDS(1)) {
		g->looks_since = now;
		g->looks = 0;
	}
	return ++g->looks <= SLOW_LOOKS;
}

/* Asks for a look; NULL: there will be none. */
static struct slow *
slow_look(struct worker *w, tstamp now)
{
	struct slow *l;

	if (w->pid == 0 || !slow_may_look(w->group, now) ||
	    (l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->folder = worker_program(w);
	if (l->folder == -1) {
		free(l);
		return NULL;
	}
	l->job.work = slow_work;
	l->job.done = slow_done;
	l->worker = w;
	l->pid = w->pid;
	l->since = now;
	(void)worker_name(w, l->name, sizeof(l->name));
	w->slow = l;
	lane_submit(&w->sup->looker, &l->job);
	return l;
}

void
slow_session(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	struct slow *l;

	/* The one before is still being looked at. */
	if (w->slow != NULL)
		return;
	l = slow_look(w, now);
	if (l != NULL)
		slow_describe(w, false, l->what, sizeof(l->what), now);
	else if (w->group->looks == SLOW_LOOKS + 1)
		log_warnx("%s: more than %d processes are slow: not all are "
			  "told",
		    w->group->conf->name, SLOW_LOOKS);
}

void
slow_terminate(struct worker *w, tstamp now)
{
	struct slow *l = w->slow != NULL ? w->slow : slow_look(w, now);
	char name[96], what[96];

	slow_describe(w, true, what, sizeof(what), now);
	if (l == NULL) {
		log_warnx("%s %s", worker_name(w, name, sizeof(name)), what);
		worker_signal(w, SIGTERM, false);
		return;
	}
	(void)snprintf(l->what, sizeof(l->what), "%s", what);
	l->terminate = true;
	l->since = now;
}

void
slow_second(struct worker *w, tstamp now)
{
	if (w->slow != NULL && now - w->slow->since >= SLOW_PATIENCE)
		slow_signal(w->slow);
}

void
slow_forget(struct worker *w)
{
	if (w->slow != NULL)
		w->slow->worker = NULL;
	w->slow = NULL;
}
