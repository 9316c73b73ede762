/*
 * Events, and the log: the lines that they are, and where these go as the
 * configuration and the command line ask for.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker.h"
#include "sys/log.h"
#include "sys/ownfile.h"

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
	const char *p;

	if (r == NULL)
		return false;
	p = (const char *)(r + 1);
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

void
tell_event(struct supervisor *s, const struct group *g, const struct worker *w,
    enum log_level level, enum event_kind kind, const char *reason,
    const char *fmt, ...)
{
	char text[EVENTS_TEXT_MAX + 1] = "";
	struct logline line = { .level = level, .text = text };
	struct event event = {
		.kind = kind,
		.level = level,
		.reason = reason,
		.app = g == NULL ? "" : g->conf->name,
		.id = "",
		.text = text,
	};
	size_t len;
	va_list ap;

	if (w != NULL) {
		event.id = w->id;
		event.pid = w->pid != 0 ? w->pid : w->leaving.death.pid;
		(void)worker_name(w, text, sizeof(text) - 1);
		(void)strcat(text, " ");
	} else if (g != NULL && kind != EVENT_COMMAND) {
		(void)snprintf(text, sizeof(text), "%s: ", g->conf->name);
	}
	len = strlen(text);
	va_start(ap, fmt);
	(void)vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	len = strlen(text);
	if (reason != NULL)
		(void)snprintf(text + len, sizeof(text) - len, " (%s)", reason);
	line.len = event.len = strlen(text);
	log_put(&line);
	event.at = line.at;
	events_put(&s->events, &event);
}

void
tell_said(const struct worker *w, const char *text, size_t len)
{
	struct logline line = { .level = LOG_LEVEL_INFO,
		.app = w->group->conf->name,
		.id = w->id,
		.text = text,
		.len = len };
	struct event event = { .kind = EVENT_WORKER,
		.level = line.level,
		.pid = w->pid != 0 ? w->pid : w->leaving.death.pid,
		.app = line.app,
		.id = w->id,
		.text = text,
		.len = len };

	log_put(&line);
	event.at = line.at;
	events_put(&w->sup->events, &event);
}

/* --- the log -------------------------------------------------------------- */

static int verbose;

void
logging_verbose(void)
{
	verbose++;
}

struct logsink *
logging_prepare(const struct conf *conf, FILE *answer)
{
	struct log_spec spec = conf->log;
	struct logsink *sink;
	char why[OWNFILE_WHY];
	int error;

	for (int n = verbose; n > 0 && spec.level < LOG_LEVEL_DEBUG; n--)
		spec.level++;
	sink = log_prepare(&spec);
	if (sink != NULL)
		return sink;
	error = errno;
	if (error != EPERM ||
	    ownfile_open(spec.path, OWNFILE_ANY, OWNFILE_LOOK, 0, why) == 0 ||
	    why[0] == '\0')
		(void)snprintf(why, sizeof(why), "%s", strerror(error));
	logging_tell(
	    answer, false, "cannot open the log %s: %s", spec.path, why);
	errno = error;
	return NULL;
}

static void
logging_reopen_work(struct lane_job *job)
{
	struct supervisor *s =
	    LOOP_OWNER(job, struct supervisor, reopening.job);
	char *failure = s->reopening.failure;
	FILE *why = fmemopen(failure, sizeof(s->reopening.failure) - 1, "w");

	s->reopening.sink = logging_prepare(s->reopening.config, why);
	if (why != NULL)
		(void)fclose(why);
	failure[strcspn(failure, "\n")] = '\0';
}

static void
logging_reopen_done(struct lane_job *job, tstamp now)
{
	struct supervisor *s =
	    LOOP_OWNER(job, struct supervisor, reopening.job);
	struct conf *config = s->reopening.config;

	(void)now;
	/* A reload has opened the log of another configuration meanwhile. */
	if (config != s->config)
		log_abandon(s->reopening.sink);
	else if (s->reopening.sink != NULL)
		log_commit(s->reopening.sink);
	s->reopening.config = NULL;
	if (s->reopening.again && !s->stopping)
		logging_reopen(s);
	conf_free(config);
}

void
logging_reopen(struct supervisor *s)
{
	s->reopening.again = s->reopening.config != NULL;
	if (s->reopening.again)
		return;
	memset(s->reopening.failure, 0, sizeof(s->reopening.failure));
	s->reopening.config = conf_ref(s->config);
	s->reopening.job = (struct lane_job){ .work = logging_reopen_work,
		.done = logging_reopen_done };
	lane_submit(&s->looker, &s->reopening.job);
}

void
logging_tell(FILE *answer, bool ok, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (ok)
		log_info("%s", line);
	else
		log_errorx("%s", line);
	if (answer != NULL)
		(void)fprintf(answer, "%s\n", line);
}
