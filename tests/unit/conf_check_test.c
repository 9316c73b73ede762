/*
 * Values of pool.conf that contradict each other, names of later versions, and
 * things that the machine does not have.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>

#include "sys/text.h"

#include "conf_help.h"

#define STRICT CONF_OUTSIDE_STRICT
#define WARN CONF_OUTSIDE_WARN

/* ---- within an app ---- */

/* Checks that `options` of the app a leave it this target_wait. */
static void
target(tspan expected, const char *before, const char *options)
{
	char text[512], *mistakes, *warnings;
	struct conf *conf;

	(void)snprintf(text, sizeof(text),
	    "%s app a { listen = \"*:0\" command = /bin/true %s }", before,
	    options);
	conf_write("pool.conf", text);
	conf = conf_try(0, &mistakes, &warnings);
	free(mistakes);
	free(warnings);
	NEED(conf != NULL);
	CHECK_EQ(expected, conf->apps[0].pool.target_wait);
	conf_free(conf);
}

TEST(a_threshold_nearer_to_the_app_turns_a_target_off)
{
	target(0, "", "");
	for (size_t i = 0; i < 3; i++)
		target(0, "defaults { target_wait = 1s }",
		    (const char *const[]){ "grow_threshold = 80",
			"multi_threshold = 50", "single_threshold = 5" }[i]);
	target(TSPAN_SECONDS(1), "defaults { target_wait = 1s }",
	    "kill_interval = 1s gain = 0.2");
}

TEST(of_a_threshold_and_a_target_the_one_nearer_to_the_app_rules)
{
	target(TSPAN_SECONDS(1), "defaults { multi_threshold = 50 }",
	    "target_wait = 1s");
	target(0, "defaults { target_wait = 1s }", "multi_threshold = 50");
	target(TSPAN_SECONDS(1), "defaults { target_wait = 1s }", "");
	target(0, "defaults { target_wait = 1s }", "target_wait = 0");
}

TEST(no_target_is_kept_where_waits_or_ends_are_unknown)
{
	target(0, "", "prefetch = 1 queue = private");
	target(
	    0, "defaults { target_wait = 1s }", "prefetch = 1 queue = private");
	target(0, "", "handoff = listen");
	target(0, "defaults { target_wait = 1s }", "handoff = listen");
	target(TSPAN_SECONDS(1), "", "handoff = stdio target_wait = 1s");
	MISTAKE("target_wait cannot be kept with queue = private",
	    APP("prefetch = 1 queue = private target_wait = 1s"));
	MISTAKE("'target_wait' cannot be used with handoff = listen",
	    APP("handoff = listen target_wait = 1s"));
	MISTAKES("", APP("prefetch = 1 queue = private target_wait = 0"));
}

/* ---- between apps ---- */

TEST(a_control_socket_too_long_is_a_mistake)
{
	char text[512];
	char path[200];

	memset(path, 'x', sizeof(path));
	path[150] = '\0';
	snprintf(text, sizeof(text), "control = /%s\n" ANY_APP, path);
	MISTAKE("is too long for a socket: 151 bytes of at most 107", text);
}

/* ---- what is not there yet, or not here ---- */

TEST(an_option_for_sessions_is_a_mistake_without_them)
{
	static const char *const names[] = { "queue", "limit", "prefetch",
		"concurrency", "max_requests", "request_timeout",
		"wait_for_data", "keep_alive" };
	static const char *const handoffs[] = { "listen", "none" };
	static const char *const values[] = { "private", "\"local k 1 1 1\"",
		"1", "2", "1", "1s", "true", "true" };
	char text[256], message[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) * 2; i++) {
		snprintf(text, sizeof(text),
		    "app a { handoff = %s command = a %s\n%s = %s }\n",
		    handoffs[i % 2], i % 2 == 0 ? "listen = \"*:0\"" : "",
		    names[i / 2], values[i / 2]);
		snprintf(message, sizeof(message),
		    "pool.conf:2: option '%s' cannot be used with handoff = %s",
		    names[i / 2], handoffs[i % 2]);
		MISTAKE(message, text);
	}
}

/* ---- who ---- */

/* For a test that runs in a process of its own. */
static bool
become_nobody(void)
{
	const struct passwd *nobody = getpwnam("nobody");

	if (geteuid() != 0)
		return true;
	return nobody != NULL && chmod(conf_folder, 0777) == 0 &&
	    setgroups(0, NULL) == 0 && setgid(nobody->pw_gid) == 0 &&
	    setuid(nobody->pw_uid) == 0;
}

