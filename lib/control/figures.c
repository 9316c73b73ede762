/*
 * The figures of the snapshot, each a line of a table, and how they are
 * written: as JSON, as words for the log, as metrics. What has to be measured
 * (resident sizes, backlogs, percentiles) is measured as its piece is written:
 * for thousands of workers at once that would hold the loop up. Single
 * processes have no metrics: each would be a new time series.
 *
 * The text format of Prometheus (0.0.4) and OpenMetrics 1.0 have the same
 * samples. They differ in the lines before them: Prometheus has neither units
 * nor the type info, and there a family's name has the ending of its samples.
 */

#include <sys/param.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/room.h"
#include "sys/procinfo.h"

/*
 * A piece ends at so many bytes, or when it has cost so much: a worker costs
 * 1, an app as much as four workers.
 */
#define PIECE_LEN 16384
#define PIECE_COST 16
#define APP_COST 4

/* Lines of output of an app. */
#define LINES 10

/* Columns after which a line of words goes on in the next. */
#define LINE_WIDTH 60

/* The kinds of figures, by how they are written. */
enum form {
	FORM_UINT32,
	FORM_UINT64,
	FORM_BOOL,
	FORM_SPAN, /* seconds */
	FORM_USECONDS, /* the same, of a uint64_t of microseconds */
	FORM_PERCENT, /* of a double; as a metric, a ratio */
	FORM_DOUBLE,
	FORM_NAME, /* of a const char *; as a metric, a label with value 1 */
	FORM_STRING, /* of the snapshot */
	FORM_OBJECT, /* of the figures up to FORM_END */
	FORM_END,
	FORM_STRINGS, /* a list of strings of the snapshot */
	FORM_WINDOW, /* an object of its percentiles */
	FORM_ENDS, /* an object of reasons */
	FORM_KEEPERS, /* a list of objects */
	FORM_OUTPUT, /* a list of objects */
	FORM_BUCKETS, /* of metrics alone: a histogram */
	FORM_LAST, /* the table ends */
};

struct figure {
	const char *key; /* NULL: of metrics alone */
	enum form form;
	uint32_t needs; /* of enum status_has; else it is null, or no metric */
	size_t at; /* in struct status, status_app or status_worker */
	/* The metric, and the family that begins with it: */
	const char *metric; /* of its samples, behind "apppool_"; NULL: none */
	const char *help; /* NULL: the family has begun */
	const char *label; /* besides the app; its value is the key */
};

#define FIGURE(key_, form_, needs_, at_) \
	.key = (key_), .form = FORM_##form_, .needs = (needs_), .at = (at_)
#define D(key, form, needs, field) \
	FIGURE(key, form, needs, offsetof(struct status, field))
#define A(key, form, needs, field) \
	FIGURE(key, form, needs, offsetof(struct status_app, field))
#define W(key, form, needs, field) \
	FIGURE(key, form, needs, offsetof(struct status_worker, field))
#define IN_STATE "processes", NULL, "state"
#define ENDED "connections_ended_total", NULL, "outcome"
#define ANSWERED "limit_requests_total", NULL, "answer"

/* max_processes = auto, of the daemon or an app. */
#define AUTO(X) \
	{ X("auto", OBJECT, HAS_AUTO, autosize) }, \
	    { X("goal", UINT32, HAS_SIZE, autosize.fit.goal) }, \
	    { X("bound", UINT32, 0, autosize.fit.bound) }, \
	    { X("memory", UINT64, 0, autosize.memory) }, \
	    { X("reserve", UINT64, 0, autosize.reserve) }, \
	    { X("others", UINT64, HAS_SIZE, autosize.fit.others) }, \
	    { X("left", UINT64, HAS_SIZE, autosize.fit.left) }, \
	    { X("process_memory", UINT64, HAS_SIZE, autosize.fit.size) }, \
	    { X("by_memory", UINT32, HAS_SIZE, autosize.fit.by_memory) }, \
	    { X("processors", DOUBLE, 0, autosize.processors) }, \
	    { X("process_share", DOUBLE, HAS_SHARE, autosize.fit.share) }, \
	    { X("by_processors", UINT32, HAS_SHARE, \
		autosize.fit.by_processors) }, \
	{ \
		.form = FORM_END \
	}

/* A figure of an app with sessions. */
#define S(key_, form_, field_) A(key_, form_, HAS_SESSIONS, field_)

