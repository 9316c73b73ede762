#ifndef DAEMON_TEMPLATE_H
#define DAEMON_TEMPLATE_H

/*
 * Templates. An app with template = true has a process that loads its program
 * once and forks its workers; see apppool-worker(7). With refork_after a worker
 * that has served so many requests forks the next template, so that new workers
 * begin with what that one has loaded since its start.
 *
 * An app has one template at a time, of its newest generation. While there is
 * none that can be relied on, workers are started by themselves: they wait for
 * the first template of a generation, and for no later one.
 */

#include "core/backoff.h"
#include "daemon/worker.h"

enum template_state {
	TEMPLATE_STARTING,
	TEMPLATE_READY,
	TEMPLATE_LEAVING, /* has been asked to end, or killed */
	TEMPLATE_STUCK, /* is still there after that */
};

/* Longest text of a failure, with its NUL. */
#define TEMPLATE_FAILURE_MAX 256

/* What a process is that is a template. */
struct template
{
	TAILQ_ENTRY(template) next; /* in templates.all */
	struct worker *w; /* the process, which is ours */
	enum template_state state;
	char from[WORKER_ID_LEN + 1]; /* of the worker that forked it; or "" */
	bool silent; /* it has shut its end of the channel */
	bool unstarted; /* its program does not start */
	tstamp begun;
	struct timer timer; /* the end of our patience with it */
};

/* What an app has of templates. */
struct templating {
	struct group *group;
	struct template *current; /* forks workers; NULL: none */
	struct template *coming; /* not ready yet; NULL: none */
	bool begun; /* there was one of this generation of the app */
	uint32_t generation;
	bool failed; /* a template of this generation has */
	bool told; /* of a failure; recovery will be, too */
	struct backoff backoff;
	struct prng prng;
	struct timer timer; /* of the next start; see template_update() */
	struct timer refork; /* set: next look for a warm worker */
	bool refork_due; /* no worker was idle when one was to fork */
	tstamp refork_at; /* no worker is asked to fork one before */
	uint64_t forked; /* processes */
	uint64_t failures;
	char failure[TEMPLATE_FAILURE_MAX]; /* the last one; "": none yet */
};

/* --- of an app ----------------------------------------------------------- */

/* The group is new, or has other options. */
void template_configure(struct group *g, tstamp now);

/*
 * The app is to have a template of its newest generation, or none if it has
 * no processes now.
 */
void template_update(struct group *g, tstamp now);

/* Ends the templates of the app; which is freed next, or has none any more. */
void template_end(struct group *g, tstamp now);
void template_forget(struct group *g, tstamp now);

/* Whether processes that are to be started wait for it. */
bool template_is_awaited(const struct group *g);

/* "starting", "ready", "failed" or "none". */
const char *template_state_name(const struct templating *of);

/* --- of a worker --------------------------------------------------------- */

struct fork_ops;

/*
 * Has the template of the app fork the worker, which has its channel and no
 * output yet. False: there is none for it, or no room.
 */
bool template_fork(struct worker *w, const struct fork_ops *ops);

/*
 * What that process has forked is not what it should be: the template of an app
 * is killed for it; a former one, or a worker, is not.
 */
void template_blame(struct worker *by, const char *why, tstamp now);

/*
 * In an app with templates a session of the worker is over, as the core knows.
 * One that connections wait for is never idle: it forks before it receives the
 * next.
 */
void template_served(struct worker *w, tstamp now);

/* --- of the daemon ------------------------------------------------------- */

void template_init(struct supervisor *s);

/* A template is dead, and reaped. */
void template_died(
    struct worker *w, const struct reap_death *death, tstamp now);

/* Whether there are templates that may still end. */
bool template_any(const struct supervisor *s);

void template_kill_all(struct supervisor *s);

/* Forgets all; no start of one may be in the lane. */
void template_fini(struct supervisor *s);

/* --- fork.c: one FORK ----------------------------------------------------- */

/*
 * Who waits for a worker (or a template) that is being forked; one of these is
 * called once. by: the process that was asked; NULL: it is gone.
 */
struct fork_ops {
	/* It has this number, and its packets can be read. */
	void (*known)(struct worker *w, pid_t pid, tstamp now);
	/* It has ended, unheard, and is reaped. */
	void (*died)(struct worker *w, struct worker *by,
	    const struct reap_death *death, tstamp now);
	/* There is none, or not ours; why: what is wrong, NULL: by leaves. */
	void (*refused)(
	    struct worker *w, struct worker *by, const char *why, tstamp now);
};

/* Has `by` fork the worker. False: there is no room. */
bool fork_begin(
    struct worker *w, struct worker *by, const struct fork_ops *ops);

/*
 * The process has said FORKED, and behind it "SERIAL PID"; pid 0: it could not.
 * False: that was not asked.
 */
bool fork_answered(struct worker *by, const char *text, size_t len, tstamp now);

/* Whether it has not answered yet. */
bool fork_owes(const struct worker *by);

/* It answers no more; it is freed next. */
void fork_refuse_all(struct worker *by, tstamp now);
void fork_forget(const struct worker *by);

/* To the process that was named, if it is a child of ours of that session. */
void fork_signal(const struct fork *f, int sig);

/* Nobody waits for the worker any more. Returns who was asked. */
struct worker *fork_give_up(struct worker *w);

/*
 * A child is dead that nobody knows: reaps it, with the rest of its group if it
 * may be one that is being forked.
 */
void fork_reap(
    struct supervisor *s, const struct reap_death *death, tstamp now);

void fork_fini(struct supervisor *s);

#endif
