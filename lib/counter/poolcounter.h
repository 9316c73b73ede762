#ifndef COUNTER_POOLCOUNTER_H
#define COUNTER_POOLCOUNTER_H

/*
 * The PoolCounter service: core/counter on the addresses of `counter`.  See
 * apppool-counter(7).
 *
 * Clients stay across a reload, with all locks and waits, even when every
 * address has left the configuration.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "core/counter.h"
#include "core/tstamp.h"
#include "sys/lane.h"
#include "sys/loop.h"

struct openings;
struct poolcounter;

/*
 * A service without addresses and clients. Sockets that strangers wrote to
 * are closed in the closer's lane. NULL and errno.
 */
struct poolcounter *poolcounter_new(struct loop *loop, struct lane *closer);

/*
 * The functions whose first parameter is void * are for tables of functions:
 * it is the struct poolcounter.
 *
 * A change to what conf says, in two steps; the first configuration is one,
 * too. prepare() does all that may fail, and nothing that anybody could
 * notice; spare: descriptors that are left when conf has all it needs;
 * openings: NULL, or for its Unix sockets. Returns 0; or an exit status,
 * logged, or OPENINGS_LATER, and then nothing has changed. After success
 * commit() or abort() follows.
 */
int poolcounter_prepare(void *arg, const struct conf *conf, uint32_t spare,
    struct openings *openings);
void poolcounter_commit(void *arg, const struct conf *conf, tstamp now);
void poolcounter_abort(void *arg);

/* At the end of each turn of the loop. */
void poolcounter_turn(void *arg, tstamp now);

/* Cuts every client off and frees the service. */
void poolcounter_close(void *arg, tstamp now);

struct loop *poolcounter_loop(const struct poolcounter *pc);

/*
 * A connection to the service from inside the daemon: the caller's end, not
 * blocking. -1 and errno, ECONNREFUSED if the configuration has no counter.
 */
int poolcounter_join(struct poolcounter *pc, tstamp now);

/* Idle connections that the limit of an app keeps for its next requests. */
#define POOLCOUNTER_IDLE_MAX 16

/*
 * Connections that the limit of an app may have to its server. The service of
 * this daemon has places set apart for those that lead to it, so that clients
 * from elsewhere cannot keep them out.
 */
unsigned poolcounter_connections(const struct conf_app *conf);

/*
 * Address number i, until the next reload: processes of this machine are told
 * the first. False: there are no more.
 */
bool poolcounter_address(
    const void *arg, size_t i, struct counter_address *out);

/* False: the configuration has no counter. */
bool poolcounter_figures(
    const void *arg, tstamp now, struct counter_service_figures *out);

#endif