static const struct figure daemon_figures[] = {
	{ D("version", NAME, 0, version), "build_info", "The daemon.",
	    "version" },
	{ D("pid", UINT32, 0, pid) },
	{ D("state", NAME, 0, state) },
	{ D("uptime", SPAN, 0, uptime), "daemon_uptime_seconds",
	    "Time since the daemon started." },
	{ D("config", STRING, 0, config) },
	{ D("generation", UINT64, 0, generation), "daemon_reloads_total",
	    "Configurations that came into force after the first." },
	{ D("max_processes", UINT32, 0, max_processes), "daemon_max_processes",
	    "Ceiling over the processes of all apps." },
	AUTO(D),
	{ D("processes", UINT32, 0, processes) },
	{ D("living", UINT32, 0, living), "daemon_living_processes",
	    "Processes of all apps, leaving ones included." },
	{ D("active", UINT32, 0, active) },
	{ D("waiting", UINT32, 0, waiting) },
	/* The keys are the names that STATS has, without the spaces. */
	{ D("counter", OBJECT, HAS_COUNTER, counter) },
	{ D("listen", STRINGS, 0, counter_listen) },
	{ D("clients", UINT32, 0, counter.clients), "poolcounter_clients",
	    "Clients of the PoolCounter." },
	{ D("max_clients", UINT32, 0, counter.max_clients),
	    "poolcounter_max_clients", "Ceiling of its clients." },
	{ D("keys", UINT32, 0, counter.keys), "poolcounter_keys",
	    "Keys of the PoolCounter." },
	{ D("max_keys", UINT32, 0, counter.max_keys), "poolcounter_max_keys",
	    "Ceiling of its keys." },
	{ D("processing", UINT32, 0, counter.held), "poolcounter_locks",
	    "Locks that clients have." },
	{ D("waiting", UINT32, 0, counter.waiting),
	    "poolcounter_waiting_clients", "Clients that wait for a lock." },
	{ D("connections", UINT64, 0, counter.connections) },
	{ D("refused_clients", UINT64, 0, counter.refused_clients),
	    "poolcounter_clients_refused_total",
	    "Clients turned away over the ceiling." },
	{ D("refused_keys", UINT64, 0, counter.full_tables) },
	{ D("connect_errors", UINT64, 0, counter.connect_errors) },
	{ D("failed_sends", UINT64, 0, counter.failed_sends) },
	{ D("total_acquired", UINT64, 0, counter.acquired),
	    "poolcounter_locks_acquired_total", "Locks given." },
	{ D("total_releases", UINT64, 0, counter.releases) },
	{ D("processed_count", UINT64, 0, counter.processed) },
	{ D("full_queues", UINT64, 0, counter.full_queues),
	    "poolcounter_full_queues_total",
	    "Clients told that the queue of a key is full." },
	{ D("lock_mismatch", UINT64, 0, counter.lock_mismatch) },
	{ D("lock_while_waiting", UINT64, 0, counter.lock_while_waiting) },
	{ D("release_mismatch", UINT64, 0, counter.release_mismatch) },
	{ D("processing_time", USECONDS, 0, counter.processing_time),
	    "poolcounter_processing_seconds_total",
	    "Time for which locks were held." },
	{ D("gained_time", USECONDS, 0, counter.gained_time) },
	{ D("waiting_time_for_me", USECONDS, 0, counter.me_time) },
	{ D("waiting_time_for_anyone", USECONDS, 0, counter.any_time) },
	{ D("waiting_time_for_good", USECONDS, 0, counter.good_time) },
	{ D("wasted_timeout_time", USECONDS, 0, counter.wasted_time) },
	{ .form = FORM_END },
	{ .form = FORM_LAST },
};

