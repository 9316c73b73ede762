/*
 * The snapshot in OpenMetrics 1.0, for Prometheus and its kin; the families
 * are explained in apppoolctl(8). Single processes have no samples: each would
 * be a new time series.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/status_metrics.h"

enum type {
	TYPE_COUNTER,
	TYPE_GAUGE,
	TYPE_HISTOGRAM,
	TYPE_INFO,
};

/* How a value stands in its struct, and what is written. */
enum form {
	FORM_UINT32,
	FORM_UINT64,
	FORM_BOOL,
	FORM_SPAN, /* seconds */
	FORM_USECONDS, /* the same, of a uint64_t of microseconds */
	FORM_PERCENT, /* a ratio, of a double */
	FORM_DOUBLE,
	FORM_BUCKETS,
};

/* The things that a family tells of: they are its labels. */
enum scope {
	SCOPE_DAEMON,
	SCOPE_COUNTER, /* the PoolCounter service, if there is one */
	SCOPE_APP, /* each app */
	SCOPE_CLIENTS, /* each app that has clients */
	SCOPE_SESSIONS, /* each app that is handed connections */
	SCOPE_LIMIT, /* each app that has a limit */
	SCOPE_TEMPLATE, /* each app that has a template */
};

/* A sample of a family that has several for each app. */
struct series {
	const char *value; /* of the label */
	size_t at;
};

struct family {
	const char *name; /* behind "apppool_" */
	const char *unit; /* the end of the name; NULL: a number of things */
	const char *help;
	enum type type;
	enum scope scope;
	enum form form;
	/* The value in struct status or, of an app, in struct status_app. */
	size_t at;
	/* NULL, or the label and what it may be, instead of `at`. */
	const char *label;
	const struct series *series;
	/* NULL, or writes the samples itself. */
	void (*put)(
	    struct status *, const struct family *, const struct status_app *);
};

/* --- samples ------------------------------------------------------------ */

/* Begins a sample: its name and labels. */
static void
put_name(struct status *st, const struct family *f, const struct status_app *a,
    const char *suffix, const char *label, const char *value)
{
	struct text *t = &st->piece;
	const char *comma = a == NULL ? "" : ",";

	text_printf(t, "apppool_%s%s", f->name, suffix);
	if (a == NULL && label == NULL) {
		text_puts(t, " ");
		return;
	}
	text_puts(t, "{");
	/* Names of apps have no character that would need an escape. */
	if (a != NULL)
		text_printf(t, "app=\"%s\"", status_string(st, a->name));
	if (label != NULL)
		text_printf(t, "%s%s=\"%s\"", comma, label, value);
	text_puts(t, "} ");
}

static void
put_buckets(struct status *st, const struct family *f,
    const struct status_app *a, const struct buckets *b)
{
	struct text *t = &st->piece;
	uint64_t count = 0;
	char bound[24];

	for (unsigned i = 0; i <= BUCKETS_BOUNDS; i++) {
		if (i == BUCKETS_BOUNDS)
			(void)strlcpy(bound, "+Inf", sizeof(bound));
		else
			(void)snprintf(bound, sizeof(bound), "%g%s",
			    tspan_to_seconds(buckets_bound(i)),
			    buckets_bound(i) % TSPAN_SECONDS(1) == 0 ? ".0"
								     : "");
		count += b->counts[i];
		put_name(st, f, a, "_bucket", "le", bound);
		text_printf(t, "%" PRIu64 "\n", count);
	}
	put_name(st, f, a, "_sum", NULL, NULL);
	text_printf(t, "%.9g\n", b->sum);
	put_name(st, f, a, "_count", NULL, NULL);
	text_printf(t, "%" PRIu64 "\n", count);
}

