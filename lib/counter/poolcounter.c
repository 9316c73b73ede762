/*
 * The PoolCounter service under a configuration: how many clients it may
 * have, and at which addresses.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "counter/pc_clients.h"
#include "counter/pc_listener.h"
#include "counter/poolcounter.h"
#include "sys/log.h"

struct poolcounter {
	struct pc_clients clients;
	struct pc_listeners listeners;
	/* Of a prepare() that is neither committed nor aborted: */
	struct pc_listeners fresh;
	struct counter_limits limits;
	bool first; /* there were no tables before it */
};

struct poolcounter *
poolcounter_new(struct loop *loop, struct lane *closer)
{
	struct poolcounter *pc = calloc(1, sizeof(*pc));

	if (pc == NULL)
		return NULL;
	pc_clients_init(&pc->clients, loop, closer);
	TAILQ_INIT(&pc->listeners);
	TAILQ_INIT(&pc->fresh);
	return pc;
}

static bool
has_tables(const struct poolcounter *pc)
{
	return pc->clients.memory != NULL;
}

static void
close_all(struct pc_listeners *list)
{
	struct pc_listener *l;

	while ((l = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, l, next);
		pc_listener_close(l);
	}
}

/* Keys that are locked at a time. */
#define KEYS_MAX 100000

/* --- configuration ------------------------------------------------------ */

/* The limits of the configuration, as far as there are descriptors. */
static void
find_limits(const struct conf *conf, uint32_t spare, struct counter_limits *out)
{
	out->clients = conf->counter_max_clients;
	if (out->clients > spare) {
		log_warnx("%s: counter_max_clients %u is more than there are "
			  "descriptors left for: it is %u (raise the limit: "
			  "LimitNOFILE, ulimit -n)",
		    conf->file, out->clients, spare);
		out->clients = spare;
	}
	/* A lock that is given back has a connection beside the next one's. */
	out->apart = 0;
	for (size_t i = 0; i < conf->apps_len; i++)
		if (conf->apps[i].limit.local)
			out->apart +=
			    2 * poolcounter_connections(&conf->apps[i]);
	out->keys = KEYS_MAX;
	if (out->keys > out->clients * COUNTER_STACK)
		out->keys = out->clients * COUNTER_STACK;
}

/* The listener at this address, in pool.conf's words; NULL: none. */
static struct pc_listener *
find(const struct poolcounter *pc, const char *text)
{
	struct pc_listener *l;

	TAILQ_FOREACH(l, &pc->listeners, next)
		if (strcmp(l->where.text, text) == 0)
			return l;
	return NULL;
}

static bool
is_wanted(const struct pc_listener *l, const struct conf *conf)
{
	for (size_t i = 0; i < conf->counter_len; i++)
		if (strcmp(conf->counter[i].text, l->where.text) == 0)
			return true;
	return false;
}

/* 0, or as poolcounter_prepare() fails. */
static int
open_listeners(
    struct poolcounter *pc, const struct conf *conf, struct openings *openings)
{
	int status = EX_OK;

	for (size_t i = 0; i < conf->counter_len; i++) {
		const struct conf_listen *where = &conf->counter[i];

		if (find(pc, where->text) != NULL ||
		    pc_listener_open(&pc->clients, where, openings, &pc->fresh))
			continue;
		if (errno != EINPROGRESS)
			return EX_CANTCREAT;
		status = OPENINGS_LATER;
	}
	return status;
}

int
poolcounter_prepare(void *arg, const struct conf *conf, uint32_t spare,
    struct openings *openings)
{
	struct poolcounter *pc = arg;
	int status;

	pc->first = !has_tables(pc);
	if (pc->first && conf->counter_len == 0)
		return EX_OK;
	status = open_listeners(pc, conf, openings);
	if (status != EX_OK) {
		poolcounter_abort(pc);
		return status;
	}
	find_limits(conf, spare, &pc->limits);
	if (!pc_clients_reserve(&pc->clients, &pc->limits)) {
		log_error("counter: no memory for %u clients and %u keys",
		    pc->limits.clients, pc->limits.keys);
		poolcounter_abort(pc);
		return EX_CANTCREAT;
	}
	return EX_OK;
}

void
poolcounter_abort(void *arg)
{
	struct poolcounter *pc = arg;

	close_all(&pc->fresh);
	if (pc->first)
		pc_clients_fini(&pc->clients, loop_now(pc->clients.loop));
}

/* Sorts as the file does: the first address is told to processes. */
static void
sort_listeners(struct poolcounter *pc, const struct conf *conf)
{
	struct pc_listeners sorted = TAILQ_HEAD_INITIALIZER(sorted);
	struct pc_listener *l;

	for (size_t i = 0; i < conf->counter_len; i++) {
		while ((l = find(pc, conf->counter[i].text)) != NULL) {
			TAILQ_REMOVE(&pc->listeners, l, next);
			TAILQ_INSERT_TAIL(&sorted, l, next);
		}
	}
	TAILQ_CONCAT(&pc->listeners, &sorted, next);
}

void
poolcounter_commit(void *arg, const struct conf *conf, tstamp now)
{
	struct poolcounter *pc = arg;
	struct pc_listener *l, *next;

	if (!has_tables(pc))
		return;
	counter_resize(&pc->clients.counter, &pc->limits);
	TAILQ_FOREACH_SAFE(l, &pc->listeners, next, next) {
		if (is_wanted(l, conf))
			continue;
		TAILQ_REMOVE(&pc->listeners, l, next);
		pc_listener_leave(l, now);
	}
	TAILQ_FOREACH(l, &pc->fresh, next)
		pc_listener_start(l);
	TAILQ_CONCAT(&pc->listeners, &pc->fresh, next);
	sort_listeners(pc, conf);
}

void
poolcounter_turn(void *arg, tstamp now)
{
	struct poolcounter *pc = arg;

	pc_clients_turn(&pc->clients, now);
}

void
poolcounter_close(void *arg, tstamp now)
{
	struct poolcounter *pc = arg;

	close_all(&pc->listeners);
	pc_clients_fini(&pc->clients, now);
	free(pc);
}

/* --- in use ------------------------------------------------------------- */

struct loop *
poolcounter_loop(const struct poolcounter *pc)
{
	return pc->clients.loop;
}

int
poolcounter_join(struct poolcounter *pc, tstamp now)
{
	int ends[2];

	if (!has_tables(pc)) {
		errno = ECONNREFUSED;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		ends) == -1)
		return -1;
	pc_clients_add_own(&pc->clients, ends[1], now);
	return ends[0];
}

unsigned
poolcounter_connections(const struct conf_app *conf)
{
	return conf->pool.max_processes * conf->pool.concurrency +
	    POOLCOUNTER_IDLE_MAX;
}

bool
poolcounter_address(const void *arg, size_t i, struct counter_address *out)
{
	const struct poolcounter *pc = arg;
	const struct pc_listener *l = TAILQ_FIRST(&pc->listeners);

	for (; l != NULL && i > 0; i--)
		l = TAILQ_NEXT(l, next);
	if (l == NULL)
		return false;
	*out = (struct counter_address){
		.where = l->where.text,
		.listens = l->address,
		.reach = l->reach,
	};
	return true;
}

bool
poolcounter_figures(
    const void *arg, tstamp now, struct counter_service_figures *out)
{
	const struct poolcounter *pc = arg;

	if (!has_tables(pc))
		return false;
	pc_clients_figures(&pc->clients, now, out);
	return true;
}