static const struct figure app_figures[] = {
	{ A("name", STRING, 0, name) },
	{ A("state", NAME, 0, state), "state",
	    "1 for the state that the app is in.", "state" },
	{ A("state_for", SPAN, 0, state_for) },
	{ A("ready", BOOL, 0, ready) },
	{ A(NULL, BOOL, HAS_READY, ready), "ready",
	    "1 if a balancer should send the app connections." },
	{ A("closing_in", SPAN, HAS_CLOSING, closing_in) },
	{ A("handoff", NAME, 0, handoff) },
	{ A("accept_by", NAME, 0, accept_by) },
	{ A("listen", STRINGS, 0, listen) },
	{ A("sockets_restored", UINT64, 0, restored) },
	{ A("min_processes", UINT32, 0, options.min_processes), "min_processes",
	    "Processes that are kept." },
	{ A("max_processes", UINT32, 0, options.max_processes), "max_processes",
	    "Ceiling of the app." },
	AUTO(A),
	{ A("resized", BOOL, 0, size.set) },
	{ A("file_min_processes", UINT32, HAS_RESIZED, size.of_file.min) },
	{ A("file_max_processes", UINT32, HAS_RESIZED, size.of_file.max) },
	{ A("processes", UINT32, 0, processes) },
	{ A("starting", UINT32, 0, in_state[PROCESS_STARTING]), "processes",
	    "Processes by state.", "state" },
	{ A("idle", UINT32, 0, in_state[PROCESS_IDLE]), IN_STATE },
	{ A("active", UINT32, 0, in_state[PROCESS_ACTIVE]), IN_STATE },
	{ A("detached", UINT32, 0, in_state[PROCESS_DETACHED]), IN_STATE },
	{ A("retiring", UINT32, 0, in_state[PROCESS_RETIRING]), IN_STATE },
	{ A("stopping", UINT32, 0, in_state[PROCESS_STOPPING]), IN_STATE },
	{ A("stuck", UINT32, 0, stuck), IN_STATE },
	{ A("rollout", OBJECT, HAS_ROLLOUT, rollout) },
	{ A("generation", UINT32, 0, rollout.generation) },
	{ A("done", UINT32, 0, rollout.done) },
	{ A("of", UINT32, 0, rollout.of) },
	{ A("state", NAME, 0, rollout.state) },
	{ A("reason", STRING, HAS_GIVEN_UP, rollout.given_up_for) },
	{ A("age", SPAN, HAS_GIVEN_UP, rollout.age) },
	{ A("canary", UINT32, HAS_CANARY, rollout.canary) },
	{ A("canary_left", SPAN, HAS_CANARY, rollout.canary_left) },
	{ .form = FORM_END },
	{ A(NULL, UINT32, 0, rollout.outdated), "outdated_processes",
	    "Processes that a rollout has yet to replace." },
	{ A(NULL, BOOL, 0, rollout.given_up), "rollout_given_up",
	    "1 if the new processes have failed and old ones stay." },
	{ A("rolled_back", BOOL, 0, rolled_back) },
	{ A("limit", OBJECT, HAS_LIMIT, limit) },
	{ A("server", STRING, 0, limit.server) },
	{ A("key", STRING, 0, limit.key) },
	{ A("workers", UINT32, 0, limit.workers), "limit_workers",
	    "Locks that the limit allows." },
	{ A("held", UINT32, 0, limit.locks.held), "limit_locks",
	    "Locks that connections have." },
	{ A("asked", UINT32, 0, limit.locks.asked) },
	{ A("granted", UINT64, 0, limit.locks.granted), "limit_requests_total",
	    "Requests of locks, by answer.", "answer" },
	{ A("full", UINT64, 0, limit.locks.full), ANSWERED },
	{ A("timed_out", UINT64, 0, limit.locks.timed_out), ANSWERED },
	{ A("unreachable", UINT64, 0, limit.locks.unreachable), ANSWERED },
	{ A("lost", UINT64, 0, limit.locks.lost), "limit_locks_lost_total",
	    "Locks that were lost with their connection." },
	{ A("servers_down", UINT32, 0, limit.locks.down), "limit_servers_down",
	    "Servers of the limit that are passed over." },
	{ .form = FORM_END },
	{ A("load", PERCENT, HAS_CLIENTS, load), "load_ratio",
	    "Busy share of the ready processes, by the estimate." },
	{ A("work", DOUBLE, HAS_CLIENTS, work), "busy_processes",
	    "Processes that are busy, by the estimate of the load." },
	{ S("sessions", UINT32, figures.sessions), "sessions",
	    "Connections in the hands of processes." },
	{ A("waiting", UINT64, HAS_WAITING, waiting) },
	{ S(NULL, UINT64, waiting), "waiting_connections",
	    "Connections that wait for a process." },
	{ S("oldest_wait", SPAN, oldest_wait), "oldest_wait_seconds",
	    "Time for which the first connection has waited." },
	{ S("max_waiting", UINT32, figures.max_waiting) },
	{ S("max_queue", UINT32, options.max_queue), "max_queue_connections",
	    "Connections that may wait." },
	{ S("prefetch", UINT32, options.prefetch) },
	{ S("parked", UINT32, figures.parked), "parked_connections",
	    "Connections between two requests, or before the first." },
	{ S("accepted", UINT64, figures.accepted), "connections_accepted_total",
	    "Connections accepted." },
	{ S("completed", UINT64, figures.completed), "connections_ended_total",
	    "Connections by their end.", "outcome" },
	{ S("refused", UINT64, figures.refused), ENDED },
	{ S("timed_out", UINT64, figures.timed_out), ENDED },
	{ S("abandoned", UINT64, figures.abandoned), ENDED },
	{ S("lost", UINT64, figures.lost), ENDED },
	{ S("retaken", UINT64, figures.retaken), "connections_retaken_total",
	    "Connections taken back from dead processes." },
	{ S("idle_while_waiting", SPAN, idle_while_waiting),
	    "idle_while_waiting_seconds_total",
	    "Time in which a connection waited beside an idle process." },
	{ A("backlog_unknown", NAME, 0, measured.no_backlog) },
	{ A("backlog", UINT64, HAS_BACKLOG, measured.backlog),
	    "backlog_connections",
	    "Connections in the kernel, not accepted yet." },
	{ A("rate", DOUBLE, HAS_WINDOWS, measured.rate) },
	{ A("queue_wait", WINDOW, HAS_WINDOWS, measured.queue_wait) },
	{ A("session_time", WINDOW, HAS_WINDOWS, measured.session_time) },
	{ A("target_wait", SPAN, HAS_SESSIONS | HAS_TARGET,
	      options.target_wait),
	    "target_wait_seconds",
	    "Wait that 99 of 100 connections shall not exceed." },
	{ A("need", UINT32, HAS_NEED, need), "needed_processes",
	    "Processes that a short wait takes; beyond the ceiling, too." },
	{ A("kept", PERCENT, HAS_KEPT, measured.kept), "kept_ratio",
	    "Connections of the last minute that waited no longer." },
	{ S(NULL, BUCKETS, queue_wait), "queue_wait_seconds",
	    "How long connections waited for a process." },
	{ S(NULL, BUCKETS, session_time), "session_time_seconds",
	    "How long sessions took." },
	{ A("spawned", UINT64, 0, figures.spawned), "processes_started_total",
	    "Processes started." },
	{ A("spawn_failures", UINT64, 0, figures.spawn_failures),
	    "failed_starts_total",
	    "Starts that failed, or ended before they were ready." },
	{ A("start_time", SPAN, HAS_START_TIME, start_time) },
	{ A("exits", ENDS, 0, figures.exits), "processes_ended_total",
	    "Processes that ended, by the reason.", "reason" },
	{ A("backoff_until", SPAN, 0, backoff), "backoff_seconds",
	    "Time for which no process is started, after failures." },
	{ A("last_failure", STRING, 0, failure) },
	{ A("last_failure_age", SPAN, HAS_FAILURE_AGE, failure_age) },
	{ A("last_output", OUTPUT, HAS_OUTPUT, name) },
	{ A("keepers", KEEPERS, 0, keepers) },
	{ A("cgroup", OBJECT, HAS_CGROUP, cgroup) },
	{ A("cpu", USECONDS, 0, cgroup.cpu), "cgroup_cpu_seconds_total",
	    "Processor time that all processes of the app have used." },
	{ A("memory", UINT64, HAS_CGROUP_MEMORY, cgroup.memory),
	    "cgroup_memory_bytes", "Memory of the app." },
	{ A("memory_peak", UINT64, HAS_CGROUP_PEAK, cgroup.memory_peak) },
	{ A("oom_kills", UINT64, HAS_CGROUP_MEMORY, cgroup.oom_kills),
	    "cgroup_oom_kills_total",
	    "Processes of the app killed for want of memory." },
	{ A("tasks", UINT64, HAS_CGROUP_TASKS, cgroup.tasks), "cgroup_tasks",
	    "Processes and threads of the app." },
	{ A("memory_pressure", PERCENT, HAS_CGROUP_PRESSURE,
	      cgroup.memory_pressure),
	    "cgroup_memory_pressure_ratio",
	    "Share of 10 s in which a process waited for memory." },
	{ A("cpu_pressure", PERCENT, HAS_CGROUP_PRESSURE, cgroup.cpu_pressure),
	    "cgroup_cpu_pressure_ratio",
	    "Share of 10 s in which a process waited for a processor." },
	{ A("io_pressure", PERCENT, HAS_CGROUP_PRESSURE, cgroup.io_pressure),
	    "cgroup_io_pressure_ratio",
	    "Share of 10 s in which a process waited for a disk." },
	{ .form = FORM_END },
	{ A("template", OBJECT, HAS_TEMPLATE, template) },
	{ A("state", NAME, 0, template.state) },
	{ A("id", STRING, 0, template.id) },
	{ A("pid", UINT32, HAS_PID, template.pid) },
	{ A("forked_by", STRING, 0, template.from) },
	{ A("age", SPAN, HAS_PID, template.age) },
	{ A("rss", UINT64, HAS_PROCINFO, template.rss),
	    "template_resident_bytes", "Resident memory of the template." },
	{ A("forked", UINT64, 0, template.forked), "template_forks_total",
	    "Processes that templates were to fork." },
	{ A("failures", UINT64, 0, template.failures),
	    "template_failures_total", "Templates that failed." },
	{ A("last_failure", STRING, 0, template.failure) },
	{ .form = FORM_END },
	{ A(NULL, BOOL, HAS_TEMPLATE, template.ready), "template_ready",
	    "1 if the template of the app is ready." },
	{ .form = FORM_LAST },
};

