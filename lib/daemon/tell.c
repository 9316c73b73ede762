/* Events, and the lines of the log that they are. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/tell.h"
#include "sys/log.h"

/* An event with its text. */
struct told {
	struct event event;
	char text[EVENTS_TEXT_MAX + 1];
};

static void
init(struct told *t, enum log_level level, enum event_kind kind)
{
	t->event = (struct event){
		.kind = kind,
		.level = level,
		.app = "",
		.id = "",
		.text = t->text,
	};
	t->text[0] = '\0';
}

static void __attribute__((format(printf, 2, 0)))
add(struct told *t, const char *fmt, va_list ap)
{
	size_t len = strlen(t->text);

	(void)vsnprintf(t->text + len, sizeof(t->text) - len, fmt, ap);
}

static void __attribute__((format(printf, 2, 3)))
addf(struct told *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(t, fmt, ap);
	va_end(ap);
}

static void
put(struct supervisor *s, struct event *event)
{
	log_clock(&event->at);
	events_put(&s->events, event);
}

static void
finish(struct told *t, struct supervisor *s, const char *reason)
{
	t->event.reason = reason;
	if (reason != NULL)
		addf(t, " (%s)", reason);
	t->event.len = strlen(t->text);
	put(s, &t->event);
	log_at(t->event.level, "%s", t->text);
}

/* --- of the daemon, and of an app --------------------------------------- */

void
tell_daemon(struct supervisor *s, enum log_level level, enum event_kind kind,
    const char *fmt, ...)
{
	struct told t;
	va_list ap;

	init(&t, level, kind);
	va_start(ap, fmt);
	add(&t, fmt, ap);
	va_end(ap);
	finish(&t, s, NULL);
}

void
tell_command(struct supervisor *s, const struct group *g, const char *fmt, ...)
{
	struct told t;
	va_list ap;

	init(&t, LOG_LEVEL_INFO, EVENT_COMMAND);
	if (g != NULL)
		t.event.app = g->conf->name;
	va_start(ap, fmt);
	add(&t, fmt, ap);
	va_end(ap);
	finish(&t, s, NULL);
}

static void
init_app(struct told *t, const struct group *g, enum log_level level,
    enum event_kind kind)
{
	init(t, level, kind);
	t->event.app = g->conf->name;
	addf(t, "%s: ", g->conf->name);
}

void
tell_app(const struct group *g, enum log_level level, enum event_kind kind,
    const char *reason, const char *fmt, ...)
{
	struct told t;
	va_list ap;

	init_app(&t, g, level, kind);
	va_start(ap, fmt);
	add(&t, fmt, ap);
	va_end(ap);
	finish(&t, g->sup, reason);
}

void
tell_app_limited(const struct group *g, struct log_rate *rate, tstamp now,
    enum event_kind kind, const char *fmt, ...)
{
	char suffix[LOG_SUFFIX];
	struct told t;
	va_list ap;

	if (!log_rate_allows(rate, now, suffix))
		return;
	init_app(&t, g, LOG_LEVEL_WARN, kind);
	va_start(ap, fmt);
	add(&t, fmt, ap);
	va_end(ap);
	addf(&t, "%s", suffix);
	finish(&t, g->sup, NULL);
}

/* --- of a process ------------------------------------------------------- */

static void
init_worker(struct told *t, const struct worker *w, enum log_level level,
    enum event_kind kind)
{
	init(t, level, kind);
	t->event.app = w->group->conf->name;
	t->event.id = w->id;
	t->event.pid = w->pid != 0 ? w->pid : w->death.pid;
}

void
tell_worker(const struct worker *w, enum log_level level, enum event_kind kind,
    const char *reason, const char *fmt, ...)
{
	struct told t;
	va_list ap;

	init_worker(&t, w, level, kind);
	(void)worker_name(w, t.text, sizeof(t.text));
	addf(&t, " ");
	va_start(ap, fmt);
	add(&t, fmt, ap);
	va_end(ap);
	finish(&t, w->sup, reason);
}

void
tell_said(const struct worker *w, const char *text, size_t len)
{
	struct told t;

	init_worker(&t, w, LOG_LEVEL_INFO, EVENT_WORKER);
	t.event.text = text;
	t.event.len = len;
	put(w->sup, &t.event);
	log_output(LOG_LEVEL_INFO, t.event.app, w->id, text, len);
}
