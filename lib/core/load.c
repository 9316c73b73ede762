/* An exponentially decaying estimate of busy processes. */

#include <assert.h>
#include <math.h>

#include "core/load.h"

/* Fewer busy processes than this are none. */
#define LOAD_NONE 1e-3

void
load_init(struct load *l, tstamp now)
{
	*l = (struct load){ .updated = now, .seen = now };
}

static double
load_area(const struct load *l, tstamp now)
{
	assert(now >= l->seen);

	return l->area + l->busy * (double)(now - l->seen);
}

void
load_set(struct load *l, double busy, tstamp now)
{
	l->area = load_area(l, now);
	l->seen = now;
	l->busy = busy;
}

double
load_work(const struct load *l, double gain, tspan interval, tstamp now)
{
	tspan length = now - l->updated;
	double sample, weight;

	if (length <= 0)
		return l->work;
	sample = load_area(l, now) / (double)length;
	if (!l->known)
		return sample;
	weight = 1 - pow(1 - gain, (double)length / (double)interval);
	return (1 - weight) * l->work + weight * sample;
}

void
load_update(struct load *l, double gain, tspan interval, tstamp now)
{
	if (now <= l->updated)
		return;
	l->work = load_work(l, gain, interval, now);
	l->area = 0;
	l->known = true;
	l->updated = now;
	l->seen = now;
}

bool
load_at_rest(const struct load *l)
{
	return l->busy <= 0 && l->area <= 0 && l->work < LOAD_NONE;
}
