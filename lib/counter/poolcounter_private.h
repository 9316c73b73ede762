#ifndef COUNTER_POOLCOUNTER_PRIVATE_H
#define COUNTER_POOLCOUNTER_PRIVATE_H

/*
 * What the files poolcounter*.c share: poolcounter.c has the service as a
 * whole, poolcounter_setup.c its tables and configuration,
 * poolcounter_door.c its addresses, poolcounter_client.c those who have
 * connected, poolcounter_stats.c what STATS answers.
 */

#include <sys/queue.h>

#include "counter/poolcounter.h"
#include "sys/listener.h"
#include "sys/log.h"

/* Accepts of one door in one turn at most. */
#define PC_ACCEPTS 64

/* Read from one client in one turn at most, besides what was left over. */
#define PC_READ 4096

/* Answers that a client keeps in itself; nearly all fit. */
#define PC_SMALL 96

/* Answers that nobody takes, of all clients together. */
#define PC_PENDING_MAX (16 * 1024 * 1024)

/* One that does not read is cut off after so long. */
#define PC_STALL TSPAN_SECONDS(10)

struct pc_client {
	struct loop_io io; /* reads, unless stalled */
	struct poolcounter *pc;
	TAILQ_ENTRY(pc_client) dirty_next; /* if dirty */
	TAILQ_ENTRY(pc_client) stalled_next; /* if stalled */
	tstamp stalled_until; /* cut off then */
	uint32_t number; /* in the core */
	bool tcp;
	bool dirty; /* has something to be sent in this turn */
	bool stalled; /* does not take it */
	bool skipping; /* until the end of a line that was too long */
	bool lost; /* an answer found no memory */
	char *in; /* the beginning of a line; NULL: none */
	size_t in_len;
	char *out; /* small, or allocated */
	size_t out_len;
	size_t out_size;
	char small[PC_SMALL];
};

TAILQ_HEAD(pc_clients, pc_client);

/* A listener of the service. */
struct pc_door {
	TAILQ_ENTRY(pc_door) next;
	struct poolcounter *pc;
	struct loop_io io; /* in the loop unless it rests */
	struct listener listener;
	struct conf_listen where; /* strings owned; see conf.h */
	char address[160]; /* where it really listens, for people */
	char reach[160]; /* the same for a process of this machine */
	unsigned budget; /* accepts in the next turn, 1 … PC_ACCEPTS */
	tstamp rest_until; /* TSTAMP_NEVER: it does not rest */
};

TAILQ_HEAD(pc_doors, pc_door);

struct poolcounter {
	struct loop *loop;
	struct lane *closer;
	struct counter counter;
	void *memory; /* of the core; NULL: there was no counter so far */
	struct pc_client **clients; /* by number; NULL: none */
	struct pc_doors doors;
	struct pc_doors fresh; /* opened by prepare, not in use yet */
	struct counter_limits limits; /* that commit puts into force */
	bool fresh_tables; /* of the prepare that is not committed yet */
	struct pc_clients dirty;
	struct pc_clients stalled; /* the longest first */
	size_t pending; /* bytes of those that are stalled */
	tstamp started;
	uint64_t connections;
	uint64_t refused_clients;
	uint64_t connect_errors;
	uint64_t failed_sends;
	struct log_rate refused_rate;
	struct log_rate memory_rate;
	struct log_rate stall_rate;
	struct log_rate keys_rate;
};

/* --- poolcounter.c ------------------------------------------------------ */

/* Notes what the core has to say, for the end of the turn. */
void pc_settle(struct poolcounter *pc, tstamp now);

/* --- poolcounter_door.c ------------------------------------------------- */

/*
 * Opens doors (several where the service manager gave several sockets of one
 * name) and appends them to out, in nobody's use.  false: logged, and out is
 * as it was.
 */
bool pc_door_open(struct poolcounter *pc, const struct conf_listen *where,
    struct pc_doors *out);
void pc_door_use(struct pc_door *d);

/* Closes it, off any list; who is in its backlog is taken in before. */
void pc_door_leave(struct pc_door *d, tstamp now);
void pc_door_close(struct pc_door *d);

/* It has rested. */
void pc_door_wake(struct pc_door *d, tstamp now);

/* --- poolcounter_client.c ----------------------------------------------- */

/* Takes fd over. */
void pc_client_new(struct poolcounter *pc, int fd, bool tcp, tstamp now);
void pc_client_close(struct pc_client *cl, tstamp now);

/* Add to what is sent at the end of the turn: any text; a line. */
void pc_client_put(struct pc_client *cl, const char *text, size_t len);
void pc_client_say(struct pc_client *cl, const char *line);

/* Sends it. The client may be gone afterwards. */
void pc_client_flush(struct pc_client *cl, tstamp now);

/* --- poolcounter_stats.c ------------------------------------------------ */

void pc_stats(struct pc_client *cl, const char *what, size_t len, tstamp now);

#endif
