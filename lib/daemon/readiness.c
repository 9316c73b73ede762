/* Telling whether the daemon is ready, and that it is alive. */

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "daemon/readiness.h"
#include "sys/background.h"
#include "sys/log.h"
#include "sys/notify.h"

/* Between two texts of status for the service manager. */
#define READINESS_PACE TSPAN_SECONDS(1)

/* Whether every app has had min_processes ready. */
static bool
all_ready(const struct supervisor *s)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_RUNNING && !app_is_announced(a))
			return false;
	}
	return true;
}

/* Whether each app is ready, or has failed: the others run. */
static bool
all_settled(const struct supervisor *s)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_RUNNING && !app_is_announced(a) &&
		    !app_has_failed(a))
			return false;
	}
	return true;
}

static void
format_status(const struct supervisor *s, char *buf, size_t size)
{
	unsigned processes = 0, active = 0, failed = 0, apps = 0;
	unsigned long waiting = 0;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_FREE)
			continue;
		apps++;
		failed += app_has_failed(a) ? 1 : 0;
		processes += app_processes(a);
		active += a->in_state[PROCESS_ACTIVE];
		waiting += app_waiting(a);
	}
	(void)snprintf(buf, size,
	    "%u apps (%u failed), %u of %u processes, %u active, %lu waiting",
	    apps, failed, processes, (unsigned)s->pool.max_processes, active,
	    waiting);
}

/* The timer makes a turn of the loop, and readiness_turn() does the rest. */
static void
wake(struct timer *t, tstamp now)
{
	(void)t;
	(void)now;
}

static void
report(struct supervisor *s, tstamp now)
{
	if (s->background ? !all_ready(s) : !all_settled(s))
		return;
	if (notify_send("READY=1") == -1) {
		/* The message must not be lost. */
		timer_advance(
		    &s->loop.timers, &s->status_timer, now + READINESS_PACE);
		return;
	}
	s->reported = true;
	background_report(EX_OK);
}

/* Sends the text that the service manager shows, if it has changed. */
static void
tell_status(struct supervisor *s)
{
	char text[sizeof(s->status_text)];

	format_status(s, text, sizeof(text));
	if (strcmp(text, s->status_text) == 0)
		return;
	if (notify_send("STATUS=%s", text) == -1)
		timer_advance(&s->loop.timers, &s->status_timer, s->status_at);
	else
		(void)snprintf(
		    s->status_text, sizeof(s->status_text), "%s", text);
}

/*
 * Answers the manager's watchdog: that the loop turns is the proof. An answer
 * that the manager has no room for is made up for by the next.
 */
static void
say_alive(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, alive);

	(void)notify_send("WATCHDOG=1");
	timer_set(&s->loop.timers, t, tstamp_add(now, notify_watchdog() / 3));
}

void
readiness_init(struct supervisor *s)
{
	timer_init(&s->status_timer, wake);
	timer_init(&s->alive, say_alive);
}

void
readiness_begin(struct supervisor *s, tstamp now)
{
	if (notify_watchdog() > 0)
		timer_set(&s->loop.timers, &s->alive, now);
	/* Without apps the loop may not turn for a long time. */
	readiness_turn(s, now);
}

void
readiness_turn(struct supervisor *s, tstamp now)
{
	if (s->stopping)
		return;
	if (!s->reported)
		report(s, now);
	if (!notify_wanted())
		return;
	if (now < s->status_at) {
		/* Changes of this turn are told when it is time. */
		timer_advance(&s->loop.timers, &s->status_timer, s->status_at);
		return;
	}
	s->status_at = now + READINESS_PACE;
	tell_status(s);
}
