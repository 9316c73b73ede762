#ifndef SIM_CHART_H
#define SIM_CHART_H

/*
 * A result over time, in columns with axes: the chart that view_chart.c draws
 * in characters and view_svg.c as a picture.
 */

#include "core/tstamp.h"
#include "sim/result.h"

enum chart_value {
	CHART_PROCESSES, /* mean of the time of a column */
	CHART_BUSY, /* likewise */
	CHART_WAITING, /* likewise */
	CHART_ARRIVED, /* per second */
	CHART_MOST_PROCESSES,
	CHART_MOST_WAITING,
	CHART_LONGEST_WAIT, /* in nanoseconds */
	CHART_VALUES
};

#define CHART_COLUMNS 480

struct chart {
	tspan length;
	unsigned n; /* columns */
	double columns[CHART_COLUMNS][CHART_VALUES];
};

/*
 * The time from 0 to length in n columns of equal width, CHART_COLUMNS at
 * most.  free() is the caller's. NULL and errno: no memory.
 */
struct chart *chart_new(const struct series *s, tspan length, unsigned n);

/* The highest value of all columns. */
double chart_peak(const struct chart *c, enum chart_value value);

/* An axis from 0 on: 1, 2 or 5 times a power of ten, and so many times. */
struct chart_axis {
	double step; /* at least 1 */
	unsigned steps; /* at least 1; up to the first above the peak */
};

/* most: steps, at least 2. */
struct chart_axis chart_axis(double peak, unsigned most);

/* A step of an axis of time, so that there are at most so many. */
tspan chart_time_step(tspan length, unsigned most);

#endif
