/* How many processes an app must and may have now, and when one may start. */

#include "core/mechanism.h"
#include "core/pool.h"

uint32_t
bounds_wanted(const struct pool *p, const struct app *a)
{
	uint32_t min = bounds_least(p, a), need;

	if (a->options.target_wait == 0 || !bounds_kept(p, a) || a->renewing)
		return min;
	need = least(promise_least(&a->promise), a->options.max_processes);
	/* Processes of one session are needed until their exit. */
	if (a->options.exit_ends)
		need -= least(need, a->expiring);
	return need > min ? need : min;
}

uint32_t
bounds_spare(const struct pool *p, const struct app *a)
{
	uint32_t min = bounds_least(p, a) + a->rollout.surge;
	uint32_t n = bounds_lasting(a);

	return n > min ? n - min : 0;
}

uint32_t
bounds_allowed(const struct app *a, uint32_t n)
{
	uint32_t most = bounds_under_own(a);

	/* Failed starts in a row leave a trial now and then. */
	if (a->failed_starts >= a->options.start_limit && most > 0)
		most = a->in_state[PROCESS_STARTING] == 0 ? 1 : 0;
	return least(n, most);
}

tstamp
pool_start_gate(const struct app *a)
{
	const struct backoff *b = &a->backoff;
	tspan most = a->options.restart_delay_max;
	tspan min = a->options.restart_delay;
	/* restart_delay_max may have been made shorter meanwhile. */
	tstamp gate =
	    tstamp_min(b->until, tstamp_add(b->failed_at, most + most / 4));

	if (a->failed_starts >= a->options.start_limit)
		gate = tstamp_add(
		    b->failed_at, a->failure.called && min < most ? min : most);
	else if (app_demand(a) > 0 && app_ready(a) == 0 && b->delay != 0)
		gate = tstamp_min(gate, tstamp_add(b->failed_at, min));
	return gate > a->failure.rest_until ? gate : a->failure.rest_until;
}

bool
bounds_paused(const struct pool *p, const struct app *a)
{
	return app_is_ending(a) || p->phase == POOL_ENDING ||
	    pool_start_gate(a) > p->now;
}
