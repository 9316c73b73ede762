/*
 * A trace of connections.  At the first mistake it is of no use any more;
 * what else is wrong in it is looked for then, so that it can be put right in
 * one go.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load_line.h"
#include "sim/load_lines.h"
#include "sim/load_names.h"
#include "sim/load_private.h"
#include "sys/text.h"

/* Who reads more of them, and who waits for them? */
#define MISTAKES_MAX 10
#define MISTAKE_LINES 1000000

/* Arrivals from this on are seconds since 1970 and not of the run: 1973. */
#define TIMES_OF_DAY TSPAN_SECONDS(100000000)

struct trace {
	const struct load_spec *spec;
	struct names names;
	bool titled; /* there can be no titles any more */
	bool begun; /* there was a connection */
	tstamp base; /* what counts as the start */
	tstamp last; /* when the latest connection arrived */
	unsigned mistakes;
	struct text said; /* about them */
	struct lines lines;
};

/* --- mistakes ----------------------------------------------------------- */

/* What was wrong with the file as a whole begins so. */
static void
begin_mistake(struct trace *t)
{
	const char *file = t->spec->trace;

	if (strcmp(file, "-") == 0)
		file = "standard input";
	if (t->mistakes++ > 0)
		text_puts(&t->said, "\n");
	text_escaped(&t->said, file, strlen(file));
}

static void
begin_line_mistake(struct trace *t)
{
	begin_mistake(t);
	text_printf(&t->said, ":%ju: ", (uintmax_t)t->lines.number);
}

static void
quote(struct trace *t, const struct field *f)
{
	const size_t most = 40;

	text_puts(&t->said, "'");
	text_escaped(&t->said, f->at, f->len < most ? f->len : most);
	text_puts(&t->said, f->len < most ? "'" : "...'");
}

static void
bad_line(struct trace *t, const char *what)
{
	begin_line_mistake(t);
	text_printf(&t->said, "%s: write arrival,app,service time", what);
}

static bool
bad_time(struct trace *t, const struct field *f, const char *what)
{
	begin_line_mistake(t);
	quote(t, f);
	text_printf(&t->said,
	    " is not a time of %s: write seconds, as 12.25, "
	    "or a unit of ms, s, m, h or d behind it",
	    what);
	return false;
}

static bool
bad_order(struct trace *t, const struct field *f)
{
	begin_line_mistake(t);
	quote(t, f);
	text_puts(&t->said,
	    " is earlier than what stands before it: sort the file by time, "
	    "as sort -t, -k1,1n does");
	return false;
}

static bool
bad_app(struct trace *t, const struct field *f)
{
	const struct load_spec *spec = t->spec;
	const size_t most = 8;

	begin_line_mistake(t);
	if (f->len == 0) {
		text_puts(&t->said, "the app is missing");
	} else {
		text_puts(&t->said, "there is no app ");
		quote(t, f);
	}
	for (size_t i = 0; i < spec->apps_len && i < most; i++)
		text_printf(&t->said, "%s%s",
		    i == 0                        ? ": write "
			: i + 1 == spec->apps_len ? " or "
						  : ", ",
		    spec->apps[i].name);
	if (spec->apps_len > most)
		text_puts(&t->said, ", ...");
	return false;
}

/* --- connections -------------------------------------------------------- */

/* False: it is a mistake, which has been noted. */
static bool
read_fields(struct trace *t, const struct line *line, struct arrival *out)
{
	const struct field *app = &line->fields[LINE_APP];

	if (!field_time(&line->fields[LINE_ARRIVAL], &out->at))
		return bad_time(t, &line->fields[LINE_ARRIVAL], "arrival");
	if (app->len == 0 && t->spec->apps_len == 1)
		out->app = 0;
	else if (!names_find(&t->names, app->at, app->len, &out->app))
		return bad_app(t, app);
	if (!field_time(&line->fields[LINE_SERVICE], &out->service))
		return bad_time(t, &line->fields[LINE_SERVICE], "service");
	/* Logs count in milliseconds, and some work takes less. */
	if (out->service == 0)
		out->service = 1;
	return true;
}

