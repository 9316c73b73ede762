/*
 * The keys and the ranks of the clients that wait for them: two hash tables
 * with chains, linked by number.  The text of keys lies in pieces, so that
 * short texts, which nearly all are, take little.
 */

#include <assert.h>
#include <string.h>

#include "core/counter_keys.h"

#define CHUNK_TEXT sizeof(((struct counter_chunk *)0)->text)

/* --- text --------------------------------------------------------------- */

uint32_t
counter_keys_hash(const struct counter *c, const char *text, size_t len)
{
	return (uint32_t)siphash(&c->seed, text, len);
}

static uint32_t
new_chunk(struct counter *c)
{
	uint32_t n = c->free_chunks;

	if (n == 0) {
		assert(c->nchunks <
		    (c->limits.keys + c->limits.apart) * COUNTER_CHUNKS);
		return c->nchunks++;
	}
	c->free_chunks = c->chunks[n - 1].next;
	return n - 1;
}

/* Gives the first piece. */
static uint32_t
store_text(struct counter *c, const char *text, size_t len)
{
	uint32_t first = 0, *link = &first;

	for (size_t at = 0; at < len; at += CHUNK_TEXT) {
		uint32_t n = new_chunk(c);
		size_t part = len - at < CHUNK_TEXT ? len - at : CHUNK_TEXT;

		memcpy(c->chunks[n].text, text + at, part);
		*link = n + 1;
		link = &c->chunks[n].next;
	}
	*link = 0;
	return first - 1;
}

static void
free_text(struct counter *c, uint32_t first)
{
	uint32_t last = first;

	while (c->chunks[last].next != 0)
		last = c->chunks[last].next - 1;
	c->chunks[last].next = c->free_chunks;
	c->free_chunks = first + 1;
}

bool
counter_keys_is(
    const struct counter *c, uint32_t key, const char *text, size_t len)
{
	const struct counter_key *k = &c->keys[key];
	uint32_t n = k->text;

	if (k->len != len)
		return false;
	for (size_t at = 0; at < len; at += CHUNK_TEXT) {
		size_t part = len - at < CHUNK_TEXT ? len - at : CHUNK_TEXT;

		if (memcmp(c->chunks[n].text, text + at, part) != 0)
			return false;
		n = c->chunks[n].next - 1;
	}
	return true;
}

/* --- keys --------------------------------------------------------------- */

uint32_t
counter_keys_find(
    const struct counter *c, uint32_t hash, const char *text, size_t len)
{
	uint32_t n = c->buckets[hash & c->bucket_mask];

	for (; n != 0; n = c->keys[n - 1].next)
		if (c->keys[n - 1].hash == hash &&
		    counter_keys_is(c, n - 1, text, len))
			return n - 1;
	return ILIST_NONE;
}

static void
link_key(struct counter *c, uint32_t key)
{
	struct counter_key *k = &c->keys[key];
	uint32_t *bucket = &c->buckets[k->hash & c->bucket_mask];

	k->next = *bucket;
	*bucket = key + 1;
}

static void
unlink_key(struct counter *c, uint32_t key)
{
	const struct counter_key *k = &c->keys[key];
	uint32_t *link = &c->buckets[k->hash & c->bucket_mask];

	while (*link != key + 1)
		link = &c->keys[*link - 1].next;
	*link = k->next;
}

uint32_t
counter_keys_add(struct counter *c, uint32_t hash, const char *text, size_t len)
{
	uint32_t n = c->free_keys;
	struct counter_key *k;

	if (n == 0) {
		assert(c->nkeys < c->limits.keys + c->limits.apart);
		n = ++c->nkeys;
	} else {
		c->free_keys = c->keys[n - 1].next;
	}
	k = &c->keys[--n];
	k->hash = hash;
	k->text = store_text(c, text, len);
	k->len = (uint16_t)len;
	k->holders = 0;
	ilist_init(&k->me);
	ilist_init(&k->any);
	link_key(c, n);
	c->used_keys++;
	return n;
}

