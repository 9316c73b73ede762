/* Ends of processes that are failures, and how the next start waits. */

#include "core/mechanism.h"

static bool
failure_is_fault(
    const struct pool *p, const struct process *x, enum process_end end)
{
	const struct app_options *o = &p->apps[x->app].options;

	/* The process lives for one session; what ends it is no failure. */
	if (o->exit_ends && x->handed > 0)
		return false;
	switch (end) {
	case END_EXIT:
		return x->requests == 0 || o->listens;
	case END_FAILURE:
	case END_SIGNAL:
	case END_OOM:
	case END_START_TIMEOUT:
	case END_PICKUP_TIMEOUT:
	case END_NONSENSE:
	case END_FAIL:
	case END_SPAWN:
		return true;
	case END_RETIRED:
		/* RETIRE may be said in the first session. */
		return x->handed == 0 && !o->listens;
	default:
		return false;
	}
}

/*
 * A job has ended well: earlier failures are forgiven, and its successor comes
 * at a fixed pace, or when a pause under way is over if that is sooner.
 * Otherwise many processes whose jobs end in turn would put each start off for
 * ever.  A job of an old generation says nothing about the new one.
 */
static void
failure_job_done(struct pool *p, const struct process *x)
{
	struct app *a = &p->apps[x->app];
	tstamp until = tstamp_add(p->now, a->options.restart_delay);

	if (app_rolling(a) && x->generation != a->generation)
		return;
	a->touched |= MARK_FAILURE;
	app_served(a, x);
	if (a->backoff.until > p->now)
		until = tstamp_min(until, a->backoff.until);
	a->backoff = (struct backoff){ .failed_at = p->now, .until = until };
}

/*
 * An end that we ask for counts when we ask, not when it comes: a successor
 * is wanted at once.  In a generation that is to replace another a young
 * death is a failed start.
 */
void
failure_end(struct pool *p, uint32_t process, enum process_end end)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	const struct app_options *o = &a->options;
	tstamp failed_at = a->backoff.failed_at;
	bool young = p->now - x->started < o->min_server_life, hopeless;

	if (end == END_EXIT && app_has_jobs(a)) {
		failure_job_done(p, x);
		return;
	}
	if (!failure_is_fault(p, x, end))
		return;
	if (a->rollout.canary.processes > 0 && x->stamp > a->rollout.stamp)
		a->rollout.canary.fault = CANARY_FAILED;
	if (end != END_SPAWN)
		a->failure.jobs_done = 0;
	if (!x->ready || end == END_START_TIMEOUT ||
	    (end == END_EXIT && x->requests == 0 && o->sessions) ||
	    (young && app_rolling(a) && x->stamp > a->rollout.stamp)) {
		/*
		 * Another start would fail, too: the program cannot be
		 * executed, or the first process of a new generation has
		 * failed as it did before, when it was tried again.
		 */
		hopeless = (end == END_SPAWN && app_ready(a) == 0) ||
		    (app_rolling(a) && x->generation > a->proven &&
			a->failed_starts > 0 && x->started >= failed_at &&
			a->failure.how == end && a->failure.ready == x->ready);
		a->figures.spawn_failures++;
		a->failed_starts++;
		a->failure.how = (uint8_t)end;
		a->failure.ready = x->ready;
		if (hopeless && a->failed_starts < o->start_limit)
			a->failed_starts = o->start_limit;
	} else if (!young) {
		return;
	}
	a->touched |= MARK_FAILURE;
	backoff_failed(&a->backoff, x->started, o->restart_delay,
	    o->restart_delay_max, &p->prng, p->now);
	if (failed_at != p->now)
		actions_news(p, x->app, NEWS_BACKOFF, process);
}
