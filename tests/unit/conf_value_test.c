/*
 * The values of pool.conf: which are valid, what they become, and that
 * conf_print() gives them back.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <netinet/in.h>
#include <syslog.h>

#include "conf/room.h"

#include "conf_help.h"

/* One app, "a", with these options. */
static struct conf *
conf_app_right(const char *options)
{
	char text[4096];

	snprintf(text, sizeof(text),
	    "app \"a\" { listen = \"127.0.0.1:0\" command = \"/bin/true\" %s }\n",
	    options);
	return conf_right(text);
}

/* The value is a mistake, and the message begins with why. */
static void
wrong(const char *option, const char *value, const char *why)
{
	char text[4096];
	char expected[512];
	char *found;

	snprintf(text, sizeof(text),
	    "app \"a\" { listen = \"127.0.0.1:0\" command = \"/bin/true\"\n"
	    "%s = %s }\n",
	    option, value);
	snprintf(expected, sizeof(expected), "pool.conf:2: option '%s': %s",
	    option, why);
	found = mistakes_with(0, text);
	if (strncmp(found, expected, strlen(expected)) != 0)
		CHECK_STR(expected, found);
	free(found);
}

/* ---- durations ---- */

static void
durations_have_units(void)
{
	tspan span = 0;

	CHECK(conf_parse_span("250ms", &span) && span == TSPAN_MSECONDS(250));
	CHECK(conf_parse_span("10s", &span) && span == TSPAN_SECONDS(10));
	CHECK(conf_parse_span("5m", &span) && span == TSPAN_SECONDS(300));
	CHECK(conf_parse_span("2h", &span) && span == TSPAN_SECONDS(7200));
	CHECK(conf_parse_span("1d", &span) && span == TSPAN_SECONDS(86400));
}

static void
a_bare_number_is_seconds(void)
{
	tspan span = 0;

	CHECK(conf_parse_span("7", &span) && span == TSPAN_SECONDS(7));
	CHECK(conf_parse_span("0.5", &span) && span == TSPAN_MSECONDS(500));
	CHECK(conf_parse_span(".25s", &span) && span == TSPAN_MSECONDS(250));
	CHECK(conf_parse_span("1.5m", &span) && span == TSPAN_SECONDS(90));
	CHECK(conf_parse_span("0", &span) && span == 0);
}

static void
text_that_is_no_duration_is_refused(void)
{
	static const char *const wrongs[] = { "", "s", "5q", "5 s", "-1", "+1",
		"1e3", "0x10", "inf", "nan", "1h30m", ".", ".s", "1.s.",
		"9999999999999", "1,5" };
	tspan span = 42;

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		if (conf_parse_span(wrongs[i], &span))
			CHECK_STR("", wrongs[i]);
	}
	CHECK_EQ(42, span);
}

static void
a_printed_duration_is_read_back(void)
{
	static const tspan spans[] = { 0, 1, 999, TSPAN_MSECONDS(1),
		TSPAN_MSECONDS(1500), TSPAN_SECONDS(59), TSPAN_SECONDS(60),
		TSPAN_SECONDS(90), TSPAN_SECONDS(86400), 123456789 };

	struct arena a = { NULL };

	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		tspan back = -1;

		CHECK(conf_parse_span(type_print_span(&a, spans[i]), &back));
		CHECK_EQ(spans[i], back);
	}
	arena_fini(&a);
}

static void
a_duration_has_its_range(void)
{
	wrong("start_timeout", "0", "0 is too short: at least 1ms");
	wrong("stop_timeout", "4000d", "4000d is too long: at most 3650d");
}

/* ---- counts and sizes ---- */

static void
numbers_are_decimal(void)
{
	struct conf *conf = conf_app_right("max_queue = 010");

	NEED(conf != NULL);
	CHECK_EQ(10, conf->apps[0].pool.max_queue);
	conf_free(conf);
}

static void
text_that_is_no_number_is_refused(void)
{
	static const char *const wrongs[] = { "\"\"", "-3", "+3", "0x10", "3k",
		"\" 3\"", "3.0", "99999999999999999999999" };

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++)
		wrong("max_queue", wrongs[i], "'");
}

