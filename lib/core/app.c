/* The states of an app as tables, its word for status, its measures. */

#include <assert.h>

#include "core/app.h"

/* The state after each event.  HOLE: an event that cannot be here. */
/* clang-format off */
enum {
	HOLE = 255, FREE = APP_FREE, RUNNING = APP_RUNNING,
	EMPTYING = APP_EMPTYING, HOLDING = APP_HOLDING, HELD = APP_HELD,
	CLOSING = APP_CLOSING, DRAINED = APP_DRAINED, STOPPING = APP_STOPPING,
	STUCK = APP_STUCK, OVER = APP_OVER
};
static const unsigned char phases[APP_PHASES][APP_EVENTS] = {
/*	            ADDED    MUTED    SHUT      RESUMED  CLOSED    EMPTIED   SERVED    RETURNED ENDED     LEFT  L_STUCK UNSTUCK   FREED */
[APP_FREE] =     { RUNNING, HOLE,    HOLE,     HOLE,    HOLE,     HOLE,     HOLE,     HOLE,    HOLE,     HOLE, HOLE,  HOLE,     HOLE },
[APP_RUNNING] =  { HOLE,    HOLDING, EMPTYING, HOLE,    CLOSING,  HOLE,     HOLE,     HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_EMPTYING] = { HOLE,    HOLE,    HOLE,     HOLE,    CLOSING,  HOLDING,  HOLE,     HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_HOLDING] =  { HOLE,    HOLE,    EMPTYING, RUNNING, CLOSING,  HOLE,     HELD,     HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_HELD] =     { HOLE,    HOLE,    EMPTYING, RUNNING, CLOSING,  HOLE,     HOLE,     HOLDING, STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_CLOSING] =  { HOLE,    HOLE,    HOLE,     RUNNING, CLOSING,  DRAINED,  HOLE,     HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_DRAINED] =  { HOLE,    HOLE,    HOLE,     RUNNING, DRAINED,  DRAINED,  STOPPING, HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_STOPPING] = { HOLE,    HOLE,    HOLE,     RUNNING, STOPPING, STOPPING, HOLE,     DRAINED, STOPPING, OVER, STUCK, HOLE,     HOLE },
[APP_STUCK] =    { HOLE,    HOLE,    HOLE,     RUNNING, STUCK,    STUCK,    HOLE,     HOLE,    STUCK,    HOLE, HOLE,  STOPPING, HOLE },
[APP_OVER] =     { HOLE,    HOLE,    HOLE,     HOLE,    OVER,     OVER,     HOLE,     HOLE,    OVER,     HOLE, HOLE,  HOLE,     FREE },
};
/* clang-format on */

void
app_enter(struct app *a, enum app_event e)
{
	assert(phases[a->phase][e] != HOLE);
	a->phase = phases[a->phase][e];
	a->leaving.at_rest = false;
	a->leaving.soon = 0;
	a->touched |= MARK_ALL;
}

/*
 * Sessions that the mean remembers, and that are to be known; and steps to a
 * median twice as long.
 */
#define APP_SESSIONS 256
#define APP_STEPS 32

/* A mean session up to which handing ahead pays. */
#define APP_BRIEF TSPAN_MSECONDS(1)

void
app_measure(struct app *a, tspan took, tstamp now)
{
	struct app_session *s = &a->session;

	window_add(&a->session_time, took, now);
	promise_served(&a->promise, took);
	if (s->mean == 0) {
		s->mean = took;
		s->usual = took;
		return;
	}
	s->mean += (took - s->mean) / APP_SESSIONS;
	if (took > s->usual)
		s->usual += s->usual / APP_STEPS + 1;
	else
		s->usual -= s->usual / APP_STEPS;
}

bool
app_prefetches(const struct app *a)
{
	return a->options.prefetch > 0 &&
	    (!a->options.prefetch_auto ||
		(a->figures.completed >= APP_SESSIONS && a->session.mean > 0 &&
		    a->session.mean <= APP_BRIEF));
}

/*
 * Idle processes are kept for so many times what a start takes, within these
 * bounds; and stop one by one in about as many steps.
 */
#define WORTH 1000
#define WORTH_LEAST TSPAN_SECONDS(5)
#define WORTH_MOST TSPAN_SECONDS(300)
#define WORTH_STOPS 25

void
app_time_stops(struct app *a)
{
	const struct app_options *o = &a->options;
	tspan worth = WORTH_MOST;

	if (a->start_time > 0 && a->start_time < WORTH_MOST / WORTH)
		worth = WORTH * a->start_time;
	if (worth < WORTH_LEAST)
		worth = WORTH_LEAST;
	a->shrinking.idle_time =
	    o->max_idle_time == APP_AUTO ? worth : o->max_idle_time;
	a->shrinking.stop_delay =
	    o->stop_delay == APP_AUTO ? worth / WORTH_STOPS : o->stop_delay;
}

double
app_work(const struct app *a, tstamp now)
{
	return load_work(&a->load, a->options.load.gain,
	    a->options.load.update_interval, now);
}

double
app_load(const struct app *a, tstamp now)
{
	uint32_t running = app_ready(a);

	return running == 0 ? 0 : 100 * app_work(a, now) / running;
}

void
app_served(struct app *a, const struct process *x)
{
	if (x->generation > a->proven)
		a->proven = x->generation;
	if (a->failed_starts == 0)
		return;
	a->failed_starts = 0;
	a->touched |= MARK_FAILURE;
}

void
app_forgive(struct app *a)
{
	a->failed_starts = 0;
	a->backoff = (struct backoff){ 0 };
	a->touched |= MARK_FAILURE;
}

const char *
app_state_name(const struct app *a)
{
	if (a->phase >= APP_CLOSING)
		return "stopping";
	if (a->leaving.soon != 0)
		return a->leaving.soon == END_DRAINED ? "draining" : "stopping";
	if (a->phase != APP_RUNNING && a->leaving.why == END_DRAINED)
		return a->leaving.at_rest ? "drained" : "draining";
	if (a->phase != APP_RUNNING)
		return a->leaving.at_rest ? "stopped" : "stopping";
	if (a->failed)
		return "failed";
	return a->announced || app_rolling(a) ? "running" : "starting";
}