static const struct figure worker_figures[] = {
	{ W("id", STRING, HAS_SLOT, id) },
	{ W("slot", UINT32, HAS_SLOT, slot) },
	{ W("pid", UINT32, HAS_PID, pid) },
	{ W("generation", UINT32, 0, generation) },
	{ W("state", NAME, 0, state) },
	{ W("sessions", UINT32, HAS_SESSIONS, sessions) },
	{ W("requests", UINT64, HAS_SESSIONS, requests) },
	{ W("age", SPAN, 0, age) },
	{ W("idle_for", SPAN, HAS_IDLE, in_state) },
	{ W("busy_for", SPAN, HAS_BUSY, in_state) },
	{ W("rss", UINT64, HAS_PROCINFO, rss) },
	{ W("cpu", SPAN, HAS_PROCINFO, cpu) },
	{ W("request", STRING, 0, request) },
	{ W("status", STRING, 0, text) },
	{ .form = FORM_LAST },
};

/* --- measuring ---------------------------------------------------------- */

/* Percentiles of the last minute. */
static const struct {
	const char *name;
	double share;
} shares[] = {
	{ "p50", 0.5 },
	{ "p90", 0.9 },
	{ "p99", 0.99 },
	{ "max", 1 },
};

static void
measure_app(const struct status *st, struct status_app *a)
{
	const struct group *g = st->sup->groups[a->number];
	const struct app *app = &st->sup->pool.apps[a->number];
	const struct worker *w = worker_find(st->sup, a->template.pid);
	const tstamp now = loop_now(&st->sup->loop);
	struct status_measured *m = &a->measured;
	const struct app_listener *l;
	struct procinfo info;
	long backlog, depth;
	double kept = -1;

	/* The pid means this process only as long as it is a template. */
	if (w != NULL && w->template != NULL &&
	    procinfo_read(a->template.pid, false, &info) == 0) {
		a->has |= HAS_PROCINFO;
		a->template.rss = (uint64_t)info.rss;
	}
	/* The process may be gone, and another have its place. */
	if (g == NULL || strcmp(g->conf->name, status_string(st, a->name)) != 0)
		return;

	/* Connections in the kernel that the app has not accepted yet. */
	backlog = a->has & HAS_CLIENTS ? 0 : -1;
	TAILQ_FOREACH(l, &g->listeners, next) {
		depth =
		    backlog == -1 ? -1 : listener_depth(&l->acceptor.listener);
		backlog = depth == -1 ? -1 : backlog + depth;
	}
	if (backlog != -1) {
		a->has |= HAS_BACKLOG;
		m->backlog = (uint64_t)backlog;
	} else if (a->has & HAS_CLIENTS) {
		m->no_backlog =
		    "this kernel has no unix_diag module, and there are more "
		    "sockets than are counted in /proc/net/unix";
	}
	if (!(a->has & HAS_SESSIONS)) {
		a->has |= a->has & HAS_BACKLOG ? HAS_WAITING : 0;
		a->waiting = m->backlog;
		return;
	}
	if (a->options.target_wait > 0)
		kept = window_within(
		    &app->queue_wait, a->options.target_wait, now);
	if (kept >= 0) {
		a->has |= HAS_KEPT;
		m->kept = 100 * kept;
	}
	a->has |= HAS_WINDOWS;
	m->rate = window_rate(&app->queue_wait, g->since, now);
	m->queue_wait = &app->queue_wait;
	m->session_time = &app->session_time;
}

