/*
 * A trace of connections, a file of lines
 *
 *	arrival,app,service time
 *
 * both times bare seconds or with a unit of pool.conf(5), arrivals in order;
 * the app may be left empty if there is but one.  A first line of titles,
 * empty lines and those that begin with # say nothing.  Arrivals that are
 * times of day (seconds since 1970) count from the first of them.  The file is
 * read a line at a time, in bounded memory, whatever its size.
 *
 * At the first mistake a trace is of no use any more; what else is wrong in it
 * is looked for then, so that it can be put right in one go.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load.h"
#include "sim/result.h"
#include "sys/text.h"

#define LINE_LONGEST 1000

/* Mistakes that are told, and lines in which more are looked for. */
#define MISTAKES_MAX 10
#define MISTAKE_LINES 1000000

#define WRITE_TIME \
	": write seconds, as 12.25, or a unit of ms, s, m, h or d behind it"

/* Arrivals from this on are seconds since 1970 and not of the run: 1973. */
#define TIMES_OF_DAY TSPAN_SECONDS(100000000)

#define LATEST TSPAN_SECONDS(7258118400) /* the year 2200 */

enum trace_field {
	FIELD_ARRIVAL,
	FIELD_APP,
	FIELD_SERVICE,
	FIELDS
};

struct trace {
	const struct load_spec *spec;
	FILE *file;
	uint32_t last_app; /* the latest: mostly the next one's too */
	bool titled; /* there can be no titles any more */
	bool begun; /* there was a connection */
	bool over; /* what comes is past the length of the load */
	tstamp base; /* what counts as the start */
	tstamp last; /* when the latest connection arrived */
	unsigned mistakes;
	struct text said; /* about them */

	uint64_t number; /* of the line; 1: the first */
	const char *fields[FIELDS]; /* parts of the line */
	unsigned count; /* fields there are, be it more than these */
	char line[LINE_LONGEST + 3]; /* its end, and one more than fits */
};

const char *
trace_name(const char *file)
{
	return strcmp(file, "-") == 0 ? "standard input" : file;
}

struct trace *
trace_open(const struct load_spec *spec)
{
	bool standard = strcmp(spec->trace, "-") == 0;
	FILE *file = standard ? stdin : fopen(spec->trace, "re");
	struct trace *t;

	if (file == NULL)
		return NULL;
	t = result_alloc(1, sizeof(*t));
	t->spec = spec;
	t->file = file;
	text_init(&t->said, 65536);
	return t;
}

void
trace_close(struct trace *t)
{
	if (t->file != stdin)
		(void)fclose(t->file);
	text_fini(&t->said);
	free(t);
}

/* --- mistakes ----------------------------------------------------------- */

/* Begins a line about a mistake: in the file as a whole if `line` is 0. */
static void
trace_blame(struct trace *t, uint64_t line)
{
	const char *file = trace_name(t->spec->trace);

	if (t->mistakes++ > 0)
		text_puts(&t->said, "\n");
	text_escaped(&t->said, file, strlen(file));
	if (line > 0)
		text_printf(&t->said, ":%ju", (uintmax_t)line);
	text_puts(&t->said, ": ");
}

static void
trace_quote(struct trace *t, const char *field)
{
	const size_t most = 40;
	size_t len = strlen(field);

	text_puts(&t->said, "'");
	text_escaped(&t->said, field, len < most ? len : most);
	text_puts(&t->said, len < most ? "'" : "...'");
}

static enum load_got
bad_line(struct trace *t, const char *what)
{
	trace_blame(t, t->number);
	text_printf(&t->said, "%s: write arrival,app,service time", what);
	return LOAD_MISTAKE;
}

static enum load_got
bad_field(struct trace *t, enum trace_field field, const char *why)
{
	trace_blame(t, t->number);
	trace_quote(t, t->fields[field]);
	text_puts(&t->said, why);
	return LOAD_MISTAKE;
}

