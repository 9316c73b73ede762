/* The size of all tables for a configuration, and its descriptors. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/counter.h"
#include "daemon/keeper.h"
#include "daemon/refusal.h"
#include "daemon/state.h"
#include "daemon/worker.h"
#include "sys/descriptors.h"
#include "sys/log.h"

/* Descriptors of the daemon itself: loop, lanes, log, control and others. */
#define OWN_DESCRIPTORS 64

static bool
suffice(const struct pool_limits *have, const struct pool_limits *want)
{
	return have->apps >= want->apps && have->processes >= want->processes &&
	    have->conns >= want->conns && have->sessions >= want->sessions;
}

/*
 * A larger copy, the rest of it zero: by calloc() and not realloc(), because
 * untouched pages take no memory.
 */
static void *
larger_copy(const void *old, size_t n, size_t more, size_t size)
{
	void *larger = calloc(n + more, size);

	if (larger != NULL && n > 0)
		memcpy(larger, old, n * size);
	return larger;
}

/* The tables that grow with a configuration. */
struct tables {
	void *pool_memory;
	struct group **groups;
	struct worker **workers;
	struct accepted *accepted;
};

static void
free_tables(struct tables *t)
{
	free(t->pool_memory);
	free(t->groups);
	free(t->workers);
	free(t->accepted);
}

/* The pool's memory, and larger copies of the others. */
static bool
make_tables(const struct supervisor *s, const struct pool_limits *want,
    struct tables *out)
{
	const struct pool *p = &s->pool;

	out->pool_memory = calloc(1, pool_memory(want));
	out->groups = larger_copy(
	    s->groups, p->napps, want->apps - p->napps, sizeof(struct group *));
	out->workers = larger_copy(s->workers, p->nprocesses,
	    want->processes - p->nprocesses, sizeof(struct worker *));
	out->accepted = larger_copy(s->accepted, p->nconns,
	    want->conns - p->nconns, sizeof(struct accepted));
	return out->pool_memory != NULL && out->groups != NULL &&
	    out->workers != NULL && out->accepted != NULL;
}

int
tables_reserve(struct supervisor *s, const struct conf *conf)
{
	struct tables new,
	    old = { s->pool_memory, s->groups, s->workers, s->accepted };
	struct pool_limits have = s->pool.limits, want = have;

	want.apps = s->pool.napps + (uint32_t)conf->apps_len + 1;
	if (want.apps < have.apps)
		want.apps = have.apps;
	conf_pool_limits(conf, &want);
	if (s->pool_memory != NULL && suffice(&have, &want))
		return 0;
	if (!make_tables(s, &want, &new)) {
		free_tables(&new);
		errno = ENOMEM;
		return -1;
	}
	if (s->pool_memory == NULL)
		pool_init(&s->pool, &want, new.pool_memory, conf->max_processes,
		    (uint64_t)arc4random() << 32 | arc4random(),
		    loop_now(&s->loop));
	else
		pool_move(&s->pool, &want, new.pool_memory);
	s->pool_memory = new.pool_memory;
	s->groups = new.groups;
	s->workers = new.workers;
	s->accepted = new.accepted;
	free_tables(&old);
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
	unsigned long long all;
};

static bool
may_park(const struct conf_app *app)
{
	return app->parking.keep_alive || app->parking.wait_for_data;
}

/* Of connections that are parked, or that processes have, too. */
static void
sum_up_kept(
    const struct conf *conf, const struct conf_app *app, struct need *out)
{
	uint32_t n = app->pool.max_processes < conf->max_processes
	    ? app->pool.max_processes
	    : conf->max_processes;

	if (app->parking.keep_alive)
		out->copies +=
		    n * (uint64_t)(app->pool.concurrency + app->pool.prefetch);
	if (!may_park(app))
		return;
	out->parked += app->parking.max_parked;
	out->others++;
}

static void
sum_up(const struct conf *conf, struct need *out)
{
	bool answers = false, measures = false, kept = false, needs = false;
	size_t copies = 0;

	*out = (struct need){
		.others = OWN_DESCRIPTORS,
	};
	for (size_t i = 0; i < conf->apps_len; i++) {
		needs = needs || keeper_is_needed(&conf->apps[i]);
		kept = kept || conf->apps[i].program.output == CONF_OUTPUT_LOG;
		/* Channels of its template, of another, and a worker's. */
		if (conf->apps[i].template)
			out->others += 8;
		measures = measures || conf->apps[i].pool.max_memory > 0;
		sum_up_kept(conf, &conf->apps[i], out);
		out->queues += conf->apps[i].pool.max_queue;
		out->listeners += conf->apps[i].listen.len;
		out->locks += limiter_descriptors(&conf->apps[i]);
		/* Copies, while processes are started with them. */
		if (conf->apps[i].handoff == CONF_HANDOFF_LISTEN)
			copies += START_MAX_EACH * conf->apps[i].listen.len;
		answers = answers || refusal_answers(&conf->apps[i]);
	}
	/* Both ends of the channel, its size, and copies of the keeper's. */
	out->each = 2u + measures + (kept ? KEEPER_HOLD_FDS : 0);
	/* The keeper, and a copy of its end. */
	out->others += needs ? 2 : 0;
	if (answers)
		out->others += REFUSAL_MAX;
	out->listeners += conf->counter_len;
	out->others += copies;
	out->all = out->queues + out->listeners + out->locks + out->copies +
	    out->others;
	if (conf->apps_len > 0)
		out->all += out->each * conf->max_processes;
}

uint32_t
tables_spare(const struct conf *conf)
{
	struct need need;
	int have = descriptors_limit();

	sum_up(conf, &need);
	if (have == -1)
		return UINT32_MAX;
	need.all += need.parked;
	return (unsigned long long)have < need.all
	    ? 1
	    : (uint32_t)((unsigned long long)have - need.all) + 1;
}

void
tables_fit_parked(struct conf *conf)
{
	struct need need;
	int have = descriptors_limit();
	unsigned long long room;

	sum_up(conf, &need);
	if (have == -1 || need.parked == 0)
		return;
	room = (unsigned long long)have < need.all
	    ? 0
	    : (unsigned long long)have - need.all;
	if (need.parked <= room)
		return;
	log_warnx("%s: max_parked of all apps is %llu, more than there are "
		  "descriptors for: it is lowered to %llu in all",
	    conf->file, need.parked, room);
	for (size_t i = 0; i < conf->apps_len; i++) {
		struct conf_app *app = &conf->apps[i];
		unsigned long long n =
		    app->parking.max_parked * room / need.parked;

		if (may_park(app))
			app->parking.max_parked = n == 0 ? 1 : (unsigned)n;
	}
}

bool
tables_afford(const struct conf *conf)
{
	struct need need;
	int have = descriptors_limit();

	sum_up(conf, &need);
	if (have == -1)
		return true;
	if (need.all <= (unsigned long long)have)
		return true;
	log_errorx(
	    "%s: up to %llu descriptors are needed (%llu for each of "
	    "max_processes %u, %llu for max_queue of all apps, %llu "
	    "listeners, %llu for limits, %llu for keep_alive, %llu others) but "
	    "only %d may be open: lower max_processes or max_queue, or raise "
	    "the limit (LimitNOFILE, ulimit -n)",
	    conf->file, need.all, need.each, conf->max_processes, need.queues,
	    need.listeners, need.locks, need.copies, need.others, have);
	return false;
}