TEST_ALONE(only_root_can_be_another_user)
{
	struct conf *conf;

	NEED(become_nobody());
	(void)remove(in_folder("pool.conf"));
	MISTAKES("pool.conf:1: option 'user': only root can run processes as "
		 "'root'\n"
		 "pool.conf:2: option 'user': only root can run processes as "
		 "'root'\n"
		 "pool.conf:2: option 'group': only root can run processes as "
		 "'root'\n"
		 "pool.conf:2: option 'chroot': only root can use it\n",
	    "user = root\n" APP("user = root group = root chroot = /"));
	conf = conf_right(ANY_APP);
	NEED(conf != NULL);
	CHECK(!conf->apps[0].program.identity.change);
	CHECK_EQ(geteuid(), conf->apps[0].program.identity.uid);
	CHECK(!conf->nobody_by_default);
	conf_free(conf);
}

TEST(keepers_have_a_user_that_no_app_has)
{
	struct conf *conf;

	SKIP_IF(geteuid() != 0, "needs root");
	SKIP_IF(getpwnam("_apppoold") != NULL, "the package's user is here");
	conf = conf_right(APP("user = nobody"));
	NEED(conf != NULL);
	CHECK(conf->keeper_changes);
	CHECK_EQ(65530, conf->keeper_uid);
	CHECK_EQ(65530, conf->keeper_gid);
	conf_free(conf);
	MISTAKES("pool.conf:1: app 'a': user '65530' is that of the daemon's "
		 "keepers, which no process may get at\n",
	    APP("user = 65530 group = nogroup"));
}

TEST_ALONE(a_user_without_a_name_has_a_number)
{
	struct conf *conf;

	SKIP_IF(geteuid() != 0, "needs root");
	NEED(chmod(conf_folder, 0777) == 0);
	(void)remove(in_folder("pool.conf"));
	NEED(setgid(54322) == 0 && setuid(54321) == 0);
	conf = conf_right(APP("user = 54321 group = 54322"));
	NEED(conf != NULL);
	CHECK(!conf->apps[0].program.identity.change);
	conf_free(conf);
	MISTAKES("pool.conf:1: option 'user': only root can run processes as "
		 "'54320'\n",
	    APP("user = 54320"));
}

TEST_ALONE(a_load_of_the_file_alone_asks_for_no_user_and_no_host)
{
	NEED(become_nobody());
	(void)remove(in_folder("pool.conf"));
	MISTAKES_WITH(CONF_INSIDE, "",
	    "control_group = \"no-such-group\"\n"
	    "counter = \"no-such-host.invalid:7531\"\n"
	    "app \"a\" { listen = \"no-such-host.invalid:80\"\n"
	    "command = \"/no/such/program\" directory = \"/no/such\"\n"
	    "user = \"root\" chroot = \"/no/such\"\n"
	    "socket_user = \"no-such-user\"\n"
	    "on_full = \"reply:/no/such/file\" }\n");
}

TEST(as_root_an_app_has_the_user_that_is_named)
{
	const struct conf_program *p;
	struct conf *conf;

	SKIP_IF(geteuid() != 0, "needs root");
	conf = conf_right(ANY_APP
	    "app r { handoff = none command = a user = root }\n"
	    "app n { handoff = none command = a user = 54321 group = 54322 }\n");
	NEED(conf != NULL);
	CHECK(conf->nobody_by_default);
	p = &conf->apps[0].program;
	CHECK_STR("nobody", p->user);
	CHECK(p->identity.change);
	CHECK(p->identity.uid != 0);
	CHECK_EQ(p->identity.gid, p->identity.groups[0]);
	CHECK_EQ(0, conf->apps[1].program.identity.uid);
	p = &conf->apps[2].program;
	CHECK_EQ(54321, p->identity.uid);
	CHECK_EQ(54322, p->identity.gid);
	CHECK_STR("/", p->identity.home);
	conf_free(conf);
	conf = conf_right("user = daemon\n" ANY_APP);
	NEED(conf != NULL);
	CHECK(!conf->nobody_by_default);
	CHECK_STR("daemon", conf->apps[0].program.identity.user);
	conf_free(conf);
}

