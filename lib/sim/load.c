/*
 * Loads that are drawn at random, and clients that come again; what a trace has
 * comes from trace.c.
 *
 * The arrivals of all apps are one Poisson process whose rate follows the
 * profile, each arrival being of an app by chance.  Service times are
 * independent of it and of each other.
 *
 * Clients are a closed loop, as load generators and front ends with a pool of
 * connections are: each connects, waits until it was served, thinks, and
 * connects again.  The slower the app, the fewer connections come.
 */

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/events.h"
#include "sim/load.h"
#include "sim/result.h"

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

struct load {
	const struct load_spec *spec;
	struct trace *trace; /* NULL: there is none */
	struct events clients; /* connections to come, by the app's number */

	/* The arrival that load_look() has seen, of a load without clients. */
	enum load_got got;
	struct arrival next;
	bool looked;

	/* Random numbers are drawn apart: new services change no arrival. */
	struct prng arrivals;
	struct prng services;
	struct prng choices; /* of the app */
	struct prng thoughts; /* of clients */

	double rate; /* of all apps, on average */
	double *shares; /* of `rate`: of each app and all before it */
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
	const struct profile *p = c->profile;
	unsigned part = c->next;
	double length, quiet;

	if (part == 0)
		c->periods++;
	c->next = (part + 1) % parts[p->kind];
	switch (p->kind) {
	case PROFILE_STEADY:
		curve_set(c, 0, c->period, 1, 1);
		break;
	case PROFILE_BURST:
		length = tspan_to_seconds(p->burst);
		quiet = c->period / (c->period + (p->factor - 1) * length);
		if (part == 0) {
			c->burst_at =
			    (c->period - length) * draw_share(&c->prng);
			curve_set(c, 0, c->burst_at, quiet, quiet);
		} else if (part == 1) {
			curve_set(c, c->burst_at, c->burst_at + length,
			    quiet * p->factor, quiet * p->factor);
		} else {
			curve_set(
			    c, c->burst_at + length, c->period, quiet, quiet);
		}
		break;
	case PROFILE_DAY:
		curve_set(c, c->period * part / 24, c->period * (part + 1) / 24,
		    day[part], day[(part + 1) % 24]);
		break;
	case PROFILE_RAMP:
		curve_set(c, c->period * part / 2, c->period * (part + 1) / 2,
		    2.0 * part, 2.0 - 2.0 * part);
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

tspan
load_draw(const struct service *s, struct prng *r)
{
	double t = 0, radius;

	switch (s->kind) {
	case SERVICE_FIXED:
		return s->mean;
	case SERVICE_EXPONENTIAL:
		t = (double)s->mean * -log(draw_share(r));
		break;
	case SERVICE_LOGNORMAL:
		/* Box and Muller; their second normal number is not kept. */
		radius = sqrt(-2 * log(draw_share(r)));
		t = (double)s->mean *
		    exp(-s->sigma * s->sigma / 2 +
			s->sigma * (radius * cos(TWO_PI * draw_share(r))));
		break;
	case SERVICE_UNIFORM:
		t = (double)s->mean +
		    (double)(s->other - s->mean) * draw_share(r);
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

	if (s->kind == SERVICE_UNIFORM)
		return s->mean + (s->other - s->mean) / 2;
	if (s->kind == SERVICE_BIMODAL)
		return (tspan)((1 - s->share) * (double)s->mean + rare);
	return s->mean;
}

/* --- clients ------------------------------------------------------------ */

/* The first connections are spread over one time of thinking and service. */
static void
clients_init(struct load *l)
{
	for (uint32_t app = 0; app < l->spec->apps_len; app++) {
		const struct load_app *a = &l->spec->apps[app];
		tspan round = load_service_mean(&a->think) +
		    load_service_mean(&a->service);

		for (uint32_t i = 0; i < a->clients; i++) {
			double share =
			    (double)(prng_next(&l->thoughts) >> 11) * 0x1p-53;

			(void)events_put(
			    &l->clients, (tstamp)(share * (double)round), app);
		}
	}
}

void
load_left(struct load *l, uint32_t app, bool served, tstamp now)
{
	tspan think, least = served ? 0 : LOAD_RETRY;

	if (!l->spec->closed)
		return;
	think = load_draw(&l->spec->apps[app].think, &l->thoughts);
	(void)events_put(
	    &l->clients, tstamp_add(now, think > least ? think : least), app);
}

/* --- the load ----------------------------------------------------------- */

struct load *
load_open(const struct load_spec *spec)
{
	struct trace *trace = NULL;
	struct prng seeds = { .state = spec->seed };
	struct load *l;

	if (spec->trace != NULL && (trace = trace_open(spec)) == NULL)
		return NULL;
	l = result_alloc(1, sizeof(*l));
	l->spec = spec;
	l->trace = trace;
	if (trace != NULL)
		return l;
	if (spec->closed) {
		l->services.state = prng_next(&seeds);
		l->thoughts.state = prng_next(&seeds);
		clients_init(l);
		return l;
	}
	assert(spec->length > 0);
	l->arrivals.state = prng_next(&seeds);
	l->services.state = prng_next(&seeds);
	l->choices.state = prng_next(&seeds);
	curve_init(&l->curve, &spec->profile, spec->length, prng_next(&seeds));
	l->shares = result_alloc(spec->apps_len, sizeof(*l->shares));
	for (size_t i = 0; i < spec->apps_len; i++) {
		l->rate += spec->apps[i].rate;
		l->shares[i] = l->rate;
	}
	return l;
}

void
load_close(struct load *l)
{
	if (l == NULL)
		return;
	if (l->trace != NULL)
		trace_close(l->trace);
	free(l->clients.heap);
	free(l->shares);
	free(l);
}

const struct load_spec *
load_spec(const struct load *l)
{
	return l->spec;
}

const char *
load_mistake(const struct load *l)
{
	return l->trace == NULL ? NULL : trace_mistake(l->trace);
}

/* The app whose share of the rate has this point in it. */
static uint32_t
load_app_of(const struct load *l, double point)
{
	uint32_t low = 0, high = (uint32_t)l->spec->apps_len - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (point <= l->shares[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

enum load_got
load_next(struct load *l, struct arrival *out)
{
	struct curve *c = &l->curve;
	double gap;
	tstamp at;

	if (l->trace != NULL)
		return trace_next(l->trace, out);
	if (!(l->rate > 0))
		return LOAD_END;
	/*
	 * The rate's integral grows from one arrival to the next by an
	 * exponential number, whatever the rate does.
	 */
	gap = -log(draw_share(&l->arrivals)) / l->rate;
	while (gap >= l->part - l->held && c->start < c->run) {
		gap -= l->part - l->held;
		curve_next(c);
		l->held = 0;
		l->part = curve_part(c);
	}
	l->held += gap;
	at = (tstamp)((c->start < c->run ? curve_after(c, l->held) : c->run) *
	    1e9);
	if (at >= l->spec->length) {
		l->rate = 0;
		return LOAD_END;
	}
	out->at = at;
	out->app = load_app_of(l, draw_share(&l->choices) * l->rate);
	out->service =
	    load_draw(&l->spec->apps[out->app].service, &l->services);
	return LOAD_ARRIVAL;
}

enum load_got
load_look(struct load *l, tstamp *at_out)
{
	/* Clients may come sooner than it seemed before the last event. */
	if (l->spec->closed) {
		*at_out = events_first(&l->clients);
		return LOAD_ARRIVAL;
	}
	if (!l->looked)
		l->got = load_next(l, &l->next);
	l->looked = true;
	if (l->got == LOAD_ARRIVAL)
		*at_out = l->next.at;
	return l->got;
}

struct arrival
load_take(struct load *l)
{
	struct event e;

	l->looked = false;
	if (!l->spec->closed)
		return l->next;
	e = events_pop(&l->clients);
	return (struct arrival){
		.at = e.at,
		.app = e.number,
		.service =
		    load_draw(&l->spec->apps[e.number].service, &l->services),
	};
}
