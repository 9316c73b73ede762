#ifndef CORE_COUNTER_H
#define CORE_COUNTER_H

/*
 * PoolCounter: locks with a limit, for many clients.  A key is held by as
 * many clients as the asking client will stand, a bounded number waits, and
 * the rest is told so at once.  Waiters for a place of their own (ME) are
 * served one by one, waiters for anyone's result (ANY) all together when a
 * holder releases.
 *
 * As with the pool, the caller tells what happened, `now` last, and takes out
 * replies with counter_next_reply() after each fact.  The counter makes no
 * system call, looks at no clock and allocates nothing.  Clients are numbers,
 * reused after their end.  No function fails: `now` that runs backwards, or a
 * client that is not there, is the caller's bug, and an assert.
 *
 * Source: the PoolCounter text, and the behaviour of poolcounterd 1.1.3.
 * apppool-counter(7) has the rules.
 *
 * A request costs O(1), O(log n) if it begins or ends a wait, and O(n) if it
 * wakes n clients.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/counter_keys.h"

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

struct counter_request {
	const char *key; /* any bytes; 1 … COUNTER_KEY_MAX of them */
	size_t len;
	uint32_t workers; /* holders that this client will stand; at least 1 */
	uint32_t maxqueue; /* holders and waiters, likewise; at least 1 */
	tspan timeout; /* longest wait; 0: none */
	bool any; /* ACQ4ANY, else ACQ4ME */
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
 * Allows so many clients and keys, at most what the tables hold.  Clients and
 * keys that are there stay, even if there are more.
 */
void counter_resize(struct counter *c, const struct counter_limits *limits);

/* The number of clients that are there, without those apart. */
uint32_t counter_clients(const struct counter *c);

/* A client has come: its number, or ILIST_NONE if there are too many. */
uint32_t counter_opened(struct counter *c, tstamp now);

/*
 * The same for a client that no others can keep out: it is one of those for
 * which the limits set places and keys apart.
 */
uint32_t counter_opened_apart(struct counter *c, tstamp now);

/* The client has left: its locks and waits end, newest first. */
void counter_closed(struct counter *c, uint32_t client, tstamp now);

/* The client asks for a lock: ACQ4ME, ACQ4ANY. */
void counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now);

/* The client says RELEASE: of its newest lock or wait; len > 0: of this key. */
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

/* The words as they go over the wire, without the LF. */
const char *counter_word_text(enum counter_word word);

/* Asserts every invariant: O(size of the counter). */
void counter_check(const struct counter *c);

/* --- a service built on it ---------------------------------------------- */

/* The figures of a service. */
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