static void
measure_worker(const struct status *st, struct status_worker *w)
{
	const struct worker *now = st->sup->workers[w->process];
	struct procinfo info;

	/*
	 * The pid means this process only as long as the worker has it. The
	 * size of interest is that of an adapter's program.
	 */
	if (w->pid == 0 || now == NULL || now->pid != w->pid ||
	    procinfo_read(w->pid, now->adapted, &info) == -1)
		return;
	w->has |= HAS_PROCINFO;
	w->rss = (uint64_t)info.rss;
	w->cpu = info.cpu;
}

/* --- JSON --------------------------------------------------------------- */

/* Writes the last lines that the processes of the app have printed. */
static void
put_output(struct status *st, const char *app)
{
	const struct events *events = &st->sup->events;
	struct events_place place = { .output = true };
	struct event last[LINES + 1]; /* and the one that is looked at */
	char time[LOG_TIME];
	struct emit *j = &st->json;
	size_t n = 0;

	while (events_next(events, &place, &last[n % (LINES + 1)]))
		n += strncmp(last[n % (LINES + 1)].app, app, EVENTS_APP_MAX) ==
		    0;
	emit_array(j);
	for (size_t i = n > LINES ? n - LINES : 0; i < n; i++) {
		const struct event *line = &last[i % (LINES + 1)];

		emit_object(j);
		emit_put_string(j, "time", log_time(&line->at, time));
		emit_put_string(j, "id", line->id);
		emit_put_string(j, "stream", event_kind_names[line->kind]);
		emit_bytes(emit_key(j, "line"), line->text, line->len);
		emit_object_end(j);
	}
	emit_array_end(j);
}

