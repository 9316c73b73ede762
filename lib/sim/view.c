/*
 * The result of a simulation: figures for people, and JSON, whose keys have the
 * names and the meaning of those of `status -j` where that has them too.
 */

#include "sim/simulate.h"
#include "sys/emit.h"
#include "sys/text.h"

#define COLUMNS 10
#define MIB (1024 * 1024.0)

static const struct {
	const char *json, *text;
} verdict_words[] = {
	[VERDICT_IDLE] = { "idle", "idle: no connection came" },
	[VERDICT_FITS] = { "fits", "fits" },
	[VERDICT_OVERLOADED] = { "overloaded", "overloaded" },
	[VERDICT_SHORT] = { "short", "short of processes" },
};

/* The idle time beside waiting connections, in percent of all processes'. */
static double
view_waste(const struct result_app *r)
{
	return r->processes > 0 ? 100 * r->wasted / r->processes : 0;
}

/* --- figures for people ------------------------------------------------- */

/* "short of processes: 1.64 …", without an end of line. */
static void
text_verdict(
    const struct verdict *v, bool hosts, const struct result_app *r, FILE *out)
{
	bool own = v->min_processes != 0 || v->max_processes != 0;
	bool over = v->kind == VERDICT_OVERLOADED;

	(void)fputs(verdict_words[v->kind].text, out);
	if (v->kind == VERDICT_IDLE)
		return;
	(void)fprintf(out, ": %s busy processes needed%s%s, %u allowed",
	    words_number(v->needed).text, hosts ? " on each host" : "",
	    over ? "" : " on average", v->allowed);
	if (!over)
		(void)fprintf(out, "; p99 waits %s", words_wait(r, 0.99).text);
	if (!over && result_refusals(r) > 0)
		(void)fprintf(out, ", %s of %s turned away",
		    words_count(result_refusals(r)).text,
		    words_count(r->arrived).text);
	if (!v->tried)
		return;
	(void)fputs("; ", out);
	if (v->min_processes != 0)
		(void)fputs("min_processes = ", out);
	if (v->max_processes != 0)
		(void)fprintf(out, "max_processes = %u", v->max_processes);
	else if (v->min_processes != 0)
		(void)fprintf(out, "%u", v->min_processes);
	if (v->ceiling != 0)
		(void)fprintf(out, "%s%u over all apps%s",
		    own ? ", with " : "max_processes = ", v->ceiling,
		    own ? "," : "");
	else if (!own)
		(void)fputs("no number of processes", out);
	(void)fprintf(
	    out, " would keep p99 under %s", words_span(VERDICT_WAIT).text);
}

static void
text_load(const struct simulation *s, const struct result *r, FILE *out)
{
	const struct load_spec *spec = &s->load;

	(void)fputs("Load         ", out);
	if (spec->trace != NULL)
		(void)fprintf(out, "%s, %s long\n",
		    load_trace_name(spec->trace), words_span(r->length).text);
	else
		(void)fprintf(out, "%s for %s, seed %ju\n",
		    spec->closed ? "clients"
				 : words_profile(&spec->profile).text,
		    words_span(spec->length).text, (uintmax_t)spec->seed);
	for (size_t i = 0; spec->trace == NULL && i < spec->apps_len; i++) {
		const struct load_app *app = &spec->apps[i];

		if (app->clients > 0)
			(void)fprintf(out, "%13s%s %s clients, ", "", app->name,
			    words_count(app->clients).text);
		else if (app->rate > 0)
			(void)fprintf(out, "%13s%s %s/s, ", "", app->name,
			    words_number(app->rate).text);
		else
			continue;
		if (app->think.mean > 0)
			(void)fprintf(
			    out, "think %s, ", words_service(&app->think).text);
		(void)fprintf(out, "%s\n", words_service(&app->service).text);
	}
	if (s->balancer.hosts > 0)
		(void)fprintf(out, "Hosts        %u behind %s%s\n",
		    s->balancer.hosts, balancer_names[s->balancer.kind],
		    s->balancer.blind ? ", without agent checks" : "");
	(void)fprintf(out, "Starts       take %s until ready\n",
	    words_span(s->start_time).text);
	for (size_t i = 0; s->fits != NULL && i < spec->apps_len; i++)
		if (s->fits[i].set)
			(void)fprintf(out,
			    "Memory       %s: at most %u, of %.1fM each in "
			    "%.1fM, %.1fM of it left free\n",
			    spec->apps[i].name, s->fits[i].goal,
			    (double)s->fits[i].size / MIB,
			    (double)s->memory / MIB,
			    (double)autosize_reserve(
				&(struct autosize_box){ .memory = s->memory }) /
				MIB);
}

