/* The invariants, for tests and fuzzing. */

#include <assert.h>
#include <string.h>

#include "counter_check.h"

static int
key_order(const struct counter_key *a, const struct counter_key *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

static int
wait_order(const struct counter_client *one, const struct counter_client *other)
{
	const struct counter_entry *a = &one->entries[one->depth - 1];
	const struct counter_entry *b = &other->entries[other->depth - 1];

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->workers != b->workers)
		return a->workers < b->workers ? -1 : 1;
	return a->since < b->since ? -1 : a->since > b->since;
}

RB_GENERATE_STATIC(counter_keys, counter_key, node, key_order)
RB_GENERATE_STATIC(counter_waits, counter_client, wait, wait_order)

/*
 * Checks that those who wait for the key are in order of kind, limit and age,
 * and none could be served; and the queue of those who wait for any result.
 */
static uint32_t
counter_check_waits(const struct counter *c, struct counter_key *key)
{
	struct counter_client *cl, *last = NULL;
	const struct counter_entry *e;
	tstamp before = INT64_MIN;
	uint32_t n = 0, any = 0, prev = ILIST_NONE;

	RB_FOREACH(cl, counter_waits, &key->waits) {
		e = &cl->entries[cl->depth - 1];
		assert(e->key == key);
		assert(e->state == COUNTER_ME || e->state == COUNTER_ANY);
		assert(e->workers <= key->holders);
		assert(last == NULL || wait_order(last, cl) <= 0);
		any += e->state == COUNTER_ANY;
		last = cl;
		n++;
	}
	assert(n == key->waiters && any == key->any.count);
	for (uint32_t at = key->any.first; at != ILIST_NONE;
	     at = c->links[at].next) {
		e = &c->clients[at].entries[c->clients[at].depth - 1];
		assert(e->key == key && e->state == COUNTER_ANY);
		assert(e->since >= before);
		assert(c->links[at].prev == prev);
		before = e->since;
		prev = at;
		any--;
	}
	assert(any == 0 && prev == key->any.last);
	return n;
}

/* Sums over the clients. */
struct counter_tally {
	uint32_t clients; /* without the daemon's own */
	uint32_t held;
	uint32_t waiting;
};

/* The checks change none of them. */
static struct counter_keys *
keys_of(const struct counter *c)
{
	return (struct counter_keys *)(uintptr_t)&c->keys;
}

static void
counter_check_stack(
    const struct counter *c, uint32_t client, struct counter_tally *t)
{
	const struct counter_client *cl = &c->clients[client];
	bool waits = false;

	assert(cl->depth <= COUNTER_STACK && (cl->open || cl->depth == 0));
	t->clients += cl->open && !cl->own;
	for (unsigned at = 0; at < cl->depth; at++) {
		const struct counter_entry *e = &cl->entries[at];

		assert(RB_FIND(counter_keys, keys_of(c), e->key) == e->key);
		t->held += e->state == COUNTER_HELD;
		waits = e->state != COUNTER_HELD;
		t->waiting += waits;
		assert(!waits || at + 1u == cl->depth);
	}
	assert(waits == (deadlines_get(&c->waits, client) != TSTAMP_NEVER));
}

void
counter_check(const struct counter *c)
{
	struct counter_tally t = { 0 };
	uint32_t used = 0, held = 0, waiting = 0;
	struct counter_key *k;

	for (uint32_t n = 0; n < c->nclients; n++)
		counter_check_stack(c, n, &t);
	RB_FOREACH(k, counter_keys, keys_of(c)) {
		assert(k->holders > 0);
		used++;
		held += k->holders;
		waiting += counter_check_waits(c, k);
	}
	assert(used == c->figures->keys && used <= c->limits.keys);
	assert(t.clients == c->figures->clients);
	assert(t.held == held && held == c->figures->held);
	assert(t.waiting == waiting && waiting == c->figures->waiting);
	assert(c->waits.count <= waiting);
	assert(c->figures->acquired == c->figures->processed + held);
}
