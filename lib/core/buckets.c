/* Histograms with fixed bounds. */

#include <assert.h>

#include "core/buckets.h"

static const tspan bounds[BUCKETS_BOUNDS] = {
	TSPAN_USECONDS(100),
	TSPAN_USECONDS(250),
	TSPAN_USECONDS(500),
	TSPAN_MSECONDS(1),
	TSPAN_USECONDS(2500),
	TSPAN_MSECONDS(5),
	TSPAN_MSECONDS(10),
	TSPAN_MSECONDS(25),
	TSPAN_MSECONDS(50),
	TSPAN_MSECONDS(100),
	TSPAN_MSECONDS(250),
	TSPAN_MSECONDS(500),
	TSPAN_SECONDS(1),
	TSPAN_MSECONDS(2500),
	TSPAN_SECONDS(5),
	TSPAN_SECONDS(10),
	TSPAN_SECONDS(30),
	TSPAN_SECONDS(60),
};

void
buckets_add(struct buckets *b, tspan value)
{
	unsigned bucket = 0;

	/* Most waits are in the first bucket, most sessions in the middle. */
	while (bucket < BUCKETS_BOUNDS && value > bounds[bucket])
		bucket++;
	b->counts[bucket]++;
	b->sum += tspan_to_seconds(value);
}

tspan
buckets_bound(unsigned bucket)
{
	assert(bucket < BUCKETS_BOUNDS);
	return bounds[bucket];
}
