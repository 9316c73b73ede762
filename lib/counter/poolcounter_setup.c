/*
 * The PoolCounter service under a configuration: its tables, and which
 * addresses it has.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "counter/poolcounter_private.h"
#include "sys/log.h"

/* --- tables ------------------------------------------------------------- */

/* What the configuration wants, and what there are descriptors for. */
static void
pc_limits(const struct conf *conf, uint32_t spare, struct counter_limits *out)
{
	out->clients = conf->counter_max_clients;
	if (out->clients > spare) {
		log_warnx("%s: counter_max_clients %u is more than there are "
			  "descriptors left for: it is %u (raise the limit: "
			  "LimitNOFILE, ulimit -n)",
		    conf->file, out->clients, spare);
		out->clients = spare;
	}
	out->keys = conf->counter_max_keys;
	if (out->keys > out->clients * COUNTER_STACK)
		out->keys = out->clients * COUNTER_STACK;
}

/* Tables for at least so many. */
static bool
pc_reserve(struct poolcounter *pc, const struct counter_limits *wanted)
{
	const struct counter_limits in_force = pc->counter.in_force;
	struct counter_limits l = pc->counter.limits;
	struct siphash_seed seed;
	struct pc_client **clients;
	void *memory;

	if (l.clients >= wanted->clients && l.keys >= wanted->keys)
		return true;
	if (l.clients < wanted->clients)
		l.clients = wanted->clients;
	if (l.keys < wanted->keys)
		l.keys = wanted->keys;
	/* Untouched pages take no memory: calloc(), not realloc(). */
	memory = calloc(1, counter_memory(&l));
	clients = calloc(l.clients, sizeof(struct pc_client *));
	if (memory == NULL || clients == NULL) {
		free(memory);
		free(clients);
		return false;
	}
	if (pc->memory == NULL) {
		arc4random_buf(&seed, sizeof(seed));
		counter_init(
		    &pc->counter, &l, memory, &seed, loop_now(pc->loop));
	} else {
		memcpy(clients, pc->clients,
		    pc->counter.nclients * sizeof(struct pc_client *));
		counter_move(&pc->counter, &l, memory);
		counter_resize(&pc->counter, &in_force);
	}
	free(pc->memory);
	free(pc->clients);
	pc->memory = memory;
	pc->clients = clients;
	return true;
}

struct poolcounter *
poolcounter_new(struct loop *loop, struct lane *closer)
{
	struct poolcounter *pc = calloc(1, sizeof(*pc));

	if (pc == NULL)
		return NULL;
	pc->loop = loop;
	pc->closer = closer;
	TAILQ_INIT(&pc->doors);
	TAILQ_INIT(&pc->fresh);
	TAILQ_INIT(&pc->dirty);
	TAILQ_INIT(&pc->stalled);
	return pc;
}

static void
pc_free_tables(struct poolcounter *pc)
{
	free(pc->clients);
	free(pc->memory);
	pc->clients = NULL;
	pc->memory = NULL;
	memset(&pc->counter, 0, sizeof(pc->counter));
}

/* --- configuration ------------------------------------------------------ */

/* A door at this address, in pool.conf's words; NULL: none. */
static struct pc_door *
pc_find(const struct poolcounter *pc, const char *text)
{
	struct pc_door *d;

	TAILQ_FOREACH(d, &pc->doors, next)
		if (strcmp(d->where.text, text) == 0)
			return d;
	return NULL;
}

static bool
pc_is_wanted(const struct pc_door *d, const struct conf *conf)
{
	for (size_t i = 0; i < conf->counter_len; i++)
		if (strcmp(conf->counter[i].text, d->where.text) == 0)
			return true;
	return false;
}

static bool
pc_open_doors(struct poolcounter *pc, const struct conf *conf)
{
	for (size_t i = 0; i < conf->counter_len; i++)
		if (pc_find(pc, conf->counter[i].text) == NULL &&
		    !pc_door_open(pc, &conf->counter[i], &pc->fresh))
			return false;
	return true;
}

int
poolcounter_prepare(void *arg, const struct conf *conf, uint32_t spare)
{
	struct poolcounter *pc = arg;

	if (pc->memory == NULL && conf->counter_len == 0)
		return EX_OK;
	pc->fresh_tables = pc->memory == NULL;
	if (pc->fresh_tables)
		pc->started = loop_now(pc->loop);
	pc_limits(conf, spare, &pc->limits);
	if (!pc_reserve(pc, &pc->limits)) {
		log_error("counter: no memory for %u clients and %u keys",
		    pc->limits.clients, pc->limits.keys);
		return EX_CANTCREAT;
	}
	if (pc_open_doors(pc, conf))
		return EX_OK;
	poolcounter_abort(pc);
	return EX_CANTCREAT;
}

void
poolcounter_abort(void *arg)
{
	struct poolcounter *pc = arg;
	struct pc_door *d;

	while ((d = TAILQ_FIRST(&pc->fresh)) != NULL) {
		TAILQ_REMOVE(&pc->fresh, d, next);
		pc_door_close(d);
	}
	if (pc->fresh_tables)
		pc_free_tables(pc);
	pc->fresh_tables = false;
}

/* As the file has them: the first one is told to processes. */
static void
pc_order(struct poolcounter *pc, const struct conf *conf)
{
	struct pc_doors sorted = TAILQ_HEAD_INITIALIZER(sorted);
	struct pc_door *d;

	for (size_t i = 0; i < conf->counter_len; i++) {
		while ((d = pc_find(pc, conf->counter[i].text)) != NULL) {
			TAILQ_REMOVE(&pc->doors, d, next);
			TAILQ_INSERT_TAIL(&sorted, d, next);
		}
	}
	TAILQ_CONCAT(&pc->doors, &sorted, next);
}

void
poolcounter_commit(void *arg, const struct conf *conf, tstamp now)
{
	struct poolcounter *pc = arg;
	struct pc_door *d, *next;

	if (pc->memory == NULL)
		return;
	pc->fresh_tables = false;
	counter_resize(&pc->counter, &pc->limits);
	for (d = TAILQ_FIRST(&pc->doors); d != NULL; d = next) {
		next = TAILQ_NEXT(d, next);
		if (pc_is_wanted(d, conf))
			continue;
		TAILQ_REMOVE(&pc->doors, d, next);
		pc_door_leave(d, now);
	}
	while ((d = TAILQ_FIRST(&pc->fresh)) != NULL) {
		TAILQ_REMOVE(&pc->fresh, d, next);
		pc_door_use(d);
	}
	pc_order(pc, conf);
}

void
poolcounter_close(void *arg, tstamp now)
{
	struct poolcounter *pc = arg;
	struct pc_door *d;

	while ((d = TAILQ_FIRST(&pc->doors)) != NULL) {
		TAILQ_REMOVE(&pc->doors, d, next);
		pc_door_close(d);
	}
	for (uint32_t n = 0; n < pc->counter.nclients; n++)
		if (pc->clients[n] != NULL)
			pc_client_close(pc->clients[n], now);
	pc_free_tables(pc);
	free(pc);
}
