/* The last hour, as the charts of the status page have it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "web/history.h"
#include "web/metric.h"

static struct history history;
static char *json;

/* Metrics of one app. */
static const char *
metrics(unsigned processes, double oldest, unsigned refused)
{
	static char text[1024];

	(void)snprintf(text, sizeof(text),
	    "# TYPE apppool_processes gauge\n"
	    "apppool_daemon_uptime_seconds 7\n"
	    "apppool_processes{app=\"web\",state=\"idle\"} %u\n"
	    "apppool_processes{app=\"web\",state=\"active\"} 1\n"
	    "apppool_processes{app=\"web\",state=\"retiring\"} 5\n"
	    "apppool_oldest_wait_seconds{app=\"web\"} %g\n"
	    "apppool_connections_ended_total{app=\"web\",outcome=\"refused\"}"
	    " %u\n"
	    "apppool_connections_ended_total{app=\"web\",outcome=\"timed_out\"}"
	    " 1\n"
	    "# EOF\n",
	    processes, oldest, refused);
	return text;
}

static void
begin(void)
{
	history_init(&history);
}

static void
end(void)
{
	history_fini(&history);
	free(json);
	json = NULL;
}

/* Whether the JSON has this. */
static bool
has(const char *part)
{
	size_t len;
	FILE *to;

	free(json);
	json = NULL;
	to = open_memstream(&json, &len);
	history_write(&history, to);
	(void)fclose(to);
	if (strstr(json, part) != NULL)
		return true;
	fprintf(stderr, "no %s in\n%s\n", part, json);
	return false;
}

static void
without_metrics_there_are_no_apps(void)
{
	begin();
	CHECK(has("{\"step\":10,\"steps\":360,\"apps\":{}}\n"));
	end();
}

static void
processes_that_count_are_added_up(void)
{
	begin();
	history_add(&history, metrics(3, 0, 0), 1000);
	CHECK(has("\"web\":{\"processes\":[4],"));
	end();
}

static void
a_step_keeps_the_longest_wait(void)
{
	begin();
	history_add(&history, metrics(3, 0.5, 0), 1000);
	history_add(&history, metrics(3, 2.5, 0), 1002);
	history_add(&history, metrics(3, 1, 0), 1004);
	CHECK(has("\"oldest_wait\":[2.5]"));
	end();
}

static void
a_total_counts_by_what_it_grows_in_a_step(void)
{
	begin();
	history_add(&history, metrics(3, 0, 100), 1000);
	history_add(&history, metrics(3, 0, 102), 1002);
	history_add(&history, metrics(3, 0, 103), 1004);
	history_add(&history, metrics(3, 0, 110), 1010);
	CHECK(has("\"refused\":[3,7]"));
	end();
}

static void
a_daemon_that_began_anew_refused_nothing_in_between(void)
{
	begin();
	history_add(&history, metrics(3, 0, 100), 1000);
	history_add(&history, metrics(3, 0, 2), 1002);
	CHECK(has("\"refused\":[0]"));
	history_add(&history, metrics(3, 0, 5), 1004);
	CHECK(has("\"refused\":[3]"));
	end();
}

static void
steps_that_nobody_looked_at_are_unknown(void)
{
	begin();
	history_add(&history, metrics(3, 0, 0), 1000);
	history_add(&history, metrics(4, 0, 0), 1030);
	CHECK(has("\"processes\":[4,null,null,5]"));
	end();
}

static void
what_an_app_does_not_tell_is_unknown(void)
{
	begin();
	history_add(&history, metrics(3, 0, 0), 1000);
	CHECK(has("\"busy\":[null]"));
	end();
}

static void
an_hour_is_kept(void)
{
	unsigned commas = 0;
	const char *series;

	begin();
	for (unsigned i = 0; i < 1000; i++)
		history_add(&history, metrics(i, 0, 0), 1000 + 10 * (int)i);
	CHECK(has("\"processes\":[641,642,"));
	CHECK(has(",999,1000],"));
	series = strstr(json, "\"processes\":[");
	while (*series != ']')
		commas += *series++ == ',';
	CHECK_EQ(HISTORY_STEPS - 1, commas);
	end();
}

static void
after_a_day_of_silence_only_now_is_known(void)
{
	begin();
	history_add(&history, metrics(3, 0, 0), 1000);
	history_add(&history, metrics(4, 0, 0), 87400);
	CHECK(has("\"processes\":[5],"));
	end();
}

static void
an_app_that_has_left_is_forgotten(void)
{
	begin();
	history_add(&history, metrics(3, 0, 0), 1000);
	history_add(&history, "# EOF\n", 1002);
	CHECK(has("\"apps\":{}"));
	end();
}

/* --- samples ------------------------------------------------------------ */

static void
a_sample_has_name_labels_and_value(void)
{
	const char *text =
	    "# HELP apppool_x {\napppool_x{app=\"a.b\",le=\"1.0\"}"
	    " 2.5\napppool_y 3\n";
	struct metric m;
	char app[8];

	NEED(metric_next(&text, &m));
	CHECK(metric_is(&m, "x"));
	CHECK(metric_has(&m, "le", "1.0"));
	CHECK(!metric_has(&m, "le", "1"));
	CHECK(!metric_has(&m, "e", "1.0"));
	CHECK(metric_app(&m, app, sizeof(app)));
	CHECK_STR("a.b", app);
	CHECK_NEAR(2.5, m.value);
	NEED(metric_next(&text, &m));
	CHECK(metric_is(&m, "y"));
	CHECK(!metric_app(&m, app, sizeof(app)));
	CHECK(!metric_next(&text, &m));
}

static void
what_is_no_sample_is_passed_over(void)
{
	static const char *const lines[] = { "", "\n", "apppool_", "apppool_x",
		"apppool_x\n", "apppool_x \n", "apppool_x{\n", "apppool_x{}\n",
		"apppool_x{a=\"\n", "apppool_x{a} y\n", "apppool_x 1", "x 1\n",
		"apppool_x 1 2\n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *text = lines[i];
		struct metric m;

		CHECK(!metric_next(&text, &m));
		CHECK_EQ(0, *text);
	}
}

static void
labels_without_an_end_have_no_values(void)
{
	static const char *const lines[] = { "apppool_x{app} 1\n",
		"apppool_x{app=\"} 1\n", "apppool_x{=\"a\"} 1\n",
		"apppool_x{app=\"a\"app=\"b} 1\n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *text = lines[i];
		struct metric m;

		NEED(metric_next(&text, &m));
		CHECK(!metric_has(&m, "app", "b"));
	}
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(without_metrics_there_are_no_apps);
	RUN(processes_that_count_are_added_up);
	RUN(a_step_keeps_the_longest_wait);
	RUN(a_total_counts_by_what_it_grows_in_a_step);
	RUN(a_daemon_that_began_anew_refused_nothing_in_between);
	RUN(steps_that_nobody_looked_at_are_unknown);
	RUN(what_an_app_does_not_tell_is_unknown);
	RUN(an_hour_is_kept);
	RUN(after_a_day_of_silence_only_now_is_known);
	RUN(an_app_that_has_left_is_forgotten);
	RUN(a_sample_has_name_labels_and_value);
	RUN(what_is_no_sample_is_passed_over);
	RUN(labels_without_an_end_have_no_values);
	return check_finish();
}
