/* apppoolctl simulate, from its first word to its exit status. */

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

/* Tells why the file is of no use; gives that exit status. */
static int
simulate_bad_file(const char *file, int status)
{
	(void)fprintf(
	    stderr, "apppoolctl: simulate: %s: %s\n", file, strerror(errno));
	return status;
}

/* --- a run -------------------------------------------------------------- */

/*
 * Our rules on the load.  Gives an exit status; result_fini() is the caller's
 * in any case.
 */
static int
simulate_run(
    const struct simulation *s, const struct conf *conf, struct result *out)
{
	const struct engine_options o = {
		.start_time = s->start_time,
		.exit_time = EXIT_TIME,
	};
	struct manager *m = pool_driver_new(conf, s->load.seed);
	struct load *load = load_open(&s->load);
	int status = EX_OK;

	result_init(out, s->load.apps_len);
	if (load == NULL) {
		status = simulate_bad_file(s->load.trace, EX_NOINPUT);
	} else if (engine_run(&o, load, m, out) == -1) {
		(void)fprintf(stderr, "%s\n", load_mistake(load));
		status = EX_DATAERR;
	}
	load_close(load);
	m->ops->fini(m);
	return status;
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

/* Plays the load with n processes. 0, or an exit status. */
static int
search_try(const struct search *s, uint32_t n, bool *out)
{
	struct conf *conf = s->conf;
	struct conf_app *app = &conf->apps[s->app];
	unsigned ceiling = conf->max_processes;
	unsigned min = app->pool.min_processes, max = app->pool.max_processes;
	struct result r;
	int status;

	conf->max_processes = search_ceiling(s, n);
	if (n > max)
		app->pool.max_processes = n;
	if (s->ready)
		app->pool.min_processes = n;
	status = simulate_run(s->simulation, conf, &r);
	conf->max_processes = ceiling;
	app->pool.min_processes = min;
	app->pool.max_processes = max;
	if (status == 0)
		*out = verdict_fits(&r.apps[s->app]);
	result_fini(&r);
	return status;
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
static int
search_smallest(
    const struct search *s, uint32_t low, uint32_t high, uint32_t *out)
{
	bool good = false, enough;
	int status = 0;

	*out = 0;
	for (unsigned i = 0; i < DOUBLINGS && !good; i++) {
		if (i > 0) {
			low = high;
			high = search_bounded(2.0 * high);
		}
		if (high <= low)
			return 0;
		status = search_try(s, high, &good);
		if (status != 0)
			return status;
	}
	while (good && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		status = search_try(s, middle, &enough);
		if (status != 0)
			return status;
		*(enough ? &high : &low) = middle;
	}
	if (good)
		*out = high;
	return 0;
}

/*
 * The smallest max_processes that would do, where those there are do not, by
 * playing the load again; and if none does, with so many min_processes, too.
 */
static int
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
	int status;

	if (high <= v->allowed)
		high = search_bounded(v->allowed + 1.0);
	v->tried = true;
	status = search_smallest(&s, v->allowed, high, &n);
	if (status == 0 && n == 0) {
		s.ready = true;
		status = search_smallest(&s, 0, high, &n);
	}
	if (status != 0 || n == 0)
		return status;
	if (s.ready)
		v->min_processes = n;
	if (n > conf->apps[app].pool.max_processes)
		v->max_processes = n;
	v->ceiling = search_ceiling(&s, n);
	if (v->ceiling == conf->max_processes)
		v->ceiling = 0;
	return 0;
}

/* Also sets how many processes there may be at most. */
static int
simulate_judge(struct conf *conf, const struct simulation *s, struct result *r,
    struct verdict *out)
{
	/* Standard input cannot be played again. */
	bool once = s->load.trace != NULL && strcmp(s->load.trace, "-") == 0;
	int status = EX_OK;
	uint32_t sum = 0;

	for (size_t i = 0; i < conf->apps_len && status == EX_OK; i++) {
		verdict_judge(conf, &s->load, r, i, &out[i]);
		r->apps[i].max_processes = out[i].allowed;
		sum += out[i].allowed;
		if (out[i].kind > VERDICT_FITS && !once)
			status = search_remedy(s, conf, i, &out[i]);
	}
	r->total.max_processes =
	    sum < conf->max_processes ? sum : conf->max_processes;
	return status;
}

/* --- the command -------------------------------------------------------- */

/*
 * A picture of all apps, and if there are several, one of each beside it:
 * "day-web.svg" of the app "web" beside "day.svg".
 */
static int
simulate_draw(
    const char *file, const struct simulation *s, const struct result *r)
{
	const char *dot = strrchr(file, '.');
	size_t len = dot == NULL || strchr(dot, '/') != NULL
	    ? strlen(file)
	    : (size_t)(dot - file);
	size_t pictures = r->apps_len > 1 ? 1 + r->apps_len : 1;
	int status = EX_OK;

	for (size_t i = 0; i < pictures; i++) {
		size_t app = i == 0 ? r->apps_len : i - 1;
		char *name;
		FILE *out;
		bool good;

		if (asprintf(&name, "%.*s%s%s%s", (int)len, file,
			i == 0 ? "" : "-", i == 0 ? "" : r->apps[app].name,
			file + len) == -1)
			err(EX_OSERR, "simulate");
		out = fopen(name, "we");
		good = out != NULL && picture_put(s, r, app, out) == 0;
		if (out != NULL)
			good = fclose(out) == 0 && good;
		if (!good)
			status = simulate_bad_file(name, EX_CANTCREAT);
		free(name);
	}
	return status;
}

/* Our rules on the load, and what came of it. */
static int
simulate_and_show(
    const struct simulate_options *o, struct conf *conf, struct simulation *s)
{
	struct verdict *verdicts =
	    result_alloc(conf->apps_len, sizeof(*verdicts));
	struct result r;
	int status = simulate_run(s, conf, &r);

	if (status == EX_OK)
		status = simulate_judge(conf, s, &r, verdicts);
	s->verdicts = verdicts;
	if (status == EX_OK && !o->json)
		view_text(s, &r, stdout);
	else if (status == EX_OK)
		view_json(s, &r, stdout);
	if (status == EX_OK && o->svg != NULL)
		status = simulate_draw(o->svg, s, &r);
	result_fini(&r);
	free(verdicts);
	return status;
}

static struct conf *
simulate_conf(const char *file)
{
	struct conf_report report;
	struct conf *conf;

	conf_report_init(&report);
	conf = conf_load(file, CONF_INSIDE, NULL, &report);
	for (size_t i = 0; i < report.mistakes_len; i++)
		(void)fprintf(stderr, "%s\n", report.mistakes[i]);
	conf_report_fini(&report);
	if (conf == NULL || conf->apps_len > 0)
		return conf;
	(void)fprintf(stderr, "%s: there is no app in it to simulate\n", file);
	conf_free(conf);
	return NULL;
}

static int
simulate(const struct simulate_options *o)
{
	struct simulation s = { .start_time = o->start_time };
	struct conf *conf = simulate_conf(o->file);
	struct load_app *apps;
	int status;

	if (conf == NULL)
		return EX_CONFIG;
	s.config = conf->file;
	apps = result_alloc(conf->apps_len, sizeof(*apps));
	status = options_load(o, conf, apps, &s.load);
	if (status == EX_OK)
		status = simulate_and_show(o, conf, &s);
	free(apps);
	conf_free(conf);
	/* The reason of an earlier failed write is not known any more. */
	errno = EIO;
	if (status != EX_OK || (fflush(stdout) == 0 && !ferror(stdout)))
		return status;
	perror("apppoolctl: standard output");
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
	int status = options_parse(&o, argc, argv);

	if (status == EX_OK && o.help)
		simulate_help();
	else if (status == EX_OK && o.version)
		(void)puts("apppoolctl " APPPOOL_VERSION);
	else if (status == EX_OK)
		status = simulate(&o);
	free(o.typed);
	return status;
}
