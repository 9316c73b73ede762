/*
 * A trace of connections.  At the first mistake it is of no use any more;
 * what else is wrong in it is looked for then, so that it can be put right in
 * one go.
 */

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/csv.h"
#include "sim/trace.h"
#include "sys/text.h"

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
};

struct trace {
	const struct load_spec *spec;
	uint32_t *sorted; /* numbers of the apps, in the order of their names */
	uint32_t last_app; /* the latest: mostly the next one's too */
	bool titled; /* there can be no titles any more */
	bool begun; /* there was a connection */
	tstamp base; /* what counts as the start */
	tstamp last; /* when the latest connection arrived */
	unsigned mistakes;
	struct text said; /* about them */
	struct csv csv;
};

const char *
trace_name(const char *file)
{
	return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* --- mistakes ----------------------------------------------------------- */

/* Begins the line about a mistake in the file as a whole. */
static void
begin_mistake(struct trace *t)
{
	const char *file = trace_name(t->spec->trace);

	if (t->mistakes++ > 0)
		text_puts(&t->said, "\n");
	text_escaped(&t->said, file, strlen(file));
}

static void
begin_line_mistake(struct trace *t)
{
	begin_mistake(t);
	text_printf(&t->said, ":%ju: ", (uintmax_t)t->csv.line);
}

static void
quote(struct trace *t, const struct csv_field *f)
{
	const size_t most = 40;

	text_puts(&t->said, "'");
	text_escaped(&t->said, f->at, f->len < most ? f->len : most);
	text_puts(&t->said, f->len < most ? "'" : "...'");
}

static enum load_got
bad_line(struct trace *t, const char *what)
{
	begin_line_mistake(t);
	text_printf(&t->said, "%s: write arrival,app,service time", what);
	return LOAD_MISTAKE;
}

static enum load_got
bad_field(struct trace *t, enum trace_field field, const char *why)
{
	begin_line_mistake(t);
	quote(t, &t->csv.fields[field]);
	text_puts(&t->said, why);
	return LOAD_MISTAKE;
}

static enum load_got
bad_app(struct trace *t)
{
	const struct load_spec *spec = t->spec;
	const size_t most = 8;

	begin_line_mistake(t);
	if (t->csv.fields[FIELD_APP].len == 0) {
		text_puts(&t->said, "the app is missing");
	} else {
		text_puts(&t->said, "there is no app ");
		quote(t, &t->csv.fields[FIELD_APP]);
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

/* --- times -------------------------------------------------------------- */

/* The length of a unit of time; 0: there is no such. */
static tspan
unit_length(const char *name, size_t len)
{
	static const struct {
		const char *name;
		tspan length;
	} units[] = {
		{ "s", TSPAN_SECONDS(1) },
		{ "ms", TSPAN_MSECONDS(1) },
		{ "m", TSPAN_SECONDS(60) },
		{ "h", TSPAN_SECONDS(3600) },
		{ "d", TSPAN_SECONDS(86400) },
	};

	if (len == 0)
		return TSPAN_SECONDS(1);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len &&
		    memcmp(units[i].name, name, len) == 0)
			return units[i].length;
	return 0;
}

/* Reads all digits there are; their number is in *n_out. */
static int64_t
take_digits(const char **at, const char *end, unsigned *n_out)
{
	int64_t value = 0;

	for (*n_out = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		/* More digits are too many before a point, too fine after it.
		 */
		if (*n_out < 12)
			value = value * 10 + (**at - '0');
		(*n_out)++;
	}
	return value;
}

/*
 * Seconds, or a number with a unit of pool.conf(5), without a sign, exponent
 * or anything else.  Times of day are too large for a double: the digits
 * before the point are exact, what is finer than a nanosecond is rounded.
 * False: it is none, or later than the year 2200.
 */
static bool
read_time(const struct csv_field *f, tspan *out)
{
	static const double tenths[] = { 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6,
		1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12 };
	const char *at = f->at, *end = f->at + f->len;
	unsigned digits, places = 0;
	int64_t whole = take_digits(&at, end, &digits);
	int64_t part = 0;
	tspan unit;

	if (at < end && *at == '.') {
		at++;
		part = take_digits(&at, end, &places);
	}
	unit = unit_length(at, (size_t)(end - at));
	if (digits + places == 0 || digits > 12 || unit == 0 ||
	    whole > LATEST / unit)
		return false;
	if (places > 12)
		places = 12;
	*out = whole * unit +
	    (tspan)((double)part * tenths[places] * (double)unit + 0.5);
	return true;
}

/* --- apps --------------------------------------------------------------- */

static int
order_of(const void *a, const void *b, void *arg)
{
	const struct load_app *apps = ((const struct trace *)arg)->spec->apps;

	return strcmp(
	    apps[*(const uint32_t *)a].name, apps[*(const uint32_t *)b].name);
}

struct wanted {
	const struct csv_field *name;
	const struct load_app *apps;
};

/* Orders the wanted name and that of an app as strcmp() does. */
static int
compare(const void *key, const void *number)
{
	const struct wanted *w = key;
	const char *name = w->apps[*(const uint32_t *)number].name;
	int order = strncmp(w->name->at, name, w->name->len);

	return order != 0 ? order : name[w->name->len] == '\0' ? 0 : -1;
}

/* Finds the number of the app; false: there is no such. */
static bool
find_app(struct trace *t, const struct csv_field *f, uint32_t *out)
{
	const struct wanted w = { .name = f, .apps = t->spec->apps };
	const uint32_t *found = &t->last_app;

	if (f->len == 0 && t->spec->apps_len == 1) {
		*out = 0;
		return true;
	}
	/* A NUL would pass for the end of both. */
	if (memchr(f->at, '\0', f->len) != NULL)
		return false;
	if (compare(&w, found) != 0)
		found = bsearch(&w, t->sorted, t->spec->apps_len,
		    sizeof(*t->sorted), compare);
	if (found == NULL)
		return false;
	*out = t->last_app = *found;
	return true;
}

/* --- connections -------------------------------------------------------- */

/* The first line may have titles. */
static bool
is_title(const struct csv *c)
{
	const struct csv_field *arrival = &c->fields[FIELD_ARRIVAL];
	const struct csv_field *service = &c->fields[FIELD_SERVICE];

	return c->count == CSV_FIELDS && arrival->len > 0 &&
	    isalpha((unsigned char)*arrival->at) && service->len > 0 &&
	    isalpha((unsigned char)*service->at);
}

static enum load_got
read_row(struct trace *t, struct arrival *out)
{
	const struct csv_field *fields = t->csv.fields;
	struct arrival got;

	if (t->csv.count < CSV_FIELDS)
		return bad_line(t, "fields are missing");
	if (t->csv.count > CSV_FIELDS)
		return bad_line(t, "too many fields");
	if (!read_time(&fields[FIELD_ARRIVAL], &got.at))
		return bad_field(
		    t, FIELD_ARRIVAL, " is not a time of arrival" WRITE_TIME);
	if (!find_app(t, &fields[FIELD_APP], &got.app))
		return bad_app(t);
	if (!read_time(&fields[FIELD_SERVICE], &got.service))
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

/* Gives the next connection; a mistake has been noted. */
static enum load_got
next_row(struct trace *t, struct arrival *out)
{
	for (;;) {
		bool first = !t->titled;

		switch (csv_next(&t->csv)) {
		case CSV_END:
			return LOAD_END;
		case CSV_TOO_LONG:
			return bad_line(t, "this line is too long");
		case CSV_ROW:
			break;
		}
		t->titled = true;
		if (!first || !is_title(&t->csv))
			return read_row(t, out);
	}
}

/* The rows have ended: as a trace should, or by a mistake. */
static enum load_got
judge_end(struct trace *t)
{
	if (t->csv.error == 0 && t->begun)
		return LOAD_END;
	begin_mistake(t);
	text_puts(&t->said, ": ");
	text_puts(&t->said,
	    t->csv.error != 0
		? strerror(t->csv.error)
		: "no connection is in it: write lines of arrival,app,"
		  "service time");
	return LOAD_MISTAKE;
}

/* Looks for more mistakes after the first. */
static void
look_for_more(struct trace *t)
{
	struct arrival ignored;

	for (unsigned n = 0; n < MISTAKE_LINES && !csv_is_over(&t->csv); n++) {
		if (t->mistakes == MISTAKES_MAX) {
			begin_mistake(t);
			text_puts(&t->said, ": and so on");
			break;
		}
		(void)next_row(t, &ignored);
	}
	text_put(&t->said, "", 1);
}

enum load_got
trace_next(struct trace *t, struct arrival *out)
{
	struct arrival got = { 0 };
	enum load_got what;

	if (t->mistakes > 0)
		return LOAD_MISTAKE;
	what = next_row(t, &got);
	if (what == LOAD_END)
		what = judge_end(t);
	if (what == LOAD_MISTAKE)
		look_for_more(t);
	if (what != LOAD_ARRIVAL)
		return what;
	if (t->spec->length != 0 && got.at >= t->spec->length) {
		csv_stop(&t->csv);
		return LOAD_END;
	}
	*out = got;
	return LOAD_ARRIVAL;
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
	const struct csv *c = &t->csv;

	if (c->size == 0)
		return -1;
	/* The file may have grown since. */
	return c->read < c->size ? (double)c->read / (double)c->size : 1;
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
	t->sorted = reallocarray(NULL, spec->apps_len, sizeof(*t->sorted));
	if (csv_open(&t->csv, spec->trace) == -1 || t->sorted == NULL) {
		error = t->sorted == NULL ? ENOMEM : errno;
		trace_close(t);
		errno = error;
		return NULL;
	}
	for (size_t i = 0; i < spec->apps_len; i++)
		t->sorted[i] = (uint32_t)i;
	qsort_r(t->sorted, spec->apps_len, sizeof(*t->sorted), order_of, t);
	return t;
}

void
trace_close(struct trace *t)
{
	csv_close(&t->csv);
	free(t->sorted);
	text_fini(&t->said);
	free(t);
}