/* The value at p, in its form. */
static void
put_value(struct text *t, enum form form, const void *p)
{
	switch (form) {
	case FORM_UINT32:
		text_printf(t, "%" PRIu32 "\n", *(const uint32_t *)p);
		break;
	case FORM_UINT64:
		text_printf(t, "%" PRIu64 "\n", *(const uint64_t *)p);
		break;
	case FORM_BOOL:
		text_printf(t, "%d\n", *(const bool *)p);
		break;
	case FORM_SPAN:
		text_printf(t, "%.9g\n", tspan_to_seconds(*(const tspan *)p));
		break;
	case FORM_USECONDS:
		text_printf(t, "%.9g\n", (double)*(const uint64_t *)p / 1e6);
		break;
	case FORM_PERCENT:
		text_printf(t, "%.6g\n", *(const double *)p / 100);
		break;
	case FORM_DOUBLE:
		text_printf(t, "%.6g\n", *(const double *)p);
		break;
	case FORM_BUCKETS:
		break;
	}
}

static void
put_sample(struct status *st, const struct family *f,
    const struct status_app *a, size_t at, const char *value)
{
	const char *base = a == NULL ? (const char *)st : (const char *)a;

	put_name(st, f, a, f->type == TYPE_COUNTER ? "_total" : "",
	    value == NULL ? NULL : f->label, value);
	put_value(&st->piece, f->form, base + at);
}

/* All samples of a family for one app; a NULL: for the daemon. */
static void
put_samples(
    struct status *st, const struct family *f, const struct status_app *a)
{
	if (f->put != NULL)
		f->put(st, f, a);
	else if (f->form == FORM_BUCKETS)
		put_buckets(st, f, a, (const void *)((const char *)a + f->at));
	else if (f->series == NULL)
		put_sample(st, f, a, f->at, NULL);
	else
		for (const struct series *s = f->series; s->value != NULL; s++)
			put_sample(st, f, a, s->at, s->value);
}

/* --- families that are no field ----------------------------------------- */

static void
put_build(struct status *st, const struct family *f, const struct status_app *a)
{
	put_name(st, f, a, "_info", "version", APPPOOL_VERSION);
	text_puts(&st->piece, "1\n");
}

/* A state that has been left has no sample. */
static void
put_state(struct status *st, const struct family *f, const struct status_app *a)
{
	put_name(st, f, a, "", "state", a->state);
	text_puts(&st->piece, "1\n");
}

/* As the status has it, a process that is killed is stopping. */
static void
put_processes(
    struct status *st, const struct family *f, const struct status_app *a)
{
	static const enum process_state states[] = { PROCESS_STARTING,
		PROCESS_IDLE, PROCESS_ACTIVE, PROCESS_DETACHED,
		PROCESS_RETIRING };
	struct text *t = &st->piece;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		put_name(st, f, a, "", "state", process_state_name(states[i]));
		text_printf(t, "%" PRIu32 "\n", a->in_state[states[i]]);
	}
	put_name(st, f, a, "", "state", "stopping");
	text_printf(t, "%" PRIu32 "\n",
	    a->in_state[PROCESS_STOPPING] + a->in_state[PROCESS_DYING]);
	put_name(st, f, a, "", "state", "stuck");
	text_printf(t, "%" PRIu32 "\n", a->stuck);
}

/* All reasons, so that the first end of each is seen as an increase. */
static void
put_ends(struct status *st, const struct family *f, const struct status_app *a)
{
	for (unsigned end = 0; end < PROCESS_ENDS; end++) {
		put_name(st, f, a, "_total", "reason",
		    process_end_name((enum process_end)end));
		text_printf(&st->piece, "%" PRIu64 "\n", a->figures.exits[end]);
	}
}

/* Where a program accepts by itself, all that wait are in the backlog. */
static void
put_backlog(
    struct status *st, const struct family *f, const struct status_app *a)
{
	long backlog = status_backlog(st, a);

	if (backlog == -1)
		return;
	put_name(st, f, a, "", NULL, NULL);
	text_printf(&st->piece, "%ld\n", backlog);
}

static void
put_target(
    struct status *st, const struct family *f, const struct status_app *a)
{
	if (a->target_wait == 0)
		return;
	put_name(st, f, a, "", NULL, NULL);
	text_printf(&st->piece, "%.9g\n", tspan_to_seconds(a->target_wait));
}

static void
put_need(struct status *st, const struct family *f, const struct status_app *a)
{
	if (a->need == 0)
		return;
	put_name(st, f, a, "", NULL, NULL);
	text_printf(&st->piece, "%" PRIu32 "\n", a->need);
}

