/*
 * All policies, and those that look at nothing but idle workers:
 *
 * static: always max_processes.
 *
 * php-fpm, pm = dynamic: pm.max_children is max_processes.  The other sizes
 * stand to it as in the pool file that comes with php-fpm (5, 1, 3),
 * pm.start_servers is half way between them by default:
 *
 *	pm.min_spare_servers = max_processes / 5, at least 1
 *	pm.max_spare_servers = max_processes * 3 / 5, at least min_processes
 *	pm.start_servers = the mean of both, at least min_processes
 *
 * Once a second it counts the idle children; starting ones are none.  Over
 * pm.max_spare_servers the idle child with the longest life is stopped.  Under
 * pm.min_spare_servers as many are forked as are missing, but at most 1, 2, 4
 * … 32 in seconds that follow each other.
 *
 * php-fpm, pm = ondemand: pm.max_children is max_processes, there is no
 * minimum.  Whenever a connection comes and no child is idle one is forked;
 * starting children are not counted.  Once a second the idle child with the
 * longest life, and no other, is stopped if it has done nothing for more than
 * pm.process_idle_timeout, 10 seconds.  Connections go round, so that under
 * traffic no child is idle for so long.
 *
 * Apache's prefork MPM: MaxRequestWorkers is max_processes.  The other sizes
 * stand to it as their defaults to its own (256, 5, 5, 10):
 *
 *	StartServers = max_processes * 5 / 256, at least 1 and min_processes
 *	MinSpareServers = max_processes * 5 / 256, at least 1
 *	MaxSpareServers = max_processes * 10 / 256, at least min_processes
 *		and one more than MinSpareServers
 *
 * Once a second it counts the idle children, starting ones included.  Over
 * MaxSpareServers one is stopped: it wakes a child that blocks in accept(),
 * and so the longest blocked.  Under MinSpareServers 1, 2, 4 … 32 are forked
 * in seconds that follow each other, however few are missing.
 */

#include <assert.h>

#include "policies.h"
#include "policy.h"

#define SECOND TSPAN_SECONDS(1)

#define PREFORK_WORKERS 256
#define PREFORK_MIN 5
#define PREFORK_MAX 10

/* Seconds, as php-fpm counts them: whole ones. */
#define FPM_IDLE_TIMEOUT 10

/* --- static ------------------------------------------------------------- */

static uint32_t
begin_static(struct policy *p, uint32_t app)
{
	return p->apps[app].conf->pool.max_processes;
}

static const struct policy_ops policy_static = {
	.name = "static",
	.begin = begin_static,
};

/* --- a band of idle workers --------------------------------------------- */

/* Starts in one second at most, of Apache and of php-fpm. */
#define BAND_RATE_MAX 32

/* The bounds in which the idle workers of an app are kept. */
struct band {
	uint32_t min;
	uint32_t max; /* at least min */
	uint32_t rate; /* starts in the next second, if any are needed */
};

static struct band *
band_of(struct policy *p, uint32_t app)
{
	return (struct band *)p->app_states + app;
}

static uint32_t
most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void
band_start(struct policy *p, uint32_t app, uint32_t n, tstamp now)
{
	struct band *b = band_of(p, app);

	if (policy_start(p, app, n, now) == 0)
		b->rate = 1;
	else if (b->rate < BAND_RATE_MAX)
		b->rate *= 2;
}

/* The idle worker that has waited longest; ILIST_NONE: there is none. */
static uint32_t
longest_blocked(const struct policy *p, uint32_t app)
{
	uint32_t worker = p->apps[app].open->first;

	while (worker != ILIST_NONE && p->workers[worker].serving > 0)
		worker = p->worker_links[worker].next;
	return worker;
}

/* The idle worker with the longest life; ILIST_NONE: there is none. */
static uint32_t
oldest_idle(const struct policy *p, uint32_t app)
{
	const struct policy_worker *w = p->workers;
	uint32_t oldest = ILIST_NONE, worker;

	for (worker = p->apps[app].open->first; worker != ILIST_NONE;
	     worker = p->worker_links[worker].next) {
		if (w[worker].serving > 0)
			continue;
		if (oldest == ILIST_NONE ||
		    w[worker].started < w[oldest].started)
			oldest = worker;
	}
	return oldest;
}

/* --- Apache prefork ----------------------------------------------------- */

