/* A load: drawn at random, or a trace. */

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/load_private.h"

struct load {
	const struct load_spec *spec;
	struct trace *trace; /* NULL: all below is of account */

	/* Each has numbers of its own: a change of one changes no other. */
	struct prng arrivals;
	struct prng services;
	struct prng choices; /* of the app */

	double rate; /* of all apps, on average */
	struct mix mix; /* the apps by their rates, if several */
	struct curve curve;
	double part; /* what this part of the curve holds */
	double held; /* and what of that is over */
};

/* They are one Poisson process, each arrival being of an app by chance. */
static int
load_mix(struct load *l)
{
	const struct load_spec *spec = l->spec;
	double *rates = reallocarray(NULL, spec->apps_len, sizeof(*rates));
	int result = 0;

	if (rates == NULL)
		return -1;
	for (size_t i = 0; i < spec->apps_len; i++) {
		rates[i] = spec->apps[i].rate;
		l->rate += rates[i];
	}
	if (spec->apps_len > 1 && l->rate > 0)
		result = mix_init(&l->mix, rates, (uint32_t)spec->apps_len);
	free(rates);
	return result;
}

struct load *
load_open(const struct load_spec *spec)
{
	struct load *l = calloc(1, sizeof(*l));
	struct prng seeds = { .state = spec->seed };

	if (l == NULL)
		return NULL;
	l->spec = spec;
	if (spec->trace != NULL) {
		l->trace = trace_open(spec);
		if (l->trace == NULL)
			goto fail;
		return l;
	}
	assert(spec->length > 0);
	l->arrivals.state = prng_next(&seeds);
	l->services.state = prng_next(&seeds);
	l->choices.state = prng_next(&seeds);
	curve_init(&l->curve, &spec->profile, spec->length, prng_next(&seeds));
	if (load_mix(l) == -1)
		goto fail;
	return l;
fail:
	free(l);
	return NULL;
}

void
load_close(struct load *l)
{
	if (l == NULL)
		return;
	if (l->trace != NULL)
		trace_close(l->trace);
	mix_fini(&l->mix);
	free(l);
}

/*
 * The time of the next arrival: the rate's integral grows from one to the
 * next by an exponential number, whatever the rate does.
 */
static double
load_arrives(struct load *l)
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
	at = (tstamp)(load_arrives(l) * 1e9);
	if (at >= spec->length) {
		l->rate = 0;
		return LOAD_END;
	}
	app = l->mix.slots == NULL ? 0 : mix_draw(&l->mix, &l->choices);
	*out = (struct arrival){
		.at = at,
		.app = app,
		.service = service_draw(&spec->apps[app].service, &l->services),
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