static enum load_got
bad_app(struct trace *t)
{
	const struct load_spec *spec = t->spec;
	const size_t most = 8;

	trace_blame(t, t->number);
	if (*t->fields[FIELD_APP] == '\0') {
		text_puts(&t->said, "the app is missing");
	} else {
		text_puts(&t->said, "there is no app ");
		trace_quote(t, t->fields[FIELD_APP]);
	}
	for (size_t i = 0; i < spec->apps_len && i < most; i++)
		text_printf(&t->said, "%s%s",
		    i == 0                        ? ": write "
			: i + 1 == spec->apps_len ? " or "
						  : ", ",
		    spec->apps[i].name);
	if (spec->apps_len > most)
		text_puts(&t->said, ", ...");
	return LOAD_MISTAKE;
}

/* --- fields ------------------------------------------------------------- */

/*
 * Seconds, or a number with a unit of pool.conf(5), without a sign, exponent
 * or anything else.  Times of day are too large for a double: the digits
 * before the point are exact, what is finer than a nanosecond is rounded.
 * False: it is none, or later than the year 2200.
 */
static bool
field_time(const char *field, tspan *out)
{
	static const struct {
		const char *name;
		tspan length;
	} units[] = {
		{ "", TSPAN_SECONDS(1) },
		{ "s", TSPAN_SECONDS(1) },
		{ "ms", TSPAN_MSECONDS(1) },
		{ "m", TSPAN_SECONDS(60) },
		{ "h", TSPAN_SECONDS(3600) },
		{ "d", TSPAN_SECONDS(86400) },
	};
	static const char digits[] = "0123456789";
	size_t whole = strspn(field, digits);
	size_t point = field[whole] == '.';
	size_t part = point ? strspn(field + whole + 1, digits) : 0;
	int64_t n = whole > 0 ? strtoll(field, NULL, 10) : 0;
	double rest = part > 0 ? strtod(field + whole, NULL) : 0;

	if (whole + part == 0 || whole > 12)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(field + whole + point + part, units[i].name) != 0)
			continue;
		if (n > LATEST / units[i].length)
			return false;
		*out = n * units[i].length +
		    (tspan)(rest * (double)units[i].length + 0.5);
		return true;
	}
	return false;
}

/* Finds the number of the app; false: there is no such. */
static bool
field_app(struct trace *t, const char *field, uint32_t *out)
{
	uint32_t len = (uint32_t)t->spec->apps_len;

	if (*field == '\0' && len == 1) {
		*out = 0;
		return true;
	}
	for (uint32_t i = 0; i < len; i++) {
		uint32_t app = (t->last_app + i) % len;

		if (strcmp(t->spec->apps[app].name, field) != 0)
			continue;
		*out = t->last_app = app;
		return true;
	}
	return false;
}

/* Cuts off blanks, and quotes, around the text. */
static char *
field_trimmed(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]) != NULL)
		*--end = '\0';
	if (end - text < 2 || *text != '"' || end[-1] != '"')
		return text;
	end[-1] = '\0';
	return text + 1;
}

/* --- connections -------------------------------------------------------- */

static enum load_got
trace_read(struct trace *t, struct arrival *out)
{
	const char *const *fields = t->fields;
	struct arrival got;

	if (t->count < FIELDS)
		return bad_line(t, "fields are missing");
	if (t->count > FIELDS)
		return bad_line(t, "too many fields");
	if (!field_time(fields[FIELD_ARRIVAL], &got.at))
		return bad_field(
		    t, FIELD_ARRIVAL, " is not a time of arrival" WRITE_TIME);
	if (!field_app(t, fields[FIELD_APP], &got.app))
		return bad_app(t);
	if (!field_time(fields[FIELD_SERVICE], &got.service))
		return bad_field(
		    t, FIELD_SERVICE, " is not a time of service" WRITE_TIME);
	/* Logs count in milliseconds, and some work takes less. */
	if (got.service == 0)
		got.service = 1;
	if (!t->begun && got.at >= TIMES_OF_DAY)
		t->base = t->last = got.at;
	t->begun = true;
	if (got.at < t->last)
		return bad_field(t, FIELD_ARRIVAL,
		    " is earlier than what stands before it: sort the file by "
		    "time, as sort -t, -k1,1n does");
	t->last = got.at;
	got.at -= t->base;
	*out = got;
	return LOAD_ARRIVAL;
}

