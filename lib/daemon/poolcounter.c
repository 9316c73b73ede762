/* The PoolCounter service: its tables, its time, and its configuration. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/poolcounter_private.h"
#include "sys/log.h"

/* --- what clients are told ---------------------------------------------- */

void
pc_settle(struct poolcounter *pc, tstamp now)
{
	struct counter_reply r;

	while (counter_next_reply(&pc->counter, &r)) {
		if (r.word == COUNTER_TOO_MANY_KEYS)
			log_limited(&pc->keys_rate, now, LOG_LEVEL_WARN,
			    "counter: counter_max_keys %u are held, a lock "
			    "on another one is refused",
			    pc->counter.in_force.keys);
		pc_client_say(pc->clients[r.client],
		    counter_word_text((enum counter_word)r.word));
	}
}

/* --- time --------------------------------------------------------------- */

tstamp
poolcounter_deadline(const struct poolcounter *pc)
{
	const struct pc_client *cl;
	const struct pc_door *d;
	tstamp at;

	if (pc == NULL)
		return TSTAMP_NEVER;
	at = counter_deadline(&pc->counter);
	TAILQ_FOREACH(d, &pc->doors, next)
		at = tstamp_min(at, d->rest_until);
	cl = TAILQ_FIRST(&pc->stalled);
	return cl == NULL ? at : tstamp_min(at, cl->stalled_until);
}

static void
pc_cut_off_stalled(struct poolcounter *pc, tstamp now)
{
	struct pc_client *cl;

	while ((cl = TAILQ_FIRST(&pc->stalled)) != NULL &&
	    cl->stalled_until <= now) {
		pc->failed_sends++;
		log_limited(&pc->stall_rate, now, LOG_LEVEL_WARN,
		    "counter: a client that does not read is cut off");
		pc_client_close(cl, now);
	}
}

void
poolcounter_tick(struct poolcounter *pc, tstamp now)
{
	struct pc_door *d, *next;
	struct pc_client *cl;

	if (pc == NULL)
		return;
	if (counter_deadline(&pc->counter) <= now) {
		counter_tick(&pc->counter, now);
		pc_settle(pc, now);
	}
	TAILQ_FOREACH_SAFE(d, &pc->doors, next, next)
		pc_door_wake(d, now);
	pc_cut_off_stalled(pc, now);
	/* Whoever is found to be gone leaves its places to others. */
	while ((cl = TAILQ_FIRST(&pc->dirty)) != NULL)
		pc_client_flush(cl, now);
}

/* --- tables ------------------------------------------------------------- */

/* What the configuration wants, and what there are descriptors for. */
static void
pc_limits(const struct conf *conf, struct counter_limits *out)
{
	uint32_t spare = supervisor_spare(conf);

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
		    &pc->counter, &l, memory, &seed, loop_now(&pc->sup->loop));
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

static struct poolcounter *
pc_new(struct supervisor *s)
{
	struct poolcounter *pc = calloc(1, sizeof(*pc));

	if (pc == NULL)
		return NULL;
	pc->sup = s;
	pc->born = true;
	pc->started = loop_now(&s->loop);
	TAILQ_INIT(&pc->doors);
	TAILQ_INIT(&pc->fresh);
	TAILQ_INIT(&pc->dirty);
	TAILQ_INIT(&pc->stalled);
	return pc;
}

static void
pc_free(struct poolcounter *pc)
{
	free(pc->clients);
	free(pc->memory);
	free(pc);
}

/* --- configuration ------------------------------------------------------ */

static bool
pc_listens(const struct poolcounter *pc, const char *text)
{
	const struct pc_door *d;

	TAILQ_FOREACH(d, &pc->doors, next)
		if (strcmp(d->where.text, text) == 0)
			return true;
	return false;
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
		if (!pc_listens(pc, conf->counter[i].text) &&
		    !pc_door_open(pc, &conf->counter[i], &pc->fresh))
			return false;
	return true;
}

