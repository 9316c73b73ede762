#ifndef SIM_POLICY_SPARE_H
#define SIM_POLICY_SPARE_H

/*
 * What Apache's prefork and php-fpm's dynamic have in common: a band of idle
 * workers, looked at once a second.  Over it one worker is stopped; under it
 * some are started, twice as many in each second that follows.
 */

#include <stdint.h>

/* Starts in one second at most, in both. */
#define SPARE_RATE_MAX 32

struct spare {
	uint32_t min; /* idle workers */
	uint32_t max; /* likewise; at least min */
	uint32_t rate; /* starts in the next second, if any are needed */
};

enum spare_act {
	SPARE_NOTHING,
	SPARE_STOP, /* one */
	SPARE_START, /* spare_double() when some have been started */
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

static inline void
spare_double(struct spare *s)
{
	if (s->rate < SPARE_RATE_MAX)
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

#endif
