/*
 * The core in virtual time, alone or on hosts behind a balancer: what holds in
 * every configuration, and waiting times that theory knows.
 */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/prng.h"
#include "sim/simulate.h"

#include "sim_help.h"

/* Time after which a prefetched connection is taken back at the latest, if a
 * process is idle. */
#define LIES_MOST MS(5)

static struct result result;

/* The balancer of the next runs; no hosts: none. */
static struct balancer_spec behind;

static void
run(const struct conf *conf, const struct load_spec *spec, uint64_t seed,
    tspan start_time, struct result *out)
{
	result_fini(out);
	CHECK(
	    engine_run(spec, start_time, driver_new(&behind, conf, seed), out));
	help_check_balance(&out->total);
}

/* Runs one app under one service, for so many seconds. */
static void
run_one(const char *options, const char *service, double rate, unsigned seconds,
    struct result *out)
{
	struct load_app app = { .name = "a", .rate = rate };
	struct load_spec spec = { .apps = &app,
		.apps_len = 1,
		.length = TSPAN_SECONDS(seconds),
		.seed = 1 };
	char text[1000];
	struct conf *conf;

	snprintf(text, sizeof(text), APP("%s"), options);
	conf = conf_right(text);
	CHECK(words_read_service(service, &app.service) == NULL);
	run(conf, &spec, 1, MS(200), out);
	conf_free(conf);
}

/* --- any configuration -------------------------------------------------- */

static unsigned
below(struct prng *random, unsigned n)
{
	return (unsigned)(prng_next(random) % n);
}

static void
print_app(FILE *out, struct prng *random, unsigned n)
{
	unsigned min = below(random, 4);

	fprintf(out,
	    "app \"%c\" { listen = \"127.0.0.1:%u\" command = \"/bin/true\"\n"
	    "min_processes = %u max_processes = %u start_delay = %ums\n"
	    "max_queue = %u backlog = %u max_idle_time = %us stop_delay = %us\n"
	    "concurrency = %u",
	    (char)('a' + n), 8000 + n, min, min + 1 + below(random, 12),
	    below(random, 300), 1 + below(random, 50), 1 + below(random, 200),
	    below(random, 30), 1 + below(random, 10),
	    below(random, 3) == 0 ? 1 + below(random, 4) : 1);
	if (below(random, 4) == 0)
		fprintf(out, " queue_timeout = %ums", 1 + below(random, 2000));
	if (below(random, 4) == 0)
		fprintf(out, " max_requests = %u", 1 + below(random, 100));
	fprintf(out, " }\n");
}

enum manner {
	PLAIN,
	PREFETCH, /* with prefetch */
	ROUGH, /* with options that refuse, kill and queue otherwise */
};

static void
change_app(struct conf_app *app, struct prng *random, enum manner manner)
{
	if (manner == PLAIN)
		return;
	app->pool.prefetch_auto = false;
	app->pool.prefetch = below(random, 3);
	if (manner == PREFETCH)
		return;
	if (app->pool.prefetch > 0 && below(random, 2) == 0)
		app->pool.private_queue = true;
	app->pool.close_when_full = below(random, 2) == 0;
	if (below(random, 2) == 0)
		app->pool.request_timeout = MS(1 + below(random, 300));
	if (below(random, 2) == 0)
		app->pool.stop_timeout = app->pool.kill_timeout =
		    MS(below(random, 50));
}

/* Any configuration of one to four apps, which may fight for the ceiling. */
static struct conf *
any_conf(struct prng *random, unsigned apps, enum manner manner)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct conf *conf;

	fprintf(out, "max_processes = %u\n", 12 + below(random, 20));
	for (unsigned n = 0; n < apps; n++)
		print_app(out, random, n);
	fclose(out);
	conf = conf_right(text);
	free(text);
	if (conf == NULL)
		exit(1);
	for (unsigned n = 0; n < apps; n++)
		change_app(&conf->apps[n], random, manner);
	return conf;
}