bool
poolcounter_prepare(struct supervisor *s, const struct conf *conf)
{
	struct poolcounter *pc = s->counter;

	if (pc == NULL && conf->counter_len == 0)
		return true;
	if (pc == NULL) {
		pc = pc_new(s);
		if (pc == NULL) {
			log_error("counter");
			return false;
		}
		s->counter = pc;
	}
	pc_limits(conf, &pc->limits);
	if (!pc_reserve(pc, &pc->limits)) {
		log_error("counter: no memory for %u clients and %u keys",
		    pc->limits.clients, pc->limits.keys);
		poolcounter_abort(s);
		return false;
	}
	if (pc_open_doors(pc, conf))
		return true;
	poolcounter_abort(s);
	return false;
}

void
poolcounter_abort(struct supervisor *s)
{
	struct poolcounter *pc = s->counter;
	struct pc_door *d;

	if (pc == NULL)
		return;
	while ((d = TAILQ_FIRST(&pc->fresh)) != NULL) {
		TAILQ_REMOVE(&pc->fresh, d, next);
		pc_door_close(d);
	}
	if (pc->born) {
		pc_free(pc);
		s->counter = NULL;
	}
}

/* In the order of the file: the first one is told to processes. */
static void
pc_order(struct poolcounter *pc, const struct conf *conf)
{
	struct pc_doors sorted = TAILQ_HEAD_INITIALIZER(sorted);
	struct pc_door *d, *next;

	for (size_t i = 0; i < conf->counter_len; i++)
		TAILQ_FOREACH_SAFE(d, &pc->doors, next, next)
			if (strcmp(conf->counter[i].text, d->where.text) == 0) {
				TAILQ_REMOVE(&pc->doors, d, next);
				TAILQ_INSERT_TAIL(&sorted, d, next);
			}
	TAILQ_CONCAT(&pc->doors, &sorted, next);
}

void
poolcounter_commit(struct supervisor *s, const struct conf *conf, tstamp now)
{
	struct poolcounter *pc = s->counter;
	struct pc_door *d, *next;

	if (pc == NULL)
		return;
	pc->born = false;
	counter_resize(&pc->counter, &pc->limits);
	TAILQ_FOREACH_SAFE(d, &pc->doors, next, next) {
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
poolcounter_close(struct supervisor *s)
{
	struct poolcounter *pc = s->counter;
	tstamp now = loop_now(&s->loop);
	struct pc_door *d;

	if (pc == NULL)
		return;
	while ((d = TAILQ_FIRST(&pc->doors)) != NULL) {
		TAILQ_REMOVE(&pc->doors, d, next);
		pc_door_close(d);
	}
	for (uint32_t n = 0; n < pc->counter.nclients; n++)
		if (pc->clients[n] != NULL)
			pc_client_close(pc->clients[n], now);
	pc_free(pc);
	s->counter = NULL;
}

/* --- what is known of it ------------------------------------------------ */

const char *
poolcounter_address(const struct poolcounter *pc)
{
	const struct pc_door *d = pc == NULL ? NULL : TAILQ_FIRST(&pc->doors);

	return d == NULL ? NULL : d->reach;
}

static const struct pc_door *
pc_door_number(const struct poolcounter *pc, size_t i)
{
	const struct pc_door *d = pc == NULL ? NULL : TAILQ_FIRST(&pc->doors);

	for (; d != NULL && i > 0; i--)
		d = TAILQ_NEXT(d, next);
	return d;
}

const char *
poolcounter_listens(const struct poolcounter *pc, size_t i)
{
	const struct pc_door *d = pc_door_number(pc, i);

	return d == NULL ? NULL : d->address;
}

const char *
poolcounter_where(const struct poolcounter *pc, size_t i)
{
	const struct pc_door *d = pc_door_number(pc, i);

	return d == NULL ? NULL : d->where.text;
}

void
poolcounter_figures(
    const struct poolcounter *pc, tstamp now, struct poolcounter_figures *out)
{
	*out = (struct poolcounter_figures){
		.clients = counter_clients(&pc->counter),
		.max_clients = pc->counter.in_force.clients,
		.keys = pc->counter.used_keys,
		.max_keys = pc->counter.in_force.keys,
		.connections = pc->connections,
		.refused_clients = pc->refused_clients,
		.connect_errors = pc->connect_errors,
		.failed_sends = pc->failed_sends,
		.uptime = (uint64_t)((now - pc->started) / TSPAN_SECONDS(1)),
		.counter = pc->counter.figures,
	};
}