static void
prefetch_is_a_number_or_auto(void)
{
	struct conf *conf = conf_app_right("prefetch = auto");
	char *text = NULL;
	size_t len;
	FILE *f;

	NEED(conf != NULL);
	CHECK(conf->apps[0].pool.prefetch_auto);
	f = open_memstream(&text, &len);
	conf_print(conf, f);
	fclose(f);
	CHECK(strstr(text, "prefetch = auto") != NULL);
	free(text);
	conf_free(conf);
	wrong("prefetch", "many",
	    "'many' is not auto or a whole number from 0 to 1000");
	wrong("prefetch", "1001", "1001 is out of range: 0 to 1000 are valid");
}

static void
a_number_out_of_range_is_answered_with_the_range(void)
{
	wrong("max_processes", "0", "0 is out of range: 1 to 10000 are valid");
	wrong("max_processes", "10001",
	    "10001 is out of range: 1 to 10000 are valid");
}

static void
sizes_have_units(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{ "65536", 65536 },
		{ "64K", 65536 },
		{ "16M", 16u << 20 },
		{ "2G", 2ull << 30 },
		{ "1T", 1ull << 40 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char text[128];
		struct conf *conf;

		snprintf(
		    text, sizeof(text), APP("max_memory = %s"), sizes[i].text);
		conf = conf_right(text);
		NEED(conf != NULL);
		CHECK_EQ(sizes[i].bytes, conf->apps[0].pool.max_memory);
		conf_free(conf);
	}
}

static void
text_that_is_no_size_is_refused(void)
{
	static const char *const wrongs[] = { "K", "64k", "64KB", "1.5G", "-1",
		"'16 M'", "99999999999T", "18446744073709551616" };

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		char text[128];

		snprintf(text, sizeof(text), APP("max_memory = %s"), wrongs[i]);
		MISTAKE("is not a size: write 65536, 64K, 16M or 2G", text);
	}
}

static void
percent_is_finite(void)
{
	static const char *const wrongs[] = { "inf", "nan", "1e1", "0x1", "-1",
		"\"\"", ".", "1.2.3", "5%" };

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++)
		wrong("grow_threshold", wrongs[i], "'");
	wrong("grow_threshold", "100.5",
	    "100.5 is out of range: 0 to 100 are valid");
}

/* ---- words ---- */

static void
bools_have_six_words(void)
{
	struct conf *conf =
	    conf_app_right("clear_environment = ON no_new_privileges = yes "
			   "exit_on_failed = false");

	NEED(conf != NULL);
	CHECK(conf->apps[0].program.clear_environment);
	CHECK(conf->apps[0].program.no_new_privileges);
	CHECK(!conf->apps[0].exit_on_failed);
	conf_free(conf);
	wrong("exit_on_failed", "maybe",
	    "'maybe' is not one of true, on, yes, false, off or no");
}

static void
the_message_lists_all_words_that_are_valid(void)
{
	wrong("queue", "x", "'x' is not one of global or private");
	wrong("start_delay_step", "fast",
	    "'fast' is not one of double, linear or all");
	wrong("output", "lgo",
	    "'lgo' is not one of log, inherit, null or a file (with a '/')");
	wrong("on_full", "x",
	    "'x' is not one of wait, close, refuse or reply:FILE");
}

static void
output_may_be_a_file(void)
{
	struct conf *conf = conf_app_right("output = ./out.log");

	NEED(conf != NULL);
	CHECK_EQ(CONF_OUTPUT_FILE, conf->apps[0].program.output);
	CHECK_STR(in_folder("out.log"), conf->apps[0].program.output_file);
	conf_free(conf);
}

static void
the_log_has_three_places(void)
{
	struct conf *conf = conf_right("log = syslog:local3\n" ANY_APP);

	NEED(conf != NULL);
	CHECK_EQ(CONF_LOG_SYSLOG, conf->log);
	CHECK_EQ(LOG_LOCAL3, conf->log_facility);
	conf_free(conf);
	conf = conf_right("log = sub/x.log\n" ANY_APP);
	NEED(conf != NULL);
	CHECK_EQ(CONF_LOG_FILE, conf->log);
	CHECK_STR(in_folder("sub/x.log"), conf->log_file);
	conf_free(conf);
	MISTAKE("'x' is not one of daemon, user", "log = syslog:x\n" ANY_APP);
	MISTAKE("'x' is not one of stderr, syslog", "log = x\n" ANY_APP);
}