static void
any_load(struct prng *random, struct load_app *apps, struct load_spec *out)
{
	static const char *const services[] = { "fixed:20ms",
		"exponential:50ms", "lognormal:30ms,1.5",
		"bimodal:5ms,500ms,3" };
	static const char *const profiles[] = { "steady", "burst:10,2s,20s",
		"day:100s", "ramp" };

	out->apps = apps;
	out->length = TSPAN_SECONDS(100);
	out->seed = prng_next(random);
	CHECK(words_read_profile(profiles[below(random, 4)], &out->profile) ==
	    NULL);
	for (size_t i = 0; i < out->apps_len; i++) {
		apps[i].name = help_apps[i].name;
		apps[i].rate = 1 + below(random, 150);
		CHECK(words_read_service(services[below(random, 4)],
			  &apps[i].service) == NULL);
	}
}

#define CONFIGURATIONS 20

static void
run_any(uint64_t seed, enum manner manner, struct result *out)
{
	struct prng random = { .state = seed };
	struct load_spec spec = { .apps_len = 1 + below(&random, 4) };
	struct load_app apps[4];
	struct conf *conf;

	any_load(&random, apps, &spec);
	conf = any_conf(&random, (unsigned)spec.apps_len, manner);
	run(conf, &spec, seed, (tspan)prng_next(&random) % MS(1000) + MS(1000),
	    out);
	conf_free(conf);
}

TEST(no_connection_waits_beside_an_idle_process)
{
	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++) {
		run_any(seed, PLAIN, &result);
		CHECK_EQ(0, result.total.idle_while_waiting);
		CHECK_EQ(0, result.total.idle_while_unread);
	}
}

TEST(no_connection_waits_in_common_with_prefetch)
{
	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++) {
		run_any(seed, PREFETCH, &result);
		CHECK_EQ(0, result.total.idle_while_waiting);
	}
}

TEST(a_prefetched_connection_does_not_lie_long_beside_an_idle_process)
{
	uint64_t taken = 0;

	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++) {
		run_any(seed, PREFETCH, &result);
		CHECK(result.total.longest_unread <= LIES_MOST);
		taken += result.total.taken;
	}
	CHECK(taken > 100);
}

TEST(each_app_is_in_balance)
{
	uint64_t completed = 0, refused = 0, timed_out = 0, lost = 0;

	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++) {
		run_any(seed, ROUGH, &result);
		for (size_t i = 0; i < result.apps_len; i++)
			help_check_balance(&result.apps[i]);
		CHECK_EQ(0, result.total.unfinished);
		completed += result.total.completed;
		refused += result.total.refused;
		timed_out += result.total.timed_out;
		lost += result.total.lost;
	}
	CHECK(completed > 100000);
	CHECK(refused > 1000 && timed_out > 1000 && lost > 1000);
}

TEST(each_app_is_in_balance_on_hosts_behind_each_balancer)
{
	uint64_t completed = 0, refused = 0;

	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++) {
		behind = (struct balancer_spec){ .hosts = 1 + seed % 4,
			.kind = (enum balancer_kind)(seed % 3),
			.blind = seed % 2 == 0 };
		run_any(seed, ROUGH, &result);
		for (size_t i = 0; i < result.apps_len; i++)
			help_check_balance(&result.apps[i]);
		CHECK_EQ(0, result.total.unfinished);
		completed += result.total.completed;
		refused += result.total.refused;
	}
	behind.hosts = 0;
	CHECK(completed > 100000 && refused > 1000);
}

TEST(one_host_without_agent_checks_is_as_if_there_were_no_balancer)
{
	static struct result alone;

	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++) {
		run_any(seed, ROUGH, &alone);
		behind = (struct balancer_spec){ .hosts = 1, .blind = true };
		run_any(seed, ROUGH, &result);
		behind.hosts = 0;
		CHECK_EQ(alone.events, result.events);
		for (size_t i = 0; i < alone.apps_len; i++) {
			result.apps[i].name = alone.apps[i].name;
			CHECK(memcmp(&alone.apps[i], &result.apps[i],
				  sizeof(alone.apps[i])) == 0);
		}
	}
	result_fini(&alone);
}

