/*
 * Loads: connections in the order of their arrival, each for one app and with
 * the time that a worker needs for it.
 *
 * A load is drawn at random: the arrivals of all apps are one Poisson process
 * whose rate follows the profile, each arrival being of an app by chance.
 * Service times are independent of it and of each other.
 *
 * Or it is brought by clients in a closed loop, as load generators and front
 * ends with a pool of connections are: each connects, waits until it was
 * served, thinks, and connects again. The slower the app, the fewer come.
 *
 * Or it was recorded in a trace, a file as apppoolctl(8) has it, which is read
 * a line at a time, in bounded memory. Arrivals that are times of day (seconds
 * since 1970) count from the first of them.
 */

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "sim/simulate.h"
#include "sys/text.h"

/* Longer than any simulation; the sum of many is still a time. */
#define SERVICE_LONGEST TSPAN_SECONDS(365 * 86400)

#define TWO_PI 6.283185307179586

#define LINE_LONGEST 1000

/* Mistakes that are told, and lines in which more are looked for. */
#define MISTAKES_MAX 10
#define MISTAKE_LINES 1000000

#define WRITE_LINE ": write arrival,app,service time"
#define WRITE_TIME \
	": write seconds, as 12.25, or a unit of ms, s, m, h or d behind it"

/* Arrivals from this on are seconds since 1970 and not of the run: 1973. */
#define TIMES_OF_DAY TSPAN_SECONDS(100000000)

#define LATEST TSPAN_SECONDS(7258118400) /* the year 2200 */

/*
 * A profile, cut into parts in which the rate runs straight: these can be
 * integrated and the integral inverted, so that every random number that is
 * drawn is an arrival. Rates are multiples of the mean, times are seconds.
 */
struct curve {
	const struct profile *profile;
	double run; /* length of the run */
	double period; /* of the profile; the parts are those of one period */
	struct prng prng; /* when bursts come */
	uint64_t periods; /* begun */
	unsigned next; /* part of this period */
	double edges[4]; /* of the parts of this period, if it has a burst */
	/* The present part. */
	double start; /* since the start of the run */
	double length;
	double from; /* the rate at its start */
	double slope; /* by which the rate changes in a second */
	double holds; /* work of the mean rate, in seconds of it */
	double held; /* of that, what is over */
};

enum trace_field {
	FIELD_ARRIVAL,
	FIELD_APP,
	FIELD_SERVICE,
	FIELDS
};

struct load_source {
	const struct load_spec *spec;
	/* The arrival that load_look() has seen, of a load without clients. */
	enum load_got got;
	struct arrival next;
	bool looked;
	/* When clients that think connect: numbers that those who do leave. */
	struct deadlines clients;
	uint32_t *app_of; /* a number */
	uint32_t *left; /* numbers, nleft of them */
	uint32_t nleft;
	/* Of a trace: */
	FILE *file; /* NULL: there is none */
	bool titled; /* there can be no titles any more */
	bool begun; /* there was a connection */
	tstamp base; /* what counts as the start */
	tstamp last; /* when the latest connection arrived */
	unsigned mistakes;
	struct text said; /* about them */
	uint64_t number; /* of the line; 1: the first */
	const char *fields[FIELDS]; /* parts of the line */
	unsigned count; /* fields there are, be it more than these */
	char line[LINE_LONGEST + 3]; /* its end, and one more than fits */
	/* Random numbers are drawn apart: new services change no arrival. */
	struct prng arrivals;
	struct prng services;
	struct prng choices; /* of the app */
	struct prng thoughts; /* of clients */
	double rate; /* of all apps, on average */
	double *shares; /* of `rate`: of each app and all before it */
	struct curve curve;
};

/* --- the rate over time ------------------------------------------------- */

/* A number over 0, at most 1: good for a logarithm. */
static double
draw_share(struct prng *r)
{
	return (double)((prng_next(r) >> 11) + 1) * 0x1p-53;
}

