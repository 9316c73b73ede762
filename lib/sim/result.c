/* Distributions and series, and the room for them. */

#include <stdlib.h>
#include <string.h>

#include "sim/result.h"

/* --- distributions ------------------------------------------------------ */

#define LINEAR_BITS 6 /* HISTOGRAM_PART is 2 to this */
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023

/*
 * A double already is an exponent and the places after it: its upper bits
 * number the buckets, one by one.
 */
static uint32_t
histogram_bucket(tspan value)
{
	double d = (double)value;
	uint64_t bits;

	if (value < HISTOGRAM_PART)
		return value < 0 ? 0 : (uint32_t)value;
	if (value >= (tspan)1 << HISTOGRAM_LAST)
		return HISTOGRAM_BUCKETS - 1;
	memcpy(&bits, &d, sizeof(bits));
	return (uint32_t)((bits >> (MANTISSA_BITS - LINEAR_BITS)) -
	    (EXPONENT_BIAS + LINEAR_BITS - 1) * (uint64_t)HISTOGRAM_PART);
}

/* The largest value in a bucket; the last bucket has none. */
static tspan
histogram_top(uint32_t bucket)
{
	uint32_t power = bucket / HISTOGRAM_PART;
	tspan part = bucket % HISTOGRAM_PART;

	if (power == 0)
		return part;
	return ((HISTOGRAM_PART + part + 1) << (power - 1)) - 1;
}

void
histogram_add(struct histogram *h, tspan value)
{
	h->counts[histogram_bucket(value)]++;
	h->total++;
	h->sum += (double)value;
	if (value > h->max)
		h->max = value;
}

void
histogram_merge(struct histogram *h, const struct histogram *other)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		h->counts[i] += other->counts[i];
	h->total += other->total;
	h->sum += other->sum;
	if (other->max > h->max)
		h->max = other->max;
}

tspan
histogram_share(const struct histogram *h, double share)
{
	double wanted = share * (double)h->total;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		tspan top;

		seen += h->counts[i];
		if (seen == 0 || (double)seen < wanted)
			continue;
		top = histogram_top(i);
		return top < h->max && share < 1 ? top : h->max;
	}
	return h->max;
}

double
histogram_mean(const struct histogram *h)
{
	return h->total == 0 ? 0 : h->sum / (double)h->total;
}

/* --- series ------------------------------------------------------------- */

static void
series_fold(struct series *s)
{
	for (uint32_t i = 0; i < SERIES_BUCKETS / 2; i++) {
		const struct series_bucket *a = &s->buckets[2 * i], *b = a + 1;
		struct series_bucket sum = {
			.processes = a->processes + b->processes,
			.busy = a->busy + b->busy,
			.waiting = a->waiting + b->waiting,
			.most_processes =
			    result_most(a->most_processes, b->most_processes),
			.most_waiting =
			    result_most(a->most_waiting, b->most_waiting),
			.counts = a->counts,
		};

		series_add(&sum.counts, &b->counts);
		s->buckets[i] = sum;
	}
	memset(&s->buckets[SERIES_BUCKETS / 2], 0,
	    SERIES_BUCKETS / 2 * sizeof(s->buckets[0]));
	s->width *= 2;
	s->used = SERIES_BUCKETS / 2;
}

struct series_bucket *
series_at(struct series *s, tspan at)
{
	tspan i;

	while ((i = at / s->width) >= SERIES_BUCKETS)
		series_fold(s);
	if (s->used <= i)
		s->used = (uint32_t)i + 1;
	return &s->buckets[i];
}

/* --- the whole ---------------------------------------------------------- */

int
result_init(struct result *r, size_t apps_len)
{
	memset(r, 0, sizeof(*r));
	r->apps = calloc(apps_len, sizeof(*r->apps));
	r->apps_len = apps_len;
	return r->apps == NULL ? -1 : 0;
}

void
result_fini(struct result *r)
{
	free(r->apps);
	r->apps = NULL;
}

static void
add_app(struct result_app *t, const struct result_app *a)
{
	t->arrived += a->arrived;
	t->completed += a->completed;
	t->refused += a->refused;
	t->overflowed += a->overflowed;
	t->timed_out += a->timed_out;
	t->lost += a->lost;
	t->unfinished += a->unfinished;
	histogram_merge(&t->wait, &a->wait);
	t->spawned += a->spawned;
	t->spawned_running += a->spawned_running;
	t->ended += a->ended;
	t->taken += a->taken;
	t->idle_while_waiting += a->idle_while_waiting;
	t->idle_while_unread += a->idle_while_unread;
	if (a->longest_unread > t->longest_unread)
		t->longest_unread = a->longest_unread;
}

void
result_sum(struct result *r)
{
	struct result_app *t = &r->total;

	if (r->apps_len == 1) {
		*t = r->apps[0];
		t->name = NULL;
		return;
	}
	/* An idle process of one app is no waste of another's connections. */
	t->idle_while_waiting = t->idle_while_unread = t->longest_unread = 0;
	for (size_t app = 0; app < r->apps_len; app++)
		add_app(t, &r->apps[app]);
}
