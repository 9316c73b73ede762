/* A process, from its start to its end. */

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/channel.h"
#include "daemon/supervisor.h"
#include "daemon/worker.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/procinfo.h"

int
worker_compare(const struct worker *a, const struct worker *b)
{
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

const char *
worker_name(const struct worker *w, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s: worker %s (pid %ld)",
	    w->group->conf->name, w->id, (long)w->pid);
	return buf;
}

void
worker_misbehaved(struct worker *w, tstamp now, const char *fmt, ...)
{
	char text[160], name[96];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Nothing more is read from it: a socket shut down is ever readable. */
	(void)loop_set(&w->sup->loop, &w->channel, 0);
	group_failure(w->group, "protocol error: %s", text);
	log_warnx("%s broke the protocol and is killed: %s",
	    worker_name(w, name, sizeof(name)), text);
	pool_misbehaved(&w->sup->pool, w->process, END_NONSENSE, now);
}

int
worker_program(const struct worker *w)
{
	return w->adapted ? procinfo_child_folder(w->pid)
			  : procinfo_folder(w->pid);
}

/* --- coming and going --------------------------------------------------- */

static void
worker_identify(struct worker *w)
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";

	for (unsigned i = 0; i < WORKER_ID_LEN; i++)
		w->id[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
	w->id[WORKER_ID_LEN] = '\0';
}

struct worker *
worker_new(struct supervisor *s, uint32_t process)
{
	const struct process *x = &s->pool.processes[process];
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->sup = s;
	w->group = s->groups[x->app];
	w->process = process;
	w->generation = x->generation;
	w->child_end = -1;
	w->memory_fd = -1;
	w->channel.fd = -1;
	w->channel.ready = channel_ready;
	w->unread_since = TSTAMP_NEVER;
	output_init(&w->output);
	worker_identify(w);
	w->slot = group_take_slot(w->group);
	if (w->slot == UINT32_MAX) {
		free(w);
		return NULL;
	}
	s->workers[process] = w;
	return w;
}

/* Closes our end of the channel. */
static void
worker_hang_up(struct worker *w)
{
	if (w->channel.fd == -1)
		return;
	(void)loop_set(&w->sup->loop, &w->channel, 0);
	/* Grandchildren that hold a copy must see the end of file. */
	(void)shutdown(w->channel.fd, SHUT_RDWR);
	supervisor_close(w->sup, w->channel.fd);
	w->channel.fd = -1;
}

void
worker_free(struct worker *w)
{
	struct supervisor *s = w->sup;

	assert(w->starting == NULL);
	output_fini(&w->output);
	worker_hang_up(w);
	if (w->child_end != -1)
		supervisor_close(s, w->child_end);
	if (w->memory_fd != -1)
		close(w->memory_fd);
	group_give_slot(w->group, w->slot);
	s->workers[w->process] = NULL;
	free(w->status);
	free(w);
}

/* --- stopping ----------------------------------------------------------- */

/*
 * A start that hangs before exec (a dead file server) is killed too: as long
 * as it is under way, no other process can have its number.
 */
static void
worker_signal_starting(struct worker *w, int sig, bool group)
{
	pid_t pid = w->starting == NULL ? 0 : w->starting->pid;

	w->pending_signal = sig;
	w->pending_group = group;
	if (sig == SIGKILL && pid != 0)
		(void)child_signal(pid, sig);
}

void
worker_signal(struct worker *w, int sig, bool group)
{
	char name[96];

	if (w->pid == 0) {
		worker_signal_starting(w, sig, group);
		return;
	}
	log_debug(
	    "%s: sending signal %d", worker_name(w, name, sizeof(name)), sig);
	(void)(group ? child_signal_group(w->pid, sig)
		     : child_signal(w->pid, sig));
}

/* --- death -------------------------------------------------------------- */

/* The session it died in, or "". What it never received is none. */
static const char *
worker_session(const struct worker *w, char *buf, size_t size, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	uint32_t conn = p->processes[w->process].conns.first;

	buf[0] = '\0';
	if (conn != ILIST_NONE && p->conns[conn].state == CONN_HANDED)
		(void)snprintf(buf, size, " in a session of %.3f s",
		    (double)(now - p->conns[conn].begun) / 1e9);
	return buf;
}

/* stdio: the end of its session, however that went for the program. */
static bool
worker_exited(const struct worker *w)
{
	return w->one_session && w->death.signal == 0 &&
	    w->sup->pool.processes[w->process].handed > 0;
}

/*
 * Without sessions nobody knows what it has served: one that ends well after
 * its first time has done what it was for.
 */
static bool
worker_served(const struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const struct app_options *o = &w->sup->pool.apps[x->app].options;

	if (o->sessions)
		return x->requests > 0;
	return loop_now(&w->sup->loop) - x->started >= o->min_server_life;
}

/* It has done nothing, and wanted to leave: no failure if it has lived. */
static bool
worker_left_early(const struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const struct app_options *o = &w->sup->pool.apps[x->app].options;

	return x->asked && x->end == END_RETIRED && x->handed == 0 &&
	    x->step_at - x->started < o->min_server_life;
}