/* Writes the value at p behind a key, or a number behind a metric's name. */
static void
put_value(struct status *st, enum form form, const void *p)
{
	const bool metric = st->format >= STATUS_METRICS;
	const uint64_t *counts = p;
	const struct status_app *a = &st->apps[st->app];
	struct emit *j = &st->json;
	const char *s;

	switch (form) {
	case FORM_UINT32:
		emit_uint(j, *(const uint32_t *)p);
		break;
	case FORM_UINT64:
		emit_uint(j, *counts);
		break;
	case FORM_BOOL:
		if (metric)
			emit_uint(j, *(const bool *)p);
		else
			emit_bool(j, *(const bool *)p);
		break;
	case FORM_SPAN:
		emit_span(j, *(const tspan *)p);
		break;
	case FORM_USECONDS:
		emit_span(j, (tspan)MIN(*counts, INT64_MAX / 1000) * 1000);
		break;
	case FORM_PERCENT:
		emit_real(j, !metric, *(const double *)p / (metric ? 100 : 1));
		break;
	case FORM_NAME:
		emit_string(j, *(const char *const *)p);
		break;
	case FORM_STRING:
		emit_string(j, status_string(st, *(const size_t *)p));
		break;
	case FORM_OBJECT:
		emit_object(j);
		break;
	case FORM_STRINGS:
		emit_array(j);
		for (s = status_string(st, *(const size_t *)p); *s != '\0';
		     s += strlen(s) + 1)
			emit_string(j, s);
		emit_array_end(j);
		break;
	case FORM_WINDOW:
		emit_object(j);
		for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
			emit_put_span(j, shares[i].name,
			    window_share(*(const struct window *const *)p,
				shares[i].share, loop_now(&st->sup->loop)));
		emit_object_end(j);
		break;
	case FORM_ENDS:
		emit_object(j);
		for (enum process_end end = 0; end < PROCESS_ENDS; end++)
			if (counts[end] != 0)
				emit_put_uint(
				    j, process_end_names[end], counts[end]);
		emit_object_end(j);
		break;
	case FORM_OUTPUT:
		put_output(st, status_string(st, *(const size_t *)p));
		break;
	case FORM_KEEPERS:
		emit_array(j);
		for (uint32_t i = 0; i < a->nkeepers; i++) {
			emit_object(j);
			emit_put_uint(j, "pid", (uint64_t)a->keepers[i].pid);
			emit_put_bool(j, "answers", a->keepers[i].answers);
			emit_object_end(j);
		}
		emit_array_end(j);
		break;
	default:
		emit_number(j, *(const double *)p);
		break;
	}
}

/* Begins an object with all figures of a table; what is not there is null. */
static void
put_row(
    struct status *st, const struct figure *f, const void *base, uint32_t has)
{
	struct emit *j = &st->json;

