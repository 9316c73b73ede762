/* Percentiles over the last minute, and histograms of all time. */

#include <math.h>
#include <string.h>

#include "core/window.h"

const tspan buckets_bounds[BUCKETS_BOUNDS] = { TSPAN_USECONDS(100),
	TSPAN_USECONDS(250), TSPAN_USECONDS(500), TSPAN_MSECONDS(1),
	TSPAN_USECONDS(2500), TSPAN_MSECONDS(5), TSPAN_MSECONDS(10),
	TSPAN_MSECONDS(25), TSPAN_MSECONDS(50), TSPAN_MSECONDS(100),
	TSPAN_MSECONDS(250), TSPAN_MSECONDS(500), TSPAN_SECONDS(1),
	TSPAN_MSECONDS(2500), TSPAN_SECONDS(5), TSPAN_SECONDS(10),
	TSPAN_SECONDS(30), TSPAN_SECONDS(60) };

static uint32_t
window_bucket(tspan value)
{
	uint64_t v = (uint64_t)value;
	int power;

	if (v < 1u << WINDOW_FIRST)
		return 0;
	if (v >> WINDOW_LAST != 0)
		return WINDOW_BUCKETS - 1;
	(void)frexp((double)v, &power); /* exact below 2^53 */
	power--;
	return 8 * (uint32_t)(power - WINDOW_FIRST) + (v >> (power - 3) & 7);
}

/* The upper end of a bucket. */
static tspan
window_value(uint32_t bucket)
{
	unsigned power = WINDOW_FIRST + bucket / 8;

	return ((tspan)1 << power) + ((tspan)(bucket % 8 + 1) << (power - 3)) -
	    1;
}

void
window_add(struct window *w, tspan value, tstamp now)
{
	int64_t epoch = now / WINDOW_SLOT;
	struct window_slot *slot = &w->slots[epoch % WINDOW_SLOTS];
	unsigned bucket = 0;

	if (slot->epoch != epoch) {
		/* The slot's values are out of the window. */
		memset(slot, 0, sizeof(*slot));
		slot->epoch = epoch;
	}
	slot->counts[window_bucket(value)]++;
	slot->total++;
	if (value > slot->max)
		slot->max = value;
	/* Most waits are in the first bucket, most sessions in the middle. */
	while (bucket < BUCKETS_BOUNDS && value > buckets_bounds[bucket])
		bucket++;
	w->ever.counts[bucket]++;
	w->ever.sum += tspan_to_seconds(value);
}

/* All that was added in the last minute, as one slot. */
static struct window_slot
window_sum(const struct window *w, tstamp now)
{
	struct window_slot sum = { 0 };

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		const struct window_slot *slot = &w->slots[i];

		if (now / WINDOW_SLOT - slot->epoch >= WINDOW_SLOTS)
			continue;
		for (uint32_t b = 0; b < WINDOW_BUCKETS; b++)
			sum.counts[b] += slot->counts[b];
		sum.total += slot->total;
		if (slot->max > sum.max)
			sum.max = slot->max;
	}
	return sum;
}

tspan
window_share(const struct window *w, double share, tstamp now)
{
	const struct window_slot sum = window_sum(w, now);
	uint64_t seen = 0;

	if (sum.total == 0 || share >= 1)
		return sum.max;
	for (uint32_t b = 0; b < WINDOW_BUCKETS - 1; b++) {
		seen += sum.counts[b];
		if ((double)seen >= share * sum.total)
			return tstamp_min(window_value(b), sum.max);
	}
	return sum.max;
}

double
window_within(const struct window *w, tspan value, tstamp now)
{
	const struct window_slot sum = window_sum(w, now);
	uint32_t last = window_bucket(value);
	tspan from = last == 0 ? 0 : window_value(last - 1) + 1;
	tspan to = window_value(last) + 1;
	double within = sum.counts[last];

	if (sum.total == 0)
		return -1;
	if (sum.max <= value)
		return 1;
	/* The part of its bucket that does not exceed the value. */
	if (last > 0 && value + 1 < to)
		within *= (double)(value + 1 - from) / (double)(to - from);
	for (uint32_t b = 0; b < last; b++)
		within += sum.counts[b];
	return within / sum.total;
}

double
window_rate(const struct window *w, tstamp since, tstamp now)
{
	tstamp start = (now / WINDOW_SLOT - (WINDOW_SLOTS - 1)) * WINDOW_SLOT;
	tspan length = now - (since > start ? since : start);

	if (length < TSPAN_SECONDS(1))
		length = TSPAN_SECONDS(1);
	return window_sum(w, now).total / tspan_to_seconds(length);
}
