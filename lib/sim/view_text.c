/* The figures of a simulation, for people. */

#include <stdlib.h>
#include <string.h>

#include "sim/trace.h"
#include "sim/view.h"
#include "sim/words.h"

#define APP_COLUMNS 10

/*
 * Puts cells in rows of so many columns, each as wide as it needs to be; the
 * first row has the titles.  The first column stands left, the others right.
 */
static void
put_table(const struct words *cells, size_t rows, size_t columns, FILE *out)
{
	int width[APP_COLUMNS] = { 0 };

	for (size_t i = 0; i < rows * columns; i++) {
		int len = (int)strlen(cells[i].text);

		if (len > width[i % columns])
			width[i % columns] = len;
	}
	for (size_t i = 0; i < rows * columns; i++) {
		size_t column = i % columns;

		if (column == 0)
			(void)fprintf(
			    out, "%-*s", width[column], cells[i].text);
		else
			(void)fprintf(
			    out, "  %*s", width[column], cells[i].text);
		if (column == columns - 1)
			(void)fputc('\n', out);
	}
}

/* --- the verdicts ------------------------------------------------------- */

/* A verdict on each app with too few processes; else one on all together. */
static void
put_verdicts(const struct simulation *s, const struct result *r, FILE *out)
{
	bool fit = true;

	for (size_t i = 0; i < r->apps_len; i++) {
		const struct verdict *v = &s->verdicts[i];

		if (r->apps_len > 1 && v->kind <= VERDICT_FITS)
			continue;
		fit = false;
		if (r->apps_len > 1)
			(void)fprintf(out, "%s: ", r->apps[i].name);
		verdict_put(v, &r->apps[i], out);
		(void)fputc('\n', out);
	}
	if (fit)
		(void)fprintf(out, "fits: p99 waits %s\n",
		    words_span(histogram_share(&r->total.wait, 0.99)).text);
}

/* --- the load ----------------------------------------------------------- */

void
view_text_load(const struct load_app *app, FILE *out)
{
	if (app->clients == 0)
		(void)fprintf(out, "%s/s, ", words_number(app->rate).text);
	else
		(void)fprintf(
		    out, "%s clients, ", words_count(app->clients).text);
	if (app->think.mean > 0)
		(void)fprintf(
		    out, "think %s, ", words_service(&app->think).text);
	(void)fputs(words_service(&app->service).text, out);
}

static void
put_drawn(const struct load_spec *spec, FILE *out)
{
	(void)fprintf(out, "%s for %s, seed %ju\n",
	    spec->closed ? "clients" : words_profile(&spec->profile).text,
	    words_span(spec->length).text, (uintmax_t)spec->seed);
	for (size_t i = 0; i < spec->apps_len; i++) {
		const struct load_app *app = &spec->apps[i];

		if (app->clients == 0 && !(app->rate > 0))
			continue;
		(void)fprintf(out, "%13s%s ", "", app->name);
		view_text_load(app, out);
		(void)fputc('\n', out);
	}
}

static void
put_load(const struct simulation *s, const struct result *r, FILE *out)
{
	(void)fputs("Load         ", out);
	if (s->load.trace == NULL)
		put_drawn(&s->load, out);
	else
		(void)fprintf(out, "%s, %s long\n", trace_name(s->load.trace),
		    words_span(r->length).text);
	(void)fprintf(out, "Starts       take %s until ready\n",
	    words_span(s->start_time).text);
}

/* --- the figures -------------------------------------------------------- */

static void
put_connections(const struct result_app *r, FILE *out)
{
	const struct {
		uint64_t n;
		const char *what;
	} ends[] = {
		{ r->refused, "refused" },
		{ r->timed_out, "timed out" },
		{ r->lost, "lost" },
		{ r->unfinished, "not finished" },
	};

	(void)fprintf(out, "Connections  %s: %s completed",
	    words_count(r->arrived).text, words_count(r->completed).text);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		/* Refusals are shown even if there are none. */
		if (ends[i].n > 0 || i == 0)
			(void)fprintf(out, ", %s %s",
			    words_count(ends[i].n).text, ends[i].what);
	}
	(void)fputc('\n', out);
}

