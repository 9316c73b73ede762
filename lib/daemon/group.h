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
struct hold_start;
struct limiter;
struct owners_look;
struct parked;
struct closing;
struct restart_files;
struct retake;
struct stray_look;
struct seat;

TAILQ_HEAD(app_listeners, app_listener);
STAILQ_HEAD(retakes, retake);
TAILQ_HEAD(parkeds, parked);

/* How many processes an app keeps, and may have. */
struct group_size {
	uint32_t min;
	uint32_t max;
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
	TAILQ_ENTRY(group) start_next; /* in supervisor.start_queue */
	struct workers queued; /* to be started; not empty: in that queue */
	unsigned nstarting; /* workers in the spawner lane */
	struct timer start_rest; /* set: workers queued are not needed yet */
	struct seat *seat; /* owned; NULL: it has no template */
	struct timer refork; /* set: next look; see refork.h */
	bool refork_due; /* no worker was idle when one was to fork */
	struct timer backlog_timer; /* next look; see backlog.h */
	long depth; /* of its backlog, at the latest look */
	tstamp calm_at; /* no more looks from then on */
	struct owners_look *owners; /* under way; NULL: none */
	tstamp owners_at; /* the next one not before */
	struct timer stray_timer; /* set: processes are not ready yet */
	struct stray_look *stray_look; /* under way; NULL: none */
	tstamp stray_again; /* the next one of a process that is young */
	tstamp stray_at; /* a connection waits: look then; 0: none waits */
	uint32_t stray_generation; /* of which stray tells */
	char stray[160]; /* where the processes listen instead; "": nowhere */
	tstamp keeper_rest; /* a keeper died: no other before then */
	struct retakes retakes; /* of its dead workers, in turn */
	struct keeper *retaker; /* has been asked for the first; NULL: none */
	struct timer retake_timer; /* set: one is looked for */
	struct closing *closings; /* owned; see closing.h */
	size_t nclosings;
	size_t closings_room;
	struct timer closing_timer; /* set while there are some */
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
	char given_up_for[256]; /* the failure that ended the latest rollout */
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
 * handoff. "" before the first failure. Returns buf.
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