void
counter_keys_drop(struct counter *c, uint32_t key)
{
	struct counter_key *k = &c->keys[key];

	if (k->holders != 0 || counter_keys_waiters(k) != 0)
		return;
	unlink_key(c, key);
	free_text(c, k->text);
	k->len = 0;
	k->next = c->free_keys;
	c->free_keys = key + 1;
	c->used_keys--;
}

/* --- ranks -------------------------------------------------------------- */

static uint32_t *
rank_bucket(const struct counter *c, uint32_t key, enum counter_state state,
    uint32_t workers)
{
	const uint32_t words[] = { key, (uint32_t)state, workers };
	uint32_t hash = (uint32_t)siphash(&c->seed, words, sizeof(words));

	return &c->rank_buckets[hash & c->rank_mask];
}

/* The rank + 1, or 0. */
static uint32_t
find_rank(const struct counter *c, uint32_t key, enum counter_state state,
    uint32_t workers)
{
	uint32_t n = *rank_bucket(c, key, state, workers);

	for (; n != 0; n = c->ranks[n - 1].next) {
		const struct counter_rank *r = &c->ranks[n - 1];

		if (r->key == key && r->state == state && r->workers == workers)
			break;
	}
	return n;
}

static void
link_rank(struct counter *c, uint32_t rank)
{
	struct counter_rank *r = &c->ranks[rank];
	uint32_t *bucket =
	    rank_bucket(c, r->key, (enum counter_state)r->state, r->workers);

	r->next = *bucket;
	*bucket = rank + 1;
}

static uint32_t
new_rank(struct counter *c, const struct counter_entry *e)
{
	uint32_t n = c->free_ranks;
	struct counter_rank *r;

	if (n == 0) {
		assert(c->nranks < c->limits.clients + c->limits.apart);
		n = ++c->nranks;
	} else {
		c->free_ranks = c->ranks[n - 1].next;
	}
	r = &c->ranks[n - 1];
	r->key = e->key;
	r->workers = e->workers;
	r->state = e->state;
	ilist_init(&r->clients);
	link_rank(c, n - 1);
	return n;
}

static void
free_rank(struct counter *c, uint32_t rank)
{
	struct counter_rank *r = &c->ranks[rank];
	uint32_t *link =
	    rank_bucket(c, r->key, (enum counter_state)r->state, r->workers);

	while (*link != rank + 1)
		link = &c->ranks[*link - 1].next;
	*link = r->next;
	r->state = COUNTER_FREE;
	r->next = c->free_ranks;
	c->free_ranks = rank + 1;
}

/* The queue in which the entry waits. */
static struct ilist *
queue_of(struct counter *c, const struct counter_entry *e)
{
	struct counter_key *k = &c->keys[e->key];

	return e->state == COUNTER_ME ? &k->me : &k->any;
}

void
counter_keys_join(struct counter *c, uint32_t entry)
{
	struct counter_entry *e = &c->entries[entry];
	uint32_t n =
	    find_rank(c, e->key, (enum counter_state)e->state, e->workers);

	if (n == 0)
		n = new_rank(c, e);
	e->rank = n - 1;
	ilist_push_back(queue_of(c, e), c->entry_links, entry);
	ilist_push_back(
	    &c->ranks[e->rank].clients, c->client_links, entry / COUNTER_STACK);
}

void
counter_keys_leave(struct counter *c, uint32_t entry)
{
	const struct counter_entry *e = &c->entries[entry];
	struct ilist *clients = &c->ranks[e->rank].clients;

	ilist_remove(queue_of(c, e), c->entry_links, entry);
	ilist_remove(clients, c->client_links, entry / COUNTER_STACK);
	if (ilist_empty(clients))
		free_rank(c, e->rank);
}

uint32_t
counter_keys_heir(const struct counter *c, uint32_t key,
    enum counter_state state, uint32_t workers)
{
	uint32_t n = find_rank(c, key, state, workers);

	return n == 0 ? ILIST_NONE : c->ranks[n - 1].clients.first;
}

void
counter_keys_rehash(struct counter *c)
{
	for (uint32_t n = 0; n < c->nkeys; n++)
		if (c->keys[n].len != 0)
			link_key(c, n);
	for (uint32_t n = 0; n < c->nranks; n++)
		if (c->ranks[n].state != COUNTER_FREE)
			link_rank(c, n);
}
