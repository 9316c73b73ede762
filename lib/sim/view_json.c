/*
 * The result of a simulation as JSON.  Keys that `status -j` has too have its
 * names and its meaning.
 */

#include <errno.h>
#include <stdint.h>

#include "sim/load.h"
#include "sim/view.h"
#include "sim/words.h"
#include "sys/emit.h"
#include "sys/text.h"

struct output {
	FILE *out;
	bool failed; /* no memory: something is missing */
	struct text text;
	struct emit json;
};

static void
output_init(struct output *o, FILE *out)
{
	o->out = out;
	o->failed = false;
	text_init(&o->text, SIZE_MAX);
	emit_init(&o->json, &o->text);
	emit_object(&o->json);
}

/* Writes what was put so far: a long result takes little memory. */
static void
output_flush(struct output *o)
{
	o->failed = o->failed || o->text.failed;
	(void)fwrite(o->text.data, 1, o->text.len, o->out);
	text_clear(&o->text);
}

static int
output_fini(struct output *o)
{
	emit_object_end(&o->json);
	text_puts(&o->text, "\n");
	output_flush(o);
	text_fini(&o->text);
	if (!o->failed)
		return 0;
	errno = ENOMEM;
	return -1;
}

/* --- the load ----------------------------------------------------------- */

static void
put_load_app(struct output *o, const struct load_app *app)
{
	struct emit *j = &o->json;

	emit_break(j);
	emit_object(j);
	emit_put_string(j, "name", app->name);
	emit_put_number(j, "rate", app->rate);
	emit_put_uint(j, "clients", app->clients);
	if (app->clients > 0)
		emit_put_string(j, "think", words_service(&app->think).text);
	emit_put_string(j, "service", words_service(&app->service).text);
	emit_put_span(j, "service_mean", load_service_mean(&app->service));
	emit_object_end(j);
	output_flush(o);
}

static void
put_load(struct output *o, const struct simulation *s)
{
	const struct load_spec *spec = &s->load;
	struct emit *j = &o->json;

	emit_put_string(j, "version", APPPOOL_VERSION);
	emit_put_string(j, "config", s->config);
	emit_put_span(j, "start_time", s->start_time);
	emit_break(j);
	emit_key(j, "load");
	emit_object(j);
	emit_put_string(j, "trace", spec->trace);
	emit_put_uint(j, "seed", spec->seed);
	if (spec->trace == NULL) {
		emit_put_string(j, "profile",
		    spec->closed ? NULL : words_profile(&spec->profile).text);
		emit_key(j, "apps");
		emit_array(j);
		for (size_t i = 0; i < spec->apps_len; i++)
			put_load_app(o, &spec->apps[i]);
		emit_array_end(j);
	}
	emit_object_end(j);
}

/* --- the figures -------------------------------------------------------- */

static void
put_waits(struct emit *j, const struct histogram *h)
{
	emit_key(j, "queue_wait");
	emit_object(j);
	emit_put_span(j, "mean", (tspan)histogram_mean(h));
	emit_put_span(j, "p50", histogram_share(h, 0.5));
	emit_put_span(j, "p90", histogram_share(h, 0.9));
	emit_put_span(j, "p99", histogram_share(h, 0.99));
	emit_put_span(j, "p99.9", histogram_share(h, 0.999));
	emit_put_span(j, "max", histogram_share(h, 1));
	emit_object_end(j);
}

static void
put_promise(struct emit *j, const struct result_app *r)
{
	if (r->target_wait == 0) {
		emit_put_null(j, "target_wait");
		emit_put_null(j, "kept");
		emit_put_null(j, "need");
		emit_put_null(j, "most_need");
		return;
	}
	emit_put_span(j, "target_wait", r->target_wait);
	emit_put_percent(
	    j, "kept", 100 * histogram_within(&r->wait, r->target_wait));
	emit_put_number(j, "need", r->need);
	emit_put_uint(j, "most_need", r->most_need);
}

