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

		if (a->phase == APP_RUNNING && !app_is_announced(a))
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

		if (a->phase == APP_RUNNING && !app_is_announced(a) &&
		    !app_has_failed(a))
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

static void
readiness_report(struct supervisor *s)
{
	if (s->background ? !readiness_all(s) : !readiness_settled(s))
		return;
	if (notify_send("READY=1") == -1) {
		/* It must not be lost: tried again soon. */
		s->status_due = true;
		return;
	}
	s->reported = true;
	background_report(EX_OK);
}

/* What the service manager shows, if it has changed. */
static void
readiness_tell(struct supervisor *s)
{
	char text[sizeof(s->status_text)];

	readiness_text(s, text, sizeof(text));
	if (strcmp(text, s->status_text) == 0)
		return;
	if (notify_send("STATUS=%s", text) == -1)
		s->status_due = true;
	else
		(void)snprintf(
		    s->status_text, sizeof(s->status_text), "%s", text);
}

void
readiness_tick(struct supervisor *s, tstamp now)
{
	if (s->stopping)
		return;
	s->status_due = false;
	if (!s->reported)
		readiness_report(s);
	if (!notify_wanted())
		return;
	if (now < s->status_at) {
		/* Something has happened; it is looked at when it is time. */
		s->status_due = true;
		return;
	}
	s->status_at = now + READINESS_PACE;
	readiness_tell(s);
}

tstamp
readiness_deadline(const struct supervisor *s)
{
	return s->status_due && !s->stopping ? s->status_at : TSTAMP_NEVER;
}
