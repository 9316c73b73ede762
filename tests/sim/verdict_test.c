/* The verdict on an app, by runs of our own core. */

#include "sim/pool_driver.h"
#include "sim/verdict.h"
#include "sim_help.h"

/* Connections of 50 ms each to an app of so many processes. */
struct shape {
	double rate;
	tspan start_time;
	const char *file; /* the configuration */
};

static struct load_app load_apps[2];
static struct load_spec spec;
static struct engine_options options;
static unsigned plays;

static int
play(void *arg, uint32_t max_processes, struct result *out)
{
	(void)max_processes;
	plays++;
	return help_run_load(pool_driver_new(arg, 1), &spec, &options, out)
	    ? 0
	    : -1;
}

/* The sentence on the first app. */
static const char *
verdict(const struct shape *s, struct verdict *v)
{
	static char *text;
	struct conf_report report;
	struct verdict_trial t = { .play = play };
	struct result r;
	size_t len;
	FILE *out;

	conf_write("pool.conf", s->file);
	conf_report_init(&report);
	t.conf = conf_load(in_folder("pool.conf"), CONF_INSIDE, NULL, &report);
	conf_report_fini(&report);
	t.arg = t.conf;
	for (size_t i = 0; i < 2; i++)
		load_apps[i] = (struct load_app){ .name = i == 0 ? "a" : "b",
			.rate = i == 0 ? s->rate : 10,
			.service = { .kind = SERVICE_FIXED, .mean = MS(50) } };
	spec = (struct load_spec){ .apps = load_apps,
		.apps_len = t.conf->apps_len,
		.length = TSPAN_SECONDS(600),
		.seed = 1 };
	options = (struct engine_options){
		.start_time = s->start_time,
		.exit_time = MS(5),
	};
	plays = 0;
	CHECK_EQ(0, play(t.conf, 0, &r));
	verdict_judge(t.conf, &spec, &r, 0, v);
	if (v->kind > VERDICT_FITS)
		CHECK_EQ(0, verdict_try(&t, 0, v));
	free(text);
	out = open_memstream(&text, &len);
	verdict_put(v, &r.apps[0], out);
	(void)fclose(out);
	result_fini(&r);
	conf_free(t.conf);
	return text;
}

static void
too_few_processes_are_overloaded_and_enough_are_named(void)
{
	const struct shape s = { 200, MS(200), APP("max_processes = 4") };
	struct verdict v;
	const char *text = verdict(&s, &v);

	CHECK_EQ(VERDICT_OVERLOADED, v.kind);
	CHECK_EQ(4, v.allowed);
	CHECK(v.max_processes > 10 && v.max_processes < 20);
	CHECK_EQ(0, v.ceiling);
	if (!CHECK(strstr(text,
		       "overloaded: 9.99 busy processes needed, 4 "
		       "allowed; max_processes = ") == text))
		fprintf(stderr, "%s\n", text);
	CHECK(strstr(text, " would keep p99 under 100ms") != NULL);
	CHECK(plays < 15);
}

static void
the_number_that_is_named_fits_and_one_less_does_not(void)
{
	struct shape s = { 200, MS(200), APP("max_processes = 4") };
	struct verdict v;
	uint32_t enough;
	char file[200];

	(void)verdict(&s, &v);
	enough = v.max_processes;
	s.file = file;
	(void)snprintf(file, sizeof(file), APP("max_processes = %u"), enough);
	(void)verdict(&s, &v);
	CHECK_EQ(VERDICT_FITS, v.kind);
	CHECK_EQ(1, plays);
	(void)snprintf(
	    file, sizeof(file), APP("max_processes = %u"), enough - 1);
	(void)verdict(&s, &v);
	CHECK(v.kind > VERDICT_FITS);
	CHECK_EQ(enough, v.max_processes);
}

static void
a_low_ceiling_over_all_apps_is_to_be_raised_too(void)
{
	const struct shape s = { 300, MS(200),
		"max_processes = 10\n" APP("max_processes = 40") };
	struct verdict v;
	const char *text = verdict(&s, &v);

	CHECK_EQ(10, v.allowed);
	CHECK_EQ(0, v.max_processes);
	CHECK(v.ceiling > 15 && v.ceiling < 25);
	CHECK(strstr(text, " over all apps would keep") != NULL);
}