static bool
read_connection(struct trace *t, const struct line *line, struct arrival *out)
{
	struct arrival got;

	if (line->count != LINE_FIELDS) {
		bad_line(t,
		    line->count < LINE_FIELDS ? "fields are missing"
					      : "too many fields");
		return false;
	}
	if (!read_fields(t, line, &got))
		return false;
	if (!t->begun && got.at >= TIMES_OF_DAY)
		t->base = t->last = got.at;
	t->begun = true;
	if (got.at < t->last)
		return bad_order(t, &line->fields[LINE_ARRIVAL]);
	t->last = got.at;
	got.at -= t->base;
	*out = got;
	return true;
}

/* What a spreadsheet puts before the first line. */
static void
skip_mark(const char **text, size_t *len)
{
	if (*len >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
		*text += 3;
		*len -= 3;
	}
}

/* The next connection; false: the end, or a mistake, which has been noted. */
static bool
next_connection(struct trace *t, struct arrival *out)
{
	const char *text;
	size_t len;

	for (;;) {
		struct line line;
		bool first = !t->titled;

		switch (lines_next(&t->lines, &text, &len)) {
		case LINES_END:
			return false;
		case LINES_TOO_LONG:
			bad_line(t, "this line is too long");
			return false;
		case LINES_LINE:
			break;
		}
		if (t->lines.number == 1)
			skip_mark(&text, &len);
		if (line_is_empty(text, len))
			continue;
		line_split(text, len, &line);
		t->titled = true;
		if (!first || !line_is_title(&line))
			return read_connection(t, &line, out);
	}
}

/* The end of the lines: whether that of the trace. */
static void
judge_end(struct trace *t)
{
	if (t->lines.error == 0 && t->begun)
		return;
	begin_mistake(t);
	text_puts(&t->said, ": ");
	text_puts(&t->said,
	    t->lines.error != 0
		? strerror(t->lines.error)
		: "no connection is in it: write lines of arrival,app,"
		  "service time");
}

static bool
at_end(const struct trace *t)
{
	return t->lines.ended && t->lines.from == t->lines.to;
}

/* After a first mistake. */
static void
look_for_more(struct trace *t)
{
	struct arrival ignored;

	for (unsigned n = 0; n < MISTAKE_LINES && !at_end(t); n++) {
		if (t->mistakes == MISTAKES_MAX) {
			begin_mistake(t);
			text_puts(&t->said, ": and so on");
			break;
		}
		(void)next_connection(t, &ignored);
	}
	text_put(&t->said, "", 1);
}

enum load_got
trace_next(struct trace *t, struct arrival *out)
{
	struct arrival got;

	if (t->mistakes > 0)
		return LOAD_MISTAKE;
	if (next_connection(t, &got)) {
		if (t->spec->length == 0 || got.at < t->spec->length) {
			*out = got;
			return LOAD_ARRIVAL;
		}
		lines_stop(&t->lines);
		return LOAD_END;
	}
	if (t->mistakes == 0)
		judge_end(t);
	if (t->mistakes == 0)
		return LOAD_END;
	look_for_more(t);
	return LOAD_MISTAKE;
}

const char *
trace_mistake(const struct trace *t)
{
	if (t->mistakes == 0)
		return NULL;
	return t->said.failed ? "the trace is wrong" : t->said.data;
}

double
trace_read(const struct trace *t)
{
	const struct lines *l = &t->lines;

	if (l->size == 0)
		return -1;
	/* It may have grown since. */
	return l->read < l->size ? (double)l->read / (double)l->size : 1;
}

struct trace *
trace_open(const struct load_spec *spec)
{
	struct trace *t = calloc(1, sizeof(*t));
	int error;

	if (t == NULL)
		return NULL;
	t->spec = spec;
	text_init(&t->said, 65536);
	if (lines_open(&t->lines, spec->trace) == 0 &&
	    names_init(&t->names, spec->apps, spec->apps_len) == 0)
		return t;
	error = errno;
	trace_close(t);
	errno = error;
	return NULL;
}

void
trace_close(struct trace *t)
{
	lines_close(&t->lines);
	names_fini(&t->names);
	text_fini(&t->said);
	free(t);
}
