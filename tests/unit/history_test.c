/* The last hour, as the charts of the status page have it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "web/web.h"

static struct history history;

/* The metrics of one app, at so many seconds. */
static void
look(int64_t seconds, unsigned processes, double oldest, unsigned refused)
{
	char text[1024];

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
	    " %d\n"
	    "apppool_connections_ended_total{app=\"web\",outcome=\"lost\"} %d\n"
	    "# EOF\n",
	    processes, oldest, refused, (int)seconds / 2, (int)seconds / 4);
	history_add(&history, text, 1000 * seconds);
}

/* Checks that the JSON has this part, and begins the history anew. */
static void
check_json(const char *part)
{
	char *json;
	size_t len;
	FILE *to = open_memstream(&json, &len);

	history_write(&history, to);
	(void)fclose(to);
	if (!CHECK(strstr(json, part) != NULL))
		fprintf(stderr, "no %s in\n%s\n", part, json);
	free(json);
	history_fini(&history);
	history.step = history.at = 0;
}

TEST(without_metrics_there_are_no_apps)
{
	check_json("{\"step\":10,\"steps\":360,\"elapsed\":0.0,\"apps\":{}}\n");
}

static const struct glance {
	const char *fact;
	struct {
		int64_t seconds;
		unsigned processes;
		double oldest;
		unsigned refused;
	} looks[4];
	const char *part;
} glances[] = {
	{ "processes_that_count_are_added_up", { { 1000, 3, 0, 0 } },
	    "\"web\":{\"processes\":[4]," },
	{ "a_step_keeps_the_longest_wait",
	    { { 1000, 3, 0.5, 0 }, { 1002, 3, 2.5, 0 }, { 1004, 3, 1, 0 } },
	    "\"oldest_wait\":[2.5]" },
	{ "a_total_counts_by_its_growth_in_a_step",
	    { { 1000, 3, 0, 100 }, { 1002, 3, 0, 102 }, { 1004, 3, 0, 103 },
		{ 1010, 3, 0, 110 } },
	    "\"refused\":[3,7]" },
	{ "a_daemon_that_began_anew_refused_nothing_in_between",
	    { { 1000, 3, 0, 100 }, { 1002, 3, 0, 2 } }, "\"refused\":[0]" },
	{ "a_daemon_that_began_anew_counts_on",
	    { { 1000, 3, 0, 100 }, { 1002, 3, 0, 2 }, { 1004, 3, 0, 5 } },
	    "\"refused\":[3]" },
	{ "bad_ends_of_connections_are_told_apart",
	    { { 1000, 3, 0, 0 }, { 1004, 3, 0, 1 }, { 1018, 3, 0, 2 } },
	    "\"refused\":[1,1],\"timed_out\":[2,7],\"lost\":[1,3]" },
	{ "the_time_of_the_last_look_in_its_step_is_told",
	    { { 1000, 3, 0, 0 }, { 1014, 3, 0, 0 } }, "\"elapsed\":4.0" },
	{ "steps_without_a_look_are_unknown",
	    { { 1000, 3, 0, 0 }, { 1030, 4, 0, 0 } },
	    "\"processes\":[4,null,null,5]" },
	{ "what_an_app_does_not_tell_is_unknown", { { 1000, 3, 0, 0 } },
	    "\"busy\":[null" },
	{ "after_a_day_of_silence_only_now_is_known",
	    { { 1000, 3, 0, 0 }, { 87400, 4, 0, 0 } }, "\"processes\":[5]," },
};
static const struct glance *glance;

static void
look_through(void)
{
	for (size_t i = 0; i < 4 && glance->looks[i].seconds != 0; i++)
		look(glance->looks[i].seconds, glance->looks[i].processes,
		    glance->looks[i].oldest, glance->looks[i].refused);
	check_json(glance->part);
}

