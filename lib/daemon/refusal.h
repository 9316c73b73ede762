#ifndef DAEMON_REFUSAL_H
#define DAEMON_REFUSAL_H

/*
 * Connections that are turned away. Whoever gets an answer must be able to
 * read it: a TCP connection that is closed over an unread request is reset,
 * which may destroy what was written before. So it is written, shut down for
 * writing, and lingers until the client has gone or REFUSAL_TIME is over;
 * then what has come is read, up to REFUSAL_DRAIN bytes, and it is closed.
 * Nothing is read before that: whoever sends without end fills but a window.
 *
 * What a Unix socket holds may be descriptors of any kind, whose closing may
 * take its time. So those are drained and closed by the lane.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>

#include "conf/config.h"
#include "core/tstamp.h"
#include "sys/lane.h"
#include "sys/loop.h"

/* So many linger at a time; further ones are closed once they are answered. */
#define REFUSAL_MAX 256

#define REFUSAL_TIME TSPAN_SECONDS(2)
#define REFUSAL_DRAIN 65536

struct refusals;

struct refusal {
	TAILQ_ENTRY(refusal) next; /* in unused or open; in none: in the lane */
	struct refusals *all;
	struct loop_io io;
	struct lane_job job;
	bool tcp;
	tstamp until;
	const char *rest; /* still to be written */
	size_t rest_len;
	struct config *config; /* a reference, for rest; NULL: none is left */
};

TAILQ_HEAD(refusal_list, refusal);

struct refusals {
	struct loop *loop;
	struct lane *lane;
	struct refusal_list unused; /* used before */
	struct refusal_list open; /* those in the loop, oldest first */
	size_t used; /* of table, at some time */
	struct refusal *table; /* REFUSAL_MAX; pages never used are none */
};

/* 0, or -1 and errno. */
int refusals_init(struct refusals *all, struct loop *loop, struct lane *lane);

/* Closes those that linger; before the lane is stopped. */
void refusals_close(struct refusals *all);

/* After the lane has stopped. */
void refusals_fini(struct refusals *all);

/*
 * Turns away the client at fd, which it takes over, as this app of config
 * does it. tcp: as in struct accepted.
 */
void refusal_begin(struct refusals *all, struct config *config,
    const struct conf_app *conf, int fd, bool tcp, tstamp now);

/* Whether there is one that lingers. */
bool refusals_any(const struct refusals *all);

/* When refusals_tick() is due. */
tstamp refusals_deadline(const struct refusals *all);
void refusals_tick(struct refusals *all, tstamp now);

#endif
