/* The snapshot as JSON; the keys are explained in apppoolctl(8). */

#include <string.h>
#include <unistd.h>

#include "control/status_json.h"

static void
put_known(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json_put_uint(j, key, n);
	else
		json_put_null(j, key);
}

static void
put_addresses(struct status *st, const char *key, size_t first, size_t count)
{
	const char *address = status_string(st, first);

	json_key(&st->json, key);
	json_array(&st->json);
	for (size_t i = 0; i < count; i++) {
		json_string(&st->json, address);
		address += strlen(address) + 1;
	}
	json_array_end(&st->json);
}

/* A time in microseconds. */
static void
put_time(struct json *j, const char *key, uint64_t us)
{
	json_put_span(
	    j, key, us < INT64_MAX / 1000 ? (tspan)us * 1000 : INT64_MAX);
}

/* The keys are the names that STATS has, without the spaces. */
static void
put_counter(struct status *st)
{
	struct json *j = &st->json;
	const struct counter_service_figures *f = &st->counter;

	if (!st->counts) {
		json_put_null(j, "counter");
		return;
	}
	json_key(j, "counter");
	json_object(j);
	put_addresses(st, "listen", st->counter_listen, st->counter_nlisten);
	json_put_uint(j, "clients", f->clients);
	json_put_uint(j, "max_clients", f->max_clients);
	json_put_uint(j, "keys", f->keys);
	json_put_uint(j, "max_keys", f->max_keys);
	json_put_uint(j, "processing", f->counter.held);
	json_put_uint(j, "waiting", f->counter.waiting);
	json_put_uint(j, "connections", f->connections);
	json_put_uint(j, "refused_clients", f->refused_clients);
	json_put_uint(j, "refused_keys", f->counter.full_tables);
	json_put_uint(j, "connect_errors", f->connect_errors);
	json_put_uint(j, "failed_sends", f->failed_sends);
	json_put_uint(j, "total_acquired", f->counter.acquired);
	json_put_uint(j, "total_releases", f->counter.releases);
	json_put_uint(j, "processed_count", f->counter.processed);
	json_put_uint(j, "full_queues", f->counter.full_queues);
	json_put_uint(j, "lock_mismatch", f->counter.lock_mismatch);
	json_put_uint(j, "lock_while_waiting", f->counter.lock_while_waiting);
	json_put_uint(j, "release_mismatch", f->counter.release_mismatch);
	put_time(j, "processing_time", f->counter.processing_time);
	put_time(j, "gained_time", f->counter.gained_time);
	put_time(j, "waiting_time_for_me", f->counter.me_time);
	put_time(j, "waiting_time_for_anyone", f->counter.any_time);
	put_time(j, "waiting_time_for_good", f->counter.good_time);
	put_time(j, "wasted_timeout_time", f->counter.wasted_time);
	json_object_end(j);
}

static void
put_head(struct status *st)
{
	struct json *j = &st->json;

	json_object(j);
	json_put_string(j, "version", APPPOOL_VERSION);
	json_put_uint(j, "pid", (uint64_t)getpid());
	json_put_string(j, "state", st->stopping ? "stopping" : "running");
	json_put_span(j, "uptime", st->uptime);
	json_put_string(j, "config", status_string(st, st->config));
	json_put_uint(j, "generation", st->generation);
	json_put_uint(j, "max_processes", st->max_processes);
	json_put_uint(j, "processes", st->processes);
	json_put_uint(j, "living", st->living);
	json_put_uint(j, "active", st->active);
	json_put_uint(j, "waiting", st->waiting);
	put_counter(st);
	json_key(j, "apps");
	json_array(j);
}

static void
put_processes(struct json *j, const struct status_app *a)
{
	json_put_uint(j, "min_processes", a->min_processes);
	json_put_uint(j, "max_processes", a->max_processes);
	json_put_bool(j, "resized", a->resized);
	json_put_uint(j, "processes", a->processes);
	json_put_uint(j, "starting", a->in_state[PROCESS_STARTING]);
	json_put_uint(j, "idle", a->in_state[PROCESS_IDLE]);
	json_put_uint(j, "active", a->in_state[PROCESS_ACTIVE]);
	json_put_uint(j, "detached", a->in_state[PROCESS_DETACHED]);
	json_put_uint(j, "retiring", a->in_state[PROCESS_RETIRING]);
	json_put_uint(j, "stopping",
	    a->in_state[PROCESS_STOPPING] + a->in_state[PROCESS_DYING]);
	json_put_uint(j, "stuck", a->stuck);
}

static void
put_spans(struct json *j, const char *key, const struct status_spans *s)
{
	json_key(j, key);
	json_object(j);
	json_put_span(j, "p50", s->p50);
	json_put_span(j, "p90", s->p90);
	json_put_span(j, "p99", s->p99);
	json_put_span(j, "max", s->max);
	json_object_end(j);
}

