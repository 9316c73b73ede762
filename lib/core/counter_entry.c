/*
 * Entries: how locks and waits begin and end, and who is the heir of a place.
 */

#include <assert.h>

#include "core/counter_private.h"

static uint32_t
counter_client_of(uint32_t entry)
{
	return entry / COUNTER_STACK;
}

uint32_t
counter_entry_at(const struct counter *c, uint32_t client, unsigned depth)
{
	return client * COUNTER_STACK + c->clients[client].stack[depth];
}

static bool
counter_is_waiting(const struct counter_entry *e)
{
	return e->state == COUNTER_ME || e->state == COUNTER_ANY;
}

bool
counter_waits(const struct counter *c, uint32_t client)
{
	const struct counter_client *cl = &c->clients[client];

	return cl->depth > 0 &&
	    counter_is_waiting(
		&c->entries[counter_entry_at(c, client, cl->depth - 1u)]);
}

uint32_t
counter_push(struct counter *c, uint32_t client, uint32_t key, uint32_t workers)
{
	struct counter_client *cl = &c->clients[client];
	uint32_t n = counter_entry_at(c, client, cl->depth);

	assert(cl->depth < COUNTER_STACK);
	cl->depth++;
	c->entries[n].since = c->now;
	c->entries[n].key = key;
	c->entries[n].workers = workers;
	return n;
}

/* Takes the entry off its client's stack, wherever it stands there. */
static void
counter_pop(struct counter *c, uint32_t entry)
{
	struct counter_client *cl = &c->clients[counter_client_of(entry)];
	uint8_t slot = (uint8_t)(entry % COUNTER_STACK);
	unsigned at = 0;

	while (cl->stack[at] != slot)
		at++;
	cl->depth--;
	for (; at < cl->depth; at++)
		cl->stack[at] = cl->stack[at + 1];
	cl->stack[at] = slot;
	c->entries[entry].state = COUNTER_FREE;
}

static uint64_t
counter_span(const struct counter *c, uint32_t entry)
{
	return (uint64_t)(c->now - c->entries[entry].since) / 1000;
}

static struct ilist *
counter_queue(struct counter *c, uint32_t entry)
{
	struct counter_key *k = &c->keys[c->entries[entry].key];

	return c->entries[entry].state == COUNTER_ME ? &k->me : &k->any;
}

void
counter_enqueue(struct counter *c, uint32_t entry, bool any, tspan timeout)
{
	c->entries[entry].state = any ? COUNTER_ANY : COUNTER_ME;
	ilist_push_back(counter_queue(c, entry), c->entry_links, entry);
	counter_rank_join(c, entry);
	deadlines_set(
	    &c->waits, counter_client_of(entry), tstamp_add(c->now, timeout));
	c->figures.waiting++;
}

/* The entry waits no longer. */
static void
counter_unqueue(struct counter *c, uint32_t entry)
{
	ilist_remove(counter_queue(c, entry), c->entry_links, entry);
	counter_rank_leave(c, entry);
	deadlines_set(&c->waits, counter_client_of(entry), TSTAMP_NEVER);
	c->figures.waiting--;
}

void
counter_lock(struct counter *c, uint32_t entry)
{
	struct counter_entry *e = &c->entries[entry];

	e->state = COUNTER_HELD;
	e->since = c->now;
	c->figures.held++;
	c->figures.acquired++;
	counter_reply(c, counter_client_of(entry), COUNTER_LOCKED);
}

/* --- ends --------------------------------------------------------------- */

/* A wait ends without a lock. */
static void
counter_withdraw(struct counter *c, uint32_t entry)
{
	uint32_t key = c->entries[entry].key;

	counter_unqueue(c, entry);
	counter_pop(c, entry);
	counter_drop(c, key);
}

/* The place of a holder that has gone is an heir's, or it is no more. */
static void
counter_hand_over(struct counter *c, uint32_t key, bool also_any)
{
	struct counter_key *k = &c->keys[key];
	uint32_t client = counter_rank_first(c, key, COUNTER_ME, k->holders);
	uint32_t heir;

	if (client == ILIST_NONE && also_any)
		client = counter_rank_first(c, key, COUNTER_ANY, k->holders);
	if (client == ILIST_NONE) {
		k->holders--;
		counter_drop(c, key);
		return;
	}
	heir = counter_entry_at(c, client, c->clients[client].depth - 1u);
	if (c->entries[heir].state == COUNTER_ME)
		c->figures.me_time += counter_span(c, heir);
	else
		c->figures.any_time += counter_span(c, heir);
	counter_unqueue(c, heir);
	counter_lock(c, heir);
}

/* Everybody who waits for the result is told that it is there. */
static void
counter_wake_all(struct counter *c, uint32_t key, uint64_t worked)
{
	struct counter_key *k = &c->keys[key];

	while (!ilist_empty(&k->any)) {
		uint32_t n = k->any.first;

		c->figures.good_time += counter_span(c, n);
		c->figures.gained_time += worked;
		counter_unqueue(c, n);
		counter_pop(c, n);
		counter_reply(c, counter_client_of(n), COUNTER_DONE);
	}
}

/* A lock ends; released: by its holder, and not by its leaving. */
static void
counter_unlock(struct counter *c, uint32_t entry, bool released)
{
	uint32_t key = c->entries[entry].key;
	uint64_t worked = counter_span(c, entry);

	c->figures.processing_time += worked;
	c->figures.processed++;
	c->figures.held--;
	counter_pop(c, entry);
	if (released)
		counter_wake_all(c, key, worked);
	counter_hand_over(c, key, !released);
}

void
counter_expire(struct counter *c, uint32_t entry)
{
	uint32_t client = counter_client_of(entry);

	c->figures.wasted_time += counter_span(c, entry);
	counter_withdraw(c, entry);
	counter_reply(c, client, COUNTER_TIMEOUT);
}

void
counter_end(struct counter *c, uint32_t entry, bool released)
{
	if (counter_is_waiting(&c->entries[entry]))
		counter_withdraw(c, entry);
	else
		counter_unlock(c, entry, released);
}