	emit_object(j);
	for (; f->form != FORM_LAST; f++) {
		if (f->form == FORM_END) {
			emit_object_end(j);
		} else if (f->key != NULL && (has & f->needs) == f->needs) {
			emit_key(j, f->key);
			put_value(st, f->form, (const char *)base + f->at);
		} else if (f->key != NULL) {
			emit_put_null(j, f->key);
			if (f->form == FORM_OBJECT)
				while (f->form != FORM_END)
					f++;
		}
	}
}

/* Writes the next item and moves on. Returns what it cost. */
static unsigned
write_item(struct status *st)
{
	const bool workers = st->format != STATUS_JSON_APPS;
	struct status_app *a = &st->apps[st->app];
	struct emit *j = &st->json;
	struct status_worker *w;

	if (!st->begun) {
		st->begun = true;
		put_row(st, daemon_figures, st, st->has);
		emit_key(j, "apps");
		emit_array(j);
	} else if (st->app == st->napps) {
		/*
		 * The last line alone ends neither with a comma nor with "[":
		 * apppoolctl tells a whole answer by that.
		 */
		emit_array_end(j);
		emit_object_end(j);
		text_puts(&st->piece, "\n");
		st->ended = true;
	} else if (!st->app_begun) {
		measure_app(st, a);
		emit_break(j);
		put_row(st, app_figures, a, a->has);
		if (workers) {
			emit_key(j, "workers");
			emit_array(j);
		}
		st->app_begun = true;
		st->worker = a->first;
		return APP_COST;
	} else if (st->worker < (size_t)a->first + a->count) {
		w = &st->workers[st->worker++];
		measure_worker(st, w);
		emit_break(j);
		put_row(st, worker_figures, w, w->has);
		emit_object_end(j);
	} else {
		if (workers)
			emit_array_end(j);
		emit_object_end(j);
		st->app_begun = false;
		st->app++;
	}
	return 1;
}

/* Makes words of a piece: JSON without quotes, in lines of about 80 columns. */
static void
put_words(struct text *out, const struct text *json)
{
	bool quoted = false;
	size_t line = 0;

	for (size_t i = 0; i < json->len; i++) {
		const char *c = json->data + i;

		if (*c == '"') {
			quoted = !quoted;
			continue;
		}
		text_put(out, c, *c == '\\' ? 2 : 1);
		i += *c == '\\';
		if (*c == '\n')
			line = out->len;
		if (quoted || (*c != ',' && *c != ':') || i + 1 == json->len ||
		    c[1] == '\n')
			continue;
		if (*c == ',' && out->len - line > LINE_WIDTH) {
			text_puts(out, "\n   ");
			line = out->len;
		}
		text_put(out, " ", 1);
	}
}

/* --- metrics ------------------------------------------------------------ */

/* Begins a sample: its name and labels. */
static void
put_name(struct status *st, const struct figure *f, const struct status_app *a,
    const char *suffix, const char *label, const char *value)
{
	struct text *t = &st->piece;

	text_printf(t, "apppool_%s%s", f->metric, suffix);
	/* Names of apps have no character that would need an escape. */
	if (a != NULL)
		text_printf(t, "{app=\"%s\"", status_string(st, a->name));
	if (label != NULL)
		text_printf(
		    t, "%s%s=\"%s\"", a == NULL ? "{" : ",", label, value);
	text_puts(t, a == NULL && label == NULL ? " " : "} ");
	/* The writer of the value puts no comma before it then. */
	st->json.keyed = true;
}

static void
put_family(struct status *st, const struct figure *f)
{
	static const char *const units[] = { "seconds", "ratio", "bytes",
		"connections" };
	const bool open = st->format == STATUS_OPENMETRICS;
	const char *type = f->form == FORM_BUCKETS ? "histogram" : "gauge";
	struct text *t = &st->piece;
	char name[64], *ending;

	(void)snprintf(name, sizeof(name), "apppool_%s", f->metric);
	ending = strrchr(name, '_');
	if (strcmp(ending, "_total") == 0)
		type = "counter";
	else if (open && strcmp(ending, "_info") == 0)
		type = "info";
	else
		ending = NULL;
	if (open && ending != NULL)
		*ending = '\0';
	text_printf(t,
	    "# HELP %s %s\n"
	    "# TYPE %s %s\n",
	    name, f->help, name, type);
	for (size_t i = 0; open && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(strrchr(name, '_') + 1, units[i]) == 0)
			text_printf(t, "# UNIT %s %s\n", name, units[i]);
}