static void
put_waits(const struct result_app *r, FILE *out)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = {
		{ "p50", 0.5 },
		{ "p90", 0.9 },
		{ "p99", 0.99 },
		{ "p99.9", 0.999 },
		{ "max", 1 },
	};

	(void)fputs("Waits      ", out);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		(void)fprintf(out, "  %s %s", shares[i].name,
		    words_span(histogram_share(&r->wait, shares[i].share))
			.text);
	(void)fputc('\n', out);
}

void
view_text_figures(const struct result_app *r, FILE *out)
{
	double share = r->processes > 0 ? 100 * r->busy / r->processes : 0;

	put_connections(r, out);
	put_waits(r, out);
	(void)fprintf(out,
	    "Processes    %.2f on average, %u at most; %.2f busy (%.0f %%)\n",
	    r->processes, r->most_processes, r->busy, share);
	(void)fprintf(out,
	    "Spawns       %s, and %s before the first connection\n",
	    words_count(r->spawned_running).text,
	    words_count(r->spawned - r->spawned_running).text);
	(void)fprintf(out, "Waste        %s idle while waiting\n",
	    words_span(r->idle_while_waiting).text);
}

/* The promised wait, and how far it was kept. */
static void
put_promises(const struct result *r, FILE *out)
{
	for (size_t i = 0; i < r->apps_len; i++) {
		const struct result_app *a = &r->apps[i];

		if (a->target_wait == 0)
			continue;
		(void)fputs("Promise      ", out);
		if (r->apps_len > 1)
			(void)fprintf(out, "%s: ", a->name);
		(void)fprintf(out,
		    "%s, kept for %.2f %%; need %.2f on average, %u at most\n",
		    words_span(a->target_wait).text,
		    100 * histogram_within(&a->wait, a->target_wait), a->need,
		    a->most_need);
	}
}

static void
put_app(struct words *cells, const struct result_app *r)
{
	(void)strlcpy(cells[0].text, r->name, sizeof(cells[0].text));
	cells[1] = words_count(r->arrived);
	cells[2] = words_count(result_refusals(r));
	cells[3] = words_span(histogram_share(&r->wait, 0.5));
	cells[4] = words_span(histogram_share(&r->wait, 0.99));
	cells[5] = words_span(histogram_share(&r->wait, 0.999));
	cells[6] = words_span(histogram_share(&r->wait, 1));
	cells[7] = words_mean(r->processes);
	cells[8] = words_count(r->most_processes);
	cells[9] = words_count(r->spawned);
}

static void
put_apps(const struct result *r, FILE *out)
{
	static const struct words titles[APP_COLUMNS] = {
		{ "App" },
		{ "arrived" },
		{ "refused" },
		{ "p50" },
		{ "p99" },
		{ "p99.9" },
		{ "max" },
		{ "mean" },
		{ "most" },
		{ "spawns" },
	};
	struct words *cells =
	    calloc((r->apps_len + 1) * APP_COLUMNS, sizeof(*cells));

	if (cells == NULL)
		return;
	memcpy(cells, titles, sizeof(titles));
	for (size_t i = 0; i < r->apps_len; i++)
		put_app(cells + (i + 1) * APP_COLUMNS, &r->apps[i]);
	(void)fputc('\n', out);
	put_table(cells, r->apps_len + 1, APP_COLUMNS, out);
	free(cells);
}

void
view_text(const struct simulation *s, const struct result *r, FILE *out)
{
	if (s->verdicts != NULL)
		put_verdicts(s, r, out);
	put_load(s, r, out);
	view_text_figures(&r->total, out);
	put_promises(r, out);
	if (r->apps_len > 1)
		put_apps(r, out);
}