static void
put_kept(struct status *st, const struct family *f, const struct status_app *a)
{
	double kept = status_kept(st, a);

	if (kept < 0)
		return;
	put_name(st, f, a, "", NULL, NULL);
	text_printf(&st->piece, "%.6g\n", kept);
}

static void
put_template_size(
    struct status *st, const struct family *f, const struct status_app *a)
{
	int64_t size = status_template_rss(st, a);

	if (size == -1)
		return;
	put_name(st, f, a, "", NULL, NULL);
	text_printf(&st->piece, "%" PRId64 "\n", size);
}

static void
put_template_ready(
    struct status *st, const struct family *f, const struct status_app *a)
{
	put_name(st, f, a, "", NULL, NULL);
	text_printf(
	    &st->piece, "%d\n", strcmp(a->template.state, "ready") == 0);
}

/* --- the families ------------------------------------------------------- */

#define OF_DAEMON(field) offsetof(struct status, field)
#define OF_APP(field) offsetof(struct status_app, field)

static const struct series outcomes[] = {
	{ "completed", OF_APP(figures.completed) },
	{ "refused", OF_APP(figures.refused) },
	{ "timed_out", OF_APP(figures.timed_out) },
	{ "abandoned", OF_APP(figures.abandoned) },
	{ "lost", OF_APP(figures.lost) },
	{ NULL, 0 },
};

static const struct series answers[] = {
	{ "granted", OF_APP(locks.granted) },
	{ "full", OF_APP(locks.full) },
	{ "timed_out", OF_APP(locks.timed_out) },
	{ "unreachable", OF_APP(locks.unreachable) },
	{ NULL, 0 },
};

/* A value that stands in a struct; and samples that put() writes. */
#define VALUE(type_, scope_, form_, at_, name_, unit_, help_) \
	{ \
		.name = (name_), .unit = (unit_), .help = (help_), \
		.type = TYPE_##type_, .scope = SCOPE_##scope_, \
		.form = FORM_##form_, .at = (at_) \
	}
#define SERIES(scope_, label_, series_, name_, help_) \
	{ \
		.name = (name_), .help = (help_), .type = TYPE_COUNTER, \
		.scope = SCOPE_##scope_, .form = FORM_UINT64, \
		.label = (label_), .series = (series_) \
	}
#define PUT(type_, scope_, put_, name_, unit_, help_) \
	{ \
		.name = (name_), .unit = (unit_), .help = (help_), \
		.type = TYPE_##type_, .scope = SCOPE_##scope_, .put = (put_) \
	}

