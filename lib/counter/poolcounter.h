#ifndef COUNTER_POOLCOUNTER_H
#define COUNTER_POOLCOUNTER_H

/*
 * The PoolCounter service: core/counter on the addresses of `counter`.  See
 * apppool-counter(7).
 *
 * Whoever is connected stays across a reload, with all locks and waits, even
 * when every address has left the configuration.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "core/counter.h"
#include "core/tstamp.h"

struct poolcounter;
struct supervisor;

/*
 * A change to what conf says, in two steps.  prepare: all that may fail, and
 * nothing that anybody could notice; s->counter comes into being if conf has
 * a counter.  false: logged, and nothing has changed.  Then either commit or
 * abort.  Also used for the first configuration.
 */
bool poolcounter_prepare(struct supervisor *s, const struct conf *conf);
void poolcounter_commit(
    struct supervisor *s, const struct conf *conf, tstamp now);
void poolcounter_abort(struct supervisor *s);

/* Cuts every client off and frees s->counter, which may be NULL. */
void poolcounter_close(struct supervisor *s);

/*
 * A connection to the service from inside the daemon: the caller's end, not
 * blocking. -1 and errno.
 */
int poolcounter_join(struct poolcounter *pc, tstamp now);

/*
 * Once in each turn, after the events: timeouts, and what clients are to be
 * told.  pc may be NULL, also of the functions that follow.
 */
void poolcounter_tick(struct poolcounter *pc, tstamp now);

/* When poolcounter_tick() is due, if nothing happens before. */
tstamp poolcounter_deadline(const struct poolcounter *pc);

/*
 * Where a process of this machine reaches it, in pool.conf's words; NULL:
 * nowhere.  Until the next reload.
 */
const char *poolcounter_address(const struct poolcounter *pc);

/*
 * Address number i, as people and status want it, and in pool.conf's words;
 * NULL: there are no more.
 */
const char *poolcounter_listens(const struct poolcounter *pc, size_t i);
const char *poolcounter_where(const struct poolcounter *pc, size_t i);

/* For the status.  Its `counter` may be read. */
struct poolcounter_figures {
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

void poolcounter_figures(
    const struct poolcounter *pc, tstamp now, struct poolcounter_figures *out);

#endif