static void
other_apps_keep_their_places(void)
{
	const struct shape s = { 300, MS(200),
		"max_processes = 20\n" APP(
		    "max_processes = 10") "app \"b\" { listen = \"127.0.0.1:1\" command = \"/bin/true\" "
					  "max_processes = 10 }\n" };
	struct verdict v;
	const char *text = verdict(&s, &v);

	CHECK(v.max_processes > 15 && v.max_processes < 25);
	CHECK_EQ(v.max_processes + 10, v.ceiling);
	CHECK(strstr(text, " over all apps, would keep") != NULL);
}

static void
where_starts_take_too_long_processes_have_to_be_there_before(void)
{
	const struct shape s = { 200, TSPAN_SECONDS(30),
		APP("max_processes = 4") };
	struct verdict v;
	const char *text = verdict(&s, &v);

	CHECK(v.min_processes > 10 && v.min_processes < 20);
	CHECK_EQ(v.min_processes, v.max_processes);
	CHECK(strstr(text, "; min_processes = max_processes = 1") != NULL);
}

/* The minima of all apps must be there at once, although the maxima need not.
 */
static void
processes_that_are_there_before_have_places_beside_the_minima(void)
{
	const struct shape s = {
		200, TSPAN_SECONDS(30),
		"max_processes = 16\n" APP(
		    "max_processes = 15") "app \"b\" { listen = \"127.0.0.1:1\" command = \"/bin/true\" "
					  "min_processes = 8 max_processes = 8 }\n"
	};
	struct verdict v;

	(void)verdict(&s, &v);
	CHECK(v.min_processes > 10 && v.min_processes < 20);
	CHECK_EQ(v.min_processes + 8, v.ceiling);
}

static void
enough_processes_fit(void)
{
	const struct shape s = { 50, MS(200), APP("max_processes = 12") };
	struct verdict v;

	CHECK_STR("fits: 2.5 busy processes needed on average, 12 allowed; "
		  "p99 waits 0",
	    verdict(&s, &v));
}

static void
an_app_without_connections_is_idle(void)
{
	const struct shape s = { 0, MS(200), APP("") };
	struct verdict v;

	CHECK_STR("idle: no connection came", verdict(&s, &v));
}

static void
clients_who_wait_need_what_they_would_bring_otherwise(void)
{
	struct conf conf = { .max_processes = 64 };
	struct conf_app app = { .pool.max_processes = 4,
		.pool.concurrency = 1 };
	struct load_app load = { .name = "a",
		.clients = 20,
		.think = { .kind = SERVICE_FIXED, .mean = MS(50) },
		.service = { .kind = SERVICE_FIXED, .mean = MS(50) } };
	const struct load_spec closed = { .apps = &load, .apps_len = 1 };
	struct result r;
	struct verdict v;

	conf.apps = &app;
	conf.apps_len = 1;
	CHECK_EQ(0, result_init(&r, 1));
	r.apps[0].arrived = 10;
	for (unsigned i = 0; i < 10; i++)
		histogram_add(&r.apps[0].wait, MS(150));
	verdict_judge(&conf, &closed, &r, 0, &v);
	CHECK_EQ(VERDICT_OVERLOADED, v.kind);
	CHECK_NEAR(10, v.needed);
	result_fini(&r);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	conf_folder_make();
	RUN(too_few_processes_are_overloaded_and_enough_are_named);
	RUN(the_number_that_is_named_fits_and_one_less_does_not);
	RUN(a_low_ceiling_over_all_apps_is_to_be_raised_too);
	RUN(other_apps_keep_their_places);
	RUN(where_starts_take_too_long_processes_have_to_be_there_before);
	RUN(processes_that_are_there_before_have_places_beside_the_minima);
	RUN(enough_processes_fit);
	RUN(an_app_without_connections_is_idle);
	RUN(clients_who_wait_need_what_they_would_bring_otherwise);
	return check_finish();
}