static uint32_t
begin_prefork(struct policy *p, uint32_t app)
{
	const struct conf_app *conf = p->apps[app].conf;
	struct band *b = band_of(p, app);

	b->rate = 1;
	b->min =
	    most(conf->pool.max_processes * PREFORK_MIN / PREFORK_WORKERS, 1);
	b->max = most(conf->pool.max_processes * PREFORK_MAX / PREFORK_WORKERS,
	    most(b->min + 1, conf->pool.min_processes));
	/* StartServers and MinSpareServers have the same default. */
	return most(b->min, conf->pool.min_processes);
}

static void
prefork_ticked(struct policy *p, uint32_t app, tstamp now)
{
	const struct policy_app *a = &p->apps[app];
	struct band *b = band_of(p, app);
	uint32_t idle = a->count[POLICY_IDLE] + a->count[POLICY_STARTING],
		 worker;

	if (idle < b->min) {
		band_start(p, app, b->rate, now);
		return;
	}
	b->rate = 1;
	if (idle <= b->max)
		return;
	worker = longest_blocked(p, app);
	if (worker != ILIST_NONE)
		policy_stop(p, worker);
}

static const struct policy_ops policy_prefork = {
	.name = "Apache prefork",
	.period = SECOND,
	.app_size = sizeof(struct band),
	.begin = begin_prefork,
	.ticked = prefork_ticked,
};

/* --- php-fpm dynamic ---------------------------------------------------- */

static uint32_t
begin_fpm_dynamic(struct policy *p, uint32_t app)
{
	const struct conf_app *conf = p->apps[app].conf;
	struct band *b = band_of(p, app);

	b->rate = 1;
	b->min = most(conf->pool.max_processes / 5, 1);
	b->max = most(conf->pool.max_processes * 3 / 5,
	    most(b->min, conf->pool.min_processes));
	return most(b->min + (b->max - b->min) / 2, conf->pool.min_processes);
}

static void
fpm_dynamic_ticked(struct policy *p, uint32_t app, tstamp now)
{
	struct band *b = band_of(p, app);
	uint32_t idle = p->apps[app].count[POLICY_IDLE];

	if (idle < b->min) {
		band_start(p, app,
		    b->rate < b->min - idle ? b->rate : b->min - idle, now);
		return;
	}
	b->rate = 1;
	if (idle > b->max)
		policy_stop(p, oldest_idle(p, app));
}

static const struct policy_ops policy_fpm_dynamic = {
	.name = "php-fpm dynamic",
	.period = SECOND,
	.app_size = sizeof(struct band),
	.begin = begin_fpm_dynamic,
	.ticked = fpm_dynamic_ticked,
};

/* --- php-fpm ondemand --------------------------------------------------- */

static uint32_t
begin_fpm_ondemand(struct policy *p, uint32_t app)
{
	(void)p;
	(void)app;
	return 0;
}

static void
fpm_ondemand_arrived(
    struct policy *p, uint32_t app, uint32_t request, bool waits, tstamp now)
{
	(void)request;
	if (waits)
		policy_start(p, app, 1, now);
}

static void
fpm_ondemand_ticked(struct policy *p, uint32_t app, tstamp now)
{
	uint32_t oldest = oldest_idle(p, app);

	if (oldest != ILIST_NONE &&
	    p->workers[oldest].active / SECOND <
		now / SECOND - FPM_IDLE_TIMEOUT)
		policy_stop(p, oldest);
}

static const struct policy_ops policy_fpm_ondemand = {
	.name = "php-fpm ondemand",
	.period = SECOND,
	.begin = begin_fpm_ondemand,
	.arrived = fpm_ondemand_arrived,
	.ticked = fpm_ondemand_ticked,
};

/* --- all ---------------------------------------------------------------- */

struct manager *
policies_new(enum policies policy, const struct conf *conf, uint64_t seed)
{
	static const struct policy_ops *const all[] = {
		[POLICIES_STATIC] = &policy_static,
		[POLICIES_FPM_DYNAMIC] = &policy_fpm_dynamic,
		[POLICIES_FPM_ONDEMAND] = &policy_fpm_ondemand,
		[POLICIES_PREFORK] = &policy_prefork,
		[POLICIES_UWSGI] = &policy_uwsgi,
		[POLICIES_FASTCGI] = &policy_fastcgi,
		[POLICIES_ANYEVENT] = &policy_anyevent,
	};

	assert(policy < POLICIES_LEN);
	return policy_new(all[policy], conf, seed);
}