TEST(an_unknown_user_makes_its_app_fail_alone)
{
	struct conf *conf;

	SKIP_IF(geteuid() != 0, "needs root");
	conf = conf_warned(
	    "pool.conf:2: app 'b': user 'no-such': there is none of that name\n",
	    ANY_APP "app b { handoff = none command = /bin/true "
		    "user = no-such }\n");
	NEED(conf != NULL);
	CHECK_STR(NULL, conf->apps[0].broken);
	CHECK_STR(
	    "user 'no-such': there is none of that name", conf->apps[1].broken);
	conf_free(conf);
}

/* ---- the machine ---- */

/* The folder of the default socket may be out of reach for the test. */
#define NO_CONTROL "control = \"\" "

TEST(a_program_not_in_path_makes_its_app_fail_alone)
{
	struct conf *conf = conf_warned(
	    "pool.conf:1: app 'a': program 'no-such' is not in PATH (/nowhere)\n",
	    NO_CONTROL "app a { handoff = none command = no-such "
		       "environment = \"PATH=/nowhere\" }\n");

	NEED(conf != NULL);
	CHECK_STR("program 'no-such' is not in PATH (/nowhere)",
	    conf->apps[0].broken);
	conf_free(conf);
}

TEST(a_program_that_cannot_be_run_is_a_mistake)
{
	conf_write("plain", "text");
	chmod(in_folder("plain"), 0644);
	MISTAKES_WITH(STRICT,
	    "pool.conf:1: app 'a': program plain: is not executable\n"
	    "pool.conf:1: app 'b': program /tmp: is not a regular file\n"
	    "pool.conf:1: app 'c': program /bin/sleep 5: No such file or "
	    "directory (arguments are elements of their own: { \"PROGRAM\", "
	    "\"ARGUMENT\" })\n",
	    NO_CONTROL "app a { handoff = none command = ./plain }"
		       "app b { handoff = none command = /tmp }"
		       "app c { handoff = none command = \"/bin/sleep 5\" }\n");
}

TEST(a_missing_root_directory_is_reported_once)
{
	SKIP_IF(geteuid() != 0, "needs root");
	MISTAKES_WITH(STRICT,
	    "pool.conf:1: app 'a': chroot /nowhere: No such file or "
	    "directory\n",
	    NO_CONTROL
	    "app a { handoff = none command = /bin/true chroot = /nowhere "
	    "}\n");
}

TEST(an_address_in_use_is_a_mistake_under_t)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	char text[256];
	char *found;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	NEED(fd != -1);
	NEED(bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	NEED(listen(fd, 1) == 0);
	NEED(getsockname(fd, (struct sockaddr *)&sin, &len) == 0);
	snprintf(text, sizeof(text),
	    NO_CONTROL "app a { command = /bin/true listen = \"*:%u\" }\n",
	    ntohs(sin.sin_port));
	found = mistakes_with(STRICT, text);
	CHECK(strstr(found, "somebody else listens on ") != NULL);
	free(found);
	MISTAKES_WITH(WARN, "", text);
	close(fd);
	MISTAKES_WITH(STRICT, "", text);
}

TEST_ALONE(a_port_that_needs_a_right_is_a_mistake_under_t)
{
	unsigned first = 0;
	char *found;
	FILE *in = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");

	SKIP_IF(in == NULL || fscanf(in, "%u", &first) != 1 || first <= 81,
	    "every port is free");
	(void)fclose(in);
	NEED(become_nobody());
	(void)remove(in_folder("pool.conf"));
	conf_write("pool.conf",
	    NO_CONTROL "app a { command = /bin/true\n"
		       "listen = \"127.0.0.1:81\" }\n");
	MISTAKES_WITH(WARN, "", NULL);
	found = mistakes_with(STRICT, NULL);
	CHECK(strstr(found, "address 127.0.0.1:81: ports under ") != NULL);
	free(found);
}

static bool
all_are_ours(const struct conf_listen *l)
{
	CHECK_EQ(CONF_LISTEN_UNIX, l->kind);
	return true;
}

TEST(an_address_of_our_own_daemon_is_no_mistake)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct conf_report report;
	struct conf *conf;
	char *found;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	NEED(fd != -1);
	snprintf(
	    sun.sun_path, sizeof(sun.sun_path), "%s/held.sock", conf_folder);
	NEED(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	NEED(listen(fd, 1) == 0);
	found = mistakes_with(STRICT,
	    NO_CONTROL
	    "app a { command = /bin/true listen = \"unix:held.sock\" }\n");
	CHECK(strstr(found, "somebody else listens on ") != NULL);
	free(found);

	conf = conf_load(in_folder("pool.conf"), STRICT, all_are_ours, &report);
	CHECK(conf != NULL);
	conf_free(conf);
	conf_report_fini(&report);
	close(fd);
	MISTAKES_WITH(STRICT, "", NULL);
}

