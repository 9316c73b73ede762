/*
 * Events, and the log: the lines that they are, and where these go as the
 * configuration and the command line ask for.
 */

#include <sys/param.h>

#include <stdarg.h>
#include <string.h>

#include "daemon/worker.h"
#include "sys/ownfile.h"

/* --- events ------------------------------------------------------------- */

/* An event in memory, followed by app, id and text, each with a NUL. */
struct event_record {
	uint64_t number;
	struct timespec at;
	const char *reason;
	pid_t pid;
	uint32_t size; /* of all this, a multiple of 8 */
	uint16_t share;
	uint16_t app_size; /* with NUL */
	uint16_t len; /* of the text, without NUL */
	uint8_t id_size;
	uint8_t kind;
	uint8_t level;
};

/*
 * Shares of the memory: what happened to an app has one, what it printed has
 * another. Few apps have one in common.
 */
#define EVENTS_SHARES 4096

/*
 * The memory is full: forgets half of it. What has less than the others stays,
 * and of the others the newest, as much of each: an app that prints without end
 * leaves those alone that print a line now and then.
 */
static void
events_make_room(struct events *e)
{
	uint32_t used[EVENTS_SHARES] = { 0 }, level = 0, rest, above, size;
	struct event_record *r;
	size_t at, to = 0;

	for (at = 0; at < e->len; at += r->size) {
		r = (void *)(e->mem + at);
		used[r->share] += r->size;
	}
	/* Each share up to this level, and half of the memory is used. */
	do {
		rest = EVENTS_SIZE / 2;
		above = 0;
		for (unsigned i = 0; i < EVENTS_SHARES; i++) {
			rest -= MIN(used[i], level);
			above += used[i] > level;
		}
		level += above == 0 ? 0 : rest / above;
	} while (above > 0 && rest >= above);
	for (at = 0; at < e->len; at += size) {
		r = (void *)(e->mem + at);
		size = r->size;
		if (used[r->share] > level) {
			used[r->share] -= size;
			continue;
		}
		memmove(e->mem + to, r, size);
		to += size;
	}
	e->len = to;
	e->moves++;
}

void
events_put(struct events *e, struct event *event)
{
	const bool output = event->kind >= EVENT_STDOUT;
	const size_t app = strnlen(event->app, EVENTS_APP_MAX);
	const size_t id = strlen(event->id);
	const size_t len = MIN(event->len, EVENTS_TEXT_MAX);
	struct event_record r = {
		.number = ++e->last[output],
		.at = event->at,
		.reason = event->reason,
		.pid = event->pid,
		.app_size = (uint16_t)(app + 1),
		.len = (uint16_t)len,
		.id_size = (uint8_t)(id + 1),
		.kind = (uint8_t)event->kind,
		.level = (uint8_t)event->level,
	};
	uint32_t hash = 2166136261U; /* FNV-1a */
	char *to;

	for (size_t i = 0; i < app; i++)
		hash = (hash ^ (unsigned char)event->app[i]) * 16777619U;
	hash ^= hash >> 16;
	r.share = (uint16_t)(hash % (EVENTS_SHARES / 2) * 2 + output);
	event->number = r.number;
	if (e->mem == NULL)
		return;
	r.size = (uint32_t)(sizeof(r) + app + id + len + 3 + 7) / 8 * 8;
	if (r.size > EVENTS_SIZE - e->len)
		events_make_room(e);
	to = mempcpy(e->mem + e->len, &r, sizeof(r));
	to = mempcpy(to, event->app, app);
	*to++ = '\0';
	to = mempcpy(to, event->id, id + 1);
	to = mempcpy(to, event->text, len);
	*to = '\0';
	e->len += r.size;
}

bool
events_next(
    const struct events *e, struct events_place *place, struct event *out)
{
	const struct event_record *r;
	const char *p;

	if (place->moves != e->moves)
		place->at = 0;
	place->moves = e->moves;
	do {
		if (place->at == e->len)
			return false;
		r = (const void *)(e->mem + place->at);
		place->at += r->size;
	} while ((r->kind >= EVENT_STDOUT) != place->output ||
	    r->number < place->number);
	place->number = r->number + 1;
	p = (const char *)(r + 1);
	*out = (struct event){
		.number = r->number,
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

const char *const event_kind_names[] = {
	[EVENT_START] = "start",
	[EVENT_SPAWN] = "spawn",
	[EVENT_READY] = "ready",
	[EVENT_EXIT] = "exit",
	[EVENT_FAILURE] = "failure",
	[EVENT_RECOVERY] = "recovery",
	[EVENT_REFUSAL] = "refusal",
	[EVENT_SLOW] = "slow",
	[EVENT_RESTART] = "restart",
	[EVENT_RELOAD] = "reload",
	[EVENT_UPGRADE] = "upgrade",
	[EVENT_COMMAND] = "command",
	[EVENT_STOP] = "stop",
	[EVENT_WORKER] = "worker",
	[EVENT_STDOUT] = "stdout",
	[EVENT_STDERR] = "stderr",
};

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
tell_said(struct supervisor *s, struct event *event)
{
	struct logline line = { .level = event->level,
		.app = event->app,
		.id = event->id,
		.text = event->text,
		.len = event->len };

	log_put(&line);
	event->at = line.at;
	events_put(&s->events, event);
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
	logging_tell(answer, LOG_LEVEL_ERROR, "cannot open the log %s: %s",
	    spec.path, why);
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
logging_tell(FILE *answer, enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_at(level, 0, "%s", line);
	if (answer != NULL)
		(void)fprintf(answer, "%s\n", line);
}
