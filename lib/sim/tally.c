/* Integrals over virtual time. */

#include <stddef.h>
#include <string.h>

#include "sim/tally.h"

static uint32_t
most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* --- series ------------------------------------------------------------- */

static tspan
longest(tspan a, tspan b)
{
	return a > b ? a : b;
}

static void
add_counts(struct series_counts *c, const struct series_counts *more)
{
	c->arrived += more->arrived;
	c->refused += more->refused;
	c->spawned += more->spawned;
}

static void
fold(struct series *s)
{
	for (uint32_t i = 0; i < SERIES_BUCKETS / 2; i++) {
		const struct series_bucket *a = &s->buckets[2 * i], *b = a + 1;
		struct series_bucket sum = {
			.processes = a->processes + b->processes,
			.busy = a->busy + b->busy,
			.waiting = a->waiting + b->waiting,
			.most_processes =
			    most(a->most_processes, b->most_processes),
			.most_waiting = most(a->most_waiting, b->most_waiting),
			.longest_wait =
			    longest(a->longest_wait, b->longest_wait),
			.counts = a->counts,
		};

		add_counts(&sum.counts, &b->counts);
		s->buckets[i] = sum;
	}
	memset(&s->buckets[SERIES_BUCKETS / 2], 0,
	    SERIES_BUCKETS / 2 * sizeof(s->buckets[0]));
	s->width *= 2;
	s->used = SERIES_BUCKETS / 2;
}

struct series_bucket *
tally_bucket_at(struct series *s, tspan at)
{
	tspan i;

	while ((i = at / s->width) >= SERIES_BUCKETS)
		fold(s);
	if (s->used <= i)
		s->used = (uint32_t)i + 1;
	return &s->buckets[i];
}

/* --- tallies ------------------------------------------------------------ */

void
tally_init(struct tally *t, struct result_app *out, struct tally *total,
    tstamp start, tspan width)
{
	*t = (struct tally){ .total = total, .out = out, .start = start };
	out->series.width = width;
}

/* The bucket of `now`; NULL: that is outside the load. */
static struct series_bucket *
bucket_of(struct tally *t)
{
	struct series *s = &t->out->series;

	if (t->closed || t->now < t->start)
		return NULL;
	if (t->bucket == NULL || t->now >= t->bucket_end) {
		tspan at = t->now - t->start;

		t->bucket = tally_bucket_at(s, at);
		t->bucket_end = t->now + s->width - at % s->width;
	}
	return t->bucket;
}

bool
tally_count(struct tally *t, struct series_counts counts)
{
	struct series_bucket *b = NULL;

	for (; t != NULL; t = t->total) {
		b = bucket_of(t);
		if (b != NULL)
			add_counts(&b->counts, &counts);
	}
	return b != NULL;
}

void
tally_wait(struct tally *t, tspan wait)
{
	for (; t != NULL; t = t->total) {
		struct series_bucket *b = bucket_of(t);

		if (b != NULL)
			b->longest_wait = longest(b->longest_wait, wait);
	}
}

/* Adds so much time to the present bucket. */
static void
spend(struct tally *t, tspan span)
{
	struct series_bucket *b = bucket_of(t);
	uint32_t waiting = t->unheld + t->unread;
	double time = (double)span;

	b->processes += time * t->processes;
	b->busy += time * t->busy;
	b->waiting += time * waiting;
	b->most_processes = most(b->most_processes, t->processes);
	b->most_waiting = most(b->most_waiting, waiting);
	t->existing_time += time * t->existing;
	t->out->need += time * t->need;
	t->out->most_need = most(t->out->most_need, t->need);
}

static void
add_waste(struct tally *t, tstamp now)
{
	if (t->unheld > 0 && t->idle > 0)
		t->out->idle_while_waiting += now - t->now;
	if (t->unread == 0 || t->idle == 0) {
		t->unread_since = 0;
		return;
	}
	if (t->unread_since == 0)
		t->unread_since = t->now;
	t->out->idle_while_unread += now - t->now;
}

void
tally_read(struct tally *t, tstamp given)
{
	for (; t != NULL; t = t->total) {
		tstamp since =
		    t->unread_since > given ? t->unread_since : given;

		if (t->unread_since != 0 &&
		    t->now - since > t->out->longest_unread)
			t->out->longest_unread = t->now - since;
	}
}

void
tally_pass(struct tally *t, tstamp now)
{
	add_waste(t, now);
	if (t->closed) {
		t->now = now;
		return;
	}
	if (t->now < t->start)
		t->now = t->start < now ? t->start : now;
	while (t->now < now) {
		tstamp until;

		(void)bucket_of(t);
		until = tstamp_min(now, t->bucket_end);
		spend(t, until - t->now);
		t->now = until;
	}
}

void
tally_close(struct tally *t)
{
	for (; t != NULL; t = t->total) {
		t->closed = true;
		t->bucket = NULL;
	}
}

void
tally_finish(struct tally *t, tspan length)
{
	struct result_app *out = t->out;
	const struct series *s = &out->series;

	for (uint32_t i = 0; i < s->used; i++) {
		const struct series_bucket *b = &s->buckets[i];

		out->processes += b->processes;
		out->busy += b->busy;
		out->most_processes =
		    most(out->most_processes, b->most_processes);
		out->most_waiting = most(out->most_waiting, b->most_waiting);
	}
	if (length == 0)
		return;
	out->processes /= (double)length;
	out->busy /= (double)length;
	out->need /= (double)length;
	out->existing = t->existing_time / (double)length;
}
