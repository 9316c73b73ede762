/*
 * php-fpm: pm = dynamic, and pm = ondemand.
 *
 * dynamic: pm.max_children is max_processes.  The other sizes stand to it as
 * in the pool file that comes with php-fpm (5, 1, 3), pm.start_servers is
 * half way between them by default:
 *
 *	pm.min_spare_servers = max_processes / 5, at least 1
 *	pm.max_spare_servers = max_processes * 3 / 5, at least min_processes
 *	pm.start_servers = the mean of both, at least min_processes
 *
 * Once a second it counts the idle children; starting ones are none.  Over
 * pm.max_spare_servers the idle one with the longest life is stopped.  Under
 * pm.min_spare_servers as many are forked as are missing, but at most 1, 2, 4
 * … 32 in seconds that follow each other.
 *
 * ondemand: pm.max_children is max_processes, there is no minimum.  Whenever
 * a connection comes and no child is idle one is forked; those that start
 * already are not counted.  Once a second the idle child with the longest
 * life, and no other, is stopped if it has done nothing for more than
 * pm.process_idle_timeout, 10 seconds.  Connections go round, so that under
 * traffic no child is idle for so long.
 */

#include "sim/backlog.h"
#include "sim/policy.h"
#include "sim/policy_spare.h"

#define FPM_TICK TSPAN_SECONDS(1)
#define FPM_IDLE_TIMEOUT 10 /* seconds, as it counts them: whole ones */

/* --- dynamic ------------------------------------------------------------ */

static struct spare
fpm_spare(const struct conf_app *app)
{
	uint32_t min = spare_most(app->max_processes / 5, 1);
	uint32_t max = spare_most(app->max_processes * 3 / 5, min);

	return (struct spare){ .min = min,
		.max = spare_most(max, app->min_processes),
		.rate = 1 };
}

static uint32_t
fpm_dynamic_first(const struct conf_app *app)
{
	struct spare s = fpm_spare(app);

	return spare_most(s.min + (s.max - s.min) / 2, app->min_processes);
}

static void
fpm_dynamic_ticked(struct backlog *b, uint32_t app, tstamp now)
{
	struct spare *s = spares_of(b, app);
	const struct backlog_app *a = &b->apps[app];
	uint32_t n;

	switch (spare_look(s, a->idle)) {
	case SPARE_STOP:
		backlog_stop(b, backlog_oldest_idle(b, app));
		break;
	case SPARE_START:
		n = spare_least(s->rate, s->min - a->idle);
		spare_started(s, backlog_start(b, app, n, now));
		break;
	default:
		break;
	}
}

struct manager *
policy_fpm_dynamic_new(const struct conf *conf, uint64_t seed)
{
	static const struct backlog_ops ops = {
		.name = "php-fpm dynamic",
		.period = FPM_TICK,
		.first = fpm_dynamic_first,
		.ticked = fpm_dynamic_ticked,
		.fini = spares_fini,
	};

	return spares_new(&ops, fpm_spare, conf, seed);
}

/* --- ondemand ----------------------------------------------------------- */

static uint32_t
fpm_ondemand_first(const struct conf_app *app)
{
	(void)app;
	return 0;
}

static void
fpm_ondemand_arrived(
    struct backlog *b, uint32_t app, uint32_t request, bool waits, tstamp now)
{
	(void)request;
	if (waits)
		backlog_start(b, app, 1, now);
}

static void
fpm_ondemand_ticked(struct backlog *b, uint32_t app, tstamp now)
{
	uint32_t oldest = backlog_oldest_idle(b, app);
	int64_t second = now / TSPAN_SECONDS(1);

	if (oldest == ILIST_NONE)
		return;
	if (b->workers[oldest].active / TSPAN_SECONDS(1) <
	    second - FPM_IDLE_TIMEOUT)
		backlog_stop(b, oldest);
}

struct manager *
policy_fpm_ondemand_new(const struct conf *conf, uint64_t seed)
{
	static const struct backlog_ops ops = {
		.name = "php-fpm ondemand",
		.period = FPM_TICK,
		.first = fpm_ondemand_first,
		.arrived = fpm_ondemand_arrived,
		.ticked = fpm_ondemand_ticked,
	};

	return (struct manager *)backlog_new(
	    sizeof(struct backlog), &ops, conf, seed);
}