static void
text_figures(const struct result_app *r, FILE *out)
{
	const struct {
		uint64_t n;
		const char *what;
	} ends[] = {
		{ r->timed_out, "timed out" },
		{ r->lost, "lost" },
		{ r->unfinished, "not finished" },
	};
	double share = r->processes > 0 ? 100 * r->busy / r->processes : 0;

	/* Refusals are shown even if there are none. */
	(void)fprintf(out, "Connections  %s: %s completed, %s refused",
	    words_count(r->arrived).text, words_count(r->completed).text,
	    words_count(r->refused).text);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i].n > 0)
			(void)fprintf(out, ", %s %s",
			    words_count(ends[i].n).text, ends[i].what);
	(void)fprintf(out,
	    "\nWaits        p50 %s  p90 %s  p99 %s  p99.9 %s  max %s\n",
	    words_wait(r, 0.5).text, words_wait(r, 0.9).text,
	    words_wait(r, 0.99).text, words_wait(r, 0.999).text,
	    words_wait(r, 1).text);
	(void)fprintf(out,
	    "Processes    %.2f on average, %u at most; %.2f busy (%.0f %%)\n",
	    r->processes, r->most_processes, r->busy, share);
	(void)fprintf(out,
	    "Spawns       %s, and %s before the first connection\n",
	    words_count(r->spawned_running).text,
	    words_count(r->spawned - r->spawned_running).text);
	(void)fprintf(out,
	    "Waste        %s idle while waiting (%s %% of all processes)\n",
	    words_span(r->idle_while_waiting).text,
	    words_number(view_waste(r)).text);
}

/* An empty line, and a row for each app in columns as wide as they must be. */
static void
text_apps(const struct result *r, FILE *out)
{
	static const struct words titles[COLUMNS] = { { "App" }, { "arrived" },
		{ "refused" }, { "p50" }, { "p99" }, { "p99.9" }, { "max" },
		{ "mean" }, { "most" }, { "spawns" } };
	size_t rows = r->apps_len + 1;
	struct words *cells = result_alloc(rows * COLUMNS, sizeof(*cells));
	int width[COLUMNS] = { 0 }, len;

	memcpy(cells, titles, sizeof(titles));
	for (size_t i = 0; i < r->apps_len; i++) {
		const struct result_app *a = &r->apps[i];
		struct words *row = cells + (i + 1) * COLUMNS;

		(void)strlcpy(row[0].text, a->name, sizeof(row[0].text));
		row[1] = words_count(a->arrived);
		row[2] = words_count(result_refusals(a));
		row[3] = words_wait(a, 0.5);
		row[4] = words_wait(a, 0.99);
		row[5] = words_wait(a, 0.999);
		row[6] = words_wait(a, 1);
		(void)snprintf(
		    row[7].text, sizeof(row[7].text), "%.2f", a->processes);
		row[8] = words_count(a->most_processes);
		row[9] = words_count(a->spawned);
	}
	for (size_t i = 0; i < rows * COLUMNS; i++) {
		len = (int)strlen(cells[i].text);
		if (len > width[i % COLUMNS])
			width[i % COLUMNS] = len;
	}
	for (size_t i = 0; i < rows * COLUMNS; i++)
		if (i % COLUMNS == 0)
			(void)fprintf(out, "\n%-*s", width[0], cells[i].text);
		else
			(void)fprintf(
			    out, "  %*s", width[i % COLUMNS], cells[i].text);
	(void)fputc('\n', out);
	free(cells);
}

void
view_text(const struct simulation *s, const struct result *r, FILE *out)
{
	const bool several = r->apps_len > 1;
	bool fit = s->verdicts != NULL;

	/* Each app with too few processes; else all together. */
	for (size_t i = 0; i < r->apps_len && s->verdicts != NULL; i++) {
		const struct verdict *v = &s->verdicts[i];

		if (several && v->kind <= VERDICT_FITS)
			continue;
		fit = false;
		if (several)
			(void)fprintf(out, "%s: ", r->apps[i].name);
		text_verdict(v, s->balancer.hosts > 0, &r->apps[i], out);
		(void)fputc('\n', out);
	}
	if (fit)
		(void)fprintf(out, "fits: p99 waits %s\n",
		    words_wait(&r->total, 0.99).text);
	text_load(s, r, out);
	text_figures(&r->total, out);
	/* The promised waits, and how far they were kept. */
	for (size_t i = 0; i < r->apps_len; i++) {
		const struct result_app *a = &r->apps[i];

		if (a->target_wait == 0)
			continue;
		(void)fprintf(out, "Promise      %s%s%s, kept for %.2f %%; ",
		    several ? a->name : "", several ? ": " : "",
		    words_span(a->target_wait).text,
		    100 * histogram_within(&a->wait, a->target_wait));
		(void)fprintf(out, "need %.2f on average, %u at most\n",
		    a->need, a->most_need);
	}
	if (several)
		text_apps(r, out);
}

/* --- JSON --------------------------------------------------------------- */

