/*
 * Loads in one process, again and again: of files that are made to break the
 * reader, of includes, of changed files; and the path of the control socket.
 */

#include <errno.h>
#include <malloc.h>

#include "conf_help.h"

/*
 * A daemon may reload a broken file many times. A sanitizer needs few of them,
 * and takes long for each.
 */
#ifdef __SANITIZE_ADDRESS__
#define TIMES 4
#else
#define TIMES 20
#endif

/* ---- files that break readers ---- */

/* Loads pool.conf TIMES; each time these are all the mistakes. */
static void
always(const char *expected)
{
	unsigned before = descriptors();

	for (int i = 0; i < TIMES; i++)
		MISTAKES(expected, NULL);
	CHECK_EQ(before, descriptors());
	/* A file without a mistake is loaded afterwards. */
	MISTAKES("", ANY_APP);
}

/* Files that break readers: a text, and many times another, to pool.conf. */
static const struct storm {
	const char *fact;
	const char *before;
	const char *text;
	size_t times;
	const char *expected;
} storms[] = {
	{ "a_file_too_large_is_refused", "", " ", 1024 * 1024 + 1,
	    "cannot be read: is larger than 1048576 bytes\n" },
	{ "an_endless_string_is_refused", "log = \"", "a", 1000000,
	    "string is not closed on its line\n" },
	{ "an_endless_string_in_single_quotes_is_refused", "log = '", "a",
	    1000000, "string is not closed on its line\n" },
	{ "two_hundred_thousand_braces_are_refused", "", "x{", 200000,
	    "unknown section 'x'\n"
	    "pool.conf:1: missing '}' at the end of the file ('{' is of line "
	    "1)\n" },
	{ "bare_braces_are_refused", "", "{", 200000,
	    "unexpected '{': a section begins with its name\n" },
	{ "closing_braces_alone_are_refused", "", "}", 200000,
	    "unexpected '}': nothing is open\n" },
	{ "an_endless_list_is_refused", "app a { listen = {", "a,", 200000,
	    "the list of option 'listen' is never closed with '}'\n"
	    "pool.conf:1: missing '}' at the end of the file ('{' is of line "
	    "1)\n" },
	{ "a_list_too_long_is_refused",
	    "app a { handoff = none command = { x } }\ncommand = { x", ",x",
	    10000, "the list of option 'command' is never closed with '}'\n" },
};

static const struct storm *storm_now;

static void
storm_check(void)
{
	FILE *out = fopen(in_folder("pool.conf"), "w");
	char expected[512];

	fputs(storm_now->before, out);
	for (size_t i = 0; i < storm_now->times; i++)
		fputs(storm_now->text, out);
	fclose(out);
	snprintf(expected, sizeof(expected), "pool.conf:%d: %s",
	    strchr(storm_now->before, '\n') != NULL ? 2 : 1,
	    storm_now->expected);
	always(expected);
}

TEST_ALONE(an_unreadable_file_is_refused)
{
	conf_write("pool.conf", ANY_APP);
	NEED(chmod(in_folder("pool.conf"), 0) == 0);
	SKIP_IF(
	    geteuid() == 0 && seteuid(65534) == -1, "cannot be another user");
	for (int i = 0; i < TIMES; i++)
		MISTAKES(
		    "pool.conf:1: cannot be read: Permission denied\n", NULL);
}

TEST(what_is_no_file_is_refused)
{
	(void)remove(in_folder("pool.conf"));
	always("pool.conf:1: cannot be read: No such file or directory\n");
	(void)remove(in_folder("pool.conf"));
	NEED(mkdir(in_folder("pool.conf"), 0755) == 0);
	for (int i = 0; i < TIMES; i++)
		MISTAKES("pool.conf:1: cannot be read: is a directory\n", NULL);
	NEED(rmdir(in_folder("pool.conf")) == 0);
	NEED(mkfifo(in_folder("pool.conf"), 0644) == 0);
	for (int i = 0; i < TIMES; i++)
		MISTAKES("pool.conf:1: cannot be read: is not a regular file\n",
		    NULL);
	NEED(remove(in_folder("pool.conf")) == 0);
	MISTAKES("", ANY_APP);
}

TEST(too_many_apps_are_refused)
{
	char *text = calloc(1, 5000 * 16);

	for (int i = 0; i < 5000; i++)
		strcpy(text + i * 9, "app a {}\n");
	conf_write("pool.conf", text);
	always("pool.conf:1002: more than 1000 apps\n");
	free(text);
}

