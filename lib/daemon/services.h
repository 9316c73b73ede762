#ifndef DAEMON_SERVICES_H
#define DAEMON_SERVICES_H

/*
 * The parts of the daemon that the supervisor knows by tables of functions
 * alone: the control socket, the PoolCounter service, and its client.
 * apppoold.c registers them between supervisor_init() and supervisor_open().
 */

#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "core/counter.h"
#include "core/limiter.h"
#include "core/tstamp.h"

struct limiter;
struct openings;

/* A part that opens what the configuration says. */
struct service_ops {
	/* The answer of a reload whose prepare() has failed. */
	const char *refusal;
	/*
	 * A change to what conf says, in two steps; the first configuration
	 * is one too. prepare() does all that may fail, and nothing that
	 * any client could notice; spare: descriptors that are left when conf
	 * has all it needs; openings: NULL, or for its Unix sockets. Returns
	 * 0; or an exit status, the reason having been logged, and then nothing
	 * has changed; or OPENINGS_LATER, likewise, if openings_open() put it
	 * off. After success commit() or abort() follows.
	 */
	int (*prepare)(void *arg, const struct conf *conf, uint32_t spare,
	    struct openings *openings);
	void (*commit)(void *arg, const struct conf *conf, tstamp now);
	void (*abort)(void *arg);
	/*
	 * A turn of the loop ends, and all connections are on their way. May
	 * be NULL.
	 */
	void (*turn)(void *arg, tstamp now);
	/* The daemon ends. Frees arg. */
	void (*close)(void *arg, tstamp now);
};

/* The PoolCounter service, as processes and the snapshot see it. */
struct counter_ops {
	/* False: the configuration has no counter. */
	bool (*figures)(
	    const void *arg, tstamp now, struct counter_service_figures *out);
	/*
	 * The address number i, valid until the next reload. Processes are
	 * told the first. False: there are no more.
	 */
	bool (*address)(const void *arg, size_t i, struct counter_address *out);
};

/* The clients of PoolCounter servers, one for each app with a limit. */
struct limiter_ops {
	/* app, events and events_arg outlive the limiter. NULL and errno. */
	struct limiter *(*create)(void *arg, const char *app,
	    const struct limiter_events *events, void *events_arg);
	/* Before the first request, and after a change. */
	bool (*configure)(struct limiter *, const struct conf_app *);
	void (*free)(struct limiter *);
	void (*ask)(struct limiter *, tstamp now);
	void (*give_back)(struct limiter *, uint32_t lock, tstamp now);
	const struct limiter_figures *(*figures)(const struct limiter *);
	/* How many descriptors the limit of an app may need. */
	unsigned (*descriptors)(const struct conf_app *);
};

#define SERVICES_MAX 4

/* All zero: none is registered, which the functions below allow for. */
struct services {
	struct {
		const struct service_ops *ops;
		void *arg;
		bool prepared; /* its latest prepare() succeeded */
	} list[SERVICES_MAX]; /* in the order of their start */
	size_t len;
	const struct counter_ops *counter;
	const struct limiter_ops *limiter;
	void *counter_arg; /* of both */
	void (*dump)(void *arg, tstamp now); /* SIGUSR1 */
	void *dump_arg;
};

/* ops must outlive the daemon. */
void services_add(
    struct services *all, const struct service_ops *ops, void *arg);

/*
 * As service_ops of all services, in order. If a service fails, the services
 * before it abort, and *refusal_out is that of the service. One that puts it
 * off is such a failure when all have been asked.
 */
int services_prepare(struct services *all, const struct conf *conf,
    uint32_t spare, struct openings *openings, const char **refusal_out);
void services_commit(struct services *all, const struct conf *conf, tstamp now);
void services_abort(struct services *all);
void services_turn(struct services *all, tstamp now);

/* Closes the services, the last first; afterwards none is registered. */
void services_close(struct services *all, tstamp now);

/* The exit status where something could not be opened, for this errno. */
int services_exit_status(int error);

/* As of counter_ops. */
bool services_counter_figures(const struct services *all, tstamp now,
    struct counter_service_figures *out);
bool services_counter_address(
    const struct services *all, size_t i, struct counter_address *out);

#endif
