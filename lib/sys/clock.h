#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

/* Now, as all but tests in virtual time have it: CLOCK_MONOTONIC. */

#include <time.h>

#include "core/tstamp.h"

static inline tstamp
clock_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

/* A point or a length of time, not negative, as system calls take it. */
static inline struct timespec
clock_timespec(tstamp at)
{
	return (struct timespec){
		.tv_sec = (time_t)(at / TSPAN_SECONDS(1)),
		.tv_nsec = (long)(at % TSPAN_SECONDS(1)),
	};
}

#endif
