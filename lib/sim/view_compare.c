/* The same load through the rules of all: one table. */

#include <stdlib.h>
#include <string.h>

#include "sim/view.h"
#include "sim/view_private.h"

#define COLUMNS 6

static void
put_cells(struct words *cells, const struct result *r)
{
	const struct result_app *t = &r->total;

	(void)strlcpy(cells[0].text, r->manager, sizeof(cells[0].text));
	(void)snprintf(
	    cells[1].text, sizeof(cells[1].text), "%.2f", t->processes);
	cells[2] = words_count(t->spawned);
	cells[3] = words_span(histogram_share(&t->wait, 0.99));
	cells[4] = words_span(histogram_share(&t->wait, 0.999));
	cells[5] = words_count(view_refusals(t));
}

/* What is rare, and must not go unseen where it happens. */
static void
put_notes(const struct result *r, FILE *out)
{
	const struct result_app *t = &r->total;

	if (t->lost > 0)
		(void)fprintf(out, "%s: %s connections lost with a process\n",
		    r->manager, words_count(t->lost).text);
	if (t->unfinished > 0)
		(void)fprintf(out,
		    "%s: %s connections not finished %s after the end\n",
		    r->manager, words_count(t->unfinished).text,
		    words_span(r->ran - r->length).text);
}

void
view_compare(const struct simulation *s, const struct result *results,
    size_t len, FILE *out)
{
	static const struct words titles[COLUMNS] = {
		{ "Policy" },
		{ "processes" },
		{ "spawns" },
		{ "p99 wait" },
		{ "p99.9 wait" },
		{ "refused" },
	};
	struct words *cells = calloc((len + 1) * COLUMNS, sizeof(*cells));

	if (cells == NULL)
		return;
	memcpy(cells, titles, sizeof(titles));
	for (size_t i = 0; i < len; i++)
		put_cells(cells + (i + 1) * COLUMNS, &results[i]);
	view_load(s, &results[0], out);
	(void)fprintf(out, "Connections  %s\n\n",
	    words_count(results[0].total.arrived).text);
	view_table(cells, len + 1, COLUMNS, out);
	for (size_t i = 0; i < len; i++)
		put_notes(&results[i], out);
	free(cells);
}
