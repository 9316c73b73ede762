/* The result of a run, and what it is made of. */

#include <sys/param.h>

#include "sim/simulate.h"

#define LINEAR_BITS 6 /* HISTOGRAM_PART is 2 to this */
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023

/* The upper bits of a double, exponent and places, number the buckets. */
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

void
histogram_add(struct histogram *h, tspan value)
{
	h->counts[histogram_bucket(value)]++;
	h->total++;
	h->sum += (double)value;
	h->max = MAX(h->max, value);
}

void
histogram_merge(struct histogram *h, const struct histogram *other)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		h->counts[i] += other->counts[i];
	h->total += other->total;
	h->sum += other->sum;
	h->max = MAX(h->max, other->max);
}

tspan
histogram_share(const struct histogram *h, double share)
{
	double wanted = share * (double)h->total;
	uint64_t seen = 0;
	uint32_t i = 0, power;
	tspan top;

	while (i < HISTOGRAM_BUCKETS - 1) {
		seen += h->counts[i];
		if (seen > 0 && (double)seen >= wanted)
			break;
		i++;
	}
	if (i == HISTOGRAM_BUCKETS - 1 || share >= 1)
		return h->max;
	/* The largest value in the bucket. */
	power = i / HISTOGRAM_PART;
	top = i % HISTOGRAM_PART;
	if (power > 0)
		top = ((HISTOGRAM_PART + top + 1) << (power - 1)) - 1;
	return top < h->max ? top : h->max;
}

double
histogram_within(const struct histogram *h, tspan value)
{
	uint64_t within = 0;

	for (uint32_t i = 0; i <= histogram_bucket(value); i++)
		within += h->counts[i];
	return h->total == 0 ? 1 : (double)within / (double)h->total;
}

/* --- series ------------------------------------------------------------- */

struct series_bucket *
series_at(struct series *s, tspan at)
{
	tspan i;

	while ((i = at / s->width) >= SERIES_BUCKETS) {
		/* Two buckets become one: b is added to a, which moves. */
		for (uint32_t k = 0; k < SERIES_BUCKETS / 2; k++) {
			struct series_bucket a = s->buckets[2 * k];
			const struct series_bucket *b = &s->buckets[2 * k + 1];

			a.processes += b->processes;
			a.busy += b->busy;
			a.waiting += b->waiting;
			a.most_processes =
			    MAX(a.most_processes, b->most_processes);
			a.most_waiting = MAX(a.most_waiting, b->most_waiting);
			a.longest_wait = MAX(a.longest_wait, b->longest_wait);
			for (unsigned n = 0; n < SERIES_COUNTS; n++)
				a.counts[n] += b->counts[n];
			s->buckets[k] = a;
		}
		memset(&s->buckets[SERIES_BUCKETS / 2], 0,
		    SERIES_BUCKETS / 2 * sizeof(s->buckets[0]));
		s->width *= 2;
		s->used = SERIES_BUCKETS / 2;
	}
	if (s->used <= i)
		s->used = (uint32_t)i + 1;
	return &s->buckets[i];
}

void *
result_alloc(size_t n, size_t size)
{
	void *memory = calloc(n > 0 ? n : 1, size);

	if (memory == NULL)
		err(EX_OSERR, "simulate");
	return memory;
}

void
result_deadlines(struct deadlines *d, size_t n)
{
	*d = (struct deadlines){
		.heap = result_alloc(n, sizeof(*d->heap)),
		.where = result_alloc(n, sizeof(*d->where)),
	};
}

void
result_deadlines_fini(struct deadlines *d)
{
	free(d->heap);
	free(d->where);
}