/* --- what theory knows -------------------------------------------------- */

/* The values differ by so many percent at most; the seed is fixed. */
static void
check_about(double expected, double actual, double percent)
{
	if (fabs(actual - expected) > expected * percent / 100)
		CHECK_NEAR(expected, actual);
	CHECK(expected > 0);
}

/* Pollaczek and Khinchine: M/D/1. */
TEST(one_process_with_a_fixed_time_makes_wait_as_theory_has_it)
{
	double load = 0.7, service = 10e6;

	run_one("min_processes = 1 max_processes = 1 max_queue = 10000",
	    "fixed:10ms", 70, 10000, &result);
	check_about(load * service / (2 * (1 - load)),
	    result.total.wait.sum / (double)result.total.wait.total, 2);
	check_about(load, result.total.busy, 0.5);
}

/* The probability that n processes are busy, by Erlang. */
static double
erlang_c(unsigned n, double work)
{
	double blocked = 1; /* Erlang's B of so many */

	for (unsigned i = 1; i <= n; i++)
		blocked = work * blocked / (i + work * blocked);
	return n * blocked / (n - work * (1 - blocked));
}

/* M/M/8. */
TEST(eight_processes_make_wait_as_theory_has_it)
{
	double work = 6.4, service = 20e6, busy = erlang_c(8, work);

	run_one("min_processes = 8 max_processes = 8 max_queue = 10000",
	    "exponential:20ms", 320, 3000, &result);
	check_about(busy * service / (8 - work),
	    result.total.wait.sum / (double)result.total.wait.total, 3);
	/* The waits over 0 are exponential. */
	check_about(log(busy / 0.01) * service / (8 - work),
	    (double)histogram_share(&result.total.wait, 0.99), 4);
}

static double
mean_wait(const struct result *r)
{
	return r->total.wait.sum / (double)r->total.wait.total;
}

/* M/M/8: the queue of the balancer is that of one pool. */
TEST(four_hosts_with_agent_checks_make_wait_as_one_of_their_size)
{
	double work = 6.4, service = 20e6;

	behind = (struct balancer_spec){ .hosts = 4 };
	run_one("min_processes = 2 max_processes = 2 max_queue = 10000",
	    "exponential:20ms", 320, 3000, &result);
	behind.hosts = 0;
	check_about(
	    erlang_c(8, work) * service / (8 - work), mean_wait(&result), 3);
}

/* E2/M/1: each host gets every second of the connections. */
TEST(two_hosts_in_turn_without_agent_checks_make_wait_as_theory_has_it)
{
	double service = 20e6, load = 0.8, root = 0.5;

	for (unsigned i = 0; i < 100; i++)
		root = pow(2 * load / (2 * load + 1 - root), 2);
	behind = (struct balancer_spec){
		.hosts = 2, .kind = BALANCER_ROUNDROBIN, .blind = true
	};
	run_one("min_processes = 1 max_processes = 1 max_queue = 10000",
	    "exponential:20ms", 80, 10000, &result);
	behind.hosts = 0;
	check_about(root / (1 - root) * service, mean_wait(&result), 3);
}

/* Without agent checks a connection stays with the host that it was sent to. */
TEST(waits_are_shorter_the_more_a_balancer_knows)
{
	static const struct balancer_spec ranks[] = {
		{ 10, BALANCER_ROUNDROBIN, true },
		{ 10, BALANCER_RANDOM2, true },
		{ 10, BALANCER_LEASTCONN, true },
		{ 10, BALANCER_LEASTCONN, false },
	};
	double before = INFINITY;

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		behind = ranks[i];
		run_one("min_processes = 8 max_processes = 8",
		    "exponential:50ms", 1280, 60, &result);
		CHECK(mean_wait(&result) < before * 0.8);
		before = mean_wait(&result);
	}
	behind.hosts = 0;
}

