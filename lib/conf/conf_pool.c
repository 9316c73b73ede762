/* Options of apps, in the words of the core. */

#include <unistd.h>

#include "conf/conf_pool.h"

/* As many connections as serial numbers can tell apart. */
#define CONNS_MAX (1u << 24)

static const enum app_growth growths[] = {
	[CONF_START_DELAY_STEP_DOUBLE] = GROWTH_DOUBLE,
	[CONF_START_DELAY_STEP_LINEAR] = GROWTH_LINEAR,
	[CONF_START_DELAY_STEP_ALL] = GROWTH_ALL,
};

/*
 * By itself the pool hands ahead only where a process has one session at a
 * time, the end of which is known; and where it is trusted, as it could hold
 * the daemon up while something is taken back from it: a process of the
 * daemon's own user can do worse.
 */
static bool
may_prefetch(const struct conf_app *conf)
{
	return conf->handoff == CONF_HANDOFF_NATIVE && conf->concurrency == 1 &&
	    conf->queue == CONF_QUEUE_GLOBAL && conf->identity.uid == geteuid();
}

unsigned
conf_pool_prefetch(const struct conf_app *conf)
{
	if (conf->prefetch != CONF_AUTO)
		return conf->prefetch;
	return may_prefetch(conf) ? 1 : 0;
}

void
conf_pool_options(const struct conf_app *conf, struct app_options *out)
{
	*out = (struct app_options){
		.min_processes = conf->min_processes,
		.max_processes = conf->max_processes,
		.min_idle = conf->min_idle,
		.concurrency = conf->concurrency,
		.prefetch = conf_pool_prefetch(conf),
		.prefetch_auto = conf->prefetch == CONF_AUTO,
		.max_queue = conf->max_queue,
		.retry_limit = conf->retry_limit,
		.start_limit = conf->start_limit,
		.max_requests = conf->max_requests,
		.max_requests_jitter = conf->max_requests_jitter,
		.max_memory = conf->max_memory,
		.sessions = conf->handoff != CONF_HANDOFF_NONE &&
		    conf->handoff != CONF_HANDOFF_LISTEN,
		.listens = conf->handoff == CONF_HANDOFF_LISTEN,
		.exit_ends = conf->handoff == CONF_HANDOFF_STDIO,
		.private_queue = conf->queue == CONF_QUEUE_PRIVATE,
		.close_when_full = conf->on_full != CONF_ON_FULL_WAIT,
		.limited = conf->limit.server != NULL,
		.queue_timeout = conf->queue_timeout,
		.start_delay = conf->start_delay,
		.growth = growths[conf->start_delay_step],
		.stop_delay = conf->stop_delay,
		.max_idle_time = conf->max_idle_time,
		.update_interval = conf->update_interval,
		.gain = conf->gain,
		.grow_threshold = conf->grow_threshold,
		.multi_threshold = conf->multi_threshold,
		.single_threshold = conf->single_threshold,
		.kill_interval = conf->kill_interval,
		.target_wait = conf->target_wait,
		.max_lifetime = conf->max_lifetime,
		.max_lifetime_jitter = conf->max_lifetime_jitter,
		.request_timeout = conf->request_timeout,
		.slow_timeout = conf->slow_timeout,
		.start_timeout = conf->start_timeout,
		.ready_after = conf->ready_after,
		.pickup_timeout = conf->pickup_timeout,
		.restart_delay = conf->restart_delay,
		.restart_delay_max = conf->restart_delay_max,
		.min_server_life = conf->min_server_life,
		.stop_timeout = conf->stop_timeout,
		.kill_timeout = conf->kill_timeout,
	};
	/* Job workers have no sessions: nothing tells that they are idle. */
	if (conf->handoff == CONF_HANDOFF_NONE) {
		out->max_processes = out->min_processes;
		out->max_idle_time = 0;
	}
	if (out->max_processes == 0)
		out->max_processes = 1;
}

static void
raise_to(uint32_t *n, uint64_t least)
{
	if (*n < least)
		*n = (uint32_t)least;
}

void
conf_pool_limits(const struct conf *conf, struct pool_limits *out)
{
	uint64_t conns = 0;

	raise_to(&out->apps, conf->apps_len);
	/*
	 * Processes that leave are still there when their successors come, so
	 * there is room for twice the ceiling; living ones it never exceeds.
	 */
	raise_to(&out->processes, 2 * (uint64_t)conf->max_processes);
	raise_to(&out->sessions, 1);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		raise_to(
		    &out->sessions, app->concurrency + conf_pool_prefetch(app));
		conns += app->max_queue + 1;
	}
	conns += (uint64_t)out->processes * out->sessions;
	raise_to(&out->conns, conns < CONNS_MAX ? conns : CONNS_MAX);
}
