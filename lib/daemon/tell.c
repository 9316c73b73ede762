/* Events, and the lines of the log that they are. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/worker.h"

/* --- events ------------------------------------------------------------- */

/* An event in the ring, followed by app, id and text, each with a NUL. */
struct event_record {
	struct timespec at;
	const char *reason;
	pid_t pid;
	uint8_t kind;
	uint8_t level;
	uint16_t app_size; /* with NUL */
	uint16_t id_size;
	uint16_t len; /* of the text, without NUL */
};

void
events_put(struct ring *events, struct event *event)
{
	size_t len =
	    event->len < EVENTS_TEXT_MAX ? event->len : EVENTS_TEXT_MAX;
	const struct event_record r = {
		.at = event->at,
		.reason = event->reason,
		.pid = event->pid,
		.kind = (uint8_t)event->kind,
		.level = (uint8_t)event->level,
		.app_size = (uint16_t)(strnlen(event->app, EVENTS_APP_MAX) + 1),
		.id_size = (uint16_t)(strlen(event->id) + 1),
		.len = (uint16_t)len,
	};
	const size_t size = sizeof(r) + r.app_size + r.id_size + len + 1;
	char *to;

	event->number = events->next;
	if (events->mem == NULL)
		return;
	while ((to = ring_add(events, size)) == NULL)
		ring_drop(events);
	/* The strings end with the NULs that are not copied. */
	memset(to, 0, size);
	memcpy(to, &r, sizeof(r));
	to += sizeof(r);
	memcpy(to, event->app, r.app_size - 1u);
	memcpy(to + r.app_size, event->id, r.id_size);
	memcpy(to + r.app_size + r.id_size, event->text, len);
}

bool
events_next(
    const struct ring *events, struct ring_place *place, struct event *out)
{
	const struct event_record *r = ring_read(events, place);
	const char *p = (const char *)(r + 1);

	if (r == NULL)
		return false;
	*out = (struct event){
		.number = place->number - 1,
		.at = r->at,
		.kind = (enum event_kind)r->kind,
		.level = (enum log_level)r->level,
		.reason = r->reason,
		.pid = r->pid,
		.app = p,
		.id = p + r->app_size,
		.text = p + r->app_size + r->id_size,
		.len = r->len,
	};
	return true;
}

const char *
events_kind_name(enum event_kind kind)
{
	static const char *const names[] = {
		[EVENT_START] = "start",
		[EVENT_SPAWN] = "spawn",
		[EVENT_READY] = "ready",
		[EVENT_EXIT] = "exit",
		[EVENT_FAILURE] = "failure",
		[EVENT_RECOVERY] = "recovery",
		[EVENT_REFUSAL] = "refusal",
		[EVENT_RESTART] = "restart",
		[EVENT_RELOAD] = "reload",
		[EVENT_COMMAND] = "command",
		[EVENT_STOP] = "stop",
		[EVENT_WORKER] = "worker",
	};

	return names[kind];
}

/* --- what is told -------------------------------------------------------- */

/* An event while its text is put together. */
struct told {
	struct event event;
	char text[EVENTS_TEXT_MAX + 1];
};

static void
told_init(struct told *t, enum log_level level, enum event_kind kind,
    const struct group *g)
{
	t->event = (struct event){
		.kind = kind,
		.level = level,
		.app = g == NULL ? "" : g->conf->name,
		.id = "",
		.text = t->text,
	};
	t->text[0] = '\0';
}

static void
told_of(struct told *t, const struct worker *w)
{
	t->event.id = w->id;
	t->event.pid = w->pid != 0 ? w->pid : w->leaving.death.pid;
}

static void __attribute__((format(printf, 2, 0)))
told_add(struct told *t, const char *fmt, va_list ap)
{
	size_t len = strlen(t->text);

	(void)vsnprintf(t->text + len, sizeof(t->text) - len, fmt, ap);
}

static void __attribute__((format(printf, 2, 3)))
told_addf(struct told *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	told_add(t, fmt, ap);
	va_end(ap);
}

static void
told_put(struct told *t, struct supervisor *s, const char *reason)
{
	struct logline line = { .level = t->event.level, .text = t->text };

	t->event.reason = reason;
	if (reason != NULL)
		told_addf(t, " (%s)", reason);
	line.len = t->event.len = strlen(t->text);
	log_put(&line);
	t->event.at = line.at;
	events_put(&s->events, &t->event);
}

void
tell_daemon(struct supervisor *s, enum log_level level, enum event_kind kind,
    const char *fmt, ...)
{
	struct told t;
	va_list ap;

	told_init(&t, level, kind, NULL);
	va_start(ap, fmt);
	told_add(&t, fmt, ap);
	va_end(ap);
	told_put(&t, s, NULL);
}

void
tell_command(struct supervisor *s, const struct group *g, const char *fmt, ...)
{
	struct told t;
	va_list ap;

	told_init(&t, LOG_LEVEL_INFO, EVENT_COMMAND, g);
	va_start(ap, fmt);
	told_add(&t, fmt, ap);
	va_end(ap);
	told_put(&t, s, NULL);
}

void
tell_app(const struct group *g, enum log_level level, enum event_kind kind,
    const char *reason, const char *fmt, ...)
{
	struct told t;
	va_list ap;

	told_init(&t, level, kind, g);
	told_addf(&t, "%s: ", g->conf->name);
	va_start(ap, fmt);
	told_add(&t, fmt, ap);
	va_end(ap);
	told_put(&t, g->sup, reason);
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
	told_init(&t, LOG_LEVEL_WARN, kind, g);
	told_addf(&t, "%s: ", g->conf->name);
	va_start(ap, fmt);
	told_add(&t, fmt, ap);
	va_end(ap);
	told_addf(&t, "%s", suffix);
	told_put(&t, g->sup, NULL);
}

void
tell_worker(const struct worker *w, enum log_level level, enum event_kind kind,
    const char *reason, const char *fmt, ...)
{
	struct told t;
	va_list ap;

	told_init(&t, level, kind, w->group);
	told_of(&t, w);
	(void)worker_name(w, t.text, sizeof(t.text));
	told_addf(&t, " ");
	va_start(ap, fmt);
	told_add(&t, fmt, ap);
	va_end(ap);
	told_put(&t, w->sup, reason);
}

void
tell_said(const struct worker *w, const char *text, size_t len)
{
	struct told t;
	struct logline line = { .level = LOG_LEVEL_INFO,
		.app = w->group->conf->name,
		.id = w->id,
		.text = text,
		.len = len };

	told_init(&t, LOG_LEVEL_INFO, EVENT_WORKER, w->group);
	told_of(&t, w);
	log_put(&line);
	t.event.at = line.at;
	t.event.text = text;
	t.event.len = len;
	events_put(&w->sup->events, &t.event);
}
