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

static inline void
backoff_reset(struct backoff *b)
{
	*b = (struct backoff){ .delay = 0 };
}

/*
 * A process that was started at `started` has failed at `now`.  Processes that
 * fail together are one failure: the delay grows only if this process was
 * started after the last failure.
 */
static inline void
backoff_failed(struct backoff *b, tstamp started, tspan delay, tspan delay_max,
    struct prng *prng, tstamp now)
{
	if (b->delay == 0)
		b->delay = delay;
	else if (started >= b->failed_at)
		b->delay = b->delay > delay_max / 2 ? delay_max : 2 * b->delay;
	if (b->delay > delay_max)
		b->delay = delay_max;
	b->failed_at = now;
	b->until = tstamp_add(now, b->delay + prng_span(prng, b->delay / 4));
}

/*
 * A job has ended well: earlier failures are forgiven, and the next start waits
 * for delay, or until a pause under way is over if that is sooner.  Otherwise
 * many processes whose jobs end in turn would put each start off for ever.
 */
static inline void
backoff_pause(struct backoff *b, tspan delay, tstamp now)
{
	tstamp until = tstamp_add(now, delay);

	if (b->until > now)
		until = tstamp_min(until, b->until);
	*b = (struct backoff){ .failed_at = now, .until = until };
}

#endif