static void
a_log_level_is_a_word(void)
{
	struct conf *conf = conf_right("log_level = warn\n" ANY_APP);

	NEED(conf != NULL);
	CHECK_EQ(CONF_LOG_LEVEL_WARN, conf->log_level);
	conf_free(conf);
}

/* ---- the servers of a limit ---- */

static void
a_limit_has_its_servers_in_the_order_of_its_key(void)
{
	/* As with md5("10.64.0.1ArticleView:7") and so on. */
	struct conf *conf = conf_right(
	    "app a { command = /bin/true listen = \"127.0.0.1:0\"\n"
	    "limit = \"10.64.0.1,10.64.0.2,10.64.0.3:7532 ArticleView:7 "
	    "2 50 1s\" }\n");
	const struct conf_limit *limit;

	NEED(conf != NULL);
	limit = &conf->apps[0].limit;
	CHECK(!limit->local);
	CHECK_EQ(3, limit->servers_len);
	CHECK_STR("10.64.0.2", limit->servers[0].name);
	CHECK_STR("10.64.0.2:7531", limit->servers[0].where.text);
	CHECK_STR("10.64.0.1", limit->servers[1].name);
	CHECK_STR("10.64.0.3:7532", limit->servers[2].where.text);
	conf_free(conf);
}

static void
a_limit_with_wrong_servers_is_a_mistake(void)
{
	wrong("limit", "\"10.0.0.1,,10.0.0.2 k 1 2 1s\"",
	    "'10.0.0.1,,10.0.0.2' is no list of servers");
	wrong("limit", "\"10.0.0.1,10.0.0.1 k 1 2 1s\"",
	    "'10.0.0.1,10.0.0.1' is no list of servers");
	wrong("limit", "\"10.0.0.1,local k 1 2 1s\"",
	    "'10.0.0.1,local k 1 2 1s': local, the daemon's own counter");
	wrong("limit", "\"10.0.0.1,*:7531 k 1 2 1s\"", "'*:7531' is no server");
	wrong("limit", "\"10.0.0.1,fd:a k 1 2 1s\"", "'fd:a' is no server");
}

/* ---- modes and limits ---- */

static void
modes_are_octal(void)
{
	struct conf *conf = conf_app_right("socket_mode = 600 umask = 0027");

	NEED(conf != NULL);
	CHECK_EQ(0600, conf->apps[0].listen.mode);
	CHECK_EQ(0027, conf->apps[0].program.umask);
	conf_free(conf);
	wrong("socket_mode", "0888", "'0888' is not a mode");
	wrong("socket_mode", "01777", "'01777' is not a mode");
	wrong("umask", "x", "'x' is not a umask");
}

static void
limits_are_numbers_or_words(void)
{
	struct conf *conf = conf_app_right(
	    "limit_nofile = 100 limit_core = unlimited limit_as = 1G "
	    "limit_cpu = 2m");
	const struct conf_app *app;

	NEED(conf != NULL);
	app = &conf->apps[0];
	CHECK(app->program.limit_nofile.set);
	CHECK_EQ(100, app->program.limit_nofile.max);
	CHECK(app->program.limit_core.set &&
	    app->program.limit_core.max == RLIM_INFINITY);
	CHECK_EQ(1 << 30, app->program.limit_as.max);
	CHECK_EQ(120, app->program.limit_cpu.max);
	CHECK(!app->program.limit_nproc.set);
	conf_free(conf);
	wrong("limit_cpu", "1500ms", "'1500ms' is not a limit: whole seconds");
	wrong("limit_nofile", "3", "'3' is not a limit");
}

