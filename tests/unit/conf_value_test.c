/*
 * The values of pool.conf: which are valid, what they become, and that
 * conf_print() gives them back.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <netinet/in.h>
#include <syslog.h>

#include "conf_help.h"

#define WRONG "\1"

/*
 * A value of an option of apps, and how it is printed; WRONG: how the mistake
 * that it is begins.
 */
static const struct value {
	const char *fact; /* NULL: goes on with the fact before */
	const char *option;
	const char *value; /* several with " | " between them */
	const char *expected;
} values[] = {
	{ "durations_have_units", "kill_timeout", "250ms", "250ms" },
	{ NULL, "kill_timeout", "10s", "10s" },
	{ NULL, "kill_timeout", "5m", "5m" },
	{ NULL, "kill_timeout", "2h", "2h" },
	{ NULL, "kill_timeout", "1d", "1d" },
	{ "a_bare_number_is_seconds", "kill_timeout", "7", "7s" },
	{ NULL, "kill_timeout", "0.5", "500ms" },
	{ NULL, "kill_timeout", ".25s", "250ms" },
	{ NULL, "kill_timeout", "1.5m", "90s" },
	{ NULL, "kill_timeout", "0", "0" },
	{ NULL, "kill_timeout", "0.0015", "0.001500000s" },
	{ "text_that_is_no_duration_is_refused", "kill_timeout",
	    "'' | s | 5q | \"5 s\" | -1 | +1 | 1e3 | 0x10 | inf | nan | 1h30m | . | .s | 1.s. | 9999999999999 | '1,5'",
	    WRONG "'" },
	{ "signals_are_words", "timeout_signal", "none", "none" },
	{ NULL, "timeout_signal", "WINCH", "WINCH" },
	{ NULL, "timeout_signal", "SIGTERM | 15 | KILL", WRONG "'" },
	{ NULL, "stop_signal", "QUIT", "QUIT" },
	{ NULL, "stop_signal", "none", WRONG "'" },
	{ "a_duration_has_its_range", "start_timeout", "0",
	    WRONG "0 is too short: at least 1ms" },
	{ NULL, "start_timeout", "4000d",
	    WRONG "4000d is too long: at most 3650d" },
	{ "numbers_are_decimal", "max_queue", "010", "10" },
	{ "text_that_is_no_number_is_refused", "max_queue",
	    "'' | -3 | +3 | 0x10 | 3k | ' 3' | 3.0 | 99999999999999999999999",
	    WRONG "'" },
	{ NULL, "max_processes", "10001",
	    WRONG "10001 is out of range: 1 to 10000 are valid" },
	{ "max_processes_is_a_number_or_auto_with_a_bound", "max_processes",
	    "auto", "auto" },
	{ NULL, "max_processes", "auto:64", "auto:64" },
	{ NULL, "max_processes", "auto:256", "auto" },
	{ NULL, "max_processes", "auto: | auto:x | automatic | Auto",
	    WRONG "'" },
	{ NULL, "max_processes", "auto:0",
	    WRONG "0 is out of range: 1 to 10000 are valid" },
	{ "prefetch_is_a_number_or_auto", "prefetch", "auto", "auto" },
	{ NULL, "prefetch", "2", "2" },
	{ NULL, "prefetch", "many",
	    WRONG "'many' is not auto or a whole number from 0 to 1000" },
	{ NULL, "prefetch", "1001",
	    WRONG "1001 is out of range: 0 to 1000 are valid" },
	{ "a_span_that_the_pool_decides_is_auto", "stop_delay", "auto",
	    "auto" },
	{ NULL, "stop_delay", "2s", "2s" },
	{ NULL, "stop_delay", "soon", WRONG "'soon' is not a duration" },
	{ "sizes_have_units", "max_memory", "65536", "64K" },
	{ NULL, "max_memory", "16M", "16M" },
	{ NULL, "max_memory", "2G", "2G" },
	{ NULL, "max_memory", "1T", "1T" },
	{ NULL, "max_memory", "1025", "1025" },
	{ "text_that_is_no_size_is_refused", "max_memory",
	    "'' | K | 64k | 64KB | 1.5G | -1 | '16 M' | 99999999999T | 18446744073709551616",
	    WRONG "'" },
	{ "percent_is_finite", "grow_threshold", "75.5", "75.5" },
	{ NULL, "grow_threshold",
	    "inf | nan | 1e1 | 0x1 | -1 | '' | . | 1.2.3 | 5%", WRONG "'" },
	{ NULL, "grow_threshold", "100.5",
	    WRONG "100.5 is out of range: 0 to 100 are valid" },
	{ "bools_have_six_words", "clear_environment", "ON", "true" },
	{ NULL, "clear_environment", "yes", "true" },
	{ NULL, "clear_environment", "False", "false" },
	{ NULL, "clear_environment", "maybe",
	    WRONG "'maybe' is not one of true, on, yes, false, off or no" },
	{ "the_message_lists_all_words_that_are_valid", "queue", "x",
	    WRONG "'x' is not one of global or private" },
	{ NULL, "start_delay_step", "fast",
	    WRONG "'fast' is not one of double, linear or all" },
	{ NULL, "output", "lgo",
	    WRONG
	    "'lgo' is not one of log, inherit, null or a file (with a '/')" },
	{ NULL, "on_full", "x",
	    WRONG "'x' is not one of wait, close, refuse or reply:FILE" },
	{ "output_may_be_a_file", "output", "/tmp/./out", "\"/tmp/out\"" },
	{ "modes_are_octal", "socket_mode", "600", "0600" },
	{ NULL, "umask", "0027", "0027" },
	{ NULL, "umask", "inherit", "inherit" },
	{ NULL, "socket_mode", "0888", WRONG "'0888' is not a mode" },
	{ NULL, "socket_mode", "01777", WRONG "'01777' is not a mode" },
	{ NULL, "umask", "x", WRONG "'x' is not a umask" },
	{ "limits_are_numbers_or_words", "limit_nofile", "100", "100" },
	{ NULL, "limit_core", "unlimited", "unlimited" },
	{ NULL, "limit_as", "1G", "1G" },
	{ NULL, "limit_cpu", "2m", "120s" },
	{ NULL, "limit_nproc", "inherit", "inherit" },
	{ NULL, "limit_cpu", "1500ms",
	    WRONG "'1500ms' is not a limit: whole seconds" },
	{ NULL, "limit_nofile", "3", WRONG "'3' is not a limit" },
	{ "nice_is_a_value", "nice", "-5", "-5" },
	{ NULL, "nice", "20", WRONG "'20' is not a nice value" },
	{ NULL, "nice", "-21", WRONG "'-21' is not a nice value" },
	{ NULL, "limit", "'10.0.0.1,10.0.0.1 k 1 2 1s'",
	    WRONG "'10.0.0.1,10.0.0.1' is no list of servers" },
	{ NULL, "limit", "'10.0.0.1,local k 1 2 1s'",
	    WRONG
	    "'10.0.0.1,local k 1 2 1s': local, the daemon's own counter" },
	{ NULL, "limit", "'10.0.0.1,*:7531 k 1 2 1s'",
	    WRONG "'*:7531' is no server" },
	{ NULL, "limit", "'10.0.0.1,fd:a k 1 2 1s'",
	    WRONG "'fd:a' is no server" },
	{ "a_path_is_no_address", "chroot", "unix:/run/x",
	    WRONG "a path stands here without 'unix:'" },
	{ NULL, "environment", "A", WRONG "'A' is not of the form NAME=VALUE" },
	{ NULL, "environment", "'=b'", WRONG "'=b' is not of the form" },
	{ NULL, "environment", "'A B=c'", WRONG "'A B' is not the name" },
	{ NULL, "environment", "'APPPOOL_FD=3'",
	    WRONG "APPPOOL_FD is set by apppoold itself" },
	{ "text_that_is_no_address_is_refused", "listen",
	    "8080 | 127.0.0.1 | '' | ':80' | 127.0.0.1:65536 | 127.0.0.1:x | 1.2.3.4.5:80 | 256.1.1.1:80 | '[::1:80' | [x]:80 | 'a b:80' | a$b:80 | unix: | fd: | 'fd:a b' | fd:a:b | 'unix:@name' | ::1:80 | 127.0.0.1:",
	    WRONG "" },
};

