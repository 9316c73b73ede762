/* max_processes = auto, as numbers. */

#include <sys/param.h>

#include <math.h>

#include "core/autosize.h"

/* An eighth of the memory is left free, but no more than this. */
#define RESERVE_PART 8
#define RESERVE_MAX ((uint64_t)1 << 30)

/* Processes for each that the processors can keep running. */
#define HEADROOM 1.5

/* A share of a processor below this is not told from it. */
#define SHARE_LEAST 0.01

/*
 * A ceiling rises where this part of the reserve would be left as well, and
 * where processes used so much more of a processor: so it does not waver.
 */
#define DOUBT_PART 4
#define DOUBT_SHARE 1.1

/* A ceiling rises by this part of it in one step. */
#define RISE_PART 8

uint64_t
autosize_reserve(const struct autosize_box *box)
{
	return MIN(box->memory / RESERVE_PART, RESERVE_MAX);
}

/* Bytes for the processes that there are; may_be: for all that may be. */
static double
autosize_claim(const struct autosize *a, bool may_be)
{
	double size = (double)a->size;
	uint32_t n =
	    may_be && !a->set ? MAX(a->bound, a->processes) : a->processes;

	return MAX(n * size, (double)a->own);
}

/* Sets a ceiling where `left` bytes are left for more processes. */
static void
autosize_set(const struct autosize_box *box, struct autosize *a, double left)
{
	double reserve = (double)autosize_reserve(box);
	double room = (double)box->memory - reserve;
	double bytes = MAX(a->processes * (double)a->size + left, 0);
	uint32_t n = 0;

	a->left = (uint64_t)MAX(left, 0);
	a->others = (uint64_t)MAX(room - bytes, 0);
	for (int doubt = 1; doubt >= 0; doubt--) {
		double fits =
		    (bytes - doubt * reserve / DOUBT_PART) / (double)a->size;

		a->by_memory = (uint32_t)MAX(MIN(fits, UINT32_MAX), 0);
		a->by_processors = a->share <= 0
		    ? 0
		    : (uint32_t)ceil(HEADROOM * box->processors /
			  MAX(doubt ? DOUBT_SHARE * a->share : a->share,
			      SHARE_LEAST));
		n = MIN(a->by_memory, a->bound);
		if (a->by_processors > 0)
			n = MIN(n, a->by_processors);
		n = MAX(n, a->least);
		if (doubt && n > a->ceiling)
			a->ceiling =
			    MIN(n, a->ceiling + MAX(a->ceiling / RISE_PART, 1));
	}
	a->goal = n;
	a->ceiling = MIN(a->ceiling, n);
}

void
autosize_step(const struct autosize_box *box, struct autosize *first,
    struct autosize *all)
{
	double reserve = (double)autosize_reserve(box);
	double left = (double)box->memory - reserve - (double)box->used;
	double claims = 0, shared = 0, fair;
	uint32_t sharers = 0;
	bool starves = false;

	all->size = 0;
	all->processes = 0;
	for (struct autosize *a = first; a != NULL; a = a->next) {
		double needed = autosize_claim(a, false);

		/* Processes that have started lately have yet to grow. */
		left -= needed - (double)a->own;
		claims += autosize_claim(a, true) - needed;
		all->processes += a->processes;
		if (a->processes < a->bound)
			all->size = MAX(all->size, a->size);
		if (!a->set)
			continue;
		sharers++;
		shared += needed;
	}
	/* The next process may be of any app, of the largest even. */
	all->ceiling = MAX(all->ceiling, all->least);
	if (all->set && all->size > 0)
		autosize_set(box, all, left);
	/* Without that ceiling others may have what their numbers say. */
	if (!all->set)
		left -= claims;
	fair = sharers > 0 ? (shared + left) / sharers : 0;
	for (struct autosize *a = first; a != NULL; a = a->next)
		starves = starves ||
		    (a->set && a->starves && autosize_claim(a, false) < fair &&
			left / sharers <
			    (double)a->size + reserve / DOUBT_PART);
	for (struct autosize *a = first; a != NULL; a = a->next) {
		double needed = autosize_claim(a, false), more;

		if (!a->set)
			continue;
		a->ceiling = MAX(MIN(a->ceiling, a->bound), a->least);
		if (a->size == 0)
			continue;
		more = left / sharers;
		/* Apps with more than an equal part give to those with less. */
		if (starves && needed > fair)
			more = MIN(more, MAX(fair - needed, -(double)a->size));
		autosize_set(box, a, more);
	}
}