/* The samples of a figure, of the daemon (a NULL) or of an app. */
static void
put_samples(
    struct status *st, const struct figure *f, const struct status_app *a)
{
	const char *base = a == NULL ? (const char *)st : (const char *)a;
	const void *p = base + f->at;
	const uint64_t *exits = p;
	const struct buckets *b = p;
	struct text *t = &st->piece;
	uint64_t count = 0;
	char bound[24];

	switch (f->form) {
	case FORM_BUCKETS:
		for (unsigned i = 0; i <= BUCKETS_BOUNDS; i++) {
			tspan top = i < BUCKETS_BOUNDS ? buckets_bounds[i] : 0;

			(void)snprintf(bound, sizeof(bound), "%g%s",
			    tspan_to_seconds(top),
			    top % TSPAN_SECONDS(1) == 0 ? ".0" : "");
			count += b->counts[i];
			put_name(st, f, a, "_bucket", "le",
			    i < BUCKETS_BOUNDS ? bound : "+Inf");
			text_printf(t, "%" PRIu64 "\n", count);
		}
		put_name(st, f, a, "_sum", NULL, NULL);
		text_printf(t, "%.9g\n", b->sum);
		put_name(st, f, a, "_count", NULL, NULL);
		text_printf(t, "%" PRIu64 "\n", count);
		break;
	case FORM_ENDS:
		/* All reasons: the first end of each is seen as an increase. */
		for (unsigned end = 0; end < PROCESS_ENDS; end++) {
			put_name(
			    st, f, a, "", f->label, process_end_names[end]);
			text_printf(t, "%" PRIu64 "\n", exits[end]);
		}
		break;
	case FORM_NAME:
		/* A state that has been left has no sample. */
		put_name(st, f, a, "", f->label, *(const char *const *)p);
		text_puts(t, "1\n");
		break;
	default:
		put_name(st, f, a, "", f->label, f->key);
		put_value(st, f->form, p);
		text_puts(t, "\n");
		break;
	}
}

/*
 * The head of a family, or the samples of a figure of one app, is a step; but
 * first all apps are measured.
 */
static unsigned
write_metric(struct status *st)
{
	const size_t len = sizeof(daemon_figures) / sizeof(daemon_figures[0]);
	const bool of_apps = st->figure >= len;
	const struct figure *f = of_apps ? &app_figures[st->figure - len]
					 : &daemon_figures[st->figure];
	const struct status_app *a;
	uint32_t needs;

	if (!st->begun && st->app < st->napps) {
		measure_app(st, &st->apps[st->app++]);
		return APP_COST;
	}
	st->begun = true;
	if (f->form == FORM_OBJECT || f->form == FORM_END)
		st->within = f->needs;
	needs = st->within | f->needs;

	if (of_apps && f->form == FORM_LAST) {
		/* To Prometheus' format that is a comment. */
		text_puts(&st->piece, "# EOF\n");
		st->ended = true;
	} else if (f->metric == NULL) {
		st->figure++;
	} else if (!of_apps) {
		if ((st->has & needs) == needs) {
			put_family(st, f);
			put_samples(st, f, NULL);
		}
		st->figure++;
	} else if (!st->app_begun) {
		if (f->help != NULL)
			put_family(st, f);
		st->app_begun = true;
		st->app = 0;
	} else if (st->app < st->napps) {
		a = &st->apps[st->app++];
		if ((a->has & needs) == needs)
			put_samples(st, f, a);
	} else {
		st->app_begun = false;
		st->figure++;
	}
	return 1;
}

const char *
figures_next(struct status *st, size_t *len_out)
{
	struct text *piece = &st->piece;
	unsigned cost = 0;

	text_clear(piece);
	text_clear(&st->words);
	while (!st->ended &&
	    (piece->len == 0 || (cost < PIECE_COST && piece->len < PIECE_LEN)))
		cost += st->format >= STATUS_METRICS ? write_metric(st)
						     : write_item(st);
	if (st->format == STATUS_TEXT) {
		put_words(&st->words, piece);
		st->words.failed = st->words.failed || piece->failed;
		piece = &st->words;
	}
	if (piece->failed) {
		/* A reader must not take the piece for the whole. */
		static const char cut[] = "\nerror: out of memory\n";

		st->ended = true;
		*len_out = sizeof(cut) - 1;
		return cut;
	}
	*len_out = piece->len;
	return piece->len == 0 ? NULL : piece->data;
}
