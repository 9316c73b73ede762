#ifndef DAEMON_SEAT_H
#define DAEMON_SEAT_H

/*
 * The place of an app's template. An app has one template at a time, of its
 * newest generation. While there is none that can be relied on, processes are
 * started by themselves: they wait for the first template of a generation, and
 * for no later one.
 */

#include "core/backoff.h"
#include "daemon/template.h"

/* The place of an app's template. */
struct seat {
	struct group *group;
	struct app_template *current; /* forks workers; NULL: none */
	struct app_template *coming; /* not ready yet; NULL: none */
	bool begun; /* there was one of this generation of the app */
	uint32_t generation;
	bool failed; /* a template of this generation has */
	bool told; /* of a failure; recovery will be, too */
	struct backoff backoff;
	struct prng prng;
	struct timer timer; /* of the next start; see seat_update() */
	tstamp refork_at; /* no worker is asked to fork one before */
	uint64_t forked; /* processes */
	uint64_t forks_before; /* serial of the last FORK before current */
	uint64_t failures;
	char failure[TEMPLATE_FAILURE_MAX]; /* the last one; "": none yet */
};

/* The group is new, or has other options. False: no memory. */
bool seat_configure(struct group *g, tstamp now);

/*
 * The app is to have a template of its newest generation, or none if it has
 * no processes now.
 */
void seat_update(struct group *g, tstamp now);

/* Ends the templates of the app. */
void seat_end(struct group *g, tstamp now);

/* The app has no template any more, or is freed next. */
void seat_forget(struct group *g, tstamp now);

/* The template that workers of this generation come from now; NULL: none. */
struct app_template *seat_template(const struct group *g, uint32_t generation);

/* Whether processes that are to be started wait for it. */
bool seat_is_awaited(const struct group *g);

/*
 * What the template of the app has forked at that FORK is not what it should
 * be; if an earlier template has, nothing is done.
 */
void seat_blame(
    struct group *g, uint64_t fork_serial, const char *why, tstamp now);

/* News of the templates of an app. */
extern const struct template_ops seat_ops;

/* "starting", "ready", "failed" or "none". */
const char *seat_state_name(const struct seat *seat);

#endif
