/* Numbers drawn at random: service times, and one of many apps. */

#include <math.h>
#include <stdlib.h>

#include "sim/load_private.h"

/* Longer than anything that is simulated; the sum of many is a time still. */
#define SERVICE_LONGEST TSPAN_SECONDS(365 * 86400)

#define TWO_PI 6.283185307179586

/* Box and Muller; the second normal number that they give is not kept. */
static double
draw_normal(struct prng *r)
{
	double radius = sqrt(-2 * log(draw_share(r)));

	return radius * cos(TWO_PI * draw_share(r));
}

static double
draw_lognormal(const struct service *s, struct prng *r)
{
	double mu = -s->sigma * s->sigma / 2;

	return (double)s->mean * exp(mu + s->sigma * draw_normal(r));
}

tspan
service_draw(const struct service *s, struct prng *r)
{
	double t = 0;

	switch (s->kind) {
	case SERVICE_FIXED:
		return s->mean;
	case SERVICE_EXPONENTIAL:
		t = (double)s->mean * -log(draw_share(r));
		break;
	case SERVICE_LOGNORMAL:
		t = draw_lognormal(s, r);
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

/*
 * Every slot is filled to 1: from those that have too much to one that has
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

int
mix_init(struct mix *m, const double *weights, uint32_t len)
{
	uint32_t *order = reallocarray(NULL, len, sizeof(*order));
	double sum = 0;

	m->len = len;
	m->slots = reallocarray(NULL, len, sizeof(*m->slots));
	if (order == NULL || m->slots == NULL) {
		free(order);
		mix_fini(m);
		return -1;
	}
	for (uint32_t i = 0; i < len; i++)
		sum += weights[i];
	for (uint32_t i = 0; i < len; i++)
		m->slots[i].share = weights[i] * len / sum;
	mix_fill(m, order);
	free(order);
	return 0;
}

void
mix_fini(struct mix *m)
{
	free(m->slots);
	m->slots = NULL;
}

uint32_t
mix_draw(const struct mix *m, struct prng *r)
{
	double at = (double)(prng_next(r) >> 11) * 0x1p-53 * m->len;
	uint32_t i = (uint32_t)at;

	return at - i < m->slots[i].share ? i : m->slots[i].other;
}
