/* The PoolCounter service: what it has to say, and when. */

#include <string.h>

#include "counter/poolcounter_private.h"
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
	struct pc_door *d;
	struct pc_client *cl;

	if (pc == NULL)
		return;
	if (counter_deadline(&pc->counter) <= now) {
		counter_tick(&pc->counter, now);
		pc_settle(pc, now);
	}
	TAILQ_FOREACH(d, &pc->doors, next)
		if (d->rest_until <= now)
			pc_door_wake(d, now);
	pc_cut_off_stalled(pc, now);
	/* Whoever is found to be gone leaves its places to others. */
	while ((cl = TAILQ_FIRST(&pc->dirty)) != NULL)
		pc_client_flush(cl, now);
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