static const struct family families[] = {
	PUT(INFO, DAEMON, put_build, "build", NULL, "The daemon."),
	VALUE(GAUGE, DAEMON, SPAN, OF_DAEMON(uptime), "daemon_uptime_seconds",
	    "seconds", "Time since the daemon started."),
	VALUE(COUNTER, DAEMON, UINT64, OF_DAEMON(generation), "daemon_reloads",
	    NULL, "Configurations that came into force after the first."),
	VALUE(GAUGE, DAEMON, UINT32, OF_DAEMON(max_processes),
	    "daemon_max_processes", NULL,
	    "Ceiling over the processes of all apps."),
	VALUE(GAUGE, DAEMON, UINT32, OF_DAEMON(living),
	    "daemon_living_processes", NULL,
	    "Processes of all apps, leaving ones included."),
	PUT(GAUGE, APP, put_state, "state", NULL,
	    "1 for the state that the app is in."),
	PUT(GAUGE, APP, put_processes, "processes", NULL,
	    "Processes by state."),
	VALUE(GAUGE, APP, UINT32, OF_APP(min_processes), "min_processes", NULL,
	    "Processes that are kept."),
	VALUE(GAUGE, APP, UINT32, OF_APP(max_processes), "max_processes", NULL,
	    "Ceiling of the app."),
	VALUE(GAUGE, APP, UINT32, OF_APP(outdated), "outdated_processes", NULL,
	    "Processes that a rollout has yet to replace."),
	VALUE(GAUGE, APP, BOOL, OF_APP(given_up), "rollout_given_up", NULL,
	    "1 if the new processes did not live and old ones stay."),
	VALUE(COUNTER, APP, UINT64, OF_APP(figures.spawned),
	    "processes_started", NULL, "Processes started."),
	VALUE(COUNTER, APP, UINT64, OF_APP(figures.spawn_failures),
	    "failed_starts", NULL,
	    "Starts that failed, or ended before they were ready."),
	PUT(COUNTER, APP, put_ends, "processes_ended", NULL,
	    "Processes that ended, by the reason."),
	VALUE(GAUGE, APP, SPAN, OF_APP(backoff), "backoff_seconds", "seconds",
	    "Time for which no process is started, after failures."),
	VALUE(GAUGE, CLIENTS, PERCENT, OF_APP(load), "load_ratio", "ratio",
	    "Busy share of the ready processes, by the estimate."),
	VALUE(GAUGE, CLIENTS, DOUBLE, OF_APP(work), "busy_processes", NULL,
	    "Processes that are busy, by the estimate of the load."),
	PUT(GAUGE, CLIENTS, put_backlog, "backlog_connections", "connections",
	    "Connections in the kernel, not accepted yet."),
	VALUE(GAUGE, SESSIONS, UINT32, OF_APP(waiting), "waiting_connections",
	    "connections", "Connections that wait for a process."),
	VALUE(GAUGE, SESSIONS, UINT32, OF_APP(max_queue),
	    "max_queue_connections", "connections",
	    "Connections that may wait."),
	VALUE(GAUGE, SESSIONS, SPAN, OF_APP(oldest_wait), "oldest_wait_seconds",
	    "seconds", "Time for which the first connection has waited."),
	VALUE(GAUGE, SESSIONS, UINT32, OF_APP(figures.sessions), "sessions",
	    NULL, "Connections in the hands of processes."),
	VALUE(GAUGE, SESSIONS, UINT32, OF_APP(figures.parked),
	    "parked_connections", "connections",
	    "Connections between two requests, or before the first."),
	VALUE(COUNTER, SESSIONS, UINT64, OF_APP(figures.accepted),
	    "connections_accepted", NULL, "Connections accepted."),
	SERIES(SESSIONS, "outcome", outcomes, "connections_ended",
	    "Connections by their end."),
	VALUE(COUNTER, SESSIONS, UINT64, OF_APP(figures.retaken),
	    "connections_retaken", NULL,
	    "Connections taken back from dead processes."),
	VALUE(COUNTER, SESSIONS, SPAN, OF_APP(idle_while_waiting),
	    "idle_while_waiting_seconds", "seconds",
	    "Time in which a connection waited beside an idle process."),
	PUT(GAUGE, SESSIONS, put_target, "target_wait_seconds", "seconds",
	    "Wait that 99 of 100 connections shall not exceed."),
	PUT(GAUGE, SESSIONS, put_kept, "kept_ratio", "ratio",
	    "Connections of the last minute that waited no longer."),
	PUT(GAUGE, SESSIONS, put_need, "needed_processes", NULL,
	    "Processes that this takes, by the estimate."),
	VALUE(HISTOGRAM, SESSIONS, BUCKETS, OF_APP(queue_wait),
	    "queue_wait_seconds", "seconds",
	    "How long connections waited for a process."),
	VALUE(HISTOGRAM, SESSIONS, BUCKETS, OF_APP(session_time),
	    "session_time_seconds", "seconds", "How long sessions took."),
	VALUE(GAUGE, LIMIT, UINT32, OF_APP(limit_workers), "limit_workers",
	    NULL, "Locks that the limit allows."),
	VALUE(GAUGE, LIMIT, UINT32, OF_APP(locks.held), "limit_locks", NULL,
	    "Locks that connections have."),
	SERIES(LIMIT, "answer", answers, "limit_requests",
	    "Requests of locks, by answer."),
	PUT(GAUGE, TEMPLATE, put_template_ready, "template_ready", NULL,
	    "1 if the template of the app is ready."),
	PUT(GAUGE, TEMPLATE, put_template_size, "template_resident_bytes",
	    "bytes", "Resident memory of the template."),
	VALUE(COUNTER, TEMPLATE, UINT64, OF_APP(template.forked),
	    "template_forks", NULL, "Processes that templates were to fork."),
	VALUE(COUNTER, TEMPLATE, UINT64, OF_APP(template.failures),
	    "template_failures", NULL, "Templates that failed."),
	VALUE(GAUGE, COUNTER, UINT32, OF_DAEMON(counter.clients),
	    "poolcounter_clients", NULL, "Clients of the PoolCounter."),
	VALUE(GAUGE, COUNTER, UINT32, OF_DAEMON(counter.max_clients),
	    "poolcounter_max_clients", NULL, "Ceiling of its clients."),
	VALUE(GAUGE, COUNTER, UINT32, OF_DAEMON(counter.keys),
	    "poolcounter_keys", NULL, "Keys of the PoolCounter."),
	VALUE(GAUGE, COUNTER, UINT32, OF_DAEMON(counter.max_keys),
	    "poolcounter_max_keys", NULL, "Ceiling of its keys."),
	VALUE(GAUGE, COUNTER, UINT32, OF_DAEMON(counter.counter.held),
	    "poolcounter_locks", NULL, "Locks that clients have."),
	VALUE(GAUGE, COUNTER, UINT32, OF_DAEMON(counter.counter.waiting),
	    "poolcounter_waiting_clients", NULL,
	    "Clients that wait for a lock."),
	VALUE(COUNTER, COUNTER, UINT64, OF_DAEMON(counter.counter.acquired),
	    "poolcounter_locks_acquired", NULL, "Locks given."),
	VALUE(COUNTER, COUNTER, UINT64, OF_DAEMON(counter.counter.full_queues),
	    "poolcounter_full_queues", NULL,
	    "Clients told that the queue of a key is full."),
	VALUE(COUNTER, COUNTER, UINT64, OF_DAEMON(counter.refused_clients),
	    "poolcounter_clients_refused", NULL,
	    "Clients turned away over the ceiling."),
	VALUE(COUNTER, COUNTER, USECONDS,
	    OF_DAEMON(counter.counter.processing_time),
	    "poolcounter_processing_seconds", "seconds",
	    "Time for which locks were held."),
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* --- writing ------------------------------------------------------------ */

static void
put_head(struct status *st, const struct family *f)
{
	static const char *const types[] = {
		[TYPE_COUNTER] = "counter",
		[TYPE_GAUGE] = "gauge",
		[TYPE_HISTOGRAM] = "histogram",
		[TYPE_INFO] = "info",
	};
	struct text *t = &st->piece;

	text_printf(t, "# TYPE apppool_%s %s\n", f->name, types[f->type]);
	if (f->unit != NULL)
		text_printf(t, "# UNIT apppool_%s %s\n", f->name, f->unit);
	text_printf(t, "# HELP apppool_%s %s\n", f->name, f->help);
}

static bool
tells_of(const struct family *f, const struct status_app *a)
{
	return f->scope == SCOPE_APP ||
	    (f->scope == SCOPE_CLIENTS && (a->sessions || a->listens)) ||
	    (f->scope == SCOPE_SESSIONS && a->sessions) ||
	    (f->scope == SCOPE_LIMIT && a->limit != STATUS_NO_STRING) ||
	    (f->scope == SCOPE_TEMPLATE && a->template.state != NULL);
}

/* The head of a family, or its samples of one app, is a step. */
static void
write_step(struct status *st)
{
	const struct family *f = &families[st->family];
	const struct status_app *a = &st->apps[st->app];

	if (!st->app_begun) {
		st->app_begun = true;
		st->app = 0;
		if (f->scope != SCOPE_COUNTER || st->counts)
			put_head(st, f);
		if (f->scope == SCOPE_DAEMON ||
		    (f->scope == SCOPE_COUNTER && st->counts))
			put_samples(st, f, NULL);
	} else if (f->scope >= SCOPE_APP && st->app < st->napps) {
		st->app++;
		if (tells_of(f, a))
			put_samples(st, f, a);
	} else {
		st->app_begun = false;
		if (++st->family == FAMILIES) {
			text_puts(&st->piece, "# EOF\n");
			st->ended = true;
		}
	}
}

const struct status_writer status_metrics = { .step = write_step };