#define VALUES (sizeof(values) / sizeof(values[0]))

static const struct fact facts[] = {
	{ "the_log_has_three_places", 0, SHOWN "log = \"sub/x.log\"\n",
	    "log = sub/x.log\n" ANY_APP },
	{ NULL, 0, PART "'x' is not one of daemon, user",
	    "log = syslog:x\n" ANY_APP },
	{ NULL, 0, PART "'x' is not one of stderr, syslog",
	    "log = x\n" ANY_APP },
	{ "an_empty_control_means_no_socket", 0, SHOWN "control = \"\"\n",
	    "control = \"\"\n" ANY_APP },
	{ "defaults_hold_wherever_they_stand", 0, SHOWN "kill_timeout = 1s\n",
	    ANY_APP "defaults { kill_timeout = 1s }\n" },
	{ NULL, 0, SHOWN "kill_timeout = 2s\n",
	    "app b { handoff = none command = /bin/true kill_timeout = 2s }\n"
	    "defaults { kill_timeout = 1s }\n" },
	{ "lists_can_add_to_the_defaults", 0,
	    SHOWN "environment = { \"A=1\", \"B=2\", \"C=3\" }\n",
	    "defaults { environment = { \"A=1\", \"B=1\" } }\n" APP(
		"environment += { \"B=2\" } environment += \"C=3\"") },
	{ NULL, 0, SHOWN "environment = {}\n",
	    "defaults { environment = \"A=1\" }\n" APP("environment = { }") },
	{ "a_mistake_in_the_defaults_is_reported_once", 0,
	    "pool.conf:1: option 'kill_timeout': 'x' is not a duration: "
	    "write 250ms, 10s, 5m, 2h or 1d\n",
	    "defaults { kill_timeout = x }\n" ANY_APP
	    "app b { handoff = none command = /bin/true }\n" },
};

