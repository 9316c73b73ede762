/*
 * The keys: a hash table with chains, linked by number.  Their text lies in
 * pieces, so that short ones, which nearly all are, take little.
 */

#include <assert.h>
#include <string.h>

#include "core/counter_private.h"

#define CHUNK_TEXT sizeof(((struct counter_chunk *)0)->text)

uint32_t
counter_hash(const struct counter *c, const char *key, size_t len)
{
	return (uint32_t)siphash(&c->seed, key, len);
}

/* --- text --------------------------------------------------------------- */

static uint32_t
counter_new_chunk(struct counter *c)
{
	uint32_t n = c->free_chunks;

	if (n == 0) {
		assert(c->nchunks < c->limits.keys * COUNTER_CHUNKS);
		return c->nchunks++;
	}
	c->free_chunks = c->chunks[n - 1].next;
	return n - 1;
}

/* Gives the first piece. */
static uint32_t
counter_store_text(struct counter *c, const char *text, size_t len)
{
	uint32_t first = 0, *link = &first;

	for (size_t at = 0; at < len; at += CHUNK_TEXT) {
		uint32_t n = counter_new_chunk(c);
		size_t part = len - at < CHUNK_TEXT ? len - at : CHUNK_TEXT;

		memcpy(c->chunks[n].text, text + at, part);
		*link = n + 1;
		link = &c->chunks[n].next;
	}
	*link = 0;
	return first - 1;
}

static void
counter_free_text(struct counter *c, uint32_t first)
{
	uint32_t last = first;

	while (c->chunks[last].next != 0)
		last = c->chunks[last].next - 1;
	c->chunks[last].next = c->free_chunks;
	c->free_chunks = first + 1;
}

bool
counter_is_key(
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

/* --- the table ---------------------------------------------------------- */

uint32_t
counter_find(
    const struct counter *c, uint32_t hash, const char *key, size_t len)
{
	uint32_t n = c->buckets[hash & c->bucket_mask];

	for (; n != 0; n = c->keys[n - 1].next)
		if (c->keys[n - 1].hash == hash &&
		    counter_is_key(c, n - 1, key, len))
			return n - 1;
	return ILIST_NONE;
}

static void
counter_link(struct counter *c, uint32_t key)
{
	struct counter_key *k = &c->keys[key];
	uint32_t *bucket = &c->buckets[k->hash & c->bucket_mask];

	k->next = *bucket;
	*bucket = key + 1;
}

static void
counter_unlink(struct counter *c, uint32_t key)
{
	const struct counter_key *k = &c->keys[key];
	uint32_t *link = &c->buckets[k->hash & c->bucket_mask];

	while (*link != key + 1)
		link = &c->keys[*link - 1].next;
	*link = k->next;
}

uint32_t
counter_add(struct counter *c, uint32_t hash, const char *key, size_t len)
{
	uint32_t n = c->free_keys;
	struct counter_key *k;

	if (n == 0) {
		assert(c->nkeys < c->limits.keys);
		n = ++c->nkeys;
	} else {
		c->free_keys = c->keys[n - 1].next;
	}
	k = &c->keys[--n];
	k->hash = hash;
	k->text = counter_store_text(c, key, len);
	k->len = (uint16_t)len;
	k->holders = 0;
	ilist_init(&k->me);
	ilist_init(&k->any);
	counter_link(c, n);
	c->used_keys++;
	return n;
}

void
counter_drop(struct counter *c, uint32_t key)
{
	struct counter_key *k = &c->keys[key];

	if (k->holders != 0 || counter_waiters(k) != 0)
		return;
	counter_unlink(c, key);
	counter_free_text(c, k->text);
	k->len = 0;
	k->next = c->free_keys;
	c->free_keys = key + 1;
	c->used_keys--;
}

void
counter_rehash(struct counter *c)
{
	for (uint32_t n = 0; n < c->nkeys; n++)
		if (c->keys[n].len != 0)
			counter_link(c, n);
}
