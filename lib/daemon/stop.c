/* The end of the daemon. */

#include "daemon/accepting.h"
#include "daemon/group.h"
#include "daemon/state.h"
#include "daemon/tell.h"
#include "daemon/worker.h"
#include "sys/manager.h"

/* How long before the end SIGTERM is sent: the longest kill_timeout. */
static tspan
grace_of(const struct conf *conf)
{
	tspan grace = 0;

	for (size_t i = 0; i < conf->apps_len; i++)
		if (conf->apps[i].pool.kill_timeout > grace)
			grace = conf->apps[i].pool.kill_timeout;
	return grace;
}

void
stop_gracefully(struct supervisor *s, tstamp now)
{
	const struct conf *conf = s->config->conf;

	if (s->stopping)
		return;
	tell_daemon(s, LOG_LEVEL_INFO, EVENT_STOP, "stopping, within %g s",
	    tspan_to_seconds(conf->stop_timeout));
	(void)notify_send("STOPPING=1\nSTATUS=Stopping");
	s->stopping = true;
	pool_stop(&s->pool, conf->stop_timeout, grace_of(conf), now);
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		s->groups[app]->closing = true;
		parking_leave(s->groups[app], now);
		accepting_leave_all(s->groups[app], now);
		template_end(s->groups[app], now);
	}
}

void
stop_now(struct supervisor *s, tstamp now)
{
	tspan grace = grace_of(s->config->conf);

	if (s->pool.phase == POOL_ENDING)
		return;
	tell_daemon(s, LOG_LEVEL_INFO, EVENT_STOP,
	    "stopping now, within %g s; the same signal again kills",
	    tspan_to_seconds(grace));
	(void)notify_send("STOPPING=1\nSTATUS=Stopping now");
	s->stopping = true;
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		s->groups[app]->closing = true;
		listeners_close_all(&s->groups[app]->listeners);
		template_end(s->groups[app], now);
	}
	template_kill_all(s);
	pool_stop_now(&s->pool, grace, now);
}

void
stop_again(struct supervisor *s, tstamp now)
{
	if (s->pool.phase != POOL_ENDING) {
		stop_now(s, now);
		return;
	}
	tell_daemon(s, LOG_LEVEL_INFO, EVENT_STOP, "killing what is left");
	pool_stop_now(&s->pool, 0, now);
}

bool
stop_is_over(const struct supervisor *s)
{
	/* Clients that were refused may still be reading why. */
	if (!s->stopping || refusals_any(&s->refusals))
		return false;
	for (uint32_t app = 0; app < s->pool.napps; app++)
		if (!app_is_over(&s->pool.apps[app]))
			return false;
	return !template_any(s);
}