TEST(a_hundred_of_many_mistakes_are_reported)
{
	char text[1000 * 8 + 1], *found;
	size_t lines = 0;

	for (int i = 0; i < 1000; i++)
		strcpy(text + i * 8, "foo = 1\n");
	found = mistakes_with(0, text);
	for (const char *p = found; *p != '\0'; p++)
		lines += *p == '\n';
	CHECK_EQ(101, lines);
	CHECK(
	    strstr(found, "\nonly the first 100 mistakes are shown\n") != NULL);
	free(found);
}

/* ---- includes ---- */

/* Two files: ANY_APP with more goes to pool.conf, and the other to x.conf. */
static const struct include {
	const char *fact;
	const char *other;
	const char *more;
	const char *expected;
} includes[] = {
	{ "a_pattern_without_a_match_is_no_mistake", "",
	    "include(\"none.d/*.conf\")\n", "" },
	{ "including_a_missing_file_is_a_mistake", "",
	    "include(\"none.conf\")\n",
	    "pool.conf:2: include: none.conf: No such file or directory\n" },
	{ "an_include_without_a_file_is_a_mistake", "",
	    "include()\ninclude(\"\")\n",
	    "pool.conf:2: include: no file is named\n"
	    "pool.conf:3: include: no file is named\n" },
	{ "an_included_directory_is_refused", "", "include(\".\")\n",
	    "pool.conf:2: include: .: is a directory\n" },
	{ "a_mistake_is_reported_in_its_own_file",
	    "# one\nfoo = 1\napp x { handoff = none\n"
	    "command = a\nkill_timeout = x }\n",
	    "bar = 1\ninclude(\"x.conf\")\nbaz = 1\n",
	    "pool.conf:2: unknown option 'bar'\n"
	    "pool.conf:4: unknown option 'baz'\n"
	    "x.conf:2: unknown option 'foo'\n"
	    "x.conf:5: option 'kill_timeout': 'x' is not a duration: write "
	    "250ms, 10s, 5m, 2h or 1d\n" },
	{ "a_file_that_includes_itself_is_refused", "",
	    "include(\"pool.conf\")\n",
	    "pool.conf:2: include: pool.conf: the file includes itself\n" },
	{ "a_circle_of_includes_is_refused", "include(\"pool.conf\")\n",
	    "include(\"x.conf\")\n",
	    "x.conf:1: include: pool.conf: the file includes itself\n" },
	{ "two_included_files_cannot_set_the_same_option", "log = stderr\n",
	    "include(\"x.conf\")\ninclude(\"x.conf\")\n",
	    "x.conf:1: option 'log' is given twice (first at x.conf:1)\n" },
};

static const struct include *include_now;

static void
include_check(void)
{
	char text[512];

	snprintf(text, sizeof(text), ANY_APP "%s", include_now->more);
	conf_write("x.conf", include_now->other);
	conf_write("pool.conf", text);
	always(include_now->expected);
}

TEST(includes_are_read_in_the_order_of_their_names)
{
	struct conf *conf;

	mkdir(in_folder("conf.d"), 0755);
	conf_write("conf.d/b.conf", "app b { handoff = none command = a }\n");
	conf_write("conf.d/a.conf", "app a { handoff = none command = a }\n");
	conf_write("conf.d/c.txt", "nonsense\n");
	conf = conf_right(ANY_APP "include(\"conf.d/*.conf\")\n");
	NEED(conf != NULL);
	NEED(conf->apps_len == 3);
	CHECK_STR("any", conf->apps[0].name);
	CHECK_STR("a", conf->apps[1].name);
	CHECK_STR("b", conf->apps[2].name);
	CHECK_STR(in_folder("conf.d/b.conf:1"), conf->apps[2].listen.where);
	conf_free(conf);
}

TEST(the_including_file_decides_on_global_options)
{
	struct conf *conf;

	conf_write("x.conf", "include(\"y.conf\")\nmax_processes = 7\n");
	conf_write("y.conf",
	    "max_processes = 8\ncontrol_mode = 0666\nprocess_slack = 2\n");
	conf =
	    conf_right("control_mode = 0640\n" ANY_APP "include(\"x.conf\")\n");
	NEED(conf != NULL);
	CHECK_EQ(0640, conf->control_mode);
	CHECK_EQ(7, conf->max_processes);
	CHECK_EQ(2, conf->process_slack);
	conf_free(conf);
	conf =
	    conf_right("include(\"x.conf\")\n" ANY_APP "control_mode = 0640\n");
	NEED(conf != NULL);
	CHECK_EQ(0640, conf->control_mode);
	conf_free(conf);
}

TEST(an_included_file_adds_to_a_list_of_the_including_one)
{
	struct conf *conf;

	conf_write("x.conf", "counter += unix:/run/b.sock\n");
	conf = conf_right("counter = unix:/run/a.sock\n"
			  "include(\"x.conf\")\n");
	NEED(conf != NULL);
	CHECK_EQ(2, conf->counter_len);
	conf_free(conf);
}

