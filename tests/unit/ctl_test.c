/* Answers as apppoolctl shows them: lines, and the table of all apps. */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ctl/ctl.h"

#define APP(name, state, active, failure) \
	"{\"name\":\"" name "\",\"state\":\"" state \
	"\",\"handoff\":\"native\",\"processes\":3,\"max_processes\":8," \
	"\"active\":" active ",\"sessions\":1,\"waiting\":2," \
	"\"oldest_wait\":0.0125,\"rate\":12.345,\"queue_wait\":{\"p99\":" \
	"0.000350},\"refused\":7,\"backoff_until\":0.000," \
	"\"last_failure\":" failure ",\"last_failure_age\":null}"

#define LISTENS \
	"{\"name\":\"node\",\"state\":\"running\",\"processes\":1," \
	"\"max_processes\":8,\"active\":0,\"sessions\":null,\"waiting\":4," \
	"\"oldest_wait\":null,\"rate\":null,\"queue_wait\":null," \
	"\"refused\":null,\"backoff_until\":3.000,\"last_failure\":null}"

#define DAEMON(apps) \
	"{\"state\":\"running\",\"uptime\":61.5,\"config\":\"/etc/pool.conf\"," \
	"\"generation\":2,\"max_processes\":64,\"processes\":4,\"active\":3," \
	"\"waiting\":6,\"apps\":[" apps "]}"

static struct table table;
static struct text line = { .max = 65536 };

static void
read_sorted(const char *json, enum column by)
{
	table_fini(&table);
	CHECK(table_init(&table, json_loads(json, 0, NULL), by));
}

static void
read_apps(const char *json)
{
	read_sorted(json, COLUMNS_ALL);
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
	table_put_row(&table, i, width, &line);
	return written();
}

static const char *
app_at(size_t i)
{
	return form_string(table.rows[i].app, "name");
}

TEST(a_row_shows_limits_beside_use)
{
	read_apps(DAEMON(APP("web", "running", "3", "null")));
	CHECK_STR("APP STATE   PROCS ACTIVE WAIT OLDEST RATE   P99 REFUSED "
		  "LAST FAILURE",
	    row(TABLE_HEADINGS, 0));
	CHECK_STR("web running   3/8      3    2 12.5ms 12.3 350us       7",
	    row(0, 0));
	CHECK_STR("running for 1m2s, processes 4/64, active 3, waiting 6, "
		  "generation 2, /etc/pool.conf",
	    row(TABLE_DAEMON, 0));
}

TEST(an_app_without_sessions_has_no_figures_of_them)
{
	read_apps(DAEMON(LISTENS));
	CHECK_STR("node running   1/8      -    4      -    -   -       - "
		  "next start in 3s",
	    row(0, 0));
}

TEST(a_line_is_no_wider_than_the_terminal)
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

TEST(a_character_of_several_bytes_takes_one_column)
{
	read_apps(DAEMON(APP("web", "failed", "3", "\"caf\\u00e9 zu\"")));
	CHECK_STR("web failed   3/8      3    2 12.5ms 12.3 350us       7 "
		  "caf\xc3\xa9+",
	    row(0, 60));
}

TEST(rows_are_sorted_by_what_needs_a_look)
{
	static const char apps[] =
	    DAEMON(APP("b", "running", "3", "null") "," LISTENS "," APP("a",
		"running", "5", "null") "," APP("c", "failed", "0", "null"));

	read_sorted(apps, COLUMN_ACTIVE);
	CHECK_STR("a", app_at(0));
	CHECK_STR("c", app_at(2));
	CHECK_STR("node", app_at(3));
	read_sorted(apps, COLUMN_STATE);
	CHECK_STR("c", app_at(0));
	CHECK_STR("b", app_at(1));
	read_sorted(apps, COLUMN_APP);
	CHECK_STR("a", app_at(0));
	CHECK_STR("node", app_at(3));
}

TEST(a_rollout_that_was_given_up_is_the_last_failure)
{
	read_apps(DAEMON("{\"name\":\"web\",\"last_failure\":\"other\","
			 "\"last_failure_age\":3.5,"
			 "\"rollout\":{\"generation\":4,\"state\":"
			 "\"given up\",\"reason\":\"status 3\",\"age\":75}}"));
	CHECK(strstr(row(0, 0),
		  " generation 4 given up: status 3 (1m15s ago)") != NULL);
}

TEST(a_failure_shows_how_long_ago_it_was)
{
	read_apps(DAEMON("{\"name\":\"web\",\"last_failure\":"
			 "\"exited with status 3\",\"last_failure_age\":75}"));
	CHECK(strstr(row(0, 0), " exit 3 (1m15s ago)") != NULL);
}

TEST(an_answer_without_apps_makes_no_table)
{
	table_fini(&table);
	CHECK(!table_init(
	    &table, json_loads("{\"apps\":3}", 0, NULL), COLUMNS_ALL));
}

/* --- answers ------------------------------------------------------------ */

static char *shown, *progress, *error;

/*
 * Shows an answer; what comes on the terminal is in progress. Whether it is
 * whole.
 */
static bool
show(const char *text, bool json)
{
	size_t shown_len, progress_len;
	FILE *from = fmemopen((void *)text, strlen(text), "r"), *to, *terminal;
	bool whole;

	free(shown);
	free(progress);
	free(error);
	to = open_memstream(&shown, &shown_len);
	terminal = open_memstream(&progress, &progress_len);
	whole = ask_show(from, to, terminal, json, &error);
	(void)fclose(from);
	(void)fclose(to);
	(void)fclose(terminal);
	return whole;
}

TEST(lines_are_shown_as_they_are)
{
	static const char text[] = "web: running\n\nerr\nerror\nerror:x\n";

	CHECK(show(text, false));
	CHECK_STR(text, shown);
}

TEST(a_last_line_that_is_an_error_is_kept_back)
{
	CHECK(show("pool.conf:3: what\nerror: not done\n", false));
	CHECK_STR("pool.conf:3: what\n", shown);
	CHECK_STR("not done", error);
	CHECK(show("error: a\nerror: b\n", false));
	CHECK_STR("error: a\n", shown);
	CHECK_STR("b", error);
}

TEST(an_error_in_the_middle_is_a_line_like_others)
{
	static const char text[] = "error: no\nerror: no\nyes\n";

	CHECK(show(text, false));
	CHECK_STR(text, shown);
}

TEST(an_unended_line_is_an_answer_cut_off)
{
	CHECK(!show(" ", false));
	CHECK(!show("web: run", false));
	CHECK_STR("web: run", shown);
	CHECK(!show("error: the", false));
	CHECK_STR("error: the", shown);
	CHECK(!show("{\"apps\":[\n", true));
	CHECK(!show("{\"apps\":[\n{},\n", true));
	CHECK(show("{\"apps\":[\n{},\n{}]}\n", true));
	CHECK(show("web,\n", false));
}

TEST(progress_is_shown_in_one_place_and_then_cleared)
{
	CHECK(show("progress: 9 of 10\nprogress: none\nerror: so\n"
		   "programmed\n",
	    false));
	CHECK_STR("error: so\nprogrammed\n", shown);
	CHECK_STR("\r9 of 10\rnone   \r    \r", progress);
}

TESTS(NULL, NULL)
