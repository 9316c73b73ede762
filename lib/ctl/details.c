/* Everything about a daemon and its apps, for people: limits beside use. */

#include <math.h>
#include <string.h>

#include "ctl/ctl.h"

static void
put_daemon(struct text *out, const json_t *s)
{
	const char *state = form_string(s, "state");

	form_put(out, s, "apppoold {version}, pid {pid}, up {uptime:t}");
	if (state != NULL && strcmp(state, "running") != 0)
		form_put(out, s, ", {state}");
	form_put(out, s,
	    ", {config} (generation {generation})\n"
	    "processes {processes}/{max_processes}, active {active}, waiting "
	    "{waiting}\n");
	if (!json_is_object(json_object_get(s, "counter")))
		return;
	form_put(out, s,
	    "\ncounter:[ {counter.listen}]\n"
	    "  clients {counter.clients}/{counter.max_clients}, keys "
	    "{counter.keys}/{counter.max_keys}, locks held "
	    "{counter.processing}, waiting {counter.waiting}\n"
	    "  locks {counter.total_acquired} taken, "
	    "{counter.processed_count} ended; {counter.full_queues} found "
	    "the queue full\n");
	if (form_number(s, "counter.refused_clients") > 0 ||
	    form_number(s, "counter.refused_keys") > 0)
		form_put(out, s,
		    "  turned away {counter.refused_clients} clients, "
		    "{counter.refused_keys} keys\n");
}

/* Load, a rollout and a size of its own: a line of what there is. */
static void
put_changes(struct text *out, const json_t *app)
{
	const double of = form_number(app, "rollout.of");
	const size_t before = out->len;

	if (!isnan(form_number(app, "load")))
		form_put(out, app, "; load {load} %");
	if (form_string(app, "rollout.reason") != NULL)
		form_put(
		    out, app, "; generation {rollout.generation} given up");
	else if (!isnan(of))
		text_printf(out, "; generation %.0f replaces %.0f",
		    form_number(app, "rollout.generation"),
		    of - form_number(app, "rollout.done"));
	if (json_is_true(json_object_get(app, "resized")))
		form_put(out, app,
		    "; resized, the file says {file_min_processes} to "
		    "{file_max_processes}");
	if (out->len == before || out->failed)
		return;
	memcpy(out->data + before, "  ", 2);
	text_puts(out, "\n");
}

static void
put_app_details(struct text *out, json_t *app)
{
	const bool sessions = !isnan(form_number(app, "sessions"));
	json_t *value, *exits = json_object_get(app, "exits");
	const char *comma = "; ended: ", *reason;
	size_t i;

	form_put(out, app,
	    "\n{name}: {state}, {handoff}[, {listen}][, next start in "
	    "{backoff_until:t}]\n"
	    "  processes {processes}/{max_processes} (min {min_processes}): "
	    "{starting} starting, ");
	form_put(out, app,
	    sessions ? "{idle} idle, {active} active" : "{idle} ready");
	form_put(out, app,
	    "; {retiring} retiring, {stopping} stopping[, {detached} detached]"
	    "[, {stuck} stuck]\n");
	put_changes(out, app);
	if (sessions) {
		form_put(out, app, "  waiting {waiting}/{max_queue}");
		if (form_number(app, "waiting") > 0)
			form_put(out, app, " (oldest {oldest_wait:t})");
		form_put(out, app, ", most {max_waiting}");
		if (!isnan(form_number(app, "backlog")))
			form_put(out, app, ", backlog {backlog}");
		form_put(out, app,
		    "[, parked {parked}], sessions {sessions}[, prefetch "
		    "{prefetch}]; idle while waiting {idle_while_waiting:t}\n"
		    "  connections {accepted} accepted, {completed} completed, "
		    "{lost} lost; {retaken} retaken\n"
		    "  not served: {refused} refused, {timed_out} timed out, "
		    "{abandoned} abandoned\n");
		if (!isnan(form_number(app, "rate")))
			form_put(out, app,
			    "  last minute: {rate:d}/s; wait p50 "
			    "{queue_wait.p50:t}, p90 {queue_wait.p90:t}, p99 "
			    "{queue_wait.p99:t}, max {queue_wait.max:t}\n"
			    "    session p50 {session_time.p50:t}, p90 "
			    "{session_time.p90:t}, p99 {session_time.p99:t}, "
			    "max {session_time.max:t}\n");
		if (form_number(app, "target_wait") > 0) {
			form_put(out, app, "  promise: {target_wait:t}");
			if (!isnan(form_number(app, "kept")))
				form_put(out, app, ", kept for {kept:d} %");
			form_put(out, app, "[; need {need}]\n");
		} else {
			form_put(out, app, "[  need {need}\n]");
		}
	} else if (!isnan(form_number(app, "backlog"))) {
		form_put(out, app, "  waiting {backlog}, all in the backlog\n");
	}

	form_put(out, app,
	    "  spawned {spawned}, failed starts {spawn_failures}[, a start "
	    "takes {start_time:t}]");
	json_object_foreach(exits, reason, value)
	{
		text_printf(
		    out, "%s%s %.0f", comma, reason, json_number_value(value));
		comma = ", ";
	}
	text_puts(out, "\n");
	if (form_string(app, "last_failure") != NULL)
		form_put(out, app,
		    "  last failure[ {last_failure_age:t} ago]: "
		    "{last_failure}\n");
	if (form_string(app, "rollout.reason") != NULL)
		form_put(out, app,
		    "  given up[ {rollout.age:t} ago]: {rollout.reason}\n");
	json_array_foreach(json_object_get(app, "keepers"), i,
	    value) if (!json_is_true(json_object_get(value, "answers")))
	    form_put(out, value,
		"  keeper (pid {pid}) does not answer: another "
		"takes over\n");
	if (!json_is_object(json_object_get(app, "template")))
		return;
	form_put(out, app,
	    "  template {template.state}[, pid {template.pid}][, age "
	    "{template.age:t}][, RSS {template.rss:b}]; forked "
	    "{template.forked}, failures {template.failures}\n"
	    "[  its last failure: {template.last_failure}\n]");
}

void
details_put(const json_t *status, struct text *out)
{
	json_t *app, *worker, *without = NULL;
	size_t i, j;

	put_daemon(out, status);
	json_array_foreach(json_object_get(status, "apps"), i, app)
	{
		const json_t *workers = json_object_get(app, "workers");

		put_app_details(out, app);
		if (form_string(app, "backlog_unknown") != NULL)
			without = app;
		if (json_array_size(workers) > 0)
			text_puts(out,
			    "  ID          PID SLOT STATE    SESS  SERVED    "
			    "AGE    FOR    RSS    CPU STATUS\n");
		json_array_foreach(workers, j, worker)
		{
			const char *state = form_string(worker, "state");

			/* Without known sessions, idle is called ready. */
			if (state != NULL && strcmp(state, "idle") == 0 &&
			    isnan(form_number(worker, "sessions")))
				(void)json_object_set_new(
				    worker, "state", json_string("ready"));
			form_put(out, worker,
			    "  {id:-8} {pid:6} {slot:4} {state:-8} "
			    "{sessions:4} {requests:7} {age:6t} "
			    "{busy_for|idle_for:6t} {rss:6b} {cpu:6t}"
			    "[ {status}]\n");
		}
	}
	if (without != NULL)
		form_put(
		    out, without, "\nbacklog unknown: {backlog_unknown}\n");
}
