#ifndef CORE_COUNTER_H
#define CORE_COUNTER_H

/*
 * PoolCounter: locks with a limit, for many clients.  A key is held by as
 * many clients as the one that asks will stand, a bounded number waits, and
 * the rest is told so at once.  Waiters for themselves (ME) are served one by
 * one, waiters for anyone's result (ANY) all together when a holder releases.
 *
 * Like the pool it is told what happened, `now` last, and answers with
 * replies, to be taken out with counter_next_reply() after each fact.  It
 * makes no system call, looks at no clock and allocates nothing.  Clients are
 * numbers, reused after their end.  `now` never runs backwards.
 *
 * Source: the PoolCounter text, and the behaviour of poolcounterd 1.1.3.
 * apppool-counter(7) has the rules.
 *
 * A request costs O(1), or O(log n) where it begins or ends a wait; one that
 * wakes n clients O(n).
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

/* Longest key. */
#define COUNTER_KEY_MAX 1024

enum counter_word {
	COUNTER_LOCKED,
	COUNTER_DONE,
	COUNTER_QUEUE_FULL,
	COUNTER_TIMEOUT,
	COUNTER_LOCK_HELD,
	COUNTER_NOT_LOCKED,
	COUNTER_RELEASED,
	COUNTER_WAIT_FOR_RESPONSE, /* an error */
	COUNTER_TOO_MANY_KEYS, /* likewise, of this implementation */
	COUNTER_WORDS
};

/* What a client is told. */
struct counter_reply {
	uint32_t client;
	uint8_t word; /* enum counter_word */
};

/* Sizes of the tables, each at least 1. */
struct counter_limits {
	uint32_t clients; /* at most 2^24 */
	uint32_t keys; /* more than COUNTER_STACK for each client are useless */
};

struct counter_request {
	const char *key; /* any bytes; 1 … COUNTER_KEY_MAX of them */
	size_t len;
	uint32_t workers; /* holders this client will stand; at least 1 */
	uint32_t maxqueue; /* holders and waiters, likewise; at least 1 */
	tspan timeout; /* longest wait; 0: none */
	bool any; /* ACQ4ANY, else ACQ4ME */
};

enum counter_state {
	COUNTER_FREE,
	COUNTER_HELD,
	COUNTER_ME, /* waits */
	COUNTER_ANY, /* likewise */
};

/* A lock, or a wait for one: number client * COUNTER_STACK + 0 … 3. */
struct counter_entry {
	tstamp since; /* held, or waiting, since then */
	uint32_t key;
	uint32_t workers; /* limit of its request */
	uint32_t rank; /* of one that waits */
	uint8_t state; /* enum counter_state */
};

struct counter_client {
	bool open;
	uint8_t depth; /* entries */
	uint8_t stack[COUNTER_STACK]; /* oldest first; the rest is free ones */
};

/* Exists while it has a holder or a waiter. */
struct counter_key {
	uint32_t hash;
	uint32_t next; /* of the same bucket, + 1; 0: none */
	uint32_t text; /* its first chunk */
	uint16_t len;
	uint32_t holders;
	struct ilist me; /* entries that wait, oldest first */
	struct ilist any;
};

/*
 * Those who wait for a key, in one of its queues, under the same limit.
 *
 * Nobody waits while there are fewer holders than his limit allows, neither
 * when he comes nor later.  So when one of h holders goes, those that may
 * have the place are exactly those with the limit h: the heir is the first
 * of a rank, and nobody has to be looked through.
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

/* The fields may be read; only the functions below change them. */
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
	struct siphash_seed seed;
	struct counter_figures figures;
	tstamp now; /* of the latest fact */
};

/* Bytes that counter_init() or counter_move() needs for these limits. */
size_t counter_memory(const struct counter_limits *limits);

/*
 * memory: counter_memory() zeroed bytes, aligned as malloc does; the caller
 * frees them after the counter's end.  Pages that are never used stay
 * untouched.  The seed should be secret.
 */
void counter_init(struct counter *c, const struct counter_limits *limits,
    void *memory, const struct siphash_seed *seed, tstamp now);

/*
 * Moves everything to other memory, for limits none of which is smaller.
 * The caller may free the former memory afterwards.
 */
void counter_move(
    struct counter *c, const struct counter_limits *limits, void *memory);

/*
 * How many may be there, at most what the tables hold.  Who is there stays,
 * be it more than that.
 */
void counter_resize(struct counter *c, const struct counter_limits *limits);

/* Clients that are there. */
uint32_t counter_clients(const struct counter *c);

/* A client has come: its number, or ILIST_NONE if there are too many. */
uint32_t counter_opened(struct counter *c, tstamp now);

/* It has left; all it has ends, newest first.  Its number is free. */
void counter_closed(struct counter *c, uint32_t client, tstamp now);

/* ACQ4ME, ACQ4ANY. */
void counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now);

/* RELEASE; len 0: of the newest, else of the newest of that key. */
void counter_release(struct counter *c, uint32_t client, const char *key,
    size_t len, tstamp now);

/* When counter_tick() is due; TSTAMP_NEVER: never. */
tstamp counter_deadline(const struct counter *c);
void counter_tick(struct counter *c, tstamp now);

/*
 * Takes out the oldest reply; false: there is none.  No fact may be told
 * before all replies to the one before it have been taken out.
 */
bool counter_next_reply(struct counter *c, struct counter_reply *out);

/* As they go over the wire, without the LF. */
const char *counter_word_text(enum counter_word word);

/* Asserts every invariant: O(size of the counter). */
void counter_check(const struct counter *c);

/* --- a service built on it ---------------------------------------------- */

/* What a service shows of itself. */
struct counter_service_figures {
	uint32_t clients;
	uint32_t max_clients;
	uint32_t keys;
	uint32_t max_keys;
	uint64_t connections; /* ever */
	uint64_t refused_clients; /* more than max_clients */
	uint64_t connect_errors;
	uint64_t failed_sends;
	uint64_t uptime; /* seconds */
	struct counter_figures counter;
};

/* An address of a service; the texts are the service's. */
struct counter_address {
	const char *where; /* in pool.conf's words */
	const char *listens; /* where it really listens, for people */
	const char *reach; /* the same for a process of this machine */
};

#endif