/* Sets the part that begins and ends at these times of the period. */
static void
curve_set(struct curve *c, double begin, double end, double from, double to)
{
	c->start = (double)(c->periods - 1) * c->period + begin;
	c->length = end - begin;
	c->from = from;
	/* A part without length has no slope. */
	c->slope = to < from || to > from ? (to - from) / c->length : 0;
	c->holds = (c->from + c->slope * c->length / 2) * c->length;
	c->held = 0;
}

/* Moves to the next part; the last may lie after the end of the run. */
static void
curve_next(struct curve *c)
{
	static const unsigned parts[] = {
		[PROFILE_STEADY] = 1,
		[PROFILE_BURST] = 3,
		[PROFILE_DAY] = 24,
		[PROFILE_RAMP] = 2,
	};
	/* The rate at the start of each hour of the day; their mean is 1. */
	static const double day[24] = {
		0.50, 0.34, 0.21, 0.15, 0.12, 0.15, 0.30, 0.57, /* night */
		1.00, 1.40, 1.70, 1.80, 1.58, 1.38, 1.35, 1.33, /* at work */
		1.26, 1.20, 1.25, 1.48, 1.70, 1.45, 1.05, 0.73, /* evening */
	};
	const struct profile *p = c->profile;
	const double length = tspan_to_seconds(p->burst);
	const unsigned part = c->next;
	double rate;

	if (part == 0)
		c->periods++;
	c->next = (part + 1) % parts[p->kind];
	switch (p->kind) {
	case PROFILE_STEADY:
		curve_set(c, 0, c->period, 1, 1);
		break;
	case PROFILE_BURST:
		rate = c->period / (c->period + (p->factor - 1) * length);
		if (part == 0) {
			c->edges[1] =
			    (c->period - length) * draw_share(&c->prng);
			c->edges[2] = c->edges[1] + length;
			c->edges[3] = c->period;
		} else if (part == 1) {
			rate *= p->factor;
		}
		curve_set(c, c->edges[part], c->edges[part + 1], rate, rate);
		break;
	case PROFILE_DAY:
		curve_set(c, c->period * part / 24, c->period * (part + 1) / 24,
		    day[part], day[(part + 1) % 24]);
		break;
	case PROFILE_RAMP:
		curve_set(c, c->period * part / 2, c->period * (part + 1) / 2,
		    2.0 * part, 2.0 - 2.0 * part);
		break;
	}
}

/* --- service times ------------------------------------------------------ */

/* A service time at random, at least 1 ns unless the mean is 0. */
static tspan
draw_service(const struct service *s, struct prng *r)
{
	double t = 0, radius;

	switch (s->kind) {
	case SERVICE_FIXED:
		return s->mean;
	case SERVICE_EXPONENTIAL:
		t = (double)s->mean * -log(draw_share(r));
		break;
	case SERVICE_LOGNORMAL:
		/* Box and Muller; their second normal number is not kept. */
		radius = sqrt(-2 * log(draw_share(r)));
		t = (double)s->mean *
		    exp(-s->sigma * s->sigma / 2 +
			s->sigma * (radius * cos(TWO_PI * draw_share(r))));
		break;
	case SERVICE_UNIFORM:
		t = (double)s->mean +
		    (double)(s->other - s->mean) * draw_share(r);
		break;
	case SERVICE_BIMODAL:
		return draw_share(r) <= s->share ? s->other : s->mean;
	}
	if (t >= (double)SERVICE_LONGEST)
		return SERVICE_LONGEST;
	return t < 1 ? 1 : (tspan)t;
}

tspan
load_service_mean(const struct service *s)
{
	double rare = s->share * (double)s->other;

	if (s->kind == SERVICE_UNIFORM)
		return s->mean + (s->other - s->mean) / 2;
	if (s->kind == SERVICE_BIMODAL)
		return (tspan)((1 - s->share) * (double)s->mean + rare);
	return s->mean;
}

/* --- a line of a trace -------------------------------------------------- */

