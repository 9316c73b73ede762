/*
 * Processes that nobody waits for yet: min_idle spare ones, and what the load
 * estimate asks for.  They come only where there is a place for them now.
 *
 * Source: AnyEvent::Fork::Pool (`idle`, and `start` as its pace).
 */

#include "core/pool_private.h"

bool
spare_add(struct pool *p, uint32_t app)
{
	if (sizing_allowed(&p->apps[app], 1) == 0)
		return false;
	shrink_slack(p);
	if (places_free(p) == 0 || !ilist_empty(&p->places))
		return false;
	lifecycle_begin(p, app);
	return true;
}

void
spare_begin(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	while (sizing_kept(p, a) && sizing_lasting(a) < a->first &&
	    sizing_lasting(a) < a->options.min_idle && spare_add(p, app))
		;
	/* Those that found no place now come one by one, as others do. */
	a->first = 0;
}

/* Whether there are fewer idle or starting ones than min_idle. */
static bool
spare_short(const struct pool *p, const struct app *a)
{
	uint32_t spare =
	    a->in_state[PROCESS_IDLE] + a->in_state[PROCESS_STARTING];

	return spare < a->options.min_idle &&
	    app_processes(a) < a->options.max_processes && sizing_kept(p, a) &&
	    !a->renewing && !a->failed;
}

static void
spare_deny(struct pool *p, struct app *a, bool denied)
{
	p->denied += (denied ? 1u : 0u) - (a->spare_denied ? 1u : 0u);
	a->spare_denied = denied;
}

void
spare_keep(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->options.min_idle == 0 && a->short_since == 0)
		return;
	spare_deny(p, a, false);
	if (!spare_short(p, a))
		a->short_since = 0;
	else if (a->short_since == 0)
		a->short_since = p->now;
	while (spare_short(p, a) && !sizing_paused(p, a) &&
	    tstamp_add(a->short_since, a->options.start_delay) <= p->now) {
		if (!spare_add(p, app)) {
			spare_deny(p, a, true);
			return;
		}
		a->short_since = p->now;
	}
}

tstamp
spare_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp due;

	if (a->short_since == 0 || a->spare_denied)
		return TSTAMP_NEVER;
	due = tstamp_add(a->short_since, a->options.start_delay);
	return due < pool_start_gate(p, app) ? pool_start_gate(p, app) : due;
}