static void
nice_is_a_value(void)
{
	struct conf *conf = conf_app_right("nice = -5");

	NEED(conf != NULL);
	CHECK(conf->apps[0].program.nice_set);
	CHECK_EQ(-5, conf->apps[0].program.nice);
	conf_free(conf);
	wrong("nice", "20", "'20' is not a nice value");
	wrong("nice", "-21", "'-21' is not a nice value");
}

/* ---- paths and lists ---- */

static void
paths_start_at_the_file_that_names_them(void)
{
	struct conf *conf;

	mkdir(in_folder("sub"), 0755);
	conf_write("sub/app.conf",
	    "app b { command = ./prog directory = \"x//y/./z\" handoff = none }\n");
	conf = conf_right("pid_file = run/pid\ncontrol = ./c.sock\n"
			  "include(\"sub/*.conf\")\n" ANY_APP);
	NEED(conf != NULL);
	CHECK_STR(in_folder("run/pid"), conf->pid_file);
	CHECK_STR(in_folder("c.sock"), conf->control);
	CHECK_STR(in_folder("sub/prog"), conf->apps[0].program.command[0]);
	CHECK_STR(in_folder("sub/x/y/z"), conf->apps[0].program.directory);
	CHECK_STR(conf_folder, conf->apps[1].program.directory);
	conf_free(conf);
}

static void
a_path_is_no_address(void)
{
	MISTAKE("pool.conf:1: option 'control': a path stands here without "
		"'unix:'",
	    "control = unix:/run/x.sock\n" ANY_APP);
}

static void
an_empty_control_means_no_socket(void)
{
	struct conf *conf = conf_right("control = \"\"\n" ANY_APP);

	NEED(conf != NULL);
	CHECK_STR(NULL, conf->control);
	conf_free(conf);
}

static void
a_program_without_a_slash_is_looked_for_in_path(void)
{
	struct conf *conf;

	conf_write("prog", "#!/bin/sh\n");
	chmod(in_folder("prog"), 0755);
	conf_write("pool.conf", "");
	setenv("CONF_DIR", conf_folder, 1);
	conf = conf_right("app a { handoff = none command = { prog, x }\n"
			  "environment = \"PATH=/nowhere:${CONF_DIR}\" }\n");
	NEED(conf != NULL);
	CHECK_STR(in_folder("prog"), conf->apps[0].program.command[0]);
	CHECK_STR("x", conf->apps[0].program.command[1]);
	CHECK_STR(NULL, conf->apps[0].program.command[2]);
	CHECK_STR(NULL, conf->apps[0].broken);
	conf_free(conf);
}

static void
variables_have_a_name_and_a_value(void)
{
	wrong("environment", "{ \"A\" }", "'A' is not of the form NAME=VALUE");
	wrong("environment", "{ \"=b\" }", "'=b' is not of the form");
	wrong("environment", "{ \"A B=c\" }", "'A B' is not the name");
	conf_free(conf_app_right(
	    "environment = { \"APPPOOL_COUNTER=10.0.0.1:7531\" }"));
	wrong("environment", "{ \"APPPOOL_FD=3\" }",
	    "APPPOOL_FD is set by apppoold itself");
}

static void
a_later_variable_replaces_an_earlier_one(void)
{
	struct conf *conf =
	    conf_app_right("environment = { \"A=1\", \"B=2\", \"A=3\" }");

	NEED(conf != NULL);
	CHECK_STR("B=2", conf->apps[0].program.environment[0]);
	CHECK_STR("A=3", conf->apps[0].program.environment[1]);
	CHECK_STR(NULL, conf->apps[0].program.environment[2]);
	conf_free(conf);
}

/* ---- addresses ---- */

static const struct conf_listen *
listen_of(struct conf **conf_out, const char *address)
{
	char text[512];

	snprintf(text, sizeof(text),
	    "app \"a\" { command = \"/bin/true\" listen = \"%s\" }\n", address);
	*conf_out = conf_right(text);
	return *conf_out != NULL ? (*conf_out)->apps[0].listen.list : NULL;
}