const char *
load_trace_name(const char *file)
{
	return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* Notes a mistake of this line, or 0: the file; a field, if any, in quotes. */
static enum load_got
trace_blame(struct load_source *l, const char *before, const char *field,
    const char *behind)
{
	const char *file = load_trace_name(l->spec->trace);
	const size_t most = 40;
	size_t len;

	text_puts(&l->said, l->mistakes++ > 0 ? "\n" : "");
	text_escaped(&l->said, file, strlen(file));
	if (l->number > 0)
		text_printf(&l->said, ":%ju", (uintmax_t)l->number);
	text_puts(&l->said, ": ");
	text_puts(&l->said, before);
	if (field != NULL) {
		len = strlen(field);
		text_puts(&l->said, "'");
		text_escaped(&l->said, field, len < most ? len : most);
		text_puts(&l->said, len < most ? "'" : "...'");
	}
	text_puts(&l->said, behind);
	return LOAD_MISTAKE;
}

/* Finds the number of the app of a line. False: a mistake, which is noted. */
static bool
field_app(struct load_source *l, uint32_t *out)
{
	const char *field = l->fields[FIELD_APP];
	const struct load_spec *spec = l->spec;
	uint32_t len = (uint32_t)spec->apps_len;
	const size_t most = 8;

	for (*out = 0; *out < len; ++*out)
		if (strcmp(spec->apps[*out].name, field) == 0 ||
		    (*field == '\0' && len == 1))
			return true;
	(void)trace_blame(l,
	    *field == '\0' ? "the app is missing" : "there is no app ",
	    *field == '\0' ? NULL : field, "");
	for (size_t i = 0; i < len && i < most; i++)
		text_printf(&l->said, "%s%s",
		    i == 0             ? ": write "
			: i + 1 == len ? " or "
				       : ", ",
		    spec->apps[i].name);
	if (len > most)
		text_puts(&l->said, ", ...");
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

/* Cuts up the next line that says something, and notes a mistake in it. */
static enum load_got
trace_line(struct load_source *l)
{
	char *line, *part;
	size_t len;
	int c;

	do {
		if (fgets(l->line, sizeof(l->line), l->file) == NULL)
			return LOAD_END;
		l->number++;
		line = l->line;
		len = strlen(line);
		c = len > 0 && line[len - 1] == '\n' ? '\n' : '\0';
		if (c == '\n')
			line[--len] = '\0';
		else if (len <= LINE_LONGEST && !feof(l->file))
			return trace_blame(
			    l, "a NUL is in this line" WRITE_LINE, NULL, "");
		while (len > LINE_LONGEST && c != '\n' && c != EOF)
			c = getc(l->file);
		if (len > LINE_LONGEST)
			return trace_blame(
			    l, "this line is too long" WRITE_LINE, NULL, "");
		/* A spreadsheet puts the mark of UTF-8 before it all. */
		if (l->number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
			line += 3;
		line += strspn(line, " \t\r");
	} while (*line == '\0' || *line == '#');
	for (l->count = 0; (part = strsep(&line, ",")) != NULL; l->count++)
		if (l->count < FIELDS)
			l->fields[l->count] = field_trimmed(part);
	return LOAD_ARRIVAL;
}

/* Gives the next connection, which may be past the end of the load. */
static enum load_got
trace_row(struct load_source *l, struct arrival *out)
{
	const char *const *fields = l->fields;
	enum load_got line;
	bool titles;

	do {
		line = trace_line(l);
		if (line != LOAD_ARRIVAL)
			return line;
		/* The first line may have titles. */
		titles = !l->titled && l->count == FIELDS &&
		    isalpha((unsigned char)*fields[FIELD_ARRIVAL]) &&
		    isalpha((unsigned char)*fields[FIELD_SERVICE]);
		l->titled = true;
	} while (titles);
	if (l->count != FIELDS)
		return trace_blame(l,
		    l->count < FIELDS ? "fields are missing" WRITE_LINE
				      : "too many fields" WRITE_LINE,
		    NULL, "");
	if (!conf_parse_time(fields[FIELD_ARRIVAL], LATEST, &out->at))
		return trace_blame(l, "", fields[FIELD_ARRIVAL],
		    " is not a time of arrival" WRITE_TIME);
	if (!field_app(l, &out->app))
		return LOAD_MISTAKE;
	if (!conf_parse_time(fields[FIELD_SERVICE], LATEST, &out->service))
		return trace_blame(l, "", fields[FIELD_SERVICE],
		    " is not a time of service" WRITE_TIME);
	/* Logs count in milliseconds, and some work takes less. */
	if (out->service == 0)
		out->service = 1;
	if (!l->begun && out->at >= TIMES_OF_DAY)
		l->base = l->last = out->at;
	l->begun = true;
	if (out->at < l->last)
		return trace_blame(l, "", fields[FIELD_ARRIVAL],
		    " is earlier than what stands before it: sort the file by "
		    "time, as sort -t, -k1,1n does");
	l->last = out->at;
	out->at -= l->base;
	return LOAD_ARRIVAL;
}

/*
 * At the first mistake a trace is of no use any more; what else is wrong in it
 * is looked for then, so that it can be put right in one go.
 */
static enum load_got
trace_next(struct load_source *l, struct arrival *out)
{
	const tspan length = l->spec->length;
	enum load_got what;

	errno = 0;
	what = trace_row(l, out);
	if (what == LOAD_ARRIVAL)
		return length != 0 && out->at >= length ? LOAD_END : what;
	if (what == LOAD_END && l->begun && !ferror(l->file))
		return what;
	for (unsigned n = 0; n < MISTAKE_LINES && what != LOAD_END &&
	     l->mistakes < MISTAKES_MAX;
	     n++)
		what = trace_row(l, out);
	l->number = 0;
	if (l->mistakes == 0)
		(void)trace_blame(l,
		    ferror(l->file) ? strerror(errno)
				    : "no connection is in it: write lines of "
				      "arrival,app,service time",
		    NULL, "");
	else if (what != LOAD_END && l->mistakes == MISTAKES_MAX &&
	    getc(l->file) != EOF)
		(void)trace_blame(l, "and so on", NULL, "");
	text_put(&l->said, "", 1);
	return LOAD_MISTAKE;
}

/* --- the load ----------------------------------------------------------- */

/* A client of the app, which is not connected, will be then. */
static void
load_put_client(struct load_source *l, uint32_t app, tstamp at)
{
	uint32_t number = l->left[--l->nleft];

	l->app_of[number] = app;
	deadlines_set(&l->clients, number, at);
}

/* The first come spread over one time of thinking and service. */
static void
load_add_clients(struct load_source *l)
{
	const struct load_spec *spec = l->spec;
	uint32_t n = 0;

	for (size_t app = 0; app < spec->apps_len; app++)
		n += spec->apps[app].clients;
	result_deadlines(&l->clients, n);
	l->app_of = result_alloc(n, sizeof(*l->app_of));
	l->left = result_alloc(n, sizeof(*l->left));
	while (n > 0)
		l->left[l->nleft++] = --n;
	for (uint32_t app = 0; app < spec->apps_len; app++) {
		const struct load_app *a = &spec->apps[app];
		tspan round = load_service_mean(&a->think) +
		    load_service_mean(&a->service);

		for (uint32_t i = 0; i < a->clients; i++)
			load_put_client(l, app,
			    (tstamp)(draw_share(&l->thoughts) * (double)round));
	}
}

struct load_source *
load_open(const struct load_spec *spec)
{
	const struct profile *p = &spec->profile;
	struct prng seeds = { .state = spec->seed };
	struct load_source *l;
	struct curve *c;
	FILE *file = NULL;

	if (spec->trace != NULL) {
		file = strcmp(spec->trace, "-") == 0 ? stdin
						     : fopen(spec->trace, "re");
		if (file == NULL)
			return NULL;
	}
	l = result_alloc(1, sizeof(*l));
	l->spec = spec;
	l->file = file;
	text_init(&l->said, 65536);
	if (file != NULL)
		return l;
	if (spec->closed) {
		l->services.state = prng_next(&seeds);
		l->thoughts.state = prng_next(&seeds);
		load_add_clients(l);
		return l;
	}
	assert(spec->length > 0);
	assert(p->kind != PROFILE_BURST ||
	    (p->burst < p->period && p->factor >= 1));
	l->arrivals.state = prng_next(&seeds);
	l->services.state = prng_next(&seeds);
	l->choices.state = prng_next(&seeds);
	/* The curve stands before its first part. */
	c = &l->curve;
	c->profile = p;
	c->prng.state = prng_next(&seeds);
	c->run = tspan_to_seconds(spec->length);
	c->period = p->period == 0 ? c->run : tspan_to_seconds(p->period);
	l->shares = result_alloc(spec->apps_len, sizeof(*l->shares));
	for (size_t i = 0; i < spec->apps_len; i++) {
		l->rate += spec->apps[i].rate;
		l->shares[i] = l->rate;
	}
	return l;
}

void
load_close(struct load_source *l)
{
	if (l->file != NULL && l->file != stdin)
		(void)fclose(l->file);
	text_fini(&l->said);
	result_deadlines_fini(&l->clients);
	free(l->app_of);
	free(l->left);
	free(l->shares);
	free(l);
}

const char *
load_mistake(const struct load_source *l)
{
	return l->said.failed ? "the trace is wrong" : l->said.data;
}

static enum load_got
load_draw(struct load_source *l, struct arrival *out)
{
	uint32_t low = 0, high = (uint32_t)l->spec->apps_len - 1;
	struct curve *c = &l->curve;
	double gap, point, root, time;
	tstamp at;

	if (l->file != NULL)
		return trace_next(l, out);
	if (!(l->rate > 0))
		return LOAD_END;
	/* The rate's integral grows by an exponential number each time. */
	gap = -log(draw_share(&l->arrivals)) / l->rate;
	while (gap >= c->holds - c->held && c->start < c->run) {
		gap -= c->holds - c->held;
		curve_next(c);
	}
	c->held += gap;
	/*
	 * The time of the part with from * time + slope * time^2 / 2 = held,
	 * without a difference of equals.
	 */
	if (c->slope < 0 || c->slope > 0) {
		root = c->from * c->from + 2 * c->slope * c->held;
		root = c->from + (root > 0 ? sqrt(root) : 0);
		time = root > 0 ? 2 * c->held / root : 0;
		time = time < c->length ? time : c->length;
	} else {
		time = c->held / c->from;
	}
	at = (tstamp)((c->start < c->run ? c->start + time : c->run) * 1e9);
	if (at >= l->spec->length)
		return LOAD_END;
	/* The app whose share of the rate has this point in it. */
	point = draw_share(&l->choices) * l->rate;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (point <= l->shares[middle])
			high = middle;
		else
			low = middle + 1;
	}
	out->at = at;
	out->app = low;
	out->service = draw_service(&l->spec->apps[low].service, &l->services);
	return LOAD_ARRIVAL;
}

enum load_got
load_look(struct load_source *l, tstamp *at_out)
{
	uint32_t number;

	/* Clients may come sooner than it seemed before the last event. */
	if (l->spec->closed) {
		*at_out = deadlines_first(&l->clients, &number);
		return LOAD_ARRIVAL;
	}
	if (!l->looked)
		l->got = load_draw(l, &l->next);
	l->looked = true;
	if (l->got == LOAD_ARRIVAL)
		*at_out = l->next.at;
	return l->got;
}

struct arrival
load_take(struct load_source *l)
{
	struct arrival a = l->next;
	uint32_t number;

	l->looked = false;
	if (!l->spec->closed)
		return a;
	a.at = deadlines_first(&l->clients, &number);
	deadlines_set(&l->clients, number, TSTAMP_NEVER);
	l->left[l->nleft++] = number;
	a.app = l->app_of[number];
	a.service = draw_service(&l->spec->apps[a.app].service, &l->services);
	return a;
}

void
load_left(struct load_source *l, uint32_t app, bool served, tstamp now)
{
	tspan think, least = served ? 0 : LOAD_RETRY;

	if (!l->spec->closed)
		return;
	think = draw_service(&l->spec->apps[app].think, &l->thoughts);
	load_put_client(l, app, tstamp_add(now, think > least ? think : least));
}