/* Sessions of few processes are places as those of many. */
TEST(sessions_of_one_process_wait_as_those_of_many)
{
	double work = 6.4, service = 20e6;

	run_one("min_processes = 2 max_processes = 2 concurrency = 4 "
		"max_queue = 10000",
	    "exponential:20ms", 320, 3000, &result);
	check_about(erlang_c(8, work) * service / (8 - work),
	    result.total.wait.sum / (double)result.total.wait.total, 2);
}

/* M/M/1 with room for 1 + 3 + 2. */
TEST(a_full_queue_and_a_full_backlog_refuse_as_theory_has_it)
{
	double load = 1.25,
	       full = pow(load, 6) * (1 - load) / (1 - pow(load, 7));

	run_one("min_processes = 1 max_processes = 1 max_queue = 3 backlog = 2",
	    "exponential:10ms", 125, 5000, &result);
	check_about(full,
	    (double)result.total.refused / (double)result.total.arrived, 1);
	CHECK_EQ(result.total.refused, result.total.overflowed);
	CHECK_EQ(5, result.total.most_waiting);
}

/* --- processes ---------------------------------------------------------- */

/* Runs a trace in a load of a hundred seconds. */
static void
run_trace(const char *options, const char *trace, tspan start_time)
{
	struct load_spec spec = {
		.apps = help_apps, .apps_len = 1, .length = TSPAN_SECONDS(100)
	};
	char text[1000];
	struct conf *conf;

	snprintf(text, sizeof(text), APP("%s"), options);
	conf = conf_right(text);
	conf_write("trace.csv", trace);
	spec.trace = in_folder("trace.csv");
	run(conf, &spec, 1, start_time, &result);
	conf_free(conf);
}

TEST(a_connection_without_a_process_waits_for_its_start)
{
	run_trace("min_processes = 0 max_idle_time = 0", "10,,1\n", MS(700));
	CHECK_EQ(1, result.total.completed);
	CHECK_EQ(MS(700), result.total.wait.max);
	CHECK_EQ(1, result.total.spawned_running);
	CHECK_NEAR(0.9, result.total.processes);
}

TEST(the_minimum_is_ready_when_the_load_starts)
{
	run_trace("min_processes = 3 max_processes = 3", "0,,1\n0,,1\n0,,1\n",
	    MS(700));
	CHECK_EQ(0, result.total.wait.max);
	CHECK_EQ(3, result.total.spawned);
	CHECK_NEAR(3.0, result.total.processes);
}

TEST(an_app_without_connections_has_processes_all_the_same)
{
	struct load_app apps[] = {
		{ .name = "a",
		    .rate = 10,
		    .service = { .kind = SERVICE_FIXED, .mean = MS(1) } },
		{ .name = "jobs" }
	};
	struct load_spec spec = {
		.apps = apps, .apps_len = 2, .length = TSPAN_SECONDS(10)
	};
	struct conf *conf = conf_right(APP(
	    "max_processes = 1") "app \"jobs\" { handoff = none command = \"/bin/true\" "
				 "min_processes = 2 }\n");

	run(conf, &spec, 1, MS(200), &result);
	CHECK_NEAR(2.0, result.apps[1].processes);
	CHECK_NEAR(3.0, result.total.processes);
	conf_free(conf);
}

TEST(an_app_without_connections_refuses_those_of_a_trace)
{
	struct load_spec spec = {
		.apps = help_apps, .apps_len = 1, .length = TSPAN_SECONDS(10)
	};
	struct conf *conf = conf_right(
	    "app \"a\" { handoff = none command = \"/bin/true\" }\n");

	conf_write("trace.csv", "1,a,1\n2,a,1\n");
	spec.trace = in_folder("trace.csv");
	run(conf, &spec, 1, MS(200), &result);
	CHECK_EQ(2, result.total.refused);
	conf_free(conf);
}

TESTS(NULL, NULL)
