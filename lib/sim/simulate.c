/* apppoolctl simulate, from its first word to its exit status. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "sim/compare.h"
#include "sim/pool_driver.h"
#include "sim/simulate.h"
#include "sim/simulate_options.h"
#include "sim/view.h"

/* From the end of a process to its place being free. */
#define EXIT_TIME TSPAN_MSECONDS(5)

/* --- one run ------------------------------------------------------------ */

int
simulate_no_memory(void)
{
	perror("apppoolctl: simulate");
	return EX_OSERR;
}

static void
simulate_progress(void *arg, tstamp at)
{
	view_progress(arg, at);
}

/* Gives an exit status; load and *out are there. */
static int
simulate_load(const struct simulation *s, struct load *load, struct manager *m,
    struct result *out)
{
	struct view_progress progress = {
		.name = m->name,
		.length = s->load.length,
		.load = load,
	};
	const struct engine_options o = {
		.start_time = s->start_time,
		.exit_time = EXIT_TIME,
		.length = s->load.length,
		.progress = simulate_progress,
		.progress_arg = &progress,
	};
	int rc = engine_run(&o, load, s->names, m, out);

	view_progress_end(&progress);
	if (rc == 0)
		return EX_OK;
	if (errno != 0)
		return simulate_no_memory();
	(void)fprintf(stderr, "%s\n", load_mistake(load));
	return EX_DATAERR;
}

int
simulate_run(const struct simulation *s, struct manager *m, struct result *out)
{
	struct load *load = load_open(&s->load);
	int status;

	if (load == NULL && s->load.trace != NULL) {
		(void)fprintf(stderr, "apppoolctl: simulate: %s: %s\n",
		    s->load.trace, strerror(errno));
		return EX_NOINPUT;
	}
	if (load == NULL)
		return simulate_no_memory();
	if (result_init(out, s->conf->apps_len) == -1) {
		load_close(load);
		return simulate_no_memory();
	}
	status = simulate_load(s, load, m, out);
	load_close(load);
	if (status != EX_OK)
		result_fini(out);
	return status;
}

/* --- the command -------------------------------------------------------- */

static int
simulate_ours(const struct simulation *s)
{
	struct manager *m = pool_driver_new(s->conf, s->load.seed);
	static struct result r;
	int status;

	if (m == NULL)
		return simulate_no_memory();
	status = simulate_run(s, m, &r);
	m->ops->fini(m);
	if (status != EX_OK)
		return status;
	if (!s->json)
		view_text(s, &r, stdout);
	else if (view_json(s, &r, stdout) == -1)
		status = simulate_no_memory();
	if (s->svg != NULL && view_svg(s, &r, s->svg) == -1) {
		(void)fprintf(stderr, "apppoolctl: simulate: %s: %s\n", s->svg,
		    strerror(errno));
		status = EX_CANTCREAT;
	}
	result_fini(&r);
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
	return conf;
}

static int
simulate_with(const struct simulate_options *o, const struct conf *conf,
    struct load_app *apps, const char **names)
{
	const struct simulation s = {
		.conf = conf,
		.names = names,
		.load = {
			.apps = apps,
			.apps_len = conf->apps_len,
			.profile = o->profile,
			.length = simulate_length(o),
			.seed = o->seed,
			.trace = o->trace,
		},
		.start_time = o->start_time,
		.json = o->json,
		.svg = o->svg,
	};
	int status = simulate_apps(o, conf, apps);

	if (status != EX_OK)
		return status;
	for (size_t i = 0; i < conf->apps_len; i++)
		names[i] = apps[i].name;
	status = o->compare ? compare_main(&s) : simulate_ours(&s);
	/* Of what was not written before, nobody has kept the reason. */
	errno = EIO;
	if (status != EX_OK || (fflush(stdout) == 0 && !ferror(stdout)))
		return status;
	perror("apppoolctl: standard output");
	return EX_IOERR;
}

static int
simulate_file(const struct simulate_options *o)
{
	struct conf *conf = simulate_conf(o->file);
	struct load_app *apps;
	const char **names;
	int status;

	if (conf == NULL)
		return EX_CONFIG;
	if (conf->apps_len == 0) {
		(void)fprintf(
		    stderr, "%s: there is no app in it to simulate\n", o->file);
		conf_free(conf);
		return EX_CONFIG;
	}
	apps = calloc(conf->apps_len, sizeof(*apps));
	names = calloc(conf->apps_len, sizeof(*names));
	status = apps == NULL || names == NULL
	    ? simulate_no_memory()
	    : simulate_with(o, conf, apps, names);
	free(names);
	free(apps);
	conf_free(conf);
	return status;
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
	    "  --compare                the same load through the rules of "
	    "others\n"
	    "  --for TIME               how long connections come\n"
	    "  -h, --help               show this\n"
	    "  -j                       answer in JSON\n"
	    "  --profile PROFILE        steady, burst, day or ramp\n"
	    "  --rate [APP=]RATE        connections per second\n"
	    "  --seed NUMBER            of all that is random\n"
	    "  --service [APP=]SERVICE  how long a process needs for one\n"
	    "  --start-time TIME        until a new process is ready\n"
	    "  --svg FILE               draw a picture\n"
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
		simulate_help();
	else if (status == EX_OK && o.version)
		(void)puts("apppoolctl " APPPOOL_VERSION);
	else if (status == EX_OK)
		status = simulate_file(&o);
	simulate_options_fini(&o);
	return status;
}
