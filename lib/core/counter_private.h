#ifndef CORE_COUNTER_PRIVATE_H
#define CORE_COUNTER_PRIVATE_H

/* What the files counter*.c share. */

#include "core/counter.h"

/* Pieces that the text of one key takes at most. */
#define COUNTER_CHUNKS \
	((COUNTER_KEY_MAX + sizeof(((struct counter_chunk *)0)->text) - 1) / \
	    sizeof(((struct counter_chunk *)0)->text))

static inline uint32_t
counter_waiters(const struct counter_key *k)
{
	return k->me.count + k->any.count;
}

/* --- counter.c ---------------------------------------------------------- */

/*
 * A fact brings each client one reply at most, and the one it is about up to
 * COUNTER_STACK more.
 */
void counter_reply(struct counter *c, uint32_t client, enum counter_word word);

/* --- counter_entry.c ---------------------------------------------------- */

/* The entry at this depth of the client's stack. */
uint32_t counter_entry_at(
    const struct counter *c, uint32_t client, unsigned depth);

/* Whether the client's newest entry waits. */
bool counter_waits(const struct counter *c, uint32_t client);

/* A new entry, on top of the stack; it is to be locked or enqueued. */
uint32_t counter_push(
    struct counter *c, uint32_t client, uint32_t key, uint32_t workers);

/* It holds a place, which is among the holders of its key. */
void counter_lock(struct counter *c, uint32_t entry);
void counter_enqueue(
    struct counter *c, uint32_t entry, bool any, tspan timeout);

/* A wait ends by its timeout. */
void counter_expire(struct counter *c, uint32_t entry);

/* A lock or a wait ends; released: by its client, and not by its leaving. */
void counter_end(struct counter *c, uint32_t entry, bool released);

/* --- counter_rank.c ----------------------------------------------------- */

/* The entry, whose state says in which queue it waits. */
void counter_rank_join(struct counter *c, uint32_t entry);
void counter_rank_leave(struct counter *c, uint32_t entry);

/* The client that waits longest under this limit, or ILIST_NONE. */
uint32_t counter_rank_first(const struct counter *c, uint32_t key,
    enum counter_state state, uint32_t workers);

/* Puts every rank into the buckets, which are empty. */
void counter_rank_rehash(struct counter *c);

/* --- counter_keys.c ----------------------------------------------------- */

uint32_t counter_hash(const struct counter *c, const char *key, size_t len);

/* The key of this text, or ILIST_NONE. */
uint32_t counter_find(
    const struct counter *c, uint32_t hash, const char *key, size_t len);

/* The same for a key that is known to be there. */
bool counter_is_key(
    const struct counter *c, uint32_t key, const char *text, size_t len);

/* A new one, without holders; there is room for it. */
uint32_t counter_add(
    struct counter *c, uint32_t hash, const char *key, size_t len);

/* Forgets it if it has neither holder nor waiter. */
void counter_drop(struct counter *c, uint32_t key);

/* Puts every key into the buckets, which are empty. */
void counter_rehash(struct counter *c);

#endif
