/* A series in as many columns as there is room for, and steps for its axes. */

#include <math.h>
#include <stdlib.h>

#include "sim/chart.h"

/* A share of a bucket; the peaks may have been in any part of it. */
static void
add(double *column, const struct series_bucket *b, double share)
{
	column[CHART_PROCESSES] += b->processes * share;
	column[CHART_BUSY] += b->busy * share;
	column[CHART_WAITING] += b->waiting * share;
	column[CHART_ARRIVED] += (double)b->counts.arrived * share;
	column[CHART_MOST_PROCESSES] =
	    fmax(column[CHART_MOST_PROCESSES], b->most_processes);
	column[CHART_MOST_WAITING] =
	    fmax(column[CHART_MOST_WAITING], b->most_waiting);
	column[CHART_LONGEST_WAIT] =
	    fmax(column[CHART_LONGEST_WAIT], (double)b->longest_wait);
}

struct chart *
chart_new(const struct series *s, tspan length, unsigned n)
{
	struct chart *c = calloc(1, sizeof(*c));
	double width = (double)length / n;
	unsigned first = 0;

	if (c == NULL)
		return NULL;
	c->length = length;
	c->n = n;
	for (uint32_t k = 0; k < s->used; k++) {
		/* The last bucket is cut off by the end of the load. */
		double from = (double)k * (double)s->width;
		double to =
		    fmin((double)(k + 1) * (double)s->width, (double)length);

		/* The bucket adds to all columns that it overlaps. */
		for (unsigned i = first; i < n && width * i < to; i++) {
			double common =
			    fmin(to, width * (i + 1)) - fmax(from, width * i);

			if (common > 0)
				add(c->columns[i], &s->buckets[k],
				    common / (to - from));
			else
				first = i;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		c->columns[i][CHART_PROCESSES] /= width;
		c->columns[i][CHART_BUSY] /= width;
		c->columns[i][CHART_WAITING] /= width;
		c->columns[i][CHART_ARRIVED] /= width / 1e9;
	}
	return c;
}

double
chart_peak(const struct chart *c, enum chart_value value)
{
	double peak = 0;

	for (unsigned i = 0; i < c->n; i++)
		peak = fmax(peak, c->columns[i][value]);
	return peak;
}

/* --- axes --------------------------------------------------------------- */

static double
step_to(double top, unsigned most)
{
	static const double factors[] = { 1, 2, 5 };

	for (double power = 1;; power *= 10) {
		for (unsigned i = 0; i < 3; i++) {
			if (power * factors[i] * most >= top)
				return power * factors[i];
		}
	}
}

struct chart_axis
chart_axis(double peak, unsigned most)
{
	double top = fmax(peak, 1), step = step_to(top, most);

	/* A mean may come out a little over what there ever was. */
	return (struct chart_axis){
		.step = step,
		.steps = (unsigned)ceil(top / step - 1e-6),
	};
}

tspan
chart_time_step(tspan length, unsigned most)
{
	static const int steps[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
		900, 1800, 3600, 7200, 10800, 21600, 43200 };
	const tspan day = TSPAN_SECONDS(86400);
	double days;

	/* Times under some seconds, and over some days, go by tens. */
	if (length < TSPAN_SECONDS(1) * (tspan)most)
		return (tspan)step_to((double)length, most);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (TSPAN_SECONDS(steps[i]) * (tspan)most >= length)
			return TSPAN_SECONDS(steps[i]);
	}
	days = step_to((double)length / (double)day, most);
	return days > 1e5 ? length : (tspan)days * day;
}
