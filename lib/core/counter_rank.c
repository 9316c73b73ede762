/*
 * Ranks: those who wait for one key in one queue under one limit, found by
 * these three in a hash table with chains.
 */

#include <assert.h>

#include "core/counter_private.h"

static uint32_t *
counter_rank_bucket(const struct counter *c, uint32_t key,
    enum counter_state state, uint32_t workers)
{
	const uint32_t words[] = { key, (uint32_t)state, workers };

	return &c->rank_buckets[(uint32_t)siphash(
				    &c->seed, words, sizeof(words)) &
	    c->rank_mask];
}

/* The rank + 1, or 0. */
static uint32_t
counter_rank_find(const struct counter *c, uint32_t key,
    enum counter_state state, uint32_t workers)
{
	uint32_t n = *counter_rank_bucket(c, key, state, workers);

	for (; n != 0; n = c->ranks[n - 1].next) {
		const struct counter_rank *r = &c->ranks[n - 1];

		if (r->key == key && r->state == state && r->workers == workers)
			break;
	}
	return n;
}

static void
counter_rank_link(struct counter *c, uint32_t rank)
{
	struct counter_rank *r = &c->ranks[rank];
	uint32_t *bucket = counter_rank_bucket(
	    c, r->key, (enum counter_state)r->state, r->workers);

	r->next = *bucket;
	*bucket = rank + 1;
}

static uint32_t
counter_rank_new(struct counter *c, const struct counter_entry *e)
{
	uint32_t n = c->free_ranks;
	struct counter_rank *r;

	if (n == 0) {
		assert(c->nranks < c->limits.clients);
		n = ++c->nranks;
	} else {
		c->free_ranks = c->ranks[n - 1].next;
	}
	r = &c->ranks[n - 1];
	r->key = e->key;
	r->workers = e->workers;
	r->state = e->state;
	ilist_init(&r->clients);
	counter_rank_link(c, n - 1);
	return n;
}

static void
counter_rank_free(struct counter *c, uint32_t rank)
{
	struct counter_rank *r = &c->ranks[rank];
	uint32_t *link = counter_rank_bucket(
	    c, r->key, (enum counter_state)r->state, r->workers);

	while (*link != rank + 1)
		link = &c->ranks[*link - 1].next;
	*link = r->next;
	r->state = COUNTER_FREE;
	r->next = c->free_ranks;
	c->free_ranks = rank + 1;
}

void
counter_rank_join(struct counter *c, uint32_t entry)
{
	struct counter_entry *e = &c->entries[entry];
	uint32_t n = counter_rank_find(
	    c, e->key, (enum counter_state)e->state, e->workers);

	if (n == 0)
		n = counter_rank_new(c, e);
	e->rank = n - 1;
	ilist_push_back(
	    &c->ranks[e->rank].clients, c->client_links, entry / COUNTER_STACK);
}

void
counter_rank_leave(struct counter *c, uint32_t entry)
{
	uint32_t rank = c->entries[entry].rank;

	ilist_remove(
	    &c->ranks[rank].clients, c->client_links, entry / COUNTER_STACK);
	if (ilist_empty(&c->ranks[rank].clients))
		counter_rank_free(c, rank);
}

uint32_t
counter_rank_first(const struct counter *c, uint32_t key,
    enum counter_state state, uint32_t workers)
{
	uint32_t n = counter_rank_find(c, key, state, workers);

	return n == 0 ? ILIST_NONE : c->ranks[n - 1].clients.first;
}

void
counter_rank_rehash(struct counter *c)
{
	for (uint32_t n = 0; n < c->nranks; n++)
		if (c->ranks[n].state != COUNTER_FREE)
			counter_rank_link(c, n);
}
