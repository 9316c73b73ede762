/* Quantiles without approximation: all values are kept and sorted. */

#include <err.h>
#include <math.h>
#include <stdlib.h>

#include "samples.h"

void
samples_fini(struct samples *s)
{
	free(s->at);
	*s = (struct samples){ 0 };
}

void
samples_clear(struct samples *s)
{
	s->count = 0;
}

void
samples_add(struct samples *s, double value)
{
	if (s->count == s->room) {
		size_t room = s->room == 0 ? 1024 : s->room * 2;
		double *at = reallocarray(s->at, room, sizeof(*at));

		if (at == NULL)
			err(71, "%zu samples", room);
		s->at = at;
		s->room = room;
	}
	s->at[s->count++] = value;
}

static int
samples_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
samples_quantile(struct samples *s, double share)
{
	size_t rank;

	if (s->count == 0)
		return (double)NAN;
	qsort(s->at, s->count, sizeof(*s->at), samples_order);
	rank = (size_t)ceil(share * (double)s->count);
	return s->at[rank == 0 ? 0 : rank - 1];
}

double
samples_median(struct samples *s)
{
	return samples_quantile(s, 0.5);
}
