/* The delay between failed starts. */

#include "core/backoff.h"

void
backoff_reset(struct backoff *b)
{
	b->delay = 0;
	b->failed_at = 0;
	b->until = 0;
}

void
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