static const struct value *value_now;

/* Tries one of the values of a row. */
static void
value_try(const struct value *v, const char *value, size_t len)
{
	bool wrong = v->expected[0] == *WRONG;
	char text[512], line[256];
	char *mistakes, *warnings, *found;
	struct conf *conf;

	snprintf(text, sizeof(text), "app a { %s = %.*s\n%s command = x }\n",
	    v->option, (int)len, value,
	    strcmp(v->option, "listen") != 0 ? "listen = \"*:0\"" : "");
	snprintf(line, sizeof(line),
	    wrong ? "pool.conf:1: option '%s': %s" : "\t%s = %s\n", v->option,
	    v->expected + wrong);
	conf_write("pool.conf", text);
	conf = conf_try(0, &mistakes, &warnings);
	found = conf != NULL ? conf_printed(conf) : strdup(mistakes);
	if (strstr(found, line) == NULL) {
		CHECK_STR(line, found);
		fputs(text, stderr);
	}
	conf_free(conf);
	free(mistakes);
	free(warnings);
	free(found);
}

static void
value_check(void)
{
	const struct value *v = value_now;

	do {
		const char *at = v->value, *end;

		for (; (end = strstr(at, " | ")) != NULL; at = end + 3)
			value_try(v, at, (size_t)(end - at));
		value_try(v, at, strlen(at));
	} while (++v < values + VALUES && v->fact == NULL);
}

/* ---- paths, programs, servers ---- */

TEST(a_limit_has_its_servers_in_the_order_of_its_key)
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

TEST(syslog_has_the_facility_that_is_named)
{
	struct conf *conf = conf_right("log = syslog:local3\n" ANY_APP);

	NEED(conf != NULL);
	CHECK_EQ(LOG_DEST_SYSLOG, conf->log.dest);
	CHECK_EQ(LOG_LOCAL3, conf->log.facility);
	conf_free(conf);
}

TEST(paths_start_at_the_file_that_names_them)
{
	mkdir(in_folder("sub"), 0755);
	conf_write("sub/app.conf",
	    "app b { command = ./prog directory = \"x//y/./z\" handoff = none }\n");
	SHOWS("command = { \"sub/prog\" }\n\thandoff = none\n"
	      "\tdirectory = \"sub/x/y/z\"\n",
	    "include(\"sub/*.conf\")\n");
	SHOWS("pid_file = \"run/pid\"\n", "pid_file = run/pid\n" ANY_APP);
	SHOWS("control = \"c.sock\"\n", "control = ./c.sock\n" ANY_APP);
	SHOWS("directory = \"/tmp/apppoold-conf-test.", ANY_APP);
}

TEST(a_program_without_a_slash_is_looked_for_in_path)
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

/* ---- addresses ---- */

TEST(an_address_becomes_what_can_be_bound)
{
	struct conf *conf = conf_right(
	    "app a { command = /bin/true listen = { \"127.0.0.1:8080\",\n"
	    "\"[0:0::1]:80\", \"*:81\", \"unix:./a.sock\", \"fd:web\" } }\n");
	const struct conf_listen *l;
	const struct sockaddr_in *sin;
	char text[512];

	NEED(conf != NULL);
	NEED(conf->apps[0].listen.len == 5);
	l = conf->apps[0].listen.list;
	sin = (const struct sockaddr_in *)&l[0].addr;
	CHECK_EQ(CONF_LISTEN_TCP, l[0].kind);
	CHECK_STR("127.0.0.1:8080", l[0].text);
	CHECK_EQ(AF_INET, sin->sin_family);
	CHECK_EQ(8080, ntohs(sin->sin_port));
	CHECK_EQ(sizeof(*sin), l[0].addr_len);
	CHECK_STR("[::1]:80", l[1].text);
	CHECK_EQ(AF_INET6, l[1].addr.ss_family);
	CHECK(l[1].v6only);
	CHECK_STR("*:81", l[2].text);
	CHECK(l[2].addr.ss_family == AF_INET || !l[2].v6only);
	snprintf(text, sizeof(text), "unix:%s", in_folder("a.sock"));
	CHECK_STR(text, l[3].text);
	CHECK_STR(in_folder("a.sock"), conf_listen_name(&l[3]));
	CHECK_STR(conf_listen_name(&l[3]),
	    ((const struct sockaddr_un *)&l[3].addr)->sun_path);
	CHECK_EQ(CONF_LISTEN_FD, l[4].kind);
	CHECK_STR("web", conf_listen_name(&l[4]));
	conf_free(conf);
}

