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
	    " 1\n"
	    "# EOF\n",
	    processes, oldest, refused);
	history_add(&history, text, 1000 * seconds);
}

/* Checks that the JSON has this part, and begins the history anew if asked. */
static void
check_json(const char *part, bool anew)
{
	char *json;
	size_t len;
	FILE *to = open_memstream(&json, &len);

	history_write(&history, to);
	(void)fclose(to);
	if (!CHECK(strstr(json, part) != NULL))
		fprintf(stderr, "no %s in\n%s\n", part, json);
	free(json);
	if (anew) {
		history_fini(&history);
		history.step = 0;
	}
}

TEST(without_metrics_there_are_no_apps)
{
	check_json("{\"step\":10,\"steps\":360,\"apps\":{}}\n", true);
}

TEST(processes_that_count_are_added_up)
{
	look(1000, 3, 0, 0);
	check_json("\"web\":{\"processes\":[4],", true);
}

TEST(a_step_keeps_the_longest_wait)
{
	look(1000, 3, 0.5, 0);
	look(1002, 3, 2.5, 0);
	look(1004, 3, 1, 0);
	check_json("\"oldest_wait\":[2.5]", true);
}

TEST(a_total_counts_by_its_growth_in_a_step)
{
	look(1000, 3, 0, 100);
	look(1002, 3, 0, 102);
	look(1004, 3, 0, 103);
	look(1010, 3, 0, 110);
	check_json("\"refused\":[3,7]", true);
}

TEST(a_daemon_that_began_anew_refused_nothing_in_between)
{
	look(1000, 3, 0, 100);
	look(1002, 3, 0, 2);
	check_json("\"refused\":[0]", false);
	look(1004, 3, 0, 5);
	check_json("\"refused\":[3]", true);
}

TEST(steps_without_a_look_are_unknown)
{
	look(1000, 3, 0, 0);
	look(1030, 4, 0, 0);
	check_json("\"processes\":[4,null,null,5]", false);
	/* And what the app does not tell. */
	check_json("\"busy\":[null", true);
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
	check_json(series, true);
}

TEST(after_a_day_of_silence_only_now_is_known)
{
	look(1000, 3, 0, 0);
	look(87400, 4, 0, 0);
	check_json("\"processes\":[5],", true);
}

TEST(an_app_that_has_left_is_forgotten)
{
	look(1000, 3, 0, 0);
	history_add(&history, "# EOF\n", 1002000);
	check_json("\"apps\":{}", true);
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
		check_json("\"apps\":{}", true);
	}
	history_add(&history, "apppool_busy_processes{app=\"a.b\"} 2.5\n", 0);
	check_json("\"a.b\":{\"processes\":[0],\"busy\":[2.5]", true);
}

TEST(apps_that_have_failed_are_named)
{
	char *line;
	size_t len;
	FILE *to = open_memstream(&line, &len);

	CHECK(!history_write_failed(
	    "apppool_state{app=\"a\",state=\"failed\"} 0\n"
	    "apppool_state{app=\"b\",state=\"running\"}"
	    " 1\n",
	    to));
	CHECK(
	    history_write_failed("apppool_state{app=\"a\",state=\"failed\"} 1\n"
				 "apppool_state{app=\"b\",state=\"failed\"} "
				 "1\n",
		to));
	(void)fclose(to);
	CHECK_STR("failed: a, b\n", line);
	free(line);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	TAILQ_INIT(&history.apps);
	check_all();
	return check_finish();
}
