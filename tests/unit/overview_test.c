/* The table of all apps, and how it is fitted to a terminal. */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ctl/overview.h"

#define APP(name, state, active, failure) \
	"{\"name\":\"" name "\",\"state\":\"" state \
	"\",\"handoff\":\"native\",\"processes\":3,\"max_processes\":8," \
	"\"active\":" active ",\"sessions\":1,\"waiting\":2," \
	"\"oldest_wait\":0.0125,\"rate\":12.345,\"queue_wait\":{\"p99\":" \
	"0.000350},\"refused\":7,\"backoff_until\":0.000," \
	"\"last_failure\":" failure "}"

#define LISTENS \
	"{\"name\":\"node\",\"state\":\"running\",\"processes\":1," \
	"\"max_processes\":8,\"active\":0,\"sessions\":null,\"waiting\":4," \
	"\"oldest_wait\":null,\"rate\":null,\"queue_wait\":null," \
	"\"refused\":null,\"backoff_until\":3.000,\"last_failure\":null}"

#define DAEMON(apps) \
	"{\"state\":\"running\",\"uptime\":61.5,\"config\":\"/etc/pool.conf\"," \
	"\"generation\":2,\"max_processes\":64,\"processes\":4,\"active\":3," \
	"\"waiting\":6,\"apps\":[" apps "]}"

static char answer[8192];
static struct json_value *status;
static struct overview table;
static struct text line;

static void
read_apps(const char *json)
{
	overview_fini(&table);
	free(status);
	(void)strlcpy(answer, json, sizeof(answer));
	status = json_tree_read(answer);
	CHECK(status != NULL && overview_init(&table, status));
}

static const char *
written(void)
{
	text_put(&line, "", 1);
	return line.data;
}

static const char *
row(size_t i, size_t width)
{
	text_clear(&line);
	overview_row(&table, i, width, &line);
	return written();
}

static void
a_row_shows_limits_beside_use(void)
{
	read_apps(DAEMON(APP("web", "running", "3", "null")));
	text_clear(&line);
	overview_headings(&table, 0, &line);
	CHECK_STR("APP STATE   PROCS ACTIVE WAIT OLDEST RATE   P99 REFUSED "
		  "LAST FAILURE",
	    written());
	CHECK_STR("web running   3/8      3    2 12.5ms 12.3 350us       7",
	    row(0, 0));
	text_clear(&line);
	overview_daemon(&table, 0, &line);
	CHECK_STR("running for 1m01s, processes 4/64, active 3, waiting 6, "
		  "generation 2, /etc/pool.conf",
	    written());
}

static void
an_app_without_sessions_has_no_figures_of_them(void)
{
	read_apps(DAEMON(LISTENS));
	CHECK_STR("node running   1/8      -    4      -    -   -       - "
		  "next start in 3.0s",
	    row(0, 0));
}

static void
a_line_is_no_wider_than_the_terminal(void)
{
	read_apps(DAEMON(APP("an-app-whose-name-is-long", "failed", "3",
	    "\"exited with status 3 before it was ready: no database at "
	    "\\u001b[2J; a hint\"")));
	CHECK_STR("an-app-whose-na+ failed   3/8      3    2 12.5ms 12.3 350us"
		  "       7 exit 3: no +",
	    row(0, 80));
	CHECK_EQ(80, (int)strlen(row(0, 80)));
	CHECK_STR("an-app-whose-name-is-lo+ failed   3/8      3    2 12.5ms "
		  "12.3 350us       7 exit 3: no database at \\x1b[2J",
	    row(0, 200));
	for (size_t width = 1; width < 200; width++)
		CHECK(strlen(row(0, width)) <= width);
}

static void
a_character_of_several_bytes_takes_one_column(void)
{
	read_apps(DAEMON(APP("web", "failed", "3", "\"caf\\u00e9 zu\"")));
	CHECK_STR("web failed   3/8      3    2 12.5ms 12.3 350us       7 "
		  "caf\xc3\xa9+",
	    row(0, 60));
}

static void
rows_are_sorted_by_what_needs_a_look(void)
{
	read_apps(DAEMON(APP("b", "running", "3", "null") "," LISTENS "," APP(
	    "a", "running", "5", "null") "," APP("c", "failed", "0", "null")));
	overview_sort(&table, CELL_ACTIVE);
	CHECK_STR("a", overview_app(&table, 0));
	CHECK_STR("c", overview_app(&table, 2));
	CHECK_STR("node", overview_app(&table, 3));
	overview_sort(&table, CELL_STATE);
	CHECK_STR("c", overview_app(&table, 0));
	CHECK_STR("b", overview_app(&table, 1));
	overview_sort(&table, CELL_APP);
	CHECK_STR("a", overview_app(&table, 0));
	CHECK_STR("node", overview_app(&table, 3));
}

static void
a_rollout_that_was_given_up_is_the_last_failure(void)
{
	read_apps(DAEMON("{\"name\":\"web\",\"last_failure\":\"other\","
			 "\"rollout\":{\"generation\":4,\"state\":"
			 "\"given up\",\"reason\":\"status 3\"}}"));
	CHECK(strstr(row(0, 0), " generation 4 given up: status 3") != NULL);
}

static void
an_answer_without_apps_makes_no_table(void)
{
	overview_fini(&table);
	free(status);
	(void)strlcpy(answer, "{\"apps\":3}", sizeof(answer));
	status = json_tree_read(answer);
	CHECK(!overview_init(&table, status));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	text_init(&line, 65536);
	RUN(a_row_shows_limits_beside_use);
	RUN(an_app_without_sessions_has_no_figures_of_them);
	RUN(a_line_is_no_wider_than_the_terminal);
	RUN(a_character_of_several_bytes_takes_one_column);
	RUN(rows_are_sorted_by_what_needs_a_look);
	RUN(a_rollout_that_was_given_up_is_the_last_failure);
	RUN(an_answer_without_apps_makes_no_table);
	overview_fini(&table);
	free(status);
	text_fini(&line);
	return check_finish();
}