static void
json_load(struct emit *j, const struct simulation *s)
{
	const struct load_spec *spec = &s->load;

	emit_put_string(j, "version", APPPOOL_VERSION);
	emit_put_string(j, "config", s->config);
	emit_put_span(j, "start_time", s->start_time);
	if (s->balancer.hosts > 0) {
		emit_put_uint(j, "hosts", s->balancer.hosts);
		emit_put_string(
		    j, "balancer", balancer_names[s->balancer.kind]);
		emit_put_bool(j, "agent_checks", !s->balancer.blind);
	}
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
	}
	for (size_t i = 0; i < spec->apps_len && spec->trace == NULL; i++) {
		const struct load_app *app = &spec->apps[i];

		emit_break(j);
		emit_object(j);
		emit_put_string(j, "name", app->name);
		emit_put_number(j, "rate", app->rate);
		emit_put_uint(j, "clients", app->clients);
		if (app->clients > 0)
			emit_put_string(
			    j, "think", words_service(&app->think).text);
		emit_put_string(
		    j, "service", words_service(&app->service).text);
		emit_put_span(
		    j, "service_mean", load_service_mean(&app->service));
		emit_object_end(j);
	}
	if (spec->trace == NULL)
		emit_array_end(j);
	emit_object_end(j);
}

static void
json_figures(struct emit *j, const struct result_app *r)
{
	const struct histogram *h = &r->wait;
	const bool promise = r->target_wait != 0;

	emit_put_uint(j, "accepted", r->arrived);
	emit_put_uint(j, "completed", r->completed);
	emit_put_uint(j, "refused", r->refused);
	emit_put_uint(j, "overflowed", r->overflowed);
	emit_put_uint(j, "timed_out", r->timed_out);
	emit_put_uint(j, "lost", r->lost);
	emit_put_uint(j, "unfinished", r->unfinished);
	emit_put_uint(j, "retaken", r->taken);
	emit_key(j, "queue_wait");
	emit_object(j);
	emit_put_span(
	    j, "mean", h->total == 0 ? 0 : (tspan)(h->sum / (double)h->total));
	emit_put_span(j, "p50", histogram_share(h, 0.5));
	emit_put_span(j, "p90", histogram_share(h, 0.9));
	emit_put_span(j, "p99", histogram_share(h, 0.99));
	emit_put_span(j, "p99.9", histogram_share(h, 0.999));
	emit_put_span(j, "max", histogram_share(h, 1));
	emit_object_end(j);
	emit_put_uint(j, "spawned", r->spawned);
	emit_put_uint(j, "spawned_before", r->spawned - r->spawned_running);
	emit_put_uint(j, "ended", r->ended);
	emit_put_number(j, "processes", r->processes);
	emit_put_number(j, "existing", r->existing);
	emit_put_number(j, "busy", r->busy);
	emit_put_uint(j, "most_processes", r->most_processes);
	if (promise)
		emit_put_span(j, "target_wait", r->target_wait);
	else
		emit_put_null(j, "target_wait");
	emit_put_percent(j, "kept",
	    promise ? 100 * histogram_within(h, r->target_wait) : NAN);
	emit_put_number(j, "need", promise ? r->need : NAN);
	emit_put_number(j, "most_need", promise ? r->most_need : NAN);
	emit_put_uint(j, "max_waiting", r->most_waiting);
	emit_put_span(j, "idle_while_waiting", r->idle_while_waiting);
	emit_put_number(j, "idle_waste", view_waste(r));
	emit_put_span(j, "idle_while_unread", r->idle_while_unread);
	emit_put_span(j, "longest_unread", r->longest_unread);
}

/* Means and counts of a stretch of time; its last one ends with the load. */
static void
json_bucket(struct emit *j, const struct series *s, uint32_t i, tspan length)
{
	const struct series_bucket *b = &s->buckets[i];
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
	emit_put_uint(j, "accepted", b->counts[SERIES_ARRIVED]);
	emit_put_uint(j, "refused", b->counts[SERIES_REFUSED]);
	emit_put_uint(j, "spawned", b->counts[SERIES_SPAWNED]);
	emit_object_end(j);
}

static void
json_verdict(struct emit *j, const struct verdict *v)
{
	emit_key(j, "verdict");
	emit_object(j);
	emit_put_string(j, "kind", verdict_words[v->kind].json);
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

void
view_json(const struct simulation *s, const struct result *r, FILE *out)
{
	struct text text;
	struct emit emit = { .out = &text }, *j = &emit;

	text_init(&text, SIZE_MAX);
	emit_object(j);
	json_load(j, s);
	emit_break(j);
	emit_put_string(j, "policy", r->manager);
	emit_put_span(j, "length", r->length);
	emit_put_span(j, "ran", r->ran);
	emit_put_uint(j, "events", r->events);
	json_figures(j, &r->total);
	emit_break(j);
	emit_key(j, "apps");
	emit_array(j);
	for (size_t i = 0; i < r->apps_len; i++) {
		emit_break(j);
		emit_object(j);
		emit_put_string(j, "name", r->apps[i].name);
		json_figures(j, &r->apps[i]);
		if (s->verdicts != NULL)
			json_verdict(j, &s->verdicts[i]);
		emit_object_end(j);
	}
	emit_array_end(j);
	emit_break(j);
	emit_key(j, "series");
	emit_array(j);
	for (uint32_t i = 0; i < r->total.series.used; i++)
		json_bucket(j, &r->total.series, i, r->length);
	emit_array_end(j);
	emit_object_end(j);
	text_puts(&text, "\n");
	if (text.failed)
		errx(EX_OSERR, "simulate: there is no memory for the answer");
	(void)fwrite(text.data, 1, text.len, out);
	text_fini(&text);
}
