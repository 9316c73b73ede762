#ifndef CORE_COUNTER_KEYS_H
#define CORE_COUNTER_KEYS_H

/*
 * The tables of the counter, and what finds its keys and their waiters in
 * them.  For the files counter*.c and for reading.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/deadlines.h"
#include "core/ilist.h"
#include "core/siphash.h"
#include "core/tstamp.h"

/* Locks and waits a client can have at a time. */
#define COUNTER_STACK 4

/* Longest key, in bytes. */
#define COUNTER_KEY_MAX 1024

/* Pieces that the text of one key takes at most. */
#define COUNTER_CHUNKS \
	((COUNTER_KEY_MAX + sizeof(((struct counter_chunk *)0)->text) - 1) / \
	    sizeof(((struct counter_chunk *)0)->text))

/* Sizes of the tables. */
struct counter_limits {
	uint32_t clients; /* at least 1, at most 2^24 */
	/* At least 1; more than COUNTER_STACK for each client are useless. */
	uint32_t keys;
	/* So many clients more, and a key for each, are set apart. */
	uint32_t apart;
};

enum counter_state {
	COUNTER_FREE,
	COUNTER_HELD,
	COUNTER_ME, /* waits for a place of its own */
	COUNTER_ANY, /* waits for the result of any holder */
};

/* A lock, or a wait for one: number client * COUNTER_STACK + 0 … 3. */
struct counter_entry {
	tstamp since; /* held, or waiting, since then */
	uint32_t key;
	uint32_t workers; /* limit of its request */
	uint32_t rank; /* of an entry that waits */
	uint8_t state; /* enum counter_state */
};

struct counter_client {
	bool open;
	bool apart; /* came by counter_opened_apart() */
	uint8_t depth; /* entries */
	uint8_t stack[COUNTER_STACK]; /* oldest first; the rest is free ones */
};

/* Exists while it has a holder or a waiter. */
struct counter_key {
	uint32_t hash;
	uint32_t next; /* of the same bucket, + 1; 0: none */
	uint32_t text; /* its first chunk */
	uint16_t len; /* bytes; 0: this number is free */
	uint32_t holders;
	struct ilist me; /* entries that wait, oldest first */
	struct ilist any;
};

/*
 * The clients that wait for a key, in one of its queues, under the same limit.
 *
 * No client waits while there are fewer holders than its limit allows, neither
 * when it comes nor later.  So when one of h holders goes, the clients that
 * may have the place are exactly those with the limit h: the heir is the first
 * of a rank, and no queue has to be looked through.
 */
struct counter_rank {
	uint32_t key;
	uint32_t workers;
	uint32_t next; /* of the same bucket, or of the free ones, + 1; 0 */
	uint8_t state; /* COUNTER_ME, COUNTER_ANY; COUNTER_FREE: not in use */
	struct ilist clients; /* the longest waiting one first */
};

/* A piece of the text of a key. */
struct counter_chunk {
	uint32_t next; /* of the same text, or of the free ones, + 1; 0: none */
	char text[60];
};

/* A reply to a client. */
struct counter_reply {
	uint32_t client;
	uint8_t word; /* enum counter_word */
};

/* Since the beginning.  Times are in microseconds, each rounded down. */
struct counter_figures {
	uint64_t acquired; /* LOCKED */
	uint64_t releases; /* RELEASED */
	uint64_t processed; /* locks that have ended */
	uint64_t full_queues;
	uint64_t lock_mismatch; /* LOCK_HELD */
	uint64_t lock_while_waiting;
	uint64_t release_mismatch; /* NOT_LOCKED */
	uint64_t full_tables; /* TOO_MANY_KEYS */
	uint64_t processing_time; /* from LOCKED to the end of the lock */
	uint64_t gained_time; /* that of the releaser, for each DONE */
	uint64_t me_time; /* waits ended by LOCKED */
	uint64_t any_time; /* likewise */
	uint64_t good_time; /* waits ended by DONE */
	uint64_t wasted_time; /* waits ended by TIMEOUT */
	uint32_t held; /* locks at the moment */
	uint32_t waiting; /* waits at the moment */
};

struct counter {
	struct counter_limits limits; /* of the tables */
	struct counter_limits in_force; /* at most those; what is there stays */
	struct counter_client *clients;
	struct counter_entry *entries;
	struct ilink *client_links; /* the free list, and the ranks */
	struct ilink *entry_links; /* the queues */
	struct counter_key *keys;
	struct counter_chunk *chunks;
	struct counter_rank *ranks; /* one for each client */
	uint32_t *buckets; /* key + 1; 0: none */
	uint32_t bucket_mask; /* number of buckets - 1 */
	uint32_t *rank_buckets; /* likewise, of ranks */
	uint32_t rank_mask;
	struct counter_reply *replies;
	uint32_t first_reply;
	uint32_t nreplies;
	struct deadlines waits; /* by client */
	struct ilist free_clients; /* used before, free now */
	uint32_t free_keys; /* linked by next, + 1; 0: none */
	uint32_t free_chunks; /* likewise */
	uint32_t free_ranks; /* likewise */
	uint32_t nclients; /* numbers below were used at some time */
	uint32_t nkeys; /* likewise */
	uint32_t nchunks; /* likewise */
	uint32_t nranks; /* likewise */
	uint32_t used_keys;
	uint32_t apart; /* clients that are there and came so */
	struct siphash_seed seed;
	struct counter_figures figures;
	tstamp now; /* of the latest fact */
};

static inline uint32_t
counter_keys_waiters(const struct counter_key *k)
{
	return k->me.count + k->any.count;
}

/* --- keys, by their text ------------------------------------------------- */

uint32_t counter_keys_hash(
    const struct counter *c, const char *text, size_t len);

/* The key of this text, or ILIST_NONE. */
uint32_t counter_keys_find(
    const struct counter *c, uint32_t hash, const char *text, size_t len);

/* Whether the text is that of this key. */
bool counter_keys_is(
    const struct counter *c, uint32_t key, const char *text, size_t len);

/* A new key, without holders; the caller knows that there is room for it. */
uint32_t counter_keys_add(
    struct counter *c, uint32_t hash, const char *text, size_t len);

/* Forgets the key if it has neither holder nor waiter. */
void counter_keys_drop(struct counter *c, uint32_t key);

/* --- waiters, by their key ----------------------------------------------- */

/* The entry, whose state says in which queue, waits for its key. */
void counter_keys_join(struct counter *c, uint32_t entry);
void counter_keys_leave(struct counter *c, uint32_t entry);

/* The client that waits longest under this limit, or ILIST_NONE. */
uint32_t counter_keys_heir(const struct counter *c, uint32_t key,
    enum counter_state state, uint32_t workers);

/* Puts every key and every rank into the buckets, which are empty. */
void counter_keys_rehash(struct counter *c);

#endif
