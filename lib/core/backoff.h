#ifndef CORE_BACKOFF_H
#define CORE_BACKOFF_H

/*
 * The delay of the next start after failures: delay, twice that, and so on to
 * delay_max, each with up to a quarter of jitter, so that apps that failed
 * together do not come back together.
 */

#include <stdint.h>

#include "core/prng.h"
#include "core/tstamp.h"

struct backoff {
	tspan delay; /* of the last failure; 0: none since the reset */
	tstamp failed_at; /* the last failure */
	tstamp until; /* no start before; 0: at any time */
};

void backoff_reset(struct backoff *b);

/*
 * A process that was started at `started` has failed at `now`.  Several that
 * fail together are one failure: only one that was started after the last
 * failure lengthens the delay.
 */
void backoff_failed(struct backoff *b, tstamp started, tspan delay,
    tspan delay_max, struct prng *prng, tstamp now);

#endif