TEST(a_link_to_itself_is_refused)
{
	(void)remove(in_folder("x.conf"));
	NEED(symlink("pool.conf", in_folder("x.conf")) == 0);
	conf_write("pool.conf", ANY_APP "include(\"x.conf\")\n");
	always("pool.conf:2: include: x.conf: the file includes itself\n");
	(void)remove(in_folder("x.conf"));
}

TEST(the_depth_of_includes_is_bounded)
{
	char name[32];
	char text[64];

	for (int i = 1; i < 12; i++) {
		snprintf(name, sizeof(name), "n%d.conf", i);
		snprintf(text, sizeof(text), "include(\"n%d.conf\")\n", i + 1);
		conf_write(name, text);
	}
	conf_write("pool.conf", ANY_APP "include(\"n1.conf\")\n");
	always("n7.conf:1: include: n8.conf: includes are nested more than 8 "
	       "deep\n");
}

TEST(the_number_of_includes_is_bounded)
{
	char name[32];
	char text[256];
	char *found;

	for (int i = 1; i < 7; i++) {
		snprintf(name, sizeof(name), "m%d.conf", i);
		snprintf(text, sizeof(text),
		    "include(\"m%d.conf\", \"m%d.conf\", \"m%d.conf\")\n"
		    "include(\"m%d.conf\", \"m%d.conf\", \"m%d.conf\")\n",
		    i + 1, i + 1, i + 1, i + 1, i + 1, i + 1);
		conf_write(name, text);
	}
	conf_write("m7.conf", "");
	found = mistakes_with(0, ANY_APP "include(\"m1.conf\")\n");
	CHECK(strstr(found, "more than 2000 files are included") != NULL);
	free(found);
}

TEST_ALONE(including_from_a_closed_folder_is_a_mistake)
{
	mkdir(in_folder("locked.d"), 0);
	conf_write("pool.conf", ANY_APP "include(\"locked.d/*.conf\")\n");
	SKIP_IF(
	    geteuid() == 0 && seteuid(65534) == -1, "cannot be another user");
	MISTAKES(
	    "pool.conf:2: include: locked.d/*.conf: Permission denied\n", NULL);
}

TEST(signs_in_the_name_of_the_folder_are_no_pattern)
{
	struct conf_report report;
	struct conf *conf;

	mkdir(in_folder("[x]{y}*"), 0755);
	conf_write("[x]{y}*/pool.conf", ANY_APP "include(\"*.inc\")\n");
	conf_write("[x]{y}*/a.inc", "app b { handoff = none command = a }\n");
	conf = conf_load(in_folder("[x]{y}*/pool.conf"), 0, NULL, &report);
	CHECK_EQ(0, report.mistakes_len);
	conf_report_fini(&report);
	NEED(conf != NULL);
	CHECK_EQ(2, conf->apps_len);
	conf_free(conf);
}

/* ---- memory ---- */

TEST(loading_gives_all_memory_back)
{
	static const char bad[] = "foo = 1\nlog = \"x\ninclude(\"none\")\n"
				  "app a { user = 7q command = { \"a\" \n";
	static const char good[] = "control = \"\"\n" ANY_APP;
	struct mallinfo2 before;
	struct mallinfo2 after;

	/* The first loads fill caches that stay. */
	for (int i = 0; i < 30; i++) {
		free(mistakes_with(CONF_OUTSIDE_STRICT, bad));
		free(mistakes_with(CONF_OUTSIDE_STRICT, good));
	}
	before = mallinfo2();
	for (int i = 0; i < 10 * TIMES; i++) {
		free(mistakes_with(CONF_OUTSIDE_STRICT, bad));
		free(mistakes_with(CONF_OUTSIDE_STRICT, good));
	}
	after = mallinfo2();
	/* Caches of the allocator hold a few blocks more or less. */
	CHECK(after.uordblks < before.uordblks + 10 * TIMES * 8);
}

/* ---- what changed ---- */

/* The changes between two texts of the only app. */
static unsigned
changes_between(const char *old_options, const char *new_options)
{
	char text[1024];
	struct conf *old;
	struct conf *new;
	unsigned bits = ~0u;

	snprintf(text, sizeof(text),
	    "app a {\nlisten = \"127.0.0.1:0\" command = \"/bin/true\" %s }\n",
	    old_options);
	old = conf_right(text);
	snprintf(text, sizeof(text),
	    "app a { listen = \"127.0.0.1:0\" command = \"/bin/true\" %s }\n",
	    new_options);
	new = conf_right(text);
	if (old != NULL && new != NULL)
		bits = conf_app_changes(&old->apps[0], &new->apps[0]);
	conf_free(old);
	conf_free(new);
	return bits;
}