static void
an_address_of_four_numbers_is_ipv4(void)
{
	struct conf *conf;
	const struct conf_listen *l = listen_of(&conf, "127.0.0.1:8080");
	const struct sockaddr_in *sin;

	NEED(l != NULL);
	sin = (const struct sockaddr_in *)&l->addr;
	CHECK_EQ(CONF_LISTEN_TCP, l->kind);
	CHECK_STR("127.0.0.1:8080", l->text);
	CHECK_EQ(AF_INET, sin->sin_family);
	CHECK_EQ(8080, ntohs(sin->sin_port));
	CHECK_EQ(sizeof(*sin), l->addr_len);
	conf_free(conf);
}

static void
an_address_in_brackets_is_ipv6(void)
{
	struct conf *conf;
	const struct conf_listen *l = listen_of(&conf, "[0:0::1]:80");

	NEED(l != NULL);
	CHECK_STR("[::1]:80", l->text);
	CHECK_EQ(AF_INET6, l->addr.ss_family);
	CHECK(l->v6only);
	conf_free(conf);
}

static void
a_star_listens_for_both_families(void)
{
	struct conf *conf;
	const struct conf_listen *l = listen_of(&conf, "*:80");

	NEED(l != NULL);
	CHECK_STR("*:80", l->text);
	CHECK_EQ(1, conf->apps[0].listen.len);
	CHECK(l->addr.ss_family == AF_INET ||
	    (l->addr.ss_family == AF_INET6 && !l->v6only));
	conf_free(conf);
}

static void
a_unix_address_is_absolute(void)
{
	struct conf *conf;
	const struct conf_listen *l = listen_of(&conf, "unix:./a.sock");
	char text[512];

	NEED(l != NULL);
	snprintf(text, sizeof(text), "unix:%s", in_folder("a.sock"));
	CHECK_STR(text, l->text);
	CHECK_STR(in_folder("a.sock"), l->path);
	CHECK_STR(l->path, ((const struct sockaddr_un *)&l->addr)->sun_path);
	conf_free(conf);
}

static void
an_inherited_socket_has_a_name(void)
{
	struct conf *conf;
	const struct conf_listen *l = listen_of(&conf, "fd:web");

	NEED(l != NULL);
	CHECK_EQ(CONF_LISTEN_FD, l->kind);
	CHECK_STR("fd:web", l->text);
	CHECK_STR("web", l->fd_name);
	conf_free(conf);
}

static void
names_of_hosts_are_resolved(void)
{
	struct conf *conf;
	const struct conf_listen *l;

	if (access("/etc/hosts", R_OK) == -1)
		SKIP("no /etc/hosts to find localhost in");
	l = listen_of(&conf, "localhost:81");
	NEED(l != NULL);
	CHECK(strcmp(l->text, "127.0.0.1:81") == 0 ||
	    strcmp(l->text, "[::1]:81") == 0);
	conf_free(conf);
}

static void
an_unknown_host_makes_the_app_fail_alone(void)
{
	char *mistakes;
	char *warnings;
	struct conf *conf;

	conf_write("pool.conf",
	    "app a { command = \"/bin/true\" listen = \"no.invalid:80\" }\n");
	conf = conf_try(CONF_OUTSIDE_WARN, &mistakes, &warnings);
	CHECK_STR("", mistakes);
	CHECK(strstr(warnings, "address 'no.invalid:80'") != NULL);
	NEED(conf != NULL);
	CHECK(conf->apps[0].broken != NULL);
	CHECK_EQ(0, conf->apps[0].listen.list[0].addr_len);
	conf_free(conf);
	free(mistakes);
	free(warnings);
}

static void
wrong_address(const char *address)
{
	char text[512];

	snprintf(text, sizeof(text),
	    "app \"a\" { command = \"/bin/true\" listen = %s }\n", address);
	MISTAKE("pool.conf:1: option 'listen': ", text);
}

static void
text_that_is_no_address_is_refused(void)
{
	static const char *const wrongs[] = { "8080", "127.0.0.1", "\"\"",
		"\":80\"", "127.0.0.1:65536", "127.0.0.1:x", "1.2.3.4.5:80",
		"256.1.1.1:80", "[::1:80", "[x]:80", "\"a b:80\"", "a$b:80",
		"unix:", "fd:", "\"fd:a b\"", "fd:a:b", "\"unix:@name\"",
		"::1:80", "127.0.0.1:" };

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++)
		wrong_address(wrongs[i]);
}