/* Keys with a value only for an app that is given connections. */
static const char *const session_keys[] = { "sessions", "waiting",
	"oldest_wait", "max_waiting", "max_queue", "prefetch", "parked",
	"backlog", "accepted", "completed", "refused", "timed_out", "abandoned",
	"lost", "retaken", "rate", "queue_wait", "session_time", "target_wait",
	"need", "kept", "idle_while_waiting", NULL };

/* An app that listens itself has a backlog, where all its clients wait. */
static void
put_no_sessions(struct json *j, bool listens, long backlog)
{
	for (const char *const *key = session_keys; *key != NULL; key++) {
		bool depth = strcmp(*key, "backlog") == 0 ||
		    strcmp(*key, "waiting") == 0;

		put_known(j, *key, listens && depth && backlog != -1,
		    (uint64_t)backlog);
	}
}

static void
put_measured(struct json *j, const struct status_measured *m)
{
	put_known(j, "backlog", m->backlog != -1, (uint64_t)m->backlog);
	if (m->known) {
		json_put_number(j, "rate", m->rate);
		put_spans(j, "queue_wait", &m->queue_wait);
		put_spans(j, "session_time", &m->session_time);
	} else {
		json_put_null(j, "rate");
		json_put_null(j, "queue_wait");
		json_put_null(j, "session_time");
	}
}

static void
put_promise(
    struct json *j, const struct status_app *a, const struct status_measured *m)
{
	if (a->target_wait > 0)
		json_put_span(j, "target_wait", a->target_wait);
	else
		json_put_null(j, "target_wait");
	put_known(j, "need", a->need > 0, a->need);
	if (m->known && m->kept >= 0)
		json_put_percent(j, "kept", 100 * m->kept);
	else
		json_put_null(j, "kept");
}

static void
put_sessions(struct json *j, const struct status_app *a)
{
	const struct app_figures *f = &a->figures;

	json_put_uint(j, "sessions", f->sessions);
	json_put_uint(j, "waiting", a->waiting);
	json_put_span(j, "oldest_wait", a->oldest_wait);
	json_put_uint(j, "max_waiting", f->max_waiting);
	json_put_uint(j, "max_queue", a->max_queue);
	json_put_uint(j, "prefetch", a->prefetch);
	json_put_uint(j, "parked", f->parked);
	json_put_uint(j, "accepted", f->accepted);
	json_put_uint(j, "completed", f->completed);
	json_put_uint(j, "refused", f->refused);
	json_put_uint(j, "timed_out", f->timed_out);
	json_put_uint(j, "abandoned", f->abandoned);
	json_put_uint(j, "lost", f->lost);
	json_put_uint(j, "retaken", f->retaken);
	json_put_span(j, "idle_while_waiting", a->idle_while_waiting);
}

static void
put_ends(struct json *j, const struct status *st, const struct status_app *a)
{
	json_put_uint(j, "spawned", a->figures.spawned);
	json_put_uint(j, "spawn_failures", a->figures.spawn_failures);
	if (a->start_time > 0)
		json_put_span(j, "start_time", a->start_time);
	else
		json_put_null(j, "start_time");
	json_key(j, "exits");
	json_object(j);
	for (unsigned end = 0; end < PROCESS_ENDS; end++) {
		if (a->figures.exits[end] != 0)
			json_put_uint(j,
			    process_end_name((enum process_end)end),
			    a->figures.exits[end]);
	}
	json_object_end(j);
	json_put_span(j, "backoff_until", a->backoff);
	json_put_string(j, "last_failure", status_string(st, a->failure));
}

static void
put_limit(struct status *st, const struct status_app *a)
{
	struct json *j = &st->json;

	if (a->limit == STATUS_NO_STRING) {
		json_put_null(j, "limit");
		return;
	}
	json_key(j, "limit");
	json_object(j);
	json_put_string(j, "server", status_string(st, a->limit));
	json_put_string(j, "key", status_string(st, a->limit_key));
	json_put_uint(j, "workers", a->limit_workers);
	json_put_uint(j, "held", a->locks.held);
	json_put_uint(j, "asked", a->locks.asked);
	json_put_uint(j, "granted", a->locks.granted);
	json_put_uint(j, "full", a->locks.full);
	json_put_uint(j, "timed_out", a->locks.timed_out);
	json_put_uint(j, "unreachable", a->locks.unreachable);
	json_object_end(j);
}

static void
put_rollout(struct status *st, const struct status_app *a)
{
	struct json *j = &st->json;

	if (!a->rolling && !a->given_up) {
		json_put_null(j, "rollout");
		return;
	}
	json_key(j, "rollout");
	json_object(j);
	json_put_uint(j, "generation", a->generation);
	json_put_uint(j, "done",
	    a->rollout_size > a->outdated ? a->rollout_size - a->outdated : 0);
	json_put_uint(j, "of", a->rollout_size);
	json_put_string(j, "state", a->rolling ? "rolling" : "given up");
	json_put_string(j, "reason",
	    a->given_up ? status_string(st, a->given_up_for) : NULL);
	json_object_end(j);
}

