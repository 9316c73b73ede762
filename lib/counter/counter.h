#ifndef COUNTER_COUNTER_H
#define COUNTER_COUNTER_H

/* apppool-counter: locks with a limit, over the protocol of PoolCounter. */

#include <sys/queue.h>
#include <sys/tree.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/deadlines.h"
#include "core/ilist.h"
#include "core/tstamp.h"
#include "sys/counter_wire.h"
#include "sys/lane.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/text.h"

/* --- counter.c ----------------------------------------------------------- */

/*
 * Decides who has a lock, by the rules of apppool-counter(7), and makes no
 * system call, but for the memory of keys. As with the pool, the caller tells
 * what happened; say() is given the replies meanwhile, and tells it nothing.
 * Clients are numbers, reused after their end.
 *
 * A request costs O(log n), of the keys and of the clients that wait, and
 * O(n log n) if it wakes n clients.
 */

/* Locks and waits a client can have at a time. */
#define COUNTER_STACK 4

/* Longest key, in bytes. */
#define COUNTER_KEY_MAX 1024

struct counter_limits {
	uint32_t clients; /* 1 to 2^24 */
	uint32_t keys; /* at least 1 */
};

enum counter_state {
	COUNTER_HELD,
	COUNTER_ME, /* waits for a place of its own */
	COUNTER_ANY, /* waits for the result of any holder */
};

/* A lock, or a wait for one. */
struct counter_entry {
	tstamp since; /* held, or waiting, since then */
	struct counter_key *key;
	uint32_t workers; /* limit of its request */
	uint8_t state; /* enum counter_state */
};

/* The newest entry alone may wait. */
struct counter_client {
	bool open;
	bool own; /* of the daemon: the ceilings are not for it */
	uint8_t depth; /* entries */
	struct counter_entry entries[COUNTER_STACK]; /* oldest first */
	uint64_t turn; /* if it waits: the number of its wait */
	RB_ENTRY(counter_client) wait; /* likewise */
};

/*
 * Exists while it has a holder or a waiter.
 *
 * No client waits while there are fewer holders than its limit allows, neither
 * when it comes nor later. So when one of h holders goes, the clients that may
 * have the place are exactly those with the limit h: the heir is the first of
 * them in the tree, and no queue has to be looked through.
 */
struct counter_key {
	RB_ENTRY(counter_key) node;
	uint32_t holders;
	uint32_t waiters;
	/* Clients that wait, by kind and limit; the longest waiting first. */
	RB_HEAD(counter_waits, counter_client) waits;
	struct ilist any; /* those that wait for any result, oldest first */
	size_t len; /* bytes of its text */
	const char *text; /* behind the struct */
};

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

struct counter {
	struct counter_limits limits; /* of the tables */
	struct counter_limits ceilings; /* at most those; who is there stays */
	void *memory; /* of the tables, which counter_fini() frees */
	struct counter_client *clients;
	struct ilink *links; /* of clients: the free list, and the queues */
	RB_HEAD(counter_keys, counter_key) keys; /* by their text */
	void (*say)(struct counter *, uint32_t client, enum counter_word);
	struct deadlines waits; /* by client */
	struct ilist free_clients; /* used before, free now */
	uint32_t nclients; /* numbers below were used at some time */
	uint64_t nwaits; /* ever */
	struct counter_figures *figures;
	tstamp now; /* of the latest fact */
};

struct counter_request {
	const char *key; /* any bytes; 1 … COUNTER_KEY_MAX of them */
	size_t len;
	uint32_t workers; /* holders that this client will stand; at least 1 */
	uint32_t maxqueue; /* holders and waiters, likewise; at least 1 */
	tspan timeout; /* longest wait; 0: none */
	bool any; /* ACQ4ANY, else ACQ4ME */
};

/*
 * Tables for so many, which are the ceilings, too. The figures, all 0, are the
 * caller's. False: no memory.
 */
