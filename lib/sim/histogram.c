/* Distributions of times. */

#include <string.h>

#include "sim/histogram.h"

#define LINEAR_BITS 6 /* HISTOGRAM_PART is 2 to this */
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023

/*
 * A double already is an exponent and the places after it: its upper bits
 * number the buckets, one by one.
 */
static uint32_t
bucket_of(tspan value)
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
top_of(uint32_t bucket)
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
	h->counts[bucket_of(value)]++;
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
		seen += h->counts[i];
		if (seen > 0 && (double)seen >= wanted)
			return share < 1 && top_of(i) < h->max ? top_of(i)
							       : h->max;
	}
	return h->max;
}

double
histogram_within(const struct histogram *h, tspan value)
{
	uint64_t within = 0;

	for (uint32_t i = 0; i <= bucket_of(value); i++)
		within += h->counts[i];
	return h->total == 0 ? 1 : (double)within / (double)h->total;
}

double
histogram_mean(const struct histogram *h)
{
	return h->total == 0 ? 0 : h->sum / (double)h->total;
}
