/* The size of all tables for a configuration, and its descriptors. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/counter.h"
#include "daemon/keeper.h"
#include "daemon/state.h"
#include "daemon/worker.h"
#include "sys/log.h"

/* Descriptors of the daemon itself: loop, lanes, log, control and others. */
#define TABLES_OWN 64

/*
 * A larger copy, the rest of it zero: by calloc() and not realloc(), because
 * untouched pages take no memory.
 */
static void *
tables_larger(const void *old, size_t n, size_t more, size_t size)
{
	void *larger = calloc(more, size);

	if (larger != NULL && n > 0)
		memcpy(larger, old, n * size);
	return larger;
}

int
tables_reserve(struct supervisor *s, const struct conf *conf)
{
	const struct pool *p = &s->pool;
	struct pool_limits have = p->limits, want = have;
	void *memory, *groups, *workers, *accepted;

	want.apps = p->napps + (uint32_t)conf->apps_len + 1;
	if (want.apps < have.apps)
		want.apps = have.apps;
	conf_pool_limits(conf, &want);
	if (s->pool_memory != NULL && have.apps >= want.apps &&
	    have.processes >= want.processes && have.conns >= want.conns &&
	    have.sessions >= want.sessions)
		return 0;
	memory = calloc(1, pool_memory(&want));
	groups = tables_larger(
	    s->groups, p->napps, want.apps, sizeof(struct group *));
	workers = tables_larger(
	    s->workers, p->nprocesses, want.processes, sizeof(struct worker *));
	accepted = tables_larger(
	    s->accepted, p->nconns, want.conns, sizeof(struct accepted));
	if (memory == NULL || groups == NULL || workers == NULL ||
	    accepted == NULL) {
		free(memory);
		free(groups);
		free(workers);
		free(accepted);
		errno = ENOMEM;
		return -1;
	}
	if (s->pool_memory == NULL)
		pool_init(&s->pool, &want, memory, conf->max_processes,
		    (uint64_t)arc4random() << 32 | arc4random(),
		    loop_now(&s->loop));
	else
		pool_move(&s->pool, &want, memory);
	free(s->pool_memory);
	free(s->groups);
	free(s->workers);
	free(s->accepted);
	s->pool_memory = memory;
	s->groups = groups;
	s->workers = workers;
	s->accepted = accepted;
	return 0;
}

/* Descriptors that may be open at a time. */
struct need {
	unsigned long long each; /* for a process */
	unsigned long long queues;
	unsigned long long listeners;
	unsigned long long locks;
	unsigned long long copies; /* of connections that processes have */
	unsigned long long parked; /* at most; one for each app is in others */
	unsigned long long others;
	unsigned long long all; /* but for parked */
};

static bool
tables_may_park(const struct conf_app *app)
{
	return app->parking.keep_alive || app->parking.wait_for_data;
}

static void
tables_sum_up(const struct conf *conf, struct need *out)
{
	bool answers = false, measures = false, kept = false, needs = false;

	*out = (struct need){ .others = TABLES_OWN };
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		const struct app_options *o = &app->pool;
		uint32_t n = o->max_processes < conf->max_processes
		    ? o->max_processes
		    : conf->max_processes;

		needs = needs || keeper_is_needed(app);
		kept = kept || app->program.output == CONF_OUTPUT_LOG;
		measures = measures || o->max_memory > 0;
		answers = answers || refusal_answers(app);
		out->queues += o->max_queue;
		out->listeners += app->listen.len;
		out->locks += limiter_descriptors(app);
		if (app->parking.keep_alive)
			out->copies +=
			    n * (uint64_t)(o->concurrency + o->prefetch);
		if (tables_may_park(app)) {
			out->parked += app->parking.max_parked;
			out->others++;
		}
		/* Channels of its template, of another, and a worker's. */
		if (app->template)
			out->others += 8;
		/* Copies, while processes are started with them. */
		if (app->handoff == CONF_HANDOFF_LISTEN)
			out->others += START_MAX_EACH * app->listen.len;
	}
	/* Both ends of the channel, its size, and copies of the keeper's. */
	out->each = 2u + measures + (kept ? KEEPER_HOLD_FDS : 0);
	/* The keeper, and a copy of its end. */
	out->others += (needs ? 2 : 0) + (answers ? REFUSAL_MAX : 0);
	out->listeners += conf->counter_len;
	out->all = out->queues + out->listeners + out->locks + out->copies +
	    out->others;
	if (conf->apps_len > 0)
		out->all += out->each * conf->max_processes;
}

bool
tables_fit(struct conf *conf, uint32_t *spare_out)
{
	struct need need;
	int have = getdtablesize();
	unsigned long long room;

	tables_sum_up(conf, &need);
	*spare_out = UINT32_MAX;
	if (need.all > (unsigned long long)have) {
		log_errorx(
		    "%s: up to %llu descriptors are needed (%llu for each of "
		    "max_processes %u, %llu for max_queue of all apps, %llu "
		    "listeners, %llu for limits, %llu for keep_alive, %llu "
		    "others) but only %d may be open: lower max_processes or "
		    "max_queue, or raise the limit (LimitNOFILE, ulimit -n)",
		    conf->file, need.all, need.each, conf->max_processes,
		    need.queues, need.listeners, need.locks, need.copies,
		    need.others, have);
		return false;
	}
	room = (unsigned long long)have - need.all;
	*spare_out = 1;
	if (need.parked <= room) {
		*spare_out += (uint32_t)(room - need.parked);
		return true;
	}
	log_warnx("%s: max_parked of all apps is %llu, more than there are "
		  "descriptors for: it is lowered to %llu in all",
	    conf->file, need.parked, room);
	for (size_t i = 0; i < conf->apps_len; i++) {
		struct conf_app *app = &conf->apps[i];
		unsigned long long n =
		    app->parking.max_parked * room / need.parked;

		if (tables_may_park(app))
			app->parking.max_parked = n == 0 ? 1 : (unsigned)n;
	}
	return true;
}
