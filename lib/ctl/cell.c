/* The text of an app in one column. */

#include <math.h>
#include <string.h>

#include "core/tstamp.h"
#include "ctl/cell.h"
#include "sys/figure.h"

static const char *const headings[CELL_COLUMNS] = { "APP", "STATE", "PROCS",
	"ACTIVE", "WAIT", "OLDEST", "RATE", "P99", "REFUSED", "LAST FAILURE" };

static tspan
span_of(double seconds)
{
	return (tspan)(seconds * 1e9);
}

void
cell_put_string(struct text *cell, const char *s)
{
	if (s != NULL)
		text_escaped(cell, s, strlen(s));
}

/* A figure that the app does not have is "-". */
static void
put_number(struct text *cell, double n, int places)
{
	if (isnan(n))
		text_puts(cell, "-");
	else
		text_printf(cell, "%.*f", places, n);
}

void
cell_put_span(struct text *cell, double seconds)
{
	char buf[FIGURE_SIZE];

	text_puts(cell,
	    isnan(seconds) ? "-"
			   : figure_span(span_of(seconds), buf, sizeof(buf)));
}

/* Words of a failure that may be said in fewer; NULL: the text ends there. */
static const struct {
	const char *words;
	const char *instead;
} shorter[] = {
	{ "exited with status ", "exit " }, { "killed by signal ", "signal " },
	{ " before it was ready", "" }, { "; ", NULL }, /* a hint follows */
};

#define SHORTER (sizeof(shorter) / sizeof(shorter[0]))

/* Where the next such words begin, and which they are; SHORTER: none. */
static size_t
find_shorter(const char *s, const char **at_out)
{
	size_t which = SHORTER;

	for (size_t i = 0; i < SHORTER; i++) {
		const char *at = strstr(s, shorter[i].words);

		if (at == NULL || (which != SHORTER && at > *at_out))
			continue;
		*at_out = at;
		which = i;
	}
	return which;
}

/* "exited with status 3 before it was ready: gone" is "exit 3: gone". */
static void
put_short(struct text *cell, const char *s)
{
	const char *at = s;
	size_t which;

	while (s != NULL && (which = find_shorter(s, &at)) != SHORTER) {
		text_escaped(cell, s, (size_t)(at - s));
		if (shorter[which].instead == NULL)
			return;
		text_puts(cell, shorter[which].instead);
		s = at + strlen(shorter[which].words);
	}
	cell_put_string(cell, s);
}

/*
 * The failure of a rollout that was given up, or the last one; and when the
 * next start is due, if that has to wait.
 */
static void
put_failure(struct text *cell, const struct json_value *app)
{
	const struct json_value *rollout = json_tree_member(app, "rollout");
	const char *given_up = json_tree_string(rollout, "reason");
	double backoff = json_tree_number(app, "backoff_until");

	if (given_up != NULL) {
		text_printf(cell, "generation %.0f given up: ",
		    json_tree_number(rollout, "generation"));
		put_short(cell, given_up);
	} else {
		put_short(cell, json_tree_string(app, "last_failure"));
	}
	if (backoff > 0) {
		text_puts(cell, cell->len == 0 ? "" : "; ");
		text_puts(cell, "next start in ");
		cell_put_span(cell, backoff);
	}
}

/* The figure of a row in a column; NaN: there is none. */
double
cell_figure(const struct json_value *app, enum cell_column column)
{
	static const char *const keys[CELL_COLUMNS] = {
		[CELL_PROCESSES] = "processes",
		[CELL_ACTIVE] = "active",
		[CELL_WAITING] = "waiting",
		[CELL_OLDEST] = "oldest_wait",
		[CELL_RATE] = "rate",
		[CELL_REFUSED] = "refused",
	};

	if (column == CELL_P99)
		return json_tree_number(
		    json_tree_member(app, "queue_wait"), "p99");
	/* Without sessions no process is ever active. */
	if (column == CELL_ACTIVE && isnan(json_tree_number(app, "sessions")))
		return NAN;
	return keys[column] == NULL ? NAN : json_tree_number(app, keys[column]);
}

/* The text of a row in a column; app NULL: of the headings. */
void
cell_make(
    struct text *cell, const struct json_value *app, enum cell_column column)
{
	double n = cell_figure(app, column);

	text_clear(cell);
	if (app == NULL) {
		text_puts(cell, headings[column]);
		return;
	}
	switch (column) {
	case CELL_APP:
		cell_put_string(cell, json_tree_string(app, "name"));
		break;
	case CELL_STATE:
		cell_put_string(cell, json_tree_string(app, "state"));
		break;
	case CELL_PROCESSES:
		put_number(cell, n, 0);
		text_puts(cell, "/");
		put_number(cell, json_tree_number(app, "max_processes"), 0);
		break;
	case CELL_OLDEST:
	case CELL_P99:
		cell_put_span(cell, n);
		break;
	case CELL_RATE:
		put_number(cell, n, n > 0 && n < 100);
		break;
	case CELL_FAILURE:
		put_failure(cell, app);
		break;
	default:
		put_number(cell, n, 0);
		break;
	}
}
