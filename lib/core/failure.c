/*
 * What the end of a process means for its app: which ends are failures, when
 * the next start waits for them, and when the app has failed.
 */

#include "core/policy.h"

static void
back_off(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	const struct app_options *o = &a->options;
	tstamp failed_at = a->backoff.failed_at;

	app_touch(a, MARK_FAILURE);
	backoff_failed(&a->backoff, x->started, o->restart_delay,
	    o->restart_delay_max, &p->prng, p->now);
	if (failed_at != p->now)
		actions_news(p, x->app, NEWS_BACKOFF, process);
}

/*
 * Whether the first process of a new generation has failed as it did before,
 * when it was tried again: the same would happen each time.
 */
static bool
is_repeated(const struct app *a, const struct process *x, enum process_end how)
{
	return app_rolling(a) && x->generation > a->proven &&
	    a->failed_starts > 0 && x->started >= a->backoff.failed_at &&
	    a->failed_how == how && a->failed_ready == x->ready;
}

/* A start has failed; hopeless: nor would the next one succeed. */
static void
fail_start(
    struct pool *p, uint32_t process, enum process_end how, bool hopeless)
{
	const struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	a->figures.spawn_failures++;
	hopeless = hopeless || is_repeated(a, x, how);
	a->failed_starts++;
	a->failed_how = (uint8_t)how;
	a->failed_ready = x->ready;
	if (hopeless && a->failed_starts < a->options.start_limit)
		a->failed_starts = a->options.start_limit;
	back_off(p, process);
}

void
failure_spawn(struct pool *p, uint32_t process)
{
	const struct app *a = &p->apps[p->processes[process].app];

	fail_start(p, process, END_SPAWN, app_ready(a) == 0);
}

/* Whether an end of this kind is the fault of the program. */
static bool
is_fault(const struct pool *p, const struct process *x, enum process_end end)
{
	bool served = x->requests > 0;

	/* The process lives for one session; what ends it is no failure. */
	if (p->apps[x->app].options.exit_ends && x->handed > 0)
		return false;
	switch (end) {
	case END_EXIT:
		return !served || p->apps[x->app].options.listens;
	case END_FAILURE:
	case END_SIGNAL:
	case END_START_TIMEOUT:
	case END_PICKUP_TIMEOUT:
	case END_NONSENSE:
	case END_FAIL:
		return true;
	case END_RETIRED:
		/* RETIRE may be said in the first session. */
		return x->handed == 0;
	default:
		return false;
	}
}

/*
 * The end of a job is no failure, and its successor comes at a fixed pace. A
 * job of an old generation says nothing about the new one.
 */
static void
end_job(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (app_rolling(a) && x->generation != a->generation)
		return;
	app_touch(a, MARK_FAILURE);
	app_served(a, x);
	backoff_pause(&a->backoff, a->options.restart_delay, p->now);
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
	bool young;

	if (end == END_EXIT && app_has_jobs(a)) {
		end_job(p, process);
		return;
	}
	if (!is_fault(p, x, end))
		return;
	a->jobs_done = 0;
	young = p->now - x->started < a->options.min_server_life;
	if (!x->ready || end == END_START_TIMEOUT ||
	    (end == END_EXIT && x->requests == 0 && a->options.sessions) ||
	    (young && app_rolling(a) && app_is_tried(a, x)))
		fail_start(p, process, end, false);
	else if (young)
		back_off(p, process);
}

void
failure_judge(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	/* An app that is told to leave lacks nothing. */
	bool failed = !app_is_ending(a) &&
	    a->failed_starts >= a->options.start_limit && app_ready(a) == 0;

	if (failed != app_has_failed(a)) {
		app_judge(a, failed ? VERDICT_FAILED : VERDICT_RECOVERED);
		if (failed)
			actions_news(p, app, NEWS_FAILED, ILIST_NONE);
		else if (app_ready(a) > 0)
			actions_news(p, app, NEWS_RECOVERED, ILIST_NONE);
	}
	if (failed)
		queue_refuse_all(p, app, CAUSE_APP_FAILED);
}
