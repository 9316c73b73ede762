/* The figures of a simulation, for people. */

#include <stdlib.h>
#include <string.h>

#include "sim/view.h"
#include "sim/view_private.h"

/* Of apps, beside their names. */
#define APP_COLUMNS 10

/* --- what was asked ----------------------------------------------------- */

static void
put_drawn(const struct load_spec *spec, FILE *out)
{
	(void)fprintf(out, "%s for %s, seed %ju\n",
	    words_profile(&spec->profile).text, words_span(spec->length).text,
	    (uintmax_t)spec->seed);
	for (size_t i = 0; i < spec->apps_len; i++) {
		const struct load_app *app = &spec->apps[i];

		if (app->rate > 0)
			(void)fprintf(out, "%13s%s %s/s, %s\n", "", app->name,
			    words_number(app->rate).text,
			    words_service(&app->service).text);
	}
}

void
view_load(const struct simulation *s, const struct result *r, FILE *out)
{
	(void)fputs("Load         ", out);
	if (s->load.trace == NULL)
		put_drawn(&s->load, out);
	else
		(void)fprintf(out, "%s, %s long\n",
		    strcmp(s->load.trace, "-") == 0 ? "standard input"
						    : s->load.trace,
		    words_span(r->length).text);
	(void)fprintf(out, "Starts       take %s until ready\n",
	    words_span(s->start_time).text);
}

/* --- what came of it ---------------------------------------------------- */

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
		/* Who sizes a pool looks for this one even if it is 0. */
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
view_figures(const struct result_app *r, FILE *out)
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

static void
put_cells(struct words *cells, const struct result_app *r)
{
	(void)strlcpy(cells[0].text, r->name == NULL ? "all" : r->name,
	    sizeof(cells[0].text));
	cells[1] = words_count(r->arrived);
	cells[2] = words_count(view_refusals(r));
	cells[3] = words_span(histogram_share(&r->wait, 0.5));
	cells[4] = words_span(histogram_share(&r->wait, 0.99));
	cells[5] = words_span(histogram_share(&r->wait, 0.999));
	cells[6] = words_span(histogram_share(&r->wait, 1));
	(void)snprintf(
	    cells[7].text, sizeof(cells[7].text), "%.2f", r->processes);
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
		put_cells(cells + (i + 1) * APP_COLUMNS, &r->apps[i]);
	(void)fputc('\n', out);
	view_table(cells, r->apps_len + 1, APP_COLUMNS, out);
	free(cells);
}

void
view_text(const struct simulation *s, const struct result *r, FILE *out)
{
	view_load(s, r, out);
	view_figures(&r->total, out);
	if (r->apps_len > 1)
		put_apps(r, out);
	view_chart(r, view_style(out), out);
}