static void
a_path_too_long_for_a_socket_is_refused(void)
{
	char path[256];

	memset(path, 'x', sizeof(path));
	memcpy(path, "unix:/", 6);
	path[120] = '\0';
	wrong_address(path);
}

/* ---- defaults ---- */

static void
defaults_hold_wherever_they_stand(void)
{
	struct conf *conf = conf_right(ANY_APP
	    "app b { handoff = none command = /bin/true kill_timeout = 2s }\n"
	    "defaults { kill_timeout = 1s }\n");

	NEED(conf != NULL);
	CHECK_EQ(TSPAN_SECONDS(1), conf->apps[0].pool.kill_timeout);
	CHECK_EQ(TSPAN_SECONDS(2), conf->apps[1].pool.kill_timeout);
	conf_free(conf);
}

static void
lists_can_add_to_the_defaults(void)
{
	struct conf *conf =
	    conf_right("defaults { environment = { \"A=1\", \"B=1\" }\n"
		       "handoff = none command = /bin/true }\n"
		       "app a { environment += { \"B=2\" } "
		       "environment += \"C=3\" }\n"
		       "app b { environment = { } }\n");

	NEED(conf != NULL);
	CHECK_STR("A=1", conf->apps[0].program.environment[0]);
	CHECK_STR("B=2", conf->apps[0].program.environment[1]);
	CHECK_STR("C=3", conf->apps[0].program.environment[2]);
	CHECK_STR(NULL, conf->apps[0].program.environment[3]);
	CHECK_STR(NULL, conf->apps[1].program.environment[0]);
	conf_free(conf);
}

static void
a_mistake_in_the_defaults_is_reported_once(void)
{
	MISTAKES("pool.conf:1: option 'kill_timeout': 'x' is not a duration: "
		 "write 250ms, 10s, 5m, 2h or 1d\n",
	    "defaults { kill_timeout = x }\n" ANY_APP
	    "app b { handoff = none command = /bin/true }\n");
}

static void
every_default_is_the_documented_one(void)
{
	struct conf *conf = conf_app_right("");
	const struct conf_app *a;

	NEED(conf != NULL);
	a = &conf->apps[0];
	CHECK_EQ(64, conf->max_processes);
	CHECK_STR(CONF_DEFAULT_CONTROL, conf->control);
	CHECK_EQ(0660, conf->control_mode);
	CHECK_EQ(CONF_LOG_STDERR, conf->log);
	CHECK_EQ(CONF_LOG_LEVEL_INFO, conf->log_level);
	CHECK_EQ(TSPAN_SECONDS(30), conf->stop_timeout);
	CHECK_EQ(1024, a->listen.backlog);
	CHECK_EQ(0660, a->listen.mode);
	CHECK_EQ(1, a->pool.min_processes);
	CHECK_EQ(8, a->pool.max_processes);
	CHECK_EQ(1, a->pool.concurrency);
	CHECK_EQ(100, a->pool.max_queue);
	CHECK_EQ(0, a->pool.queue_timeout);
	CHECK_EQ(CONF_ON_FULL_WAIT, a->refusal.on_full);
	CHECK_EQ(TSPAN_MSECONDS(50), a->pool.start_delay);
	CHECK_EQ(APP_AUTO, a->pool.stop_delay);
	CHECK_EQ(APP_AUTO, a->pool.max_idle_time);
	CHECK_EQ(0, a->pool.max_requests);
	CHECK_EQ(TSPAN_SECONDS(30), a->pool.start_timeout);
	CHECK_EQ(TSPAN_SECONDS(10), a->pool.pickup_timeout);
	CHECK_EQ(TSPAN_SECONDS(1), a->pool.restart_delay);
	CHECK_EQ(TSPAN_SECONDS(60), a->pool.restart_delay_max);
	CHECK_EQ(5, a->pool.start_limit);
	CHECK_EQ(TSPAN_SECONDS(30), a->pool.min_server_life);
	CHECK_EQ(10, a->pool.retry_limit);
	CHECK_EQ(TSPAN_SECONDS(30), a->pool.stop_timeout);
	CHECK_EQ(TSPAN_SECONDS(5), a->pool.kill_timeout);
	CHECK_NEAR(0.5, a->pool.gain);
	CHECK_NEAR(90, a->pool.grow_threshold);
	CHECK_EQ(0, a->pool.target_wait);
	conf_free(conf);
}

