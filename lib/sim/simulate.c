/* apppoolctl simulate, from its first word to its exit status. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "sim/engine.h"
#include "sim/pool_driver.h"
#include "sim/simulate.h"
#include "sim/simulate_options.h"
#include "sim/terminal.h"
#include "sim/view.h"

/* From the end of a worker to its place being free. */
#define EXIT_TIME TSPAN_MSECONDS(5)

/* Tells why the file is of no use; gives that exit status. */
static int
bad_file(const char *file, int status)
{
	(void)fprintf(
	    stderr, "apppoolctl: simulate: %s: %s\n", file, strerror(errno));
	return status;
}

static int
no_memory(void)
{
	perror("apppoolctl: simulate");
	return EX_OSERR;
}

/* --- a run -------------------------------------------------------------- */

static void
show_progress(void *arg, tstamp at)
{
	terminal_bar(arg, at);
}

/* Gives an exit status. */
static int
play(const struct simulation *s, struct load *load, struct manager *m,
    struct result *out)
{
	struct terminal_bar bar = {
		.name = m->name,
		.length = s->load.length,
		.load = load,
	};
	const struct engine_options o = {
		.start_time = s->start_time,
		.exit_time = EXIT_TIME,
		.progress = show_progress,
		.progress_arg = &bar,
	};
	int rc = engine_run(&o, load, m, out);

	terminal_bar_end(&bar);
	if (rc == 0)
		return EX_OK;
	if (errno != 0)
		return no_memory();
	(void)fprintf(stderr, "%s\n", load_mistake(load));
	return EX_DATAERR;
}

/*
 * Gives an exit status.  m: NULL and errno; else it is undone.  *out: zeroes;
 * result_fini() is the caller's in any case.
 */
static int
run(const struct simulation *s, struct manager *m, struct result *out)
{
	struct load *load;
	int status;

	if (m == NULL)
		return no_memory();
	load = load_open(&s->load);
	if (load == NULL && s->load.trace != NULL)
		status = bad_file(s->load.trace, EX_NOINPUT);
	else if (load == NULL || result_init(out, s->load.apps_len) == -1)
		status = no_memory();
	else
		status = play(s, load, m, out);
	load_close(load);
	m->ops->fini(m);
	return status;
}

/* --- the verdicts ------------------------------------------------------- */

struct replay {
	const struct simulate_options *options;
	const struct conf *conf;
	const struct simulation *simulation;
};

/* The same load again, with what the configuration has now. */
static int
replay(void *arg, uint32_t max_processes, struct result *out)
{
	const struct replay *p = arg;
	struct manager *m = pool_driver_new(p->conf, p->options->seed);
	char name[40];

	(void)snprintf(name, sizeof(name), "max_processes = %u", max_processes);
	if (m != NULL)
		m->name = name;
	return run(p->simulation, m, out);
}

/* Sets how many processes there may be at most. */
static void
note_limits(const struct conf *conf, struct result *r)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < conf->apps_len; i++) {
		r->apps[i].max_processes = verdict_allowed(conf, i);
		sum += r->apps[i].max_processes;
	}
	r->total.max_processes =
	    sum < conf->max_processes ? sum : conf->max_processes;
}

/* Standard input cannot be played again. */
static int
judge(const struct simulate_options *o, struct conf *conf,
    const struct simulation *s, const struct result *r, struct verdict *out)
{
	struct replay p = { .options = o, .conf = conf, .simulation = s };
	const struct verdict_trial t = { conf, replay, &p };
	bool once = o->trace != NULL && strcmp(o->trace, "-") == 0;
	int status = EX_OK;

	for (size_t i = 0; i < conf->apps_len && status == EX_OK; i++) {
		verdict_judge(conf, &s->load, r, i, &out[i]);
		if (out[i].kind > VERDICT_FITS && !once)
			status = verdict_try(&t, i, &out[i]);
	}
	return status;
}

/* --- the command -------------------------------------------------------- */

/* "day.svg" of the app "web" is "day-web.svg".  free() is the caller's. */
static char *
picture_of(const char *file, const char *app)
{
	const char *dot = strrchr(file, '.');
	size_t len = dot == NULL || strchr(dot, '/') != NULL
	    ? strlen(file)
	    : (size_t)(dot - file);
	char *name;

	if (asprintf(&name, "%.*s-%s%s", (int)len, file, app, file + len) == -1)
		return NULL;
	return name;
}

/* A picture, and if there are several apps, one of each. */
static int
draw(const char *file, const struct simulation *s, const struct result *r)
{
	int status = EX_OK;

	if (view_svg(s, r, r->apps_len, file) == -1)
		return bad_file(file, EX_CANTCREAT);
	for (size_t i = 0; r->apps_len > 1 && i < r->apps_len; i++) {
		char *name = picture_of(file, r->apps[i].name);

		if (name == NULL)
			return no_memory();
		if (view_svg(s, r, i, name) == -1)
			status = bad_file(name, EX_CANTCREAT);
		free(name);
	}
	return status;
}

static int
show(const struct simulate_options *o, const struct simulation *s,
    const struct result *r)
{
	if (!o->json)
		view_text(s, r, stdout);
	else if (view_json(s, r, stdout) == -1)
		return no_memory();
	return o->svg == NULL ? EX_OK : draw(o->svg, s, r);
}

static int
run_and_show(
    const struct simulate_options *o, struct conf *conf, struct simulation *s)
{
	struct verdict *verdicts = calloc(conf->apps_len, sizeof(*verdicts));
	struct result r = { 0 };
	int status;

	if (verdicts == NULL)
		return no_memory();
	status = run(s, pool_driver_new(conf, o->seed), &r);
	if (status == EX_OK) {
		note_limits(conf, &r);
		status = judge(o, conf, s, &r, verdicts);
		s->verdicts = verdicts;
	}
	if (status == EX_OK)
		status = show(o, s, &r);
	result_fini(&r);
	free(verdicts);
	return status;
}

static struct conf *
load_conf(const char *file)
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
	struct conf *conf = load_conf(o->file);
	struct load_app *apps;
	int status;

	if (conf == NULL)
		return EX_CONFIG;
	s.config = conf->file;
	apps = calloc(conf->apps_len, sizeof(*apps));
	status = apps == NULL ? no_memory()
			      : simulate_options_load(o, conf, apps, &s.load);
	if (status == EX_OK)
		status = run_and_show(o, conf, &s);
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
put_help(void)
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
	int status = simulate_options_parse(&o, argc, argv);

	if (status == EX_OK && o.help)
		put_help();
	else if (status == EX_OK && o.version)
		(void)puts("apppoolctl " APPPOOL_VERSION);
	else if (status == EX_OK)
		status = simulate(&o);
	simulate_options_fini(&o);
	return status;
}