/*
 * Reads the next line that says something, and cuts it up.  False: there is
 * none, or a mistake in a line, which *out tells.
 */
static bool
trace_line(struct trace *t, enum load_got *out)
{
	char *line, *comma;
	bool nul = false;
	size_t len;
	int c = 0;

	do {
		*out = LOAD_END;
		if (fgets(t->line, sizeof(t->line), t->file) == NULL)
			return false;
		t->number++;
		line = t->line;
		len = strlen(line);
		if (len > 0 && line[len - 1] == '\n')
			line[--len] = '\0';
		else if (len > LINE_LONGEST)
			while (c != '\n' && c != EOF)
				c = getc(t->file);
		else if (!feof(t->file))
			nul = true;
		if (nul || len > LINE_LONGEST) {
			*out = bad_line(t,
			    nul ? "a NUL is in this line"
				: "this line is too long");
			return false;
		}
		/* A spreadsheet puts the mark of UTF-8 before it all. */
		if (t->number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
			line += 3;
		line += strspn(line, " \t\r");
	} while (*line == '\0' || *line == '#');
	for (t->count = 0; line != NULL; line = comma) {
		comma = strchr(line, ',');
		if (comma != NULL)
			*comma++ = '\0';
		if (t->count++ < FIELDS)
			t->fields[t->count - 1] = field_trimmed(line);
	}
	return true;
}

/* Gives the next connection; a mistake has been noted. */
static enum load_got
trace_row(struct trace *t, struct arrival *out)
{
	enum load_got got;
	bool titles;

	do {
		if (!trace_line(t, &got))
			return got;
		/* The first line may have titles. */
		titles = !t->titled && t->count == FIELDS &&
		    isalpha((unsigned char)*t->fields[FIELD_ARRIVAL]) &&
		    isalpha((unsigned char)*t->fields[FIELD_SERVICE]);
		t->titled = true;
	} while (titles);
	return trace_read(t, out);
}

enum load_got
trace_next(struct trace *t, struct arrival *out)
{
	struct arrival got = { 0 };
	enum load_got what;

	if (t->mistakes > 0)
		return LOAD_MISTAKE;
	if (t->over)
		return LOAD_END;
	errno = 0;
	what = trace_row(t, &got);
	t->over = what == LOAD_ARRIVAL && t->spec->length != 0 &&
	    got.at >= t->spec->length;
	if (t->over)
		return LOAD_END;
	if (what == LOAD_ARRIVAL)
		*out = got;
	if (what == LOAD_ARRIVAL ||
	    (what == LOAD_END && t->begun && !ferror(t->file)))
		return what;

	if (what == LOAD_END) {
		const char *why = ferror(t->file)
		    ? strerror(errno)
		    : "no connection is in it: write lines of "
		      "arrival,app,service time";

		trace_blame(t, 0);
		text_puts(&t->said, why);
	}
	for (unsigned n = 0; n < MISTAKE_LINES && what != LOAD_END &&
	     t->mistakes < MISTAKES_MAX;
	     n++)
		what = trace_row(t, &got);
	if (t->mistakes == MISTAKES_MAX && what != LOAD_END &&
	    getc(t->file) != EOF) {
		trace_blame(t, 0);
		text_puts(&t->said, "and so on");
	}
	text_put(&t->said, "", 1);
	return LOAD_MISTAKE;
}

const char *
trace_mistake(const struct trace *t)
{
	if (t->mistakes == 0)
		return NULL;
	return t->said.failed ? "the trace is wrong" : t->said.data;
}
