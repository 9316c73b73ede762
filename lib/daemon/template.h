#ifndef DAEMON_TEMPLATE_H
#define DAEMON_TEMPLATE_H

/*
 * A template: a process of an app that forks its workers; see
 * apppool-worker(7). Which one an app has is the matter of seat.h.
 */

#include "daemon/forking.h"
#include "daemon/start.h"
#include "daemon/worker.h"

enum template_state {
	TEMPLATE_STARTING,
	TEMPLATE_READY,
	TEMPLATE_LEAVING, /* has been asked to end, or killed */
	TEMPLATE_STUCK, /* is still there after that */
};

/* Longest text of a failure, with its NUL. */
#define TEMPLATE_FAILURE_MAX 256

struct app_template;

struct template_ops {
	/* The template is ready. */
	void (*ready)(struct app_template *, tstamp now);
	/* The template is of no use, for this reason, and leaves next. */
	void (*failed)(struct app_template *, const char *why, tstamp now);
};

struct app_template {
	TAILQ_ENTRY(app_template) next; /* in supervisor.templates */
	struct supervisor *sup;
	struct group *group; /* NULL: its app is gone */
	const struct template_ops *ops;
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
	bool unstarted; /* its program does not start */
	bool dead;
	struct kept output;
	tstamp born;
	struct timer timer; /* the end of our patience with it */
	tspan kill_timeout;
	struct fork_orders open; /* the oldest first */
};

/* Starts a template by itself; NULL and errno. */
struct app_template *template_start(
    struct group *g, const struct template_ops *ops, tstamp now);

/*
 * For refork.c: a template with a channel, whose ready() is template_heard(),
 * or NULL and errno; and the end of one that has neither process nor orders.
 */
struct app_template *template_new(
    struct group *g, const struct template_ops *ops, tstamp now);
void template_free(struct app_template *t);
void template_heard(struct loop_io *io, uint32_t events, tstamp now);
uid_t template_user(const struct group *g); /* of the app */

/*
 * Has the process behind `to` fork one that has its_end of a channel and, if
 * the daemon reads that, this output. Returns the bytes sent, or -1.
 */
ssize_t template_send_fork(struct group *g, int to, struct kept *output,
    int its_end, const char *text, size_t len);

/*
 * The template ends from now on, and is freed when it has; one that is not
 * known yet at once. What it has not answered is refused.
 */
void template_leave(struct app_template *t, bool killed, tstamp now);

/* The same for one that is of no use, which its ops are told. */
void template_fail(struct app_template *t, tstamp now, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Has the template fork the worker, which has its channel and no output yet;
 * which is refused with NULL if the template fails. 0; or -1, nothing begun.
 */
int template_ask(struct app_template *t, struct forking *f, struct worker *w,
    const struct forking_ops *ops);

/* The template of that pid, or whose start is under way; NULL: none. */
struct app_template *template_find(const struct supervisor *s, pid_t pid);

/* Whether a worker or a template has this pid; for forking.h. */
bool template_is_taken(struct supervisor *s, pid_t pid);

/* The template has ended, and is reaped. */
void template_died(
    struct app_template *t, const struct reap_death *death, tstamp now);

/* Whether there are templates that may still end. */
bool template_any(const struct supervisor *s);

/* Kills all. */
void template_kill_all(struct supervisor *s);

/* The app of these is gone. They have been told to leave. */
void template_orphan(struct group *g);

/* Forgets all; no start of one may be in the lane. */
void template_free_all(struct supervisor *s);

#endif
