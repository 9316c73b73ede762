/*
 * Apache's prefork MPM.  MaxRequestWorkers is max_processes.  The other sizes
 * stand to it as their defaults to its own (256, 5, 5, 10):
 *
 *	StartServers = max_processes * 5 / 256, at least 1 and min_processes
 *	MinSpareServers = max_processes * 5 / 256, at least 1
 *	MaxSpareServers = max_processes * 10 / 256, at least min_processes
 *		and one more than MinSpareServers
 *
 * Once a second it counts the idle children, those that start included.  Over
 * MaxSpareServers one is stopped: it wakes one that blocks in accept(), and so
 * the longest blocked.  Under MinSpareServers 1, 2, 4 … 32 are forked in
 * seconds that follow each other, however few are missing.
 */

#include "sim/backlog.h"
#include "sim/policy.h"
#include "sim/policy_spare.h"

#define PREFORK_TICK TSPAN_SECONDS(1)
#define PREFORK_WORKERS 256
#define PREFORK_MIN 5
#define PREFORK_MAX 10

static struct spare
prefork_spare(const struct conf_app *app)
{
	uint32_t min = app->max_processes * PREFORK_MIN / PREFORK_WORKERS;
	uint32_t max = app->max_processes * PREFORK_MAX / PREFORK_WORKERS;

	min = spare_most(min, 1);
	max = spare_most(max, min + 1);
	return (struct spare){ .min = min,
		.max = spare_most(max, app->min_processes),
		.rate = 1 };
}

static uint32_t
prefork_first(const struct conf_app *app)
{
	/* StartServers and MinSpareServers have the same default. */
	return spare_most(prefork_spare(app).min, app->min_processes);
}

static void
prefork_ticked(struct backlog *b, uint32_t app, tstamp now)
{
	struct spare *s = spares_of(b, app);
	const struct backlog_app *a = &b->apps[app];
	uint32_t worker;

	switch (spare_look(s, a->idle + a->starting)) {
	case SPARE_STOP:
		worker = backlog_longest_blocked(b, app);
		if (worker != ILIST_NONE)
			backlog_stop(b, worker);
		break;
	case SPARE_START:
		spare_started(s, backlog_start(b, app, s->rate, now));
		break;
	default:
		break;
	}
}

struct manager *
policy_prefork_new(const struct conf *conf, uint64_t seed)
{
	static const struct backlog_ops ops = {
		.name = "Apache prefork",
		.period = PREFORK_TICK,
		.first = prefork_first,
		.ticked = prefork_ticked,
		.fini = spares_fini,
	};

	return spares_new(&ops, prefork_spare, conf, seed);
}
