/*
 * The rate over time.  Parts with a straight rate can be integrated and the
 * integral inverted, so that every draw of a random number is an arrival.
 */

#include <assert.h>
#include <math.h>

#include "sim/load_private.h"

/* The rate at the beginning of each hour of the day; their mean is 1. */
static const double day[24] = {
	0.50, 0.34, 0.21, 0.15, 0.12, 0.15, 0.30, 0.57, /* night, morning */
	1.00, 1.40, 1.70, 1.80, 1.58, 1.38, 1.35, 1.33, /* at work */
	1.26, 1.20, 1.25, 1.48, 1.70, 1.45, 1.05, 0.73, /* evening */
};

void
curve_init(struct curve *c, const struct profile *p, tspan run, uint64_t seed)
{
	*c = (struct curve){
		.profile = p,
		.run = (double)run / 1e9,
		.prng = { .state = seed },
	};
	switch (p->kind) {
	case PROFILE_STEADY:
		c->period = (double)INFINITY;
		break;
	case PROFILE_BURST:
		assert(p->burst < p->period && p->factor >= 1);
		c->period = (double)p->period / 1e9;
		break;
	case PROFILE_DAY:
		c->period = p->period == 0 ? c->run : (double)p->period / 1e9;
		break;
	case PROFILE_RAMP:
		c->period = c->run;
		break;
	}
}

/* A part that begins and ends at these times of the current period. */
static void
curve_set(struct curve *c, double begin, double end, double from, double to)
{
	double period = c->periods == 1 ? 0 : c->period;

	c->start = (double)(c->periods - 1) * period + begin;
	c->length = end - begin;
	c->from = from;
	/* What is endless is level; what has no length has no slope. */
	c->slope = to < from || to > from ? (to - from) / c->length : 0;
}

static void
curve_burst(struct curve *c, unsigned part)
{
	const struct profile *p = c->profile;
	double length = (double)p->burst / 1e9;
	double quiet = c->period / (c->period + (p->factor - 1) * length);
	double at;

	if (part == 0)
		c->burst_at = (c->period - length) * draw_share(&c->prng);
	at = c->burst_at;
	if (part == 0)
		curve_set(c, 0, at, quiet, quiet);
	else if (part == 1)
		curve_set(
		    c, at, at + length, quiet * p->factor, quiet * p->factor);
	else
		curve_set(c, at + length, c->period, quiet, quiet);
}

static void
curve_day(struct curve *c, unsigned part)
{
	curve_set(c, c->period * part / 24, c->period * (part + 1) / 24,
	    day[part], day[(part + 1) % 24]);
}

void
curve_next(struct curve *c)
{
	static const unsigned parts[] = {
		[PROFILE_STEADY] = 1,
		[PROFILE_BURST] = 3,
		[PROFILE_DAY] = 24,
		[PROFILE_RAMP] = 2,
	};
	unsigned part = c->next;

	if (part == 0)
		c->periods++;
	c->next = (part + 1) % parts[c->profile->kind];
	switch (c->profile->kind) {
	case PROFILE_STEADY:
		curve_set(c, 0, c->period, 1, 1);
		break;
	case PROFILE_BURST:
		curve_burst(c, part);
		break;
	case PROFILE_DAY:
		curve_day(c, part);
		break;
	case PROFILE_RAMP:
		if (part == 0)
			curve_set(c, 0, c->period / 2, 0, 2);
		else
			curve_set(c, c->period / 2, c->period, 2, 0);
		break;
	}
}

double
curve_part(const struct curve *c)
{
	if (isinf(c->length))
		return c->length;
	return (c->from + c->slope * c->length / 2) * c->length;
}

double
curve_after(const struct curve *c, double held)
{
	double root, at;

	if (!(c->slope < 0 || c->slope > 0))
		return c->start + held / c->from;
	/* from * at + slope * at^2 / 2 = held, without a difference of equals
	 */
	root = c->from * c->from + 2 * c->slope * held;
	root = c->from + (root > 0 ? sqrt(root) : 0);
	at = root > 0 ? 2 * held / root : 0;
	return c->start + (at < c->length ? at : c->length);
}
