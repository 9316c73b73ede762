/* Percentiles over the last minute. */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/window.h"

void
window_init(struct window *w, tstamp now)
{
	memset(w, 0, sizeof(*w));
	w->epoch = now / WINDOW_SLOT;
}

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

/* Empties the slots that time has passed since the last addition. */
static void
window_advance(struct window *w, tstamp now)
{
	int64_t epoch = now / WINDOW_SLOT;

	if (epoch - w->epoch > WINDOW_SLOTS)
		w->epoch = epoch - WINDOW_SLOTS;
	while (w->epoch < epoch) {
		unsigned slot = (unsigned)(++w->epoch % WINDOW_SLOTS);

		if (w->total[slot] != 0)
			memset(w->counts[slot], 0, sizeof(w->counts[slot]));
		w->total[slot] = 0;
		w->max[slot] = 0;
	}
}

void
window_add(struct window *w, tspan value, tstamp now)
{
	unsigned slot;

	window_advance(w, now);
	slot = (unsigned)(w->epoch % WINDOW_SLOTS);
	w->counts[slot][window_bucket(value)]++;
	w->total[slot]++;
	if (value > w->max[slot])
		w->max[slot] = value;
}

/* Whether the slot still belongs to the last minute. */
static bool
window_holds(const struct window *w, unsigned slot, int64_t epoch)
{
	int64_t back = (w->epoch - (int64_t)slot) % WINDOW_SLOTS;

	if (back < 0)
		back += WINDOW_SLOTS;
	return epoch - (w->epoch - back) < WINDOW_SLOTS;
}

tspan
window_share(const struct window *w, double share, tstamp now)
{
	int64_t epoch = now / WINDOW_SLOT;
	uint64_t total = 0, seen = 0;
	tspan max = 0, value;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		if (!window_holds(w, i, epoch))
			continue;
		total += w->total[i];
		max = w->max[i] > max ? w->max[i] : max;
	}
	if (total == 0 || share >= 1)
		return max;
	for (uint32_t b = 0; b < WINDOW_BUCKETS - 1; b++) {
		for (unsigned i = 0; i < WINDOW_SLOTS; i++)
			if (window_holds(w, i, epoch))
				seen += w->counts[i][b];
		value = window_value(b);
		if ((double)seen >= share * (double)total)
			return value < max ? value : max;
	}
	return max;
}