TEST(an_hour_is_kept)
{
	char series[8 * HISTORY_STEPS] = "\"processes\":[";
	size_t len = strlen(series);

	for (unsigned i = 0; i < 1000; i++)
		look(1000 + 10 * (int)i, i, 0, 0);
	for (unsigned i = 1000 - HISTORY_STEPS + 1; i <= 1000; i++)
		len += (size_t)snprintf(series + len, sizeof(series) - len,
		    "%u%s", i, i == 1000 ? "]" : ",");
	check_json(series);
}

TEST(an_app_that_has_left_is_forgotten)
{
	look(1000, 3, 0, 0);
	history_add(&history, "# EOF\n", 1002000);
	check_json("\"apps\":{}");
}

TEST(text_that_is_no_sample_is_passed_over)
{
	static const char *const lines[] = { "", "\n", "apppool_", "apppool_x",
		"apppool_busy_processes\n", "apppool_busy_processes \n",
		"apppool_busy_processes{\n", "apppool_busy_processes{}\n",
		"apppool_busy_processes{app=\"\n",
		"apppool_busy_processes{app} 1\n",
		"apppool_busy_processes{app=\"} 1\n",
		"apppool_busy_processes{=\"a\"} 1\n",
		"apppool_busy_processes{le=\"a\"app=\"b} 1\n",
		"apppool_busy_processes{xapp=\"a\"} 1\n",
		"apppool_busy_processes{app=\"a\"} y\n",
		"apppool_busy_processes{app=\"a\"} 1 2\n",
		"apppool_busy_processes{app=\"a\"} 1",
		"busy_processes{app=\"a\"} 1\n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		history_add(&history, lines[i], 1000000);
		check_json("\"apps\":{}");
	}
	history_add(&history, "apppool_busy_processes{app=\"a.b\"} 2.5\n", 0);
	check_json("\"a.b\":{\"processes\":[0],\"busy\":[2.5]");
}

static const char states[] = "apppool_state{app=\"a\",state=\"failed\"} 0\n"
			     "apppool_state{app=\"a\",state=\"draining\"} 1\n"
			     "apppool_state{app=\"b\",state=\"failed\"} 1\n"
			     "apppool_state{app=\"c\",state=\"failed\"} 1\n"
			     "apppool_state{app=\"d\",state=\"running\"} 1\n"
			     "apppool_ready{app=\"a\"} 0\n"
			     "apppool_ready{app=\"b\"} 0\n"
			     "apppool_ready{app=\"d\"} 1\n";

/* A page for one app (NULL: all), and what it says. */
struct health_case {
	const char *fact;
	const char *app;
	bool ready;
	enum health health;
	const char *line;
};

static const struct health_case health_cases[] = {
	{ "all_failed_apps_are_named", NULL, false, HEALTH_BAD,
	    "failed: b, c\n" },
	{ "a_draining_app_is_alive", "a", false, HEALTH_GOOD, "ok\n" },
	{ "a_failed_app_is_not_alive", "b", false, HEALTH_BAD, "failed: b\n" },
	{ "the_first_app_that_is_not_ready_is_named", NULL, true, HEALTH_BAD,
	    "a is draining\n" },
	{ "a_failed_app_is_not_ready", "b", true, HEALTH_BAD,
	    "b has failed\n" },
	{ "a_running_app_is_ready", "d", true, HEALTH_GOOD, "ok\n" },
	/* Its samples of readiness are gone. */
	{ "an_app_that_leaves_the_file_is_unknown", "c", true, HEALTH_UNKNOWN,
	    "no such app\n" },
	{ "the_beginning_of_a_name_is_another_app", "", true, HEALTH_UNKNOWN,
	    "no such app\n" },
};

static const struct health_case *health_case;

static void
look_at_health(void)
{
	const struct health_case *c = health_case;
	char *line;
	size_t len;
	FILE *to = open_memstream(&line, &len);

	CHECK_EQ(c->health, history_write_health(states, c->app, c->ready, to));
	(void)fclose(to);
	CHECK_STR(c->line, line);
	free(line);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	TAILQ_INIT(&history.apps);
	RUN_ROWS(glances, glance, fact, look_through);
	RUN_ROWS(health_cases, health_case, fact, look_at_health);
	check_all();
	return check_finish();
}