TEST(names_of_hosts_are_resolved)
{
	const struct conf_listen *l;
	struct conf *conf;

	SKIP_IF(access("/etc/hosts", R_OK) == -1,
	    "no /etc/hosts to find localhost in");
	conf = conf_right(
	    "app a { command = /bin/true listen = \"localhost:81\" }\n");
	NEED(conf != NULL);
	l = conf->apps[0].listen.list;
	CHECK(strcmp(l->text, "127.0.0.1:81") == 0 ||
	    strcmp(l->text, "[::1]:81") == 0);
	conf_free(conf);
}

TEST(an_unknown_host_makes_the_app_fail_alone)
{
	struct conf *conf = conf_warned("address 'no.invalid:80'",
	    "app a { command = \"/bin/true\" listen = \"no.invalid:80\" }\n");

	NEED(conf != NULL);
	CHECK(conf->apps[0].broken != NULL);
	CHECK_EQ(0, conf->apps[0].listen.list[0].addr_len);
	conf_free(conf);
}

TEST(a_path_too_long_for_a_socket_is_refused)
{
	char text[512];

	snprintf(text, sizeof(text),
	    "app a { command = /bin/true listen = \"unix:/%0120d\" }\n", 0);
	MISTAKE("pool.conf:1: option 'listen': ", text);
}

/* ---- in the words of the core ---- */

/* The options of the one app of this file. */
static struct app_options
options_of(const char *settings)
{
	char text[256];
	struct conf *conf;
	struct app_options o = { 0 };

	snprintf(text, sizeof(text), APP("%s"), settings);
	conf = conf_right(text);

	if (CHECK(conf != NULL))
		o = conf->apps[0].pool;
	conf_free(conf);
	return o;
}

TEST(prefetch_auto_is_one_for_any_user)
{
	struct app_options o = options_of("");

	CHECK_EQ(1, o.prefetch);
	CHECK(o.prefetch_auto);
	o = options_of("handoff = accept accept_by = library");
	CHECK_EQ(1, o.prefetch);
}

TEST(prefetch_auto_is_none_where_sessions_are_not_one_after_another)
{
	CHECK_EQ(0, options_of("concurrency = 2").prefetch);
	CHECK_EQ(
	    0, options_of("handoff = accept accept_by = seccomp").prefetch);
	CHECK_EQ(0, options_of("handoff = stdio").prefetch);
}

TEST(a_number_of_prefetch_is_for_any_user)
{
	struct app_options o = options_of("prefetch = 3");

	CHECK_EQ(3, o.prefetch);
	CHECK(!o.prefetch_auto);
}

/* ---- defaults and printing ---- */

TEST(a_restart_delay_over_the_default_maximum_is_its_own_maximum)
{
	CHECK_EQ(TSPAN_SECONDS(3600),
	    options_of("restart_delay = 1h").restart_delay_max);
	CHECK_EQ(TSPAN_SECONDS(60),
	    options_of("restart_delay = 2s").restart_delay_max);
}

TEST(a_printed_configuration_is_read_back)
{
	conf_read_back(
	    "max_processes = 40 log = syslog:mail stop_timeout = 1500ms\n"
	    "control_mode = 0600 dump_file = \"a b\\\"c\"\n"
	    "app a { listen = { *:81, unix:a.sock, fd:x, \"[::1]:0\" }\n"
	    "command = { /bin/sh, \"-c\", 'echo ${A} \\\\ \"x\"', \"\\x01\\n\" }\n"
	    "environment = { \"A=$\", \"B=\" } umask = 077 nice = 3\n"
	    "limit_core = 64K limit_cpu = 1h limit_nofile = unlimited\n"
	    "output = null max_idle_time = 0.0015 on_full = close }\n"
	    "app b { handoff = none command = /bin/true }\n");
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ROWS(values, value_now, fact, value_check);
	RUN_FACTS(facts);
	check_all();
	return check_finish();
}