bool counter_init(struct counter *c, const struct counter_limits *limits,
    struct counter_figures *figures,
    void (*say)(struct counter *, uint32_t client, enum counter_word),
    tstamp now);
void counter_fini(struct counter *c);

/* Ceilings, at most what the tables hold. */
void counter_limit(struct counter *c, const struct counter_limits *ceilings);

/* A client has come: its number, or ILIST_NONE if there are too many. */
uint32_t counter_opened(struct counter *c, bool own, tstamp now);

/* The client has left: its locks and waits end, newest first. */
void counter_closed(struct counter *c, uint32_t client, tstamp now);

/* The client asks for a lock: ACQ4ME, ACQ4ANY. */
void counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now);

/* The client says RELEASE: of its newest lock or wait; len > 0: of this key. */
void counter_release(struct counter *c, uint32_t client, const char *key,
    size_t len, tstamp now);

/* To be called at the first of `waits`. */
void counter_tick(struct counter *c, tstamp now);

/* --- language.c ---------------------------------------------------------- */

/* Longest line, its LF included. */
#define LANGUAGE_LINE_MAX 1024

enum language_verb {
	LANGUAGE_ACQUIRE, /* ACQ4ME, ACQ4ANY: see request */
	LANGUAGE_RELEASE, /* see text; empty: the newest */
	LANGUAGE_STATS, /* see text; empty: without an argument */
	LANGUAGE_BAD_SYNTAX,
	LANGUAGE_BAD_COMMAND,
};

struct language_line {
	enum language_verb verb;
	struct counter_request request;
	const char *text; /* in the line */
	size_t len;
};

/* Takes apart a line of len bytes, its LF not among them. */
void language_parse(const char *line, size_t len, struct language_line *out);

/* What the argument of STATS asks for. False, and nothing: an unknown one. */
bool language_stats(struct text *out, const struct counter_figures *f,
    tspan uptime, const char *what, size_t len);

/* --- lockers.c ----------------------------------------------------------- */

/*
 * The clients of the service. All that is done for them is done at the end of a
 * turn, and only so much of it in each: clients that have said something wait
 * in line, have a go one after the other, and wait in line again if they have
 * said more. A request costs a recv(), a send() and its share of epoll_wait().
 */

/* Unread answers, of all clients together. */
#define LOCKERS_PENDING_MAX (16 * 1024 * 1024)

/* The lines in which clients wait; the daemon's own go first. */
enum lockers_line {
	LOCKERS_OWN,
	LOCKERS_STRANGERS,
	LOCKERS_LINES
};

struct locker;

TAILQ_HEAD(locker_list, locker);

struct lockers {
	struct loop *loop;
	struct lane *closer; /* of sockets that strangers wrote to */
	struct counter counter;
	struct locker **lockers; /* by number; NULL: none */
	struct timer waits; /* the earliest end of a wait */
	/* Of each line: */
	struct locker_list ready[LOCKERS_LINES]; /* wait for their go */
	struct locker_list dirty[LOCKERS_LINES]; /* have answers to be sent */
	struct timer more; /* set if a turn has left work for the next */
	size_t pending; /* bytes of answers to clients that do not read */
	tstamp started;
	struct log_rate refused_rate;
	struct log_rate memory_rate;
	struct log_rate stall_rate;
	struct log_rate keys_rate;
};

/* Tables for so many at most. False: no memory. */
bool lockers_init(struct lockers *all, struct loop *loop, struct lane *closer,
    const struct counter_limits *limits, struct counter_figures *figures);

/* Cuts every client off and frees the tables. */
void lockers_fini(struct lockers *all, tstamp now);

/* Takes fd over; the daemon's own, a Unix socket, beyond the ceiling, too. */
void lockers_add(
    struct lockers *all, int fd, bool tcp, enum lockers_line line, tstamp now);

/* The turn ends; if it leaves something to do, the loop does not sleep. */
void lockers_turn(struct lockers *all, tstamp now);

#endif