/* ---- printing ---- */

static char *
printed(const struct conf *conf)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_print(conf, out);
	fclose(out);
	return text;
}

static void
a_printed_configuration_is_read_back(void)
{
	struct conf *conf = conf_right(
	    "max_processes = 40 log = syslog:mail stop_timeout = 1500ms\n"
	    "control_mode = 0600 dump_file = \"a b\\\"c\"\n"
	    "app a { listen = { *:81, unix:a.sock, fd:x, \"[::1]:0\" }\n"
	    "command = { /bin/sh, \"-c\", 'echo ${A} \\\\ \"x\"', \"\\x01\\n\" }\n"
	    "environment = { \"A=$\", \"B=\" } umask = 077 nice = 3\n"
	    "limit_core = 64K limit_cpu = 1h limit_nofile = unlimited\n"
	    "output = null max_idle_time = 0.0015 on_full = close }\n"
	    "app b { handoff = none command = /bin/true }\n");
	struct conf *again;
	char *first;
	char *second;

	NEED(conf != NULL);
	first = printed(conf);
	again = conf_right(first);
	NEED(again != NULL);
	second = printed(again);
	CHECK_STR(first, second);
	CHECK_EQ(0, conf_app_changes(&conf->apps[0], &again->apps[0]));
	CHECK_EQ(0, conf_app_changes(&conf->apps[1], &again->apps[1]));
	conf_free(conf);
	conf_free(again);
	free(first);
	free(second);
}

int
main(int argc, char **argv)
{
	conf_folder_make();
	check_start(argc, argv);
	RUN(durations_have_units);
	RUN(a_bare_number_is_seconds);
	RUN(text_that_is_no_duration_is_refused);
	RUN(a_printed_duration_is_read_back);
	RUN(a_duration_has_its_range);
	RUN(numbers_are_decimal);
	RUN(text_that_is_no_number_is_refused);
	RUN(prefetch_is_a_number_or_auto);
	RUN(a_number_out_of_range_is_answered_with_the_range);
	RUN(sizes_have_units);
	RUN(text_that_is_no_size_is_refused);
	RUN(percent_is_finite);
	RUN(bools_have_six_words);
	RUN(the_message_lists_all_words_that_are_valid);
	RUN(output_may_be_a_file);
	RUN(the_log_has_three_places);
	RUN(a_log_level_is_a_word);
	RUN(modes_are_octal);
	RUN(a_limit_has_its_servers_in_the_order_of_its_key);
	RUN(a_limit_with_wrong_servers_is_a_mistake);
	RUN(limits_are_numbers_or_words);
	RUN(nice_is_a_value);
	RUN(paths_start_at_the_file_that_names_them);
	RUN(a_path_is_no_address);
	RUN(an_empty_control_means_no_socket);
	RUN(a_program_without_a_slash_is_looked_for_in_path);
	RUN(variables_have_a_name_and_a_value);
	RUN(a_later_variable_replaces_an_earlier_one);
	RUN(an_address_of_four_numbers_is_ipv4);
	RUN(an_address_in_brackets_is_ipv6);
	RUN(a_star_listens_for_both_families);
	RUN(a_unix_address_is_absolute);
	RUN(an_inherited_socket_has_a_name);
	RUN(names_of_hosts_are_resolved);
	RUN(an_unknown_host_makes_the_app_fail_alone);
	RUN(text_that_is_no_address_is_refused);
	RUN(a_path_too_long_for_a_socket_is_refused);
	RUN(defaults_hold_wherever_they_stand);
	RUN(lists_can_add_to_the_defaults);
	RUN(a_mistake_in_the_defaults_is_reported_once);
	RUN(every_default_is_the_documented_one);
	RUN(a_printed_configuration_is_read_back);
	return check_finish();
}
