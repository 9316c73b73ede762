/* Ready or not: said to the terminal and to the service manager. */

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "daemon/readiness.h"
#include "sys/background.h"
#include "sys/log.h"
#include "sys/notify.h"

/* The service manager is told at most so often. */
#define READINESS_PACE TSPAN_SECONDS(1)

/* Whether every app has had min_processes ready. */
static bool
readiness_all(const struct supervisor *s)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_RUNNING && !a->greeted)
			return false;
	}
	return true;
}

/* Whether each app is ready, or has failed: the others run. */
static bool
readiness_settled(const struct supervisor *s)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_RUNNING && !a->greeted && !a->failed)
			return false;
	}
	return true;
}

static void
readiness_text(const struct supervisor *s, char *buf, size_t size)
{
	unsigned processes = 0, active = 0, failed = 0, apps = 0;
	unsigned long waiting = 0;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_FREE)
			continue;
		apps++;
		failed += a->failed ? 1 : 0;
		processes += app_processes(a);
		active += a->in_state[PROCESS_ACTIVE];
		waiting += a->queue.count;
	}
	(void)snprintf(buf, size,
	    "%u apps (%u failed), %u of %u processes, %u active, %lu waiting",
	    apps, failed, processes, (unsigned)s->pool.max_processes, active,
	    waiting);
}

static void
readiness_report(struct supervisor *s)
{
	if (s->background ? !readiness_all(s) : !readiness_settled(s))
		return;
	if (notify_send("READY=1") == -1)
		return;
	s->reported = true;
	background_report(EX_OK);
}

void
readiness_tick(struct supervisor *s, tstamp now)
{
	char text[sizeof(s->status_text)];

	if (!s->reported && !s->stopping)
		readiness_report(s);
	if (!notify_wanted() || s->stopping || now < s->status_at)
		return;
	readiness_text(s, text, sizeof(text));
	if (strcmp(text, s->status_text) == 0)
		return;
	if (notify_send("STATUS=%s", text) == -1)
		return;
	(void)snprintf(s->status_text, sizeof(s->status_text), "%s", text);
	s->status_at = now + READINESS_PACE;
}

tstamp
readiness_deadline(const struct supervisor *s)
{
	/* A status that changed too early to be told is told then. */
	return notify_wanted() && !s->stopping && s->status_at > s->loop.now
	    ? s->status_at
	    : TSTAMP_NEVER;
}
