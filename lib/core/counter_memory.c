/* The tables of the counter. */

#include <assert.h>
#include <string.h>

#include "core/counter_private.h"

static uint32_t
counter_bucket_count(uint32_t entries)
{
	uint32_t n = 16;

	while (n < entries && n < 1u << 31)
		n *= 2;
	return n;
}

/* Gives the next n bytes of *memory, or NULL when only counting. */
static void *
counter_carve(char *memory, size_t *used, size_t n)
{
	void *at = memory == NULL ? NULL : memory + *used;

	*used += (n + 15) & ~(size_t)15;
	return at;
}

/* Lays the tables out in the memory; gives the bytes that takes. */
static size_t
counter_lay_out(struct counter *c, const struct counter_limits *l, char *memory)
{
	size_t used = 0, clients = l->clients, keys = l->keys;
	uint32_t buckets = counter_bucket_count(l->keys);
	uint32_t rank_buckets = counter_bucket_count(l->clients);
	void *at;

	c->limits = *l;
	c->bucket_mask = buckets - 1;
	c->rank_mask = rank_buckets - 1;
	c->clients =
	    counter_carve(memory, &used, clients * sizeof(*c->clients));
	c->entries = counter_carve(
	    memory, &used, clients * COUNTER_STACK * sizeof(*c->entries));
	c->client_links =
	    counter_carve(memory, &used, clients * sizeof(struct ilink));
	c->entry_links = counter_carve(
	    memory, &used, clients * COUNTER_STACK * sizeof(struct ilink));
	c->replies = counter_carve(
	    memory, &used, (clients + COUNTER_STACK) * sizeof(*c->replies));
	c->keys = counter_carve(memory, &used, keys * sizeof(*c->keys));
	c->chunks = counter_carve(
	    memory, &used, keys * COUNTER_CHUNKS * sizeof(*c->chunks));
	c->buckets =
	    counter_carve(memory, &used, buckets * sizeof(*c->buckets));
	c->ranks = counter_carve(memory, &used, clients * sizeof(*c->ranks));
	c->rank_buckets = counter_carve(
	    memory, &used, rank_buckets * sizeof(*c->rank_buckets));
	at = counter_carve(memory, &used, deadlines_memory(l->clients));
	if (at != NULL)
		deadlines_init(&c->waits, at, l->clients);
	return used;
}

size_t
counter_memory(const struct counter_limits *limits)
{
	struct counter none = { 0 };

	return counter_lay_out(&none, limits, NULL);
}

void
counter_init(struct counter *c, const struct counter_limits *limits,
    void *memory, const struct siphash_seed *seed, tstamp now)
{
	memset(c, 0, sizeof(*c));
	(void)counter_lay_out(c, limits, memory);
	ilist_init(&c->free_clients);
	c->in_force = *limits;
	c->seed = *seed;
	c->now = now;
}

void
counter_move(
    struct counter *c, const struct counter_limits *limits, void *memory)
{
	struct counter to = *c;

	assert(limits->clients >= c->limits.clients &&
	    limits->keys >= c->limits.keys && c->nreplies == 0);
	(void)counter_lay_out(&to, limits, memory);
	memcpy(to.clients, c->clients, c->nclients * sizeof(*c->clients));
	memcpy(to.entries, c->entries,
	    c->nclients * COUNTER_STACK * sizeof(*c->entries));
	memcpy(to.client_links, c->client_links,
	    c->nclients * sizeof(struct ilink));
	memcpy(to.entry_links, c->entry_links,
	    c->nclients * COUNTER_STACK * sizeof(struct ilink));
	memcpy(to.keys, c->keys, c->nkeys * sizeof(*c->keys));
	memcpy(to.chunks, c->chunks, c->nchunks * sizeof(*c->chunks));
	for (uint32_t n = 0; n < c->nclients; n++)
		deadlines_set(&to.waits, n, deadlines_get(&c->waits, n));
	memcpy(to.ranks, c->ranks, c->nranks * sizeof(*c->ranks));
	counter_rehash(&to);
	counter_rank_rehash(&to);
	*c = to;
}

void
counter_resize(struct counter *c, const struct counter_limits *limits)
{
	assert(limits->clients <= c->limits.clients &&
	    limits->keys <= c->limits.keys);
	c->in_force = *limits;
}
