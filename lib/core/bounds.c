/* How many processes an app must and may have now, and when one may start. */

#include "core/policy.h"

bool
bounds_kept(const struct pool *p, const struct app *a)
{
	return p->phase == POOL_RUNNING && a->phase == APP_RUNNING;
}

uint32_t
bounds_least(const struct pool *p, const struct app *a)
{
	return bounds_kept(p, a) && !a->renewing ? a->options.min_processes : 0;
}

uint32_t
bounds_wanted(const struct pool *p, const struct app *a)
{
	uint32_t least = bounds_least(p, a), need;

	if (a->options.target_wait == 0 || !bounds_kept(p, a) || a->renewing)
		return least;
	need = promise_least(&a->promise);
	if (need > a->options.max_processes)
		need = a->options.max_processes;
	/* Processes of one session are needed until their exit. */
	if (a->options.exit_ends)
		need -= need < a->expiring ? need : a->expiring;
	return need > least ? need : least;
}

uint32_t
bounds_lasting(const struct app *a)
{
	return app_processes(a) - a->expiring;
}

uint32_t
bounds_spare(const struct pool *p, const struct app *a)
{
	uint32_t least = bounds_least(p, a) + a->surge, n = bounds_lasting(a);

	return n > least ? n - least : 0;
}

uint32_t
bounds_under_own(const struct app *a)
{
	uint32_t n = app_processes(a);

	return n < a->options.max_processes ? a->options.max_processes - n : 0;
}

/* Failed starts in a row pause all growth but for a trial now and then. */
static bool
is_on_trial(const struct app *a)
{
	return a->failed_starts >= a->options.start_limit;
}

uint32_t
bounds_allowed(const struct app *a, uint32_t n)
{
	uint32_t most = bounds_under_own(a);

	if (is_on_trial(a) && most > 0)
		most = a->in_state[PROCESS_STARTING] == 0 ? 1 : 0;
	return n < most ? n : most;
}

tstamp
bounds_gate(const struct app *a)
{
	const struct backoff *b = &a->backoff;
	tspan most = a->options.restart_delay_max;
	tspan least = a->options.restart_delay;
	/* restart_delay_max may have been made shorter meanwhile. */
	tstamp gate =
	    tstamp_min(b->until, tstamp_add(b->failed_at, most + most / 4));

	if (is_on_trial(a))
		gate = tstamp_add(
		    b->failed_at, a->called && least < most ? least : most);
	else if (app_demand(a) > 0 && app_ready(a) == 0 && b->delay != 0)
		gate = tstamp_min(gate, tstamp_add(b->failed_at, least));
	return gate > a->rest_until ? gate : a->rest_until;
}

bool
bounds_paused(const struct pool *p, const struct app *a)
{
	return app_is_ending(a) || p->phase == POOL_ENDING ||
	    bounds_gate(a) > p->now;
}
