/*
 * apppoolctl simulate, from its first word to its exit status.  What is wrong
 * with its options and files ends the program at once.
 */

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "sim/engine.h"
#include "sim/simulate.h"

/* From the end of a worker to its place being free. */
#define EXIT_TIME TSPAN_MSECONDS(5)

/* Trials with twice as many each, before more processes are no answer. */
#define DOUBLINGS 5

/* Our rules on the load; result_fini() is the caller's. */
static void
simulate_run(
    const struct simulation *s, const struct conf *conf, struct result *out)
{
	const struct engine_options o = {
		.start_time = s->start_time,
		.exit_time = EXIT_TIME,
	};
	struct manager *m = pool_driver_new(conf, s->load.seed);
	struct load *load = load_open(&s->load);

	if (load == NULL)
		err(EX_NOINPUT, "simulate: %s", s->load.trace);
	result_init(out, s->load.apps_len);
	if (engine_run(&o, load, m, out) == -1) {
		(void)fprintf(stderr, "%s\n", load_mistake(load));
		exit(EX_DATAERR);
	}
	load_close(load);
	m->ops->fini(m);
}

/* --- the verdicts ------------------------------------------------------- */

static bool
verdict_fits(const struct result_app *r)
{
	return result_refusals(r) == 0 && r->unfinished == 0 &&
	    histogram_share(&r->wait, 0.99) <= VERDICT_WAIT;
}

/* So many processes the app may have, by the ceiling over all apps, too. */
static uint32_t
verdict_allowed(const struct conf *conf, size_t app)
{
	unsigned max = conf->apps[app].pool.max_processes;

	return max < conf->max_processes ? max : conf->max_processes;
}

/* Without trying other numbers. */
static void
verdict_judge(const struct conf *conf, const struct load_spec *load,
    const struct result *r, size_t app, struct verdict *out)
{
	const struct load_app *l = &load->apps[app];
	const struct result_app *a = &r->apps[app];
	double busy = r->length > 0 ? a->work / (double)r->length : 0;
	double service, think;

	/* Clients who wait bring less than they would if nobody waited. */
	if (l->clients > 0) {
		service = (double)load_service_mean(&l->service);
		think = (double)load_service_mean(&l->think);
		busy = l->clients * service / (service + think);
	}
	*out = (struct verdict){
		.needed = busy / conf->apps[app].pool.concurrency,
		.allowed = verdict_allowed(conf, app),
	};
	if (a->arrived == 0)
		out->kind = VERDICT_IDLE;
	else if (verdict_fits(a))
		out->kind = VERDICT_FITS;
	else if (out->needed >= out->allowed)
		out->kind = VERDICT_OVERLOADED;
	else
		out->kind = VERDICT_SHORT;
}

struct search {
	const struct simulation *simulation;
	struct conf *conf; /* as before when a trial is over */
	size_t app;
	uint32_t allowed; /* too few */
	bool ready; /* all processes are there from the start */
};

/* Processes over all apps, so that the others keep theirs. */
static uint32_t
search_ceiling(const struct search *s, uint32_t n)
{
	const struct conf *conf = s->conf;
	uint32_t most = n, least = s->ready ? n : 0;
	uint32_t more = conf->max_processes + n - s->allowed;

	for (size_t i = 0; i < conf->apps_len; i++) {
		if (i == s->app)
			continue;
		most += conf->apps[i].pool.max_processes;
		least += conf->apps[i].pool.min_processes;
	}
	if (most > more)
		most = more;
	if (least > most)
		most = least;
	return most > conf->max_processes ? most : conf->max_processes;
}

/* Whether n processes would do. */
static bool
search_try(const struct search *s, uint32_t n)
{
	struct conf *conf = s->conf;
	struct conf_app *app = &conf->apps[s->app];
	unsigned ceiling = conf->max_processes;
	unsigned min = app->pool.min_processes, max = app->pool.max_processes;
	struct result r;
	bool fits;

	conf->max_processes = search_ceiling(s, n);
	if (n > max)
		app->pool.max_processes = n;
	if (s->ready)
		app->pool.min_processes = n;
	simulate_run(s->simulation, conf, &r);
	conf->max_processes = ceiling;
	app->pool.min_processes = min;
	app->pool.max_processes = max;
	fits = verdict_fits(&r.apps[s->app]);
	result_fini(&r);
	return fits;
}

static uint32_t
search_bounded(double n)
{
	return n < CONF_PROCESSES_MAX ? (uint32_t)n : CONF_PROCESSES_MAX;
}

/*
 * Between a number that is too small and one that is not, the smallest; 0 if
 * none of those tried is enough.
 */
static uint32_t
search_smallest(const struct search *s, uint32_t low, uint32_t high)
{
	bool good = high > low && search_try(s, high);

	for (unsigned i = 1; i < DOUBLINGS && !good && high > low; i++) {
		low = high;
		high = search_bounded(2.0 * high);
		good = high > low && search_try(s, high);
	}
	while (good && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		*(search_try(s, middle) ? &high : &low) = middle;
	}
	return good ? high : 0;
}

/*
 * The smallest max_processes that would do, where those there are do not, by
 * playing the load again; and if none does, with so many min_processes, too.
 */
static void
search_remedy(const struct simulation *of, struct conf *conf, size_t app,
    struct verdict *v)
{
	struct search s = {
		.simulation = of,
		.conf = conf,
		.app = app,
		.allowed = v->allowed,
	};
	uint32_t high = search_bounded(ceil(v->needed) + 1), n;