static const struct {
	unsigned bits;
	const char *options[32];
} changes[] = {
	{ 0,
	    { "", "max_idle_time = auto", "kill_timeout = 5000ms",
		"restart_dir = tmp" } },
	{ CONF_CHANGED_SIZES,
	    { "min_processes = 2", "max_processes = 9", "concurrency = 2",
		"max_queue = 1", "queue_timeout = 1s", "on_full = close",
		"on_full = refuse", "protocol = http", "start_delay = 0",
		"start_delay_step = all", "stop_delay = 0", "max_idle_time = 0",
		"target_wait = 1s", "grow_threshold = 80", "max_requests = 5",
		"retry_limit = 1", "start_timeout = 1s", "pickup_timeout = 1s",
		"restart_delay = 2s", "restart_delay_max = 2m",
		"start_limit = 1", "min_server_life = 1s",
		"exit_on_failed = true", "stop_timeout = 1s",
		"kill_timeout = 1s", "watch = { a }", "restart_dir = run",
		"stderr_level = warn", "log_requests = false",
		"timeout_signal = ABRT" } },
	{ CONF_CHANGED_LISTEN,
	    { "listen += \"fd:x\"", "backlog = 5", "socket_mode = 0600",
		"socket_user = root" } },
	{ CONF_CHANGED_PROCESS,
	    { "command += \"x\"", "environment = \"A=b\"",
		"clear_environment = true", "umask = 077", "nice = 1",
		"no_new_privileges = true", "limit_nofile = 99",
		"stop_signal = QUIT", "limit_core = 0", "limit_as = 1G",
		"limit_nproc = 9", "limit_cpu = 9", "output = null" } },
	{ CONF_CHANGED_SIZES | CONF_CHANGED_PROCESS,
	    { "slow_timeout = 1s slow_signal = USR2" } },
	{ CONF_CHANGED_SIZES | CONF_CHANGED_PROCESS,
	    { "max_queue = 1 umask = 0" } },
};

TEST(each_option_has_its_cost)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		for (size_t n = 0; changes[i].options[n] != NULL; n++)
			CHECK_EQ(changes[i].bits,
			    changes_between("", changes[i].options[n]));
}

TEST(a_changed_user_replaces_the_processes)
{
	SKIP_IF(geteuid() != 0, "needs root");
	CHECK_EQ(CONF_CHANGED_PROCESS, changes_between("", "user = daemon"));
	CHECK_EQ(0, changes_between("", "user = nobody"));
}

/* ---- where the control socket is ---- */

static void
control_is(const char *expected, const char *text)
{
	char *path;

	conf_write("pool.conf", text);
	path = conf_control_path(in_folder("pool.conf"));
	CHECK_STR(expected, path);
	free(path);
}

TEST(the_control_path_is_found_beside_mistakes)
{
	control_is("/run/x.sock",
	    "foo = {\n} } \"open\ncontrol = /run/x.sock # here\napp a {");
	control_is("/run/x.sock",
	    "include = a\ninclude { }\ncontrol(\"/a\")\n"
	    "control = { \"/a\" }\ncontrol += \"/a\"\n"
	    "control = /run/x.sock\n");
	control_is(CONF_DEFAULT_CONTROL, "");
	control_is(CONF_DEFAULT_CONTROL, "app a { control = /x }\n");
	control_is(CONF_DEFAULT_CONTROL, "# control = /x\n");
	control_is("", "control = \"\"\n");
	control_is(in_folder("run/x.sock"), "control = run/x.sock\n");
	mkdir(in_folder("c"), 0755);
	conf_write("c/x.conf", "control = y.sock\n");
	control_is(in_folder("c/y.sock"), "include(\"c/*.conf\")\nnonsense {");
	control_is(
	    "/run/x.sock", "control = /run/x.sock\ninclude(\"c/x.conf\")\n");
	unsetenv("CONF_NONE");
	control_is("/none/s", "control = \"${CONF_NONE:-/none}/s\"\n");
}

TEST(the_control_path_of_an_unreadable_file_is_an_error)
{
	errno = 0;
	CHECK_STR(NULL, conf_control_path(in_folder("no/such.conf")));
	CHECK_EQ(ENOENT, errno);
	CHECK_STR(NULL, conf_control_path(conf_folder));
	CHECK_EQ(EISDIR, errno);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ROWS(storms, storm_now, fact, storm_check);
	RUN_ROWS(includes, include_now, fact, include_check);
	check_all();
	return check_finish();
}