static void
put_figures(struct output *o, const struct result_app *r)
{
	struct emit *j = &o->json;

	emit_put_uint(j, "accepted", r->arrived);
	emit_put_uint(j, "completed", r->completed);
	emit_put_uint(j, "refused", r->refused);
	emit_put_uint(j, "overflowed", r->overflowed);
	emit_put_uint(j, "timed_out", r->timed_out);
	emit_put_uint(j, "lost", r->lost);
	emit_put_uint(j, "unfinished", r->unfinished);
	emit_put_uint(j, "retaken", r->taken);
	put_waits(j, &r->wait);
	emit_put_uint(j, "spawned", r->spawned);
	emit_put_uint(j, "spawned_before", r->spawned - r->spawned_running);
	emit_put_uint(j, "ended", r->ended);
	emit_put_number(j, "processes", r->processes);
	emit_put_number(j, "existing", r->existing);
	emit_put_number(j, "busy", r->busy);
	emit_put_uint(j, "most_processes", r->most_processes);
	put_promise(j, r);
	emit_put_uint(j, "max_waiting", r->most_waiting);
	emit_put_span(j, "idle_while_waiting", r->idle_while_waiting);
	emit_put_span(j, "idle_while_unread", r->idle_while_unread);
	emit_put_span(j, "longest_unread", r->longest_unread);
	output_flush(o);
}

/* Means and counts of a stretch of time; its last one ends with the load. */
static void
put_bucket(struct output *o, const struct series *s, uint32_t i, tspan length)
{
	const struct series_bucket *b = &s->buckets[i];
	struct emit *j = &o->json;
	tspan at = s->width * (tspan)i;
	tspan width = length - at < s->width ? length - at : s->width;
	double time = width > 0 ? (double)width : 1;

	emit_break(j);
	emit_object(j);
	emit_put_span(j, "at", at);
	emit_put_number(j, "processes", b->processes / time);
	emit_put_number(j, "busy", b->busy / time);
	emit_put_number(j, "waiting", b->waiting / time);
	emit_put_uint(j, "most_processes", b->most_processes);
	emit_put_uint(j, "max_waiting", b->most_waiting);
	emit_put_span(j, "longest_wait", b->longest_wait);
	emit_put_uint(j, "accepted", b->counts.arrived);
	emit_put_uint(j, "refused", b->counts.refused);
	emit_put_uint(j, "spawned", b->counts.spawned);
	emit_object_end(j);
	output_flush(o);
}

static void
put_series(struct output *o, const struct series *s, tspan length)
{
	emit_key(&o->json, "series");
	emit_array(&o->json);
	for (uint32_t i = 0; i < s->used; i++)
		put_bucket(o, s, i, length);
	emit_array_end(&o->json);
}

static void
put_verdict(struct emit *j, const struct verdict *v)
{
	static const char *const words[] = {
		[VERDICT_IDLE] = "idle",
		[VERDICT_FITS] = "fits",
		[VERDICT_OVERLOADED] = "overloaded",
		[VERDICT_SHORT] = "short",
	};

	emit_key(j, "verdict");
	emit_object(j);
	emit_put_string(j, "kind", words[v->kind]);
	emit_put_number(j, "needed", v->needed);
	emit_put_uint(j, "allowed", v->allowed);
	if (v->min_processes != 0)
		emit_put_uint(j, "min_processes", v->min_processes);
	if (v->max_processes != 0)
		emit_put_uint(j, "max_processes", v->max_processes);
	if (v->ceiling != 0)
		emit_put_uint(j, "max_processes_of_all", v->ceiling);
	emit_object_end(j);
}

/* verdicts: of the apps, or NULL. */
static void
put_result(
    struct output *o, const struct result *r, const struct verdict *verdicts)
{
	struct emit *j = &o->json;

	emit_break(j);
	emit_put_string(j, "policy", r->manager);
	emit_put_span(j, "length", r->length);
	emit_put_span(j, "ran", r->ran);
	emit_put_uint(j, "events", r->events);
	put_figures(o, &r->total);
	emit_break(j);
	emit_key(j, "apps");
	emit_array(j);
	for (size_t i = 0; i < r->apps_len; i++) {
		emit_break(j);
		emit_object(j);
		emit_put_string(j, "name", r->apps[i].name);
		put_figures(o, &r->apps[i]);
		if (verdicts != NULL)
			put_verdict(j, &verdicts[i]);
		emit_object_end(j);
	}
	emit_array_end(j);
	emit_break(j);
	put_series(o, &r->total.series, r->length);
}

int
view_json(const struct simulation *s, const struct result *r, FILE *out)
{
	struct output o;

	output_init(&o, out);
	put_load(&o, s);
	put_result(&o, r, s->verdicts);
	return output_fini(&o);
}
