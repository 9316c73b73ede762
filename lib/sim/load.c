/* A load that is drawn at random; what a trace has comes from trace.c. */

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/prng.h"
#include "sim/load.h"
#include "sim/trace.h"

/* Longer than any simulation; the sum of many is still a time. */
#define SERVICE_LONGEST TSPAN_SECONDS(365 * 86400)

#define TWO_PI 6.283185307179586

/*
 * A profile, cut into parts in which the rate runs straight: these can be
 * integrated and the integral inverted, so that every random number that is
 * drawn is an arrival.  Rates are multiples of the mean, times are seconds.
 */
struct curve {
	const struct profile *profile;
	double run; /* length of the run */
	double period; /* of the profile; the parts are those of one period */
	struct prng prng; /* when bursts come */
	uint64_t periods; /* begun */
	unsigned next; /* part of this period */
	double burst_at; /* in this period */
	/* The present part. */
	double start; /* since the start of the run */
	double length; /* may be infinite */
	double from; /* the rate at its start */
	double slope; /* by which the rate changes in a second */
};

/* A draw of one of many by weight, in constant time: Walker's aliases. */
struct mix {
	uint32_t len;
	struct mix_slot {
		double share; /* of this slot that is its own number's */
		uint32_t other; /* whose the rest is */
	} * slots;
};

struct load {
	const struct load_spec *spec;
	struct trace *trace; /* NULL: all below is of account */

	/* Random numbers are drawn apart: new services change no arrival. */
	struct prng arrivals;
	struct prng services;
	struct prng choices; /* of the app */

	double rate; /* of all apps, on average */
	struct mix mix; /* the apps by their rates, if several */
	struct curve curve;
	double part; /* what this part of the curve holds */
	double held; /* and what of that is over */
};

/* A number over 0, at most 1: good for a logarithm. */
static double
draw_share(struct prng *r)
{
	return (double)((prng_next(r) >> 11) + 1) * 0x1p-53;
}

/* --- the rate over time ------------------------------------------------- */

/* The rate at the beginning of each hour of the day; their mean is 1. */
static const double day[24] = {
	0.50, 0.34, 0.21, 0.15, 0.12, 0.15, 0.30, 0.57, /* night, morning */
	1.00, 1.40, 1.70, 1.80, 1.58, 1.38, 1.35, 1.33, /* at work */
	1.26, 1.20, 1.25, 1.48, 1.70, 1.45, 1.05, 0.73, /* evening */
};

/* The curve stands before its first part then. */
static void
curve_init(struct curve *c, const struct profile *p, tspan run, uint64_t seed)
{
	*c = (struct curve){
		.profile = p,
		.run = tspan_to_seconds(run),
		.period = tspan_to_seconds(p->period),
		.prng = { .state = seed },
	};
	if (p->kind == PROFILE_STEADY)
		c->period = (double)INFINITY;
	else if (p->kind == PROFILE_BURST)
		assert(p->burst < p->period && p->factor >= 1);
	else if (p->kind == PROFILE_RAMP || p->period == 0)
		c->period = c->run;
}

/* Sets the part that begins and ends at these times of the period. */
static void
curve_set(struct curve *c, double begin, double end, double from, double to)
{
	double period = c->periods == 1 ? 0 : c->period;

	c->start = (double)(c->periods - 1) * period + begin;
	c->length = end - begin;
	c->from = from;
	/* An endless part is level, and a part without length has no slope. */
	c->slope = to < from || to > from ? (to - from) / c->length : 0;
}

static void
curve_burst(struct curve *c, unsigned part)
{
	const struct profile *p = c->profile;
	double length = tspan_to_seconds(p->burst);
	double quiet = c->period / (c->period + (p->factor - 1) * length);
	double high = quiet * p->factor, at;

	if (part == 0)
		c->burst_at = (c->period - length) * draw_share(&c->prng);
	at = c->burst_at;
	if (part == 0)
		curve_set(c, 0, at, quiet, quiet);
	else if (part == 1)
		curve_set(c, at, at + length, high, high);
	else
		curve_set(c, at + length, c->period, quiet, quiet);
}

/* Moves to the next part; the last may lie after the end of the run. */
static void
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
		curve_set(c, c->period * part / 24, c->period * (part + 1) / 24,
		    day[part], day[(part + 1) % 24]);
		break;
	case PROFILE_RAMP:
		if (part == 0)
			curve_set(c, 0, c->period / 2, 0, 2);
		else
			curve_set(c, c->period / 2, c->period, 2, 0);
		break;
	}
}

/* The work of the mean rate that the whole part holds, in seconds of it. */
static double
curve_part(const struct curve *c)
{
	if (isinf(c->length))
		return c->length;
	return (c->from + c->slope * c->length / 2) * c->length;
}

/* The point of time in the part at which it has held so much. */
static double
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

double
load_peak(const struct profile *p)
{
	switch (p->kind) {
	case PROFILE_BURST:
		return p->factor /
		    (1 +
			(p->factor - 1) * (double)p->burst / (double)p->period);
	case PROFILE_DAY:
		return 1.8;
	case PROFILE_RAMP:
		return 2;
	case PROFILE_STEADY:
		break;
	}
	return 1;
}

/* --- service times ------------------------------------------------------ */

/* Box and Muller; the second normal number that they give is not kept. */
static double
draw_normal(struct prng *r)
{
	double radius = sqrt(-2 * log(draw_share(r)));

	return radius * cos(TWO_PI * draw_share(r));
}

