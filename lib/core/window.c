/* Percentiles over the last minute, and histograms of all time. */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/window.h"

const tspan buckets_bounds[BUCKETS_BOUNDS] = {
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

/* Whether the slot still belongs to the last minute. */
static bool
window_holds(const struct window_slot *slot, tstamp now)
{
	return now / WINDOW_SLOT - slot->epoch < WINDOW_SLOTS;
}

tspan
window_share(const struct window *w, double share, tstamp now)
{
	uint64_t total = 0, seen = 0;
	tspan max = 0, value;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		const struct window_slot *slot = &w->slots[i];

		if (!window_holds(slot, now))
			continue;
		total += slot->total;
		max = slot->max > max ? slot->max : max;
	}
	if (total == 0 || share >= 1)
		return max;
	for (uint32_t b = 0; b < WINDOW_BUCKETS - 1; b++) {
		for (unsigned i = 0; i < WINDOW_SLOTS; i++)
			if (window_holds(&w->slots[i], now))
				seen += w->slots[i].counts[b];
		value = window_value(b);
		if ((double)seen >= share * (double)total)
			return value < max ? value : max;
	}
	return max;
}

/* The part of a bucket that does not exceed the value. */
static double
window_part(uint32_t bucket, tspan value)
{
	tspan from = bucket == 0 ? 0 : window_value(bucket - 1) + 1;
	tspan to = window_value(bucket) + 1;

	if (bucket == 0 || value + 1 >= to)
		return 1;
	return value < from ? 0
			    : (double)(value + 1 - from) / (double)(to - from);
}

double
window_within(const struct window *w, tspan value, tstamp now)
{
	uint64_t total = 0;
	double within = 0;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		const struct window_slot *slot = &w->slots[i];

		if (!window_holds(slot, now))
			continue;
		total += slot->total;
		if (slot->max <= value) {
			within += slot->total;
			continue;
		}
		for (uint32_t b = 0; b <= window_bucket(value); b++)
			within += slot->counts[b] * window_part(b, value);
	}
	return total == 0 ? -1 : within / (double)total;
}

double
window_rate(const struct window *w, tstamp since, tstamp now)
{
	tstamp start = (now / WINDOW_SLOT - (WINDOW_SLOTS - 1)) * WINDOW_SLOT;
	uint64_t total = 0;
	tspan length;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++)
		if (window_holds(&w->slots[i], now))
			total += w->slots[i].total;
	length = now - (since > start ? since : start);
	if (length < TSPAN_SECONDS(1))
		length = TSPAN_SECONDS(1);
	return (double)total / tspan_to_seconds(length);
}
