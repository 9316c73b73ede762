/* A series in as many columns as there is room for, and steps for its axes. */

#include <string.h>

#include "sim/view_private.h"

struct part {
	double from, to; /* nanoseconds */
};

/* What both have in common; negative or 0: nothing. */
static double
overlap(struct part a, struct part b)
{
	double from = a.from > b.from ? a.from : b.from;
	double to = a.to < b.to ? a.to : b.to;

	return to - from;
}

static uint32_t
more(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* A share of a bucket; the peaks may have been in any part of it. */
static void
add(struct view_column *c, const struct series_bucket *b, double share)
{
	c->processes += b->processes * share;
	c->busy += b->busy * share;
	c->waiting += b->waiting * share;
	c->arrived += (double)b->counts.arrived * share;
	c->most_processes = more(c->most_processes, b->most_processes);
	c->most_waiting = more(c->most_waiting, b->most_waiting);
}

void
view_columns(
    const struct series *s, tspan length, struct view_column *out, size_t n)
{
	double width = (double)length / (double)n;
	size_t i = 0;

	memset(out, 0, n * sizeof(*out));
	for (uint32_t k = 0; k < s->used; k++) {
		/* The last one is cut off by the end of the load. */
		double end = (double)(k + 1) * (double)s->width;
		struct part b = {
			.from = (double)k * (double)s->width,
			.to = end < (double)length ? end : (double)length,
		};

		/* From the first column that it is in to the last. */
		for (size_t c = i; c < n; c++) {
			struct part column = {
				.from = width * (double)c,
				.to = width * (double)(c + 1),
			};
			double common = overlap(b, column);

			if (common > 0)
				add(&out[c], &s->buckets[k],
				    common / (b.to - b.from));
			else if (column.from >= b.to)
				break;
			else
				i = c;
		}
	}
	for (size_t c = 0; c < n; c++) {
		out[c].processes /= width;
		out[c].busy /= width;
		out[c].waiting /= width;
		out[c].arrived /= width / 1e9;
	}
}

double
view_step(double top, unsigned most)
{
	static const double factors[] = { 1, 2, 5 };

	for (double power = 1;; power *= 10) {
		for (unsigned i = 0; i < 3; i++) {
			if (power * factors[i] * most >= top)
				return power * factors[i];
		}
	}
}

tspan
view_time_step(tspan top, unsigned most)
{
	static const int steps[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
		900, 1800, 3600, 7200, 10800, 21600, 43200 };
	const tspan day = TSPAN_SECONDS(86400);
	double days;

	/* Less than some seconds, and more than some days, by tens. */
	if (top < TSPAN_SECONDS(1) * (tspan)most)
		return (tspan)view_step((double)top, most);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (TSPAN_SECONDS(steps[i]) * (tspan)most >= top)
			return TSPAN_SECONDS(steps[i]);
	}
	days = view_step((double)top / (double)day, most);
	return days > 1e5 ? top : (tspan)days * day;
}