static void
put_load(struct json *j, const struct status_app *a)
{
	if (!a->sessions && !a->listens) {
		json_put_null(j, "load");
		json_put_null(j, "work");
		return;
	}
	json_put_percent(j, "load", a->load);
	json_put_number(j, "work", a->work);
}

static void
put_keepers(struct json *j, const struct status_app *a)
{
	json_key(j, "keepers");
	json_array(j);
	for (uint32_t i = 0; i < a->nkeepers; i++) {
		json_object(j);
		json_put_uint(j, "pid", (uint64_t)a->keepers[i].pid);
		json_put_bool(j, "answers", a->keepers[i].answers);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
put_template(struct status *st, const struct status_template *t,
    const struct status_measured *m)
{
	struct json *j = &st->json;
	bool lives = t->pid != 0;

	if (t->state == NULL) {
		json_put_null(j, "template");
		return;
	}
	json_key(j, "template");
	json_object(j);
	json_put_string(j, "state", t->state);
	json_put_string(j, "id", status_string(st, t->id));
	put_known(j, "pid", lives, (uint64_t)t->pid);
	json_put_string(j, "forked_by", status_string(st, t->from));
	if (lives)
		json_put_span(j, "age", t->age);
	else
		json_put_null(j, "age");
	put_known(j, "rss", m->template_rss != -1, (uint64_t)m->template_rss);
	json_put_uint(j, "forked", t->forked);
	json_put_uint(j, "failures", t->failures);
	json_put_string(j, "last_failure", status_string(st, t->failure));
	json_object_end(j);
}

static void
put_app(struct status *st, const struct status_app *a,
    const struct status_measured *m)
{
	struct json *j = &st->json;

	json_break(j);
	json_object(j);
	json_put_string(j, "name", status_string(st, a->name));
	json_put_string(j, "state", a->state);
	json_put_string(j, "handoff", conf_handoff_name(a->handoff));
	put_addresses(st, "listen", a->listen, a->nlisten);
	put_processes(j, a);
	put_rollout(st, a);
	put_limit(st, a);
	put_load(j, a);
	if (a->sessions) {
		put_sessions(j, a);
		put_measured(j, m);
		put_promise(j, a, m);
	} else {
		put_no_sessions(j, a->listens, m->backlog);
	}
	put_ends(j, st, a);
	put_keepers(j, a);
	put_template(st, &a->template, m);
	if (st->writer->worker == NULL)
		return;
	json_key(j, "workers");
	json_array(j);
}

/* The time in a state; null while in another one. */
static void
put_state_span(struct json *j, const char *key, bool in, tspan span)
{
	if (in)
		json_put_span(j, key, span);
	else
		json_put_null(j, key);
}

static void
put_worker(struct status *st, const struct status_worker *w,
    const struct procinfo *info)
{
	struct json *j = &st->json;
	tspan in_state = st->at - w->since;

	json_break(j);
	json_object(j);
	json_put_string(j, "id", w->slot == STATUS_NO_SLOT ? NULL : w->id);
	put_known(j, "slot", w->slot != STATUS_NO_SLOT, w->slot);
	put_known(j, "pid", w->pid != 0, (uint64_t)w->pid);
	json_put_uint(j, "generation", w->generation);
	json_put_string(j, "state",
	    w->stuck ? "stuck"
		     : process_state_name((enum process_state)w->state));
	put_known(j, "sessions", w->counts, w->sessions);
	put_known(j, "requests", w->counts, w->requests);
	json_put_span(j, "age", st->at - w->started);
	put_state_span(j, "idle_for", w->state == PROCESS_IDLE, in_state);
	put_state_span(j, "busy_for", w->sessions != 0, in_state);
	if (info == NULL) {
		json_put_null(j, "rss");
		json_put_null(j, "cpu");
	} else {
		json_put_uint(j, "rss", (uint64_t)info->rss);
		json_put_span(j, "cpu", info->cpu);
	}
	json_put_string(j, "status", status_string(st, w->text));
	json_object_end(j);
}

static void
put_app_end(struct status *st)
{
	if (st->writer->worker != NULL)
		json_array_end(&st->json);
	json_object_end(&st->json);
}

/*
 * The last line alone ends neither with a comma nor with "[": apppoolctl
 * tells a whole answer by that.
 */
static void
put_tail(struct status *st)
{
	json_array_end(&st->json);
	json_object_end(&st->json);
	text_put(&st->piece, "\n", 1);
}

const struct status_writer status_json = {
	.head = put_head,
	.app = put_app,
	.worker = put_worker,
	.app_end = put_app_end,
	.tail = put_tail,
};

const struct status_writer status_json_apps = {
	.head = put_head,
	.app = put_app,
	.app_end = put_app_end,
	.tail = put_tail,
};