/* ---- the nearest name ---- */

TEST(the_nearest_name_is_suggested)
{
	static const char *const names[] = { "listen", "user", "umask", NULL };
	char longest[200];

	/* A letter is left out, added, changed, swapped with the next. */
	CHECK_STR("listen", suggest_nearest("lisen", names));
	CHECK_STR("listen", suggest_nearest("liisten", names));
	CHECK_STR("listen", suggest_nearest("lixxen", names));
	CHECK_STR("user", suggest_nearest("usr", names));
	CHECK_STR("user", suggest_nearest("sure", names));
	CHECK_STR("umask", suggest_nearest("muask", names));
	CHECK_STR(NULL, suggest_nearest("lxxxen", names));
	CHECK_STR(NULL, suggest_nearest("something", names));
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_STR(NULL, suggest_nearest(longest, names));
}

static const struct fact facts[] = {
	{ "the_name_of_an_app_can_be_part_of_its_program", 0,
	    SHOWN "command = { \"/bin/true\" }\n",
	    "app true { handoff = none command = \"/bin/{app}\" }\n" },
	{ "a_missing_program_is_a_warning_at_start", WARN,
	    "pool.conf:1: app 'a': program /no-such: No such file or directory\n",
	    NO_CONTROL
	    "app a { handoff = none directory = / command = /no-such }\n" },
	{ "an_app_needs_a_command", 0, "pool.conf:1: app 'a' has no command\n",
	    "app a { listen = \"*:0\" }\n" },
	{ NULL, 0, "pool.conf:1: app 'a' has no command\n",
	    "app a { listen = \"*:0\" command = { } }\n" },
	{ NULL, 0, PART "the first element names no program",
	    "app a { listen = \"*:0\" command = \"\" }\n" },
	{ "an_app_needs_an_address_unless_handoff_is_none", 0,
	    "pool.conf:1: app 'a' has no listen address (only handoff = "
	    "none needs none)\n",
	    "app a { command = /bin/true }\n" },
	{ NULL, 0, "", "app a { command = /bin/true handoff = none }\n" },
	{ "a_minimum_over_its_maximum_is_a_mistake", 0,
	    "pool.conf:1: app 'a': min_processes (9) is over "
	    "max_processes (8)\n",
	    APP("min_processes = 9") },
	{ NULL, 0, "", APP("min_processes = 9 max_processes = 9") },
	{ "a_minimum_is_not_compared_with_a_wrong_maximum", 0,
	    "pool.conf:1: option 'max_processes': 'x' is not auto, "
	    "auto:NUMBER or a whole number from 1 to 10000\n",
	    APP("min_processes = 9 max_processes = x") },
	{ "a_threshold_beside_a_target_is_a_mistake", 0,
	    "pool.conf:1: app 'a': multi_threshold has no effect with "
	    "target_wait; with target_wait = 0 it has\n",
	    APP("multi_threshold = 50 target_wait = 1s") },
	{ NULL, 0,
	    "pool.conf:1: app 'a': grow_threshold has no effect with "
	    "target_wait; with target_wait = 0 it has\n",
	    "defaults { grow_threshold = 50 target_wait = 1s }" APP("") },
	{ NULL, 0, "", APP("multi_threshold = 50 target_wait = 0") },
	/* As it is printed. */
	{ NULL, 0, "", APP("grow_threshold = 90 target_wait = 1s") },
	{ "a_delay_over_its_maximum_is_a_mistake", 0,
	    "pool.conf:1: app 'a': restart_delay is over "
	    "restart_delay_max\n",
	    APP("restart_delay = 2m restart_delay_max = 1m") },
	{ "a_close_delay_that_is_not_under_stop_timeout_is_a_mistake", 0,
	    PART "app 'a': close_delay is not shorter than the daemon's "
		 "stop_timeout",
	    APP("close_delay = 30s") },
	{ NULL, 0, PART "option 'close_delay': close_delay is not shorter",
	    "stop_timeout = 5s close_delay = 5s\n" APP("") },
	{ NULL, 0, "",
	    "stop_timeout = 20s close_delay = 5s\n" APP("close_delay = 19s") },
	{ NULL, 0, "", "stop_timeout = 0\n" APP("") },
	{ "memory_high_over_memory_max_is_a_mistake", 0,
	    "pool.conf:1: app 'a': memory_high (2048) is over memory_max "
	    "(1024)\n",
	    APP("memory_high = 2K memory_max = 1K") },
	{ NULL, 0, "", APP("memory_high = 2K cpu_max = 150 tasks_max = 9") },
	{ NULL, 0,
	    "pool.conf:1: option 'cpu_weight': 0 is out of range: 1 to 10000 "
	    "are valid\n",
	    APP("cpu_weight = 0") },
	{ "names_of_apps_have_a_set_of_characters", 0, "",
	    "app \"A-z_0.9\" { handoff = none command = /bin/true }\n" },
	{ NULL, 0,
	    "pool.conf:1: app 'a b': a name is made of letters, digits "
	    "and '_.-'\n",
	    "app \"a b\" { handoff = none command = /bin/true }\n" },
	{ NULL, 0, PART "app '': a name is made of",
	    "app \"\" { handoff = none command = /bin/true }\n" },
	{ "the_minima_must_fit_under_the_ceiling", 0,
	    "pool.conf:1: the apps' min_processes add up to 10, over "
	    "max_processes (9)\n",
	    "max_processes = 9\n"
	    "defaults { min_processes = 5 handoff = none command = a }\n"
	    "app a { }\napp b { }\n" },
	{ "two_apps_cannot_have_one_address", 0,
	    "pool.conf:2: app 'b': 127.0.0.1:80 is taken by "
	    "127.0.0.1:80 of app 'a' (pool.conf:1)\n",
	    "app a { command = a listen = \"127.0.0.1:80\" }\n"
	    "app b { command = a listen = \"127.0.0.1:80\" }\n" },
	{ "a_star_conflicts_with_each_address_of_its_port", 0,
	    PART "b': 127.0.0.1:80 is taken by *:80 of app 'a'",
	    "app a { command = a listen = \"*:80\" }\n"
	    "app b { command = a listen = \"127.0.0.1:80\" }\n" },
	{ NULL, 0, PART "b': 0.0.0.0:80 is taken by 10.0.0.1:80 of app 'a'",
	    "app a { command = a listen = \"10.0.0.1:80\" }\n"
	    "app b { command = a listen = \"0.0.0.0:80\" }\n" },
	{ NULL, 0, "",
	    "app a { command = a listen = \"[::]:80\" }\n"
	    "app b { command = a listen = \"0.0.0.0:80\" }\n"
	    "app c { command = a listen = \"*:81\" }\n" },
	{ "port_zero_conflicts_with_no_address", 0, "",
	    "app a { command = a listen = { \"*:0\", \"*:0\" } }\n"
	    "app b { command = a listen = \"*:0\" }\n" },
	{ "an_app_cannot_have_an_address_twice", 0,
	    "pool.conf:1: app 'a': unix:/a and unix:/a are one "
	    "address\n",
	    "app a { command = a listen = { \"unix:/a\", \"unix://a\" } }\n" },
	{ NULL, 0, PART "fd:x and fd:x are one address",
	    "app a { command = a listen = { \"fd:x\", \"fd:x\" } }\n" },
	{ "the_control_socket_is_no_address_of_an_app", 0,
	    "pool.conf:2: app 'a': unix:/c is taken by unix:/c of "
	    "option 'control' (pool.conf:1)\n",
	    "control = /c\napp a { command = a listen = \"unix:/c\" }\n" },
	{ "the_counter_shares_no_address", 0,
	    "pool.conf:2: app 'a': 127.0.0.1:80 is taken by *:80 of "
	    "option 'counter' (pool.conf:1)\n",
	    "counter = *:80\n"
	    "app a { command = a listen = \"127.0.0.1:80\" }\n" },
	{ NULL, 0,
	    "pool.conf:1: option 'counter': *:80 and *:80 are one "
	    "address\n",
	    "counter = { \"*:80\", \"*:80\" }\n" },
	{ "an_unknown_host_of_the_counter_is_a_mistake", 0,
	    PART "pool.conf:1: option 'counter': address 'no.invalid:80': ",
	    "counter = \"no.invalid:80\"\n" ANY_APP },
	{ "a_file_without_an_app_is_a_mistake", 0,
	    "pool.conf:1: neither an app nor a counter is configured\n",
	    "log = stderr\n" },
	{ "an_option_without_what_it_refines_is_a_mistake", 0,
	    PART
	    "app 'a': wait_for_request has no effect without wait_for_data",
	    APP("wait_for_request = http") },
	{ "only_http_can_tell_failures", 0,
	    PART "app 'a': tell_failures needs protocol = http",
	    APP("tell_failures = true") },
	{ "only_http_can_report_the_load", 0,
	    PART "app 'a': load_report needs protocol = http",
	    APP("load_report = true") },
	{ "only_a_native_worker_can_report_the_load", 0,
	    PART "option 'load_report' cannot be used with handoff = accept",
	    APP("handoff = accept protocol = http load_report = true") },
	{ "a_signal_for_slow_sessions_needs_slow_timeout", 0,
	    PART "app 'a': slow_signal has no effect without slow_timeout",
	    APP("slow_signal = USR2") },
	{ "an_option_its_handoff_cannot_honour_is_a_mistake", 0,
	    "pool.conf:2: option 'listen' cannot be used with handoff = "
	    "none\n"
	    "pool.conf:3: option 'concurrency' cannot be used with "
	    "handoff = none\n",
	    "defaults { concurrency = 2 max_queue = 3 }\n"
	    "app a { handoff = none command = a listen = \"*:0\"\n"
	    "concurrency = 2 }\n" },
	{ "ready_after_is_for_programs_that_do_not_speak_with_the_daemon", 0,
	    "", APP("handoff = listen ready_after = 0") },
	{ NULL, 0, "",
	    "app a { handoff = none command = a ready_after = 5s }" },
	{ NULL, 0,
	    PART "option 'ready_after' cannot be used with handoff = native",
	    APP("ready_after = 5s") },
	{ "a_maximum_with_handoff_none_is_a_mistake", 0, "",
	    "app a { handoff = none command = a min_processes = 20 }" },
	{ NULL, 0,
	    "pool.conf:1: option 'max_processes' cannot be used with "
	    "handoff = none\n",
	    "app a { handoff = none command = a max_processes = 2 }" },
	{ "a_load_of_the_file_alone_reports_its_mistakes", CONF_INSIDE,
	    "pool.conf:1: app 'a': min_processes (3) is over max_processes "
	    "(2)\n",
	    APP("min_processes = 3 max_processes = 2") },
	{ "an_app_that_is_needed_must_be_there", 0,
	    "pool.conf:1: app 'a': needs 'b', which is no app\n",
	    APP("needs = b") },
	{ "no_app_needs_itself", 0, "pool.conf:1: app 'a': needs itself\n",
	    APP("needs = a") },
	{ "apps_that_need_each_other_are_a_mistake", 0,
	    "pool.conf:1: app 'a': needs itself, by way of b\n"
	    "pool.conf:2: app 'b': needs itself, by way of a\n",
	    APP("needs = { b, c }") "app b { handoff = none command = a needs = { a, c } }\n"
				    "app c { handoff = none command = a }\n" },
	{ "an_unknown_control_group_is_always_a_mistake", 0,
	    "pool.conf:1: option 'control_group': group 'no-such': "
	    "there is none of that name\n",
	    "control_group = no-such\n" ANY_APP },
	{ "a_missing_program_is_a_mistake_under_t", STRICT,
	    "pool.conf:1: app 'a': program /no-such/prog: "
	    "No such file or directory\n",
	    NO_CONTROL
	    "app a { handoff = none directory = / command = /no-such/prog "
	    "}\n" },
	{ "a_slot_is_no_part_of_a_program", 0,
	    PART "option 'command': the program is one for all slots: {slot} "
		 "stands in arguments",
	    "app a { handoff = none command = \"./run-{slot+1}\" }\n" },
	{ "a_missing_directory_is_a_mistake_under_t", STRICT,
	    "pool.conf:1: app 'a': directory none: No such file or "
	    "directory\n",
	    NO_CONTROL
	    "app a { handoff = none command = /bin/true directory = none }\n" },
	{ "folders_of_our_own_files_must_be_there", STRICT,
	    "pool.conf:1: option 'pid_file': directory /no/such: No such file "
	    "or directory\n"
	    "pool.conf:2: app 'a': unix:/no/such/sock: directory /no/such: No "
	    "such file or directory\n"
	    "pool.conf:2: app 'a': output: directory /no/such: No such file "
	    "or directory\n",
	    NO_CONTROL
	    "pid_file = /no/such/pid\napp a { command = /bin/true "
	    "listen = \"unix:/no/such/sock\" output = /no/such/out }\n" },
};

FACT_TESTS(facts)
