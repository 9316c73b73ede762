#ifndef SIM_POLICY_SPARE_H
#define SIM_POLICY_SPARE_H

/*
 * What Apache's prefork and php-fpm's dynamic have in common: a band of idle
 * workers, looked at once a second.  Over it one worker is stopped; under it
 * some are started, twice as many in each second that follows.
 */

#include <stdint.h>

#include "sim/backlog.h"

/* Starts in one second at most, in both. */
#define SPARE_RATE_MAX 32

struct spare {
	uint32_t min; /* idle workers */
	uint32_t max; /* likewise; at least min */
	uint32_t rate; /* starts in the next second, if any are needed */
};

/* A policy that has nothing else. */
struct spares {
	struct backlog backlog;
	struct spare *bands; /* of each app */
};

enum spare_act {
	SPARE_NOTHING,
	SPARE_STOP, /* one */
	SPARE_START, /* spare_started() tells how many have been */
};

/* What is to be done now that so many are idle. */
static inline enum spare_act
spare_look(struct spare *s, uint32_t idle)
{
	if (idle < s->min)
		return SPARE_START;
	s->rate = 1;
	return idle > s->max ? SPARE_STOP : SPARE_NOTHING;
}

/* So many have been started. */
static inline void
spare_started(struct spare *s, uint32_t n)
{
	if (n == 0)
		s->rate = 1;
	else if (s->rate < SPARE_RATE_MAX)
		s->rate *= 2;
}

static inline uint32_t
spare_most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t
spare_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The band of an app, in a policy that spares_new() has made. */
static inline struct spare *
spares_of(struct backlog *b, uint32_t app)
{
	return &((struct spares *)b)->bands[app];
}

/*
 * A policy in which each app begins with the band that first_band gives it.
 * spares_fini() is what ops->fini must be.  NULL and errno: no memory.
 */
struct manager *spares_new(const struct backlog_ops *ops,
    struct spare (*first_band)(const struct conf_app *),
    const struct conf *conf, uint64_t seed);
void spares_fini(struct backlog *b);

#endif