/* How it ended, if that is a failure of its own; else false. */
static bool
worker_explain(
    const struct worker *w, const char *session, char *buf, size_t size)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	bool clean = w->death.signal == 0 && w->death.status == 0;
	const char *when = session;
	char how[64];

	if (worker_left_early(w)) {
		(void)snprintf(buf, size, "retired without a session");
		return true;
	}
	if (x->asked || worker_exited(w) || (clean && worker_served(w)))
		return false;
	if (!x->ready)
		when = " before it was ready";
	else if (clean && !w->sup->pool.apps[x->app].options.sessions)
		when = " within min_server_life";
	else if (clean && session[0] == '\0')
		when = " without a session";
	(void)snprintf(
	    buf, size, "%s%s", reap_explain(&w->death, how, sizeof(how)), when);
	return true;
}

/* One line about an end that nobody asked for, or that took a session. */
static void
worker_tell_end(struct worker *w, tstamp now)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const char *reason = x->asked ? process_end_name(x->end) : "clean";
	char how[64], name[96], session[48], why[160];

	(void)worker_name(w, name, sizeof(name));
	(void)worker_session(w, session, sizeof(session), now);
	(void)reap_explain(&w->death, how, sizeof(how));
	if (worker_explain(w, session, why, sizeof(why))) {
		group_failure(w->group, "%s", why);
		log_warnx("%s %s", name, why);
	} else if (session[0] != '\0' && !worker_exited(w)) {
		log_warnx("%s %s%s (%s)", name, how, session, reason);
	} else {
		log_debug("%s %s%s (%s)", name, how, session, reason);
	}
}

/* What it had received and not ended is lost now. */
static void
worker_bury(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;

	worker_tell_end(w, now);
	worker_free(w);
	pool_gone(&s->pool, process, now);
}

static enum process_end
worker_how(const struct reap_death *d)
{
	if (d->signal != 0)
		return END_SIGNAL;
	return d->status == 0 ? END_EXIT : END_FAILURE;
}

/*
 * Dead and reaped, and its group with it. What it said last still counts;
 * what it never received is taken back.
 */
static void
worker_died(struct worker *w, const struct reap_death *death, tstamp now)
{
	struct supervisor *s = w->sup;
	char why[160];

	w->death = *death;
	RB_REMOVE(pids, &s->pids, w);
	channel_last_words(w, now);
	if (worker_explain(w, "", why, sizeof(why)))
		group_failure(w->group, "%s", why);
	pool_died(&s->pool, w->process, worker_how(death), now);
	if (w->child_end == -1 || retriever_inquire(w->child_end) <= 0) {
		worker_bury(w, now);
		return;
	}
	/* That descriptor may be just the one that is wanted for what comes. */
	worker_hang_up(w);
	retriever_take(&s->retriever, &w->take, w->child_end, now);
}

static bool
worker_is_starting(const struct supervisor *s, pid_t pid)
{
	const struct worker *w;

	TAILQ_FOREACH(w, &s->starting, start_next)
		if (w->starting->pid == pid)
			return true;
	return false;
}

void
worker_reap_all(struct supervisor *s, tstamp now)
{
	struct reap_death death;
	struct worker key, *w;

	while (reap_peek(&death)) {
		key.pid = death.pid;
		w = RB_FIND(pids, &s->pids, &key);
		if (w != NULL) {
			reap_take(death.pid);
			worker_died(w, &death, now);
		} else if (worker_is_starting(s, death.pid)) {
			/* Goes on when the start is over; see spawn.c. */
			return;
		} else {
			reap_stranger(death.pid);
			(void)retriever_exited(&s->retriever, death.pid);
		}
	}
}

/* --- what comes back from the dead -------------------------------------- */

static void
worker_retrieved(void *arg, struct retriever_take *take, const char *buf,
    size_t len, int fd, tstamp now)
{
	struct supervisor *s = arg;
	struct worker *w = LOOP_OWNER(take, struct worker, take);
	uint32_t conn = channel_conn(s, buf, len);

	if (conn == ILIST_NONE || fd == -1 ||
	    s->pool.conns[conn].process != w->process) {
		/* A STOP; or a connection that came without its descriptor. */
		if (fd != -1)
			supervisor_close(s, fd);
		return;
	}
	s->accepted[conn].fd = fd;
	pool_retaken(&s->pool, conn, now);
}

static void
worker_retrieve_ended(
    void *arg, struct retriever_take *take, bool complete, tstamp now)
{
	struct worker *w = LOOP_OWNER(take, struct worker, take);
	char name[96];

	(void)arg;
	if (!complete)
		log_warnx("%s: what it left unread could not be taken back",
		    worker_name(w, name, sizeof(name)));
	worker_bury(w, now);
}

const struct retriever_ops worker_retriever_ops = {
	.message = worker_retrieved,
	.end = worker_retrieve_ended,
};
