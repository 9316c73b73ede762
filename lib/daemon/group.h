#ifndef DAEMON_GROUP_H
#define DAEMON_GROUP_H

/*
 * An app as the daemon sees it: its options, its listeners, and what is known
 * of its last failure. The core knows it by its number.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/config.h"
#include "core/tstamp.h"
#include "daemon/state.h"
#include "sys/log.h"

struct app_listener;
struct backlog_look;
struct hold_start;
struct limiter;
struct parked;
struct restart_files;
struct templating;

TAILQ_HEAD(app_listeners, app_listener);
TAILQ_HEAD(parkeds, parked);

/* How many processes an app keeps, and may have. */
struct group_size {
	uint32_t min;
	uint32_t max;
};

/* What is known of connections that processes accept themselves. */
struct backlog {
	struct timer timer; /* next look */
	long depth; /* at the latest look */
	tstamp calm_at; /* no more looks from then on */
	tstamp awaited_since; /* one waits, none was accepted yet; 0: not so */
	struct backlog_look *look; /* at open sockets, under way; or NULL */
	tstamp opened; /* when the latest of these began; 0: none yet */
	tstamp open_at; /* the next one not before */
	char wrong_port[160]; /* where processes listen instead; "": nowhere */
	uint32_t wrong_generation; /* of the app, of which that tells */
};

struct group {
	struct supervisor *sup;
	uint32_t app; /* number in the pool */
	tstamp since; /* has been in the pool since then */
	struct config *config; /* a reference; conf lies in it */
	const struct conf_app *conf;
	char *name; /* owned: conf and its strings go with a reload */
	bool muted; /* drained: its listeners stay out of the loop */
	bool stopped; /* its listeners are closed; see hold.h */
	struct hold_start *starting; /* under way, while stopped; or NULL */
	int start_error; /* of the latest start that failed */
	bool resized; /* by an operator; see size.h */
	struct group_size size; /* if resized: the one in force, */
	struct group_size file_size; /* and what the file said then */
	bool closing; /* left the configuration, or everything stops */
	bool drained; /* the core knows that no listener is left */
	struct app_listeners listeners;
	bool paused; /* its listeners are out of the loop */
	struct workers workers; /* all of them; no template */
	TAILQ_ENTRY(group) start_next; /* in supervisor.start_queue */
	struct workers queued; /* to be started; not empty: in that queue */
	unsigned nstarting; /* workers in the spawner lane, or being forked */
	struct timer start_rest; /* set: workers queued are not needed yet */
	struct templating *templating; /* owned; NULL: it has no template */
	struct backlog backlog; /* see backlog.h */
	struct keeper_app *keeper; /* a reference */
	struct parkeds parked; /* idle, the longest first; see parking.h */
	struct parkeds stirred; /* with a request, and no room for it yet */
	unsigned nparked; /* of both */
	struct timer parking_timer; /* set while some are parked */
	unsigned refused; /* connections whose refusal is not over */
	bool over; /* the app is, and waits for them */
	struct limiter *limiter; /* NULL: it has no limit */
	struct restart_files *restart_files; /* NULL: no file restarts it */
	uint64_t *slots; /* bitmap of the slots in use */
	uint32_t slots_len; /* in words */
	char last_failure[256]; /* "" : none yet */
	tstamp failed_at;
	uint32_t failed_generation; /* which was coming, if there was one */
	char given_up_for[256]; /* the failure that ended the latest rollout */
	tstamp given_up_at;
	tstamp reports_since; /* slow processes are counted from here, */
	unsigned reports; /* for one second */
	struct log_rate full_rate;
	struct log_rate refuse_rate;
	struct log_rate no_room_rate;
};

/*
 * A group without listeners, known to the pool under its number, with a
 * reference to config. NULL and errno.
 */
struct group *group_new(struct supervisor *s, struct config *config,
    const struct conf_app *conf, tstamp now);

/* Frees the group; the caller calls pool_app_free() next. */
void group_free(struct group *g);

/* The group of this name that is not closing; NULL: none. */
struct group *group_find(const struct supervisor *s, const char *name);

/* Keeps the text as that of the last failure of the app. */
void group_failed(struct group *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Logs when the next process of the app is started. */
void group_log_backoff(const struct group *g, tstamp now);

/*
 * The text of the last failure; of an app that has failed and was never ready
 * with what its handoff expects of the program, which may be one for another
 * handoff. "" before the first failure, and as soon as a later generation has
 * served, or lived for min_server_life. Returns buf.
 */
#define GROUP_FAILURE_MAX 384
const char *group_failure(const struct group *g, char buf[GROUP_FAILURE_MAX]);

/* Whether its processes accept connections themselves. */
static inline bool
group_accepts_itself(const struct group *g)
{
	return g->conf->handoff == CONF_HANDOFF_LISTEN;
}

/* Whether processes of an app of these options have a channel to us. */
static inline bool
group_has_channels(const struct conf_app *conf)
{
	return conf->handoff != CONF_HANDOFF_NONE &&
	    conf->handoff != CONF_HANDOFF_LISTEN;
}

#endif