tspan
load_draw(const struct service *s, struct prng *r)
{
	double t = 0;

	switch (s->kind) {
	case SERVICE_FIXED:
		return s->mean;
	case SERVICE_EXPONENTIAL:
		t = (double)s->mean * -log(draw_share(r));
		break;
	case SERVICE_LOGNORMAL:
		t = (double)s->mean *
		    exp(-s->sigma * s->sigma / 2 + s->sigma * draw_normal(r));
		break;
	case SERVICE_BIMODAL:
		return draw_share(r) <= s->share ? s->other : s->mean;
	}
	if (t >= (double)SERVICE_LONGEST)
		return SERVICE_LONGEST;
	return t < 1 ? 1 : (tspan)t;
}

tspan
load_service_mean(const struct service *s)
{
	double rare = s->share * (double)s->other;

	if (s->kind != SERVICE_BIMODAL)
		return s->mean;
	return (tspan)((1 - s->share) * (double)s->mean + rare);
}

/* --- the apps ----------------------------------------------------------- */

/*
 * Every slot is filled to 1: a slot that has too much gives to a slot that has
 * too little, which then is complete.
 */
static void
mix_fill(struct mix *m, uint32_t *order)
{
	uint32_t low = 0, high = m->len;

	for (uint32_t i = 0; i < m->len; i++) {
		m->slots[i].other = i;
		if (m->slots[i].share < 1)
			order[low++] = i;
		else
			order[--high] = i;
	}
	while (low > 0 && high < m->len) {
		struct mix_slot *poor = &m->slots[order[--low]];
		struct mix_slot *rich = &m->slots[order[high]];

		poor->other = order[high];
		rich->share -= 1 - poor->share;
		if (rich->share < 1)
			order[low++] = order[high++];
	}
}

/* Apps by their rates, whose sum is over 0. -1 and errno: no memory. */
static int
mix_init(struct mix *m, const struct load_spec *spec, double rate)
{
	uint32_t *order = reallocarray(NULL, spec->apps_len, sizeof(*order));

	m->len = (uint32_t)spec->apps_len;
	m->slots = reallocarray(NULL, m->len, sizeof(*m->slots));
	if (order == NULL || m->slots == NULL) {
		free(order);
		return -1;
	}
	for (uint32_t i = 0; i < m->len; i++)
		m->slots[i].share = spec->apps[i].rate * m->len / rate;
	mix_fill(m, order);
	free(order);
	return 0;
}

static uint32_t
mix_draw(const struct mix *m, struct prng *r)
{
	double at = (double)(prng_next(r) >> 11) * 0x1p-53 * m->len;
	uint32_t i = (uint32_t)at;

	return at - i < m->slots[i].share ? i : m->slots[i].other;
}

/* --- the load ----------------------------------------------------------- */

/*
 * All apps are one Poisson process, each arrival being of an app by chance.
 * -1 and errno: no memory.
 */
static int
begin(struct load *l)
{
	const struct load_spec *spec = l->spec;
	struct prng seeds = { .state = spec->seed };

	assert(spec->length > 0);
	l->arrivals.state = prng_next(&seeds);
	l->services.state = prng_next(&seeds);
	l->choices.state = prng_next(&seeds);
	curve_init(&l->curve, &spec->profile, spec->length, prng_next(&seeds));
	for (size_t i = 0; i < spec->apps_len; i++)
		l->rate += spec->apps[i].rate;
	if (spec->apps_len == 1 || !(l->rate > 0))
		return 0;
	return mix_init(&l->mix, spec, l->rate);
}

struct load *
load_open(const struct load_spec *spec)
{
	struct load *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->spec = spec;
	if (spec->trace != NULL)
		l->trace = trace_open(spec);
	if (spec->trace != NULL ? l->trace != NULL : begin(l) == 0)
		return l;
	load_close(l);
	return NULL;
}

void
load_close(struct load *l)
{
	if (l == NULL)
		return;
	if (l->trace != NULL)
		trace_close(l->trace);
	free(l->mix.slots);
	free(l);
}

const struct load_spec *
load_spec(const struct load *l)
{
	return l->spec;
}

/*
 * The time of the next arrival: the rate's integral grows from one to the
 * next by an exponential number, whatever the rate does.
 */
static double
next_time(struct load *l)
{
	struct curve *c = &l->curve;
	double gap = -log(draw_share(&l->arrivals)) / l->rate;

	while (gap >= l->part - l->held) {
		gap -= l->part - l->held;
		curve_next(c);
		if (c->start >= c->run)
			return c->run;
		l->held = 0;
		l->part = curve_part(c);
	}
	l->held += gap;
	return curve_after(c, l->held);
}

enum load_got
load_next(struct load *l, struct arrival *out)
{
	const struct load_spec *spec = l->spec;
	tstamp at;
	uint32_t app;

	if (l->trace != NULL)
		return trace_next(l->trace, out);
	if (!(l->rate > 0))
		return LOAD_END;
	at = (tstamp)(next_time(l) * 1e9);
	if (at >= spec->length) {
		l->rate = 0;
		return LOAD_END;
	}
	app = l->mix.slots == NULL ? 0 : mix_draw(&l->mix, &l->choices);
	*out = (struct arrival){
		.at = at,
		.app = app,
		.service = load_draw(&spec->apps[app].service, &l->services),
	};
	return LOAD_ARRIVAL;
}

const char *
load_mistake(const struct load *l)
{
	return l->trace == NULL ? NULL : trace_mistake(l->trace);
}

double
load_read(const struct load *l)
{
	return l->trace == NULL ? -1 : trace_read(l->trace);
}
