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
poolcounter_deadline(const void *arg)
{
	const struct poolcounter *pc = arg;
	const struct pc_client *cl;
	const struct pc_door *d;
	tstamp at;

	if (pc->memory == NULL)
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
poolcounter_tick(void *arg, tstamp now)
{
	struct poolcounter *pc = arg;
	struct pc_door *d;
	struct pc_client *cl;

	if (pc->memory == NULL)
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

bool
poolcounter_address(const void *arg, size_t i, struct counter_address *out)
{
	const struct poolcounter *pc = arg;
	const struct pc_door *d = TAILQ_FIRST(&pc->doors);

	for (; d != NULL && i > 0; i--)
		d = TAILQ_NEXT(d, next);
	if (d == NULL)
		return false;
	*out = (struct counter_address){
		.where = d->where.text,
		.listens = d->address,
		.reach = d->reach,
	};
	return true;
}

bool
poolcounter_figures(
    const void *arg, tstamp now, struct counter_service_figures *out)
{
	const struct poolcounter *pc = arg;

	if (pc->memory == NULL)
		return false;
	*out = (struct counter_service_figures){
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
	return true;
}
