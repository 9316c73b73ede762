/* The invariants, for tests and fuzzing. */

#include <assert.h>

#include "counter_check.h"

/* Checks that the queue is in order of age, and that none could be served. */
static uint32_t
counter_check_queue(const struct counter *c, const struct counter_key *key,
    const struct ilist *queue, enum counter_state state)
{
	tstamp before = INT64_MIN;
	uint32_t n = 0, prev = ILIST_NONE;

	for (uint32_t e = queue->first; e != ILIST_NONE;
	     e = c->entry_links[e].next) {
		const struct counter_entry *x = &c->entries[e];

		assert(x->key == key && x->state == state);
		assert(x->since >= before);
		assert(x->workers <= key->holders);
		assert(c->entry_links[e].prev == prev);
		before = x->since;
		prev = e;
		n++;
	}
	assert(n == queue->count && prev == queue->last);
	return n;
}

/* Checks that the clients of a rank fit it, in order of age. */
static uint32_t
counter_check_rank(const struct counter *c, const struct counter_rank *r)
{
	tstamp before = INT64_MIN;
	uint32_t count = 0;

	for (uint32_t n = r->clients.first; n != ILIST_NONE;
	     n = c->client_links[n].next) {
		const struct counter_client *cl = &c->clients[n];
		const struct counter_entry *e =
		    &c->entries[n * COUNTER_STACK + cl->stack[cl->depth - 1]];

		assert(e->state == r->state && e->key == r->key);
		assert(e->workers == r->workers && e->rank == r);
		assert(e->since >= before);
		before = e->since;
		count++;
	}
	assert(count > 0 && count == r->clients.count);
	return count;
}

/* Sums over the clients. */
struct counter_tally {
	uint32_t clients; /* without the daemon's own */
	uint32_t held;
	uint32_t waiting;
};

/* Whether a walk through the key's bucket comes to it. */
static bool
counter_check_linked(const struct counter *c, const struct counter_key *key)
{
	const struct counter_key *k;

	LIST_FOREACH(k, &c->buckets[key->hash & c->bucket_mask], next)
		if (k == key)
			return true;
	return false;
}

static void
counter_check_stack(
    const struct counter *c, uint32_t client, struct counter_tally *t)
{
	const struct counter_client *cl = &c->clients[client];
	bool waits = false;
	unsigned seen = 0;

	assert(cl->depth <= COUNTER_STACK && (cl->open || cl->depth == 0));
	t->clients += cl->open && !cl->own;
	for (unsigned at = 0; at < COUNTER_STACK; at++) {
		uint32_t n = client * COUNTER_STACK + cl->stack[at];
		const struct counter_entry *e = &c->entries[n];

		seen |= 1u << cl->stack[at];
		assert((e->state != COUNTER_FREE) == (at < cl->depth));
		if (at >= cl->depth)
			continue;
		assert(counter_check_linked(c, e->key));
		t->held += e->state == COUNTER_HELD;
		waits = e->state != COUNTER_HELD;
		t->waiting += waits;
		assert(!waits || at + 1u == cl->depth);
	}
	assert(!cl->open || seen == (1u << COUNTER_STACK) - 1);
	assert(waits == (deadlines_get(&c->waits, client) != TSTAMP_NEVER));
}

void
counter_check(const struct counter *c)
{
	struct counter_tally t = { 0 };
	uint32_t used = 0, held = 0, waiting = 0, ranked = 0;

	for (uint32_t n = 0; n < c->nclients; n++)
		counter_check_stack(c, n, &t);
	for (uint32_t n = 0; n <= c->bucket_mask; n++) {
		const struct counter_key *k;

		LIST_FOREACH(k, &c->buckets[n], next) {
			assert(k->holders > 0);
			assert(n == (k->hash & c->bucket_mask));
			used++;
			held += k->holders;
			waiting +=
			    counter_check_queue(c, k, &k->me, COUNTER_ME);
			waiting +=
			    counter_check_queue(c, k, &k->any, COUNTER_ANY);
		}
	}
	assert(used == c->figures->keys && used <= c->limits.keys);
	assert(t.clients == c->figures->clients);
	assert(t.held == held && held == c->figures->held);
	for (uint32_t n = 0; n < c->nranks; n++)
		if (c->ranks[n].state != COUNTER_FREE)
			ranked += counter_check_rank(c, &c->ranks[n]);
	assert(t.waiting == waiting && waiting == c->figures->waiting);
	assert(ranked == waiting);
	assert(c->waits.count <= waiting);
	assert(c->figures->acquired == c->figures->processed + held);
}
