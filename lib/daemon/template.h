#ifndef DAEMON_TEMPLATE_H
#define DAEMON_TEMPLATE_H

/*
 * Templates: a process of an app that forks its workers; see
 * apppool-worker(7). An app has one at a time, of its newest generation. While
 * there is none that can be relied on, processes are started by themselves:
 * they wait for the first template of a generation, and for no later one.
 */

#include "core/backoff.h"
#include "daemon/forking.h"
#include "daemon/start.h"
#include "daemon/worker.h"

enum template_state {
	TEMPLATE_STARTING,
	TEMPLATE_READY,
	TEMPLATE_LEAVING, /* has been asked to end, or killed */
	TEMPLATE_STUCK, /* is still there after that */
};

struct template
{
	TAILQ_ENTRY(template) next; /* in supervisor.templates */
	struct supervisor *sup;
	struct group *group; /* NULL: its app is gone */
	enum template_state state;
	char id[WORKER_ID_LEN + 1];
	pid_t pid; /* 0: not known yet */
	pid_t session; /* its workers have it, too */
	struct start *start; /* under way; NULL: not, or it was forked */
	char from[WORKER_ID_LEN + 1]; /* of the worker that forked it; or "" */
	struct forking birth; /* of such a one, until it is known */
	struct loop_io channel; /* our end; fd -1: closed */
	int its_end; /* until it has it; then -1 */
	bool refuses; /* as in struct worker */
	bool silent; /* it has shut its end */
	bool unknown; /* it was forked, and birth is under way */
	bool dead;
	struct kept output;
	tstamp born;
	struct timer timer; /* the end of our patience with it */
	tspan kill_timeout;
	struct fork_orders open; /* the oldest first */
};

/* The place of an app's template. */
struct template_seat {
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
	uint64_t forked; /* processes */
	uint64_t failures;
	char failure[256]; /* the last one; "": none yet */
};

/* The group is new, or has other options. False: no memory. */
bool template_configure(struct group *g, tstamp now);

/*
 * The app is to have a template of its newest generation, or none if it has
 * no processes now.
 */
void template_update(struct group *g, tstamp now);

/* Ends the templates of the app. */
void template_end(struct group *g, tstamp now);

/* The app has no template any more, or is freed next. */
void template_forget(struct group *g, tstamp now);

/* The template that workers of this generation come from now; NULL: none. */
struct template *template_of(const struct group *g, uint32_t generation);

/* Whether processes that are to be started wait for it. */
bool template_is_awaited(const struct group *g);

/*
 * Has the template fork the worker, which has its channel and no output yet. 0,
 * or -1, nothing begun. The worker is refused with NULL if the
 * template fails.
 */
int template_ask(struct template *t, struct forking *f, struct worker *w,
    const struct forking_ops *ops);

/* A process that the template of its app has forked is not what it should be.
 */
void template_lied(struct group *g, const char *why, tstamp now);

/*
 * Has an idle worker fork the next template. 0, or -1 and errno. It answers by
 * FORKED, of which template_forked_by() tells; false: it was not asked.
 */
int template_refork(struct worker *w, tstamp now);
bool template_forked_by(
    const struct worker *w, uint64_t serial, pid_t pid, tstamp now);

/* The template of that pid, or whose start is under way; NULL: none. */
struct template *template_find(const struct supervisor *s, pid_t pid);

/* Whether a worker or a template has this pid; for forking.h. */
bool template_is_taken(struct supervisor *s, pid_t pid);

/* It has ended, and is reaped. */
void template_died(
    struct template *t, const struct reap_death *death, tstamp now);

/* Whether there are templates that may still end. */
bool template_any(const struct supervisor *s);

/* Kills all. */
void template_kill_all(struct supervisor *s);

/* Forgets all; no start of one may be in the lane. */
void template_free_all(struct supervisor *s);

/* "starting", "ready", "failed" or "none". */
const char *template_state_name(const struct template_seat *seat);

#endif