	if (high <= v->allowed)
		high = search_bounded(v->allowed + 1.0);
	v->tried = true;
	n = search_smallest(&s, v->allowed, high);
	if (n == 0) {
		s.ready = true;
		n = search_smallest(&s, 0, high);
		v->min_processes = n;
	}
	if (n == 0)
		return;
	if (n > conf->apps[app].pool.max_processes)
		v->max_processes = n;
	v->ceiling = search_ceiling(&s, n);
	if (v->ceiling == conf->max_processes)
		v->ceiling = 0;
}

/* Also sets how many processes there may be at most. */
static void
simulate_judge(struct conf *conf, const struct simulation *s, struct result *r,
    struct verdict *out)
{
	/* Standard input cannot be played again. */
	bool once = s->load.trace != NULL && strcmp(s->load.trace, "-") == 0;
	uint32_t sum = 0;

	for (size_t i = 0; i < conf->apps_len; i++) {
		verdict_judge(conf, &s->load, r, i, &out[i]);
		r->apps[i].max_processes = out[i].allowed;
		sum += out[i].allowed;
		if (out[i].kind > VERDICT_FITS && !once)
			search_remedy(s, conf, i, &out[i]);
	}
	r->total.max_processes =
	    sum < conf->max_processes ? sum : conf->max_processes;
}

/* --- the command -------------------------------------------------------- */

/*
 * A picture of all apps, and if there are several, one of each beside it:
 * "day-web.svg" of the app "web" beside "day.svg".
 */
static void
simulate_draw(
    const char *file, const struct simulation *s, const struct result *r)
{
	const char *dot = strrchr(file, '.');
	size_t len = dot == NULL || strchr(dot, '/') != NULL
	    ? strlen(file)
	    : (size_t)(dot - file);
	size_t pictures = r->apps_len > 1 ? 1 + r->apps_len : 1;

	for (size_t i = 0; i < pictures; i++) {
		size_t app = i == 0 ? r->apps_len : i - 1;
		char *name;
		FILE *out;

		if (asprintf(&name, "%.*s%s%s%s", (int)len, file,
			i == 0 ? "" : "-", i == 0 ? "" : r->apps[app].name,
			file + len) == -1)
			err(EX_OSERR, "simulate");
		out = fopen(name, "we");
		if (out == NULL || picture_put(s, r, app, out) == -1 ||
		    fclose(out) != 0)
			err(EX_CANTCREAT, "simulate: %s", name);
		free(name);
	}
}

static struct conf *
simulate_conf(const char *file)
{
	struct conf_report report;
	struct conf *conf;

	conf = conf_load(file, CONF_INSIDE, NULL, &report);
	for (size_t i = 0; i < report.mistakes_len; i++)
		(void)fprintf(stderr, "%s\n", report.mistakes[i]);
	conf_report_fini(&report);
	if (conf != NULL && conf->apps_len == 0)
		(void)fprintf(
		    stderr, "%s: there is no app in it to simulate\n", file);
	if (conf == NULL || conf->apps_len == 0)
		exit(EX_CONFIG);
	return conf;
}

/* Our rules on the load, and what came of it. */
static int
simulate(const struct simulate_options *o)
{
	struct conf *conf = simulate_conf(o->file);
	struct load_app *apps = result_alloc(conf->apps_len, sizeof(*apps));
	struct verdict *verdicts =
	    result_alloc(conf->apps_len, sizeof(*verdicts));
	struct simulation s = {
		.config = conf->file,
		.start_time = o->start_time,
		.verdicts = verdicts,
	};
	struct result r;

	options_load(o, conf, apps, &s.load);
	simulate_run(&s, conf, &r);
	simulate_judge(conf, &s, &r, verdicts);
	if (o->json)
		view_json(&s, &r, stdout);
	else
		view_text(&s, &r, stdout);
	if (o->svg != NULL)
		simulate_draw(o->svg, &s, &r);
	result_fini(&r);
	free(verdicts);
	free(apps);
	conf_free(conf);
	/* The reason of an earlier failed write is not known any more. */
	errno = EIO;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EX_OK;
	warn("standard output");
	return EX_IOERR;
}

static void
simulate_help(void)
{
	(void)fputs(
	    "usage: apppoolctl simulate [OPTION...]\n"
	    "\n"
	    "Plays the pools of a configuration in virtual time: no daemon "
	    "is needed.\n"
	    "\n"
	    "  -c FILE                  the configuration "
	    "(" CONF_DEFAULT_FILE ")\n"
	    "  --clients [APP=]NUMBER   so many, who come again when "
	    "served\n"
	    "  --for TIME               how long connections come\n"
	    "  -h, --help               show this\n"
	    "  -j                       answer in JSON\n"
	    "  --profile PROFILE        steady, burst, day or ramp\n"
	    "  --rate [APP=]RATE        connections per second\n"
	    "  --seed NUMBER            of all that is random\n"
	    "  --service [APP=]SERVICE  how long a process needs for one\n"
	    "  --start-time TIME        until a new process is ready\n"
	    "  --svg FILE               draw a picture, of each app, too\n"
	    "  --think [APP=]SERVICE    how long such a client thinks\n"
	    "  --trace FILE             connections that were recorded\n"
	    "  -V, --version            show the version\n"
	    "\n"
	    "See apppoolctl(8).\n",
	    stdout);
}

int
simulate_main(int argc, char **argv)
{
	struct simulate_options o;
	int status = EX_OK;

	options_parse(&o, argc, argv);
	if (o.help)
		simulate_help();
	else if (o.version)
		(void)puts("apppoolctl " APPPOOL_VERSION);
	else
		status = simulate(&o);
	free(o.typed);
	return status;
}
