#ifndef DAEMON_GROUP_H
#define DAEMON_GROUP_H

/*
 * An app as the daemon sees it: its options, its doors (listeners), and what
 * is known of its last failure. What it decides is in the core, under the
 * same number.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/config.h"
#include "core/tstamp.h"
#include "sys/listener.h"
#include "sys/log.h"
#include "sys/loop.h"

struct holding;
struct limiter;
struct restart_files;
struct worker;
struct supervisor;

/* One listener of a group. */
struct door {
	TAILQ_ENTRY(door) next; /* in its group's doors */
	TAILQ_ENTRY(door) timed_next; /* in supervisor.timed, if timed */
	struct loop_io io; /* in the loop unless muted or timed */
	struct listener listener;
	struct group *group; /* NULL: not in use yet */
	struct conf_listen where; /* strings owned; see conf.h */
	char address[160]; /* where it really listens, for people */
	unsigned budget; /* accepts in the next turn, 1 … DOOR_BUDGET */
	bool timed; /* rests or leaves; looked at again at check_at */
	bool leaving; /* shut; what is in its backlog is still served */
	tstamp rebound; /* bound anew then; 0: never */
	bool last_round; /* when it is empty now it can be closed */
	tstamp check_at;
	tstamp leave_until; /* closed then at the latest */
	tstamp serve_until; /* likewise, if others are to empty its backlog */
};

TAILQ_HEAD(doors, door);
TAILQ_HEAD(unborn, worker);

/* Accepts of one door in one turn at most. */
#define DOOR_BUDGET 64

struct group {
	struct supervisor *sup;
	uint32_t app; /* number in the pool */
	struct config *config; /* a reference; conf lies in it */
	const struct conf_app *conf;
	char *name; /* owned: conf and its strings go with a reload */
	struct doors doors;
	TAILQ_ENTRY(group) nursery_next; /* in supervisor.nursery */
	struct unborn unborn; /* to be started; not empty: in the nursery */
	unsigned births; /* under way */
	tstamp rest_until; /* those unborn are not needed yet; 0: they are */
	bool muted; /* its doors are out of the loop until ACTION_RESUME */
	TAILQ_ENTRY(group) listening_next; /* in supervisor.listening; see */
	tstamp look_at; /* listening.h; at its backlog; NEVER: not muted */
	long depth; /* of its backlog, when it was looked at last */
	tstamp calm_at; /* no more looks from then on */
	struct holding *holding; /* a look under way; NULL: none */
	tstamp hold_at; /* the next one not before */
	struct limiter *limiter; /* NULL: it has no limit */
	struct restart_files *restart_files; /* NULL: no file restarts it */
	bool closing; /* left the configuration, or everything stops */
	bool drained; /* the core knows that no door is left */
	uint64_t *slots; /* bitmap of the slots in use */
	uint32_t slots_len; /* in words */
	char last_failure[256]; /* "" : none yet */
	char given_up_for[256]; /* that which ended the latest rollout */
	tstamp reports_since; /* slow processes are counted from here, */
	unsigned reports; /* for one second */
	struct log_rate full_rate;
	struct log_rate refuse_rate;
	struct log_rate no_room_rate;
};

/*
 * A group without doors, known to the pool under its number. NULL and errno.
 * It keeps a reference to config.
 */
struct group *group_new(struct supervisor *s, struct config *config,
    const struct conf_app *conf, tstamp now);

/* Other options: of the same app in another configuration. */
void group_configure(
    struct group *g, struct config *config, const struct conf_app *conf);

/* When the core has said that it is over, and no door is left. */
void group_free(struct group *g);

/* The lowest free slot, now taken; UINT32_MAX: no memory. */
uint32_t group_take_slot(struct group *g);
void group_give_slot(struct group *g, uint32_t slot);

/* Says, now and then, that max_queue is reached, and what that leads to. */
void group_tell_full(struct group *g, tstamp now);

void group_failure(struct group *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether its processes accept connections themselves. */
static inline bool
group_accepts_itself(const struct group *g)
{
	return g->conf->handoff == CONF_HANDOFF_LISTEN;
}

#endif
