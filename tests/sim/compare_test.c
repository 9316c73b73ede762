/* The rules of the peers in the engine, and our defaults beside them. */

#include "../unit/check.h"

#include "pareto.h"

#define LOADS 3

#define HOURS(profile_, hours) \
	{ \
		.options = "", .service = "exponential:500ms", \
		.profile = profile_, .busy = 0.7, \
		.length = TSPAN_SECONDS((hours)*3600), \
		.start_time = TSPAN_SECONDS(1) \
	}

enum {
	DAY,
	BURST,
	RAMP
};

static const struct pareto loads[LOADS] = {
	[DAY] = HOURS("day", 3),
	[BURST] = HOURS("burst", 1),
	[RAMP] = HOURS("ramp", 1),
};

/* --- the policies ------------------------------------------------------- */

/* The total of a policy under a load, which is played once. */
static const struct result_app *
run(unsigned load, enum policies policy)
{
	static struct result results[LOADS][POLICIES_LEN];
	struct result *r = &results[load][policy];
	const struct pareto *p = &loads[load];
	struct conf *conf;
	struct manager *m;
	struct load_app app;
	struct load_spec spec;

	if (r->manager != NULL)
		return &r->total;
	conf = pareto_conf(p);
	m = policies_new(policy, conf, 1);
	pareto_load(p, conf, 1, &app, &spec);
	if (m == NULL || !engine_run(&spec, p->start_time, m, r))
		pareto_die("no memory");
	conf_free(conf);
	result_fini(r);
	return &r->total;
}

TEST(every_policy_serves_every_connection_with_max_processes)
{
	for (unsigned policy = 0; policy < POLICIES_LEN; policy++) {
		const struct result_app *r = run(BURST, policy);

		CHECK(r->arrived > 5000);
		CHECK_EQ(r->arrived, r->completed);
		CHECK_EQ(r->arrived, r->wait.total);
		CHECK(r->most_processes > 4);
		CHECK(r->most_processes <= 8);
	}
}

TEST(no_connection_waits_beside_an_idle_worker_that_accepts_for_itself)
{
	for (unsigned policy = 0; policy < POLICIES_LEN; policy++) {
		const struct result_app *r = run(RAMP, policy);

		if (policy == POLICIES_ANYEVENT) {
			CHECK(r->idle_while_unread > 0);
			continue;
		}
		CHECK_EQ(0, r->idle_while_unread);
		CHECK_EQ(0, r->idle_while_waiting);
	}
}

TEST(every_policy_but_static_grows_and_shrinks_with_the_day)
{
	for (unsigned policy = 0; policy < POLICIES_LEN; policy++) {
		const struct result_app *r = run(DAY, policy);

		CHECK((policy == POLICIES_STATIC) == (r->ended == 0));
		CHECK((policy == POLICIES_STATIC) == (r->spawned_running == 0));
	}
}

/* A processor may round a logarithm otherwise, and an arrival with it. */
static bool
is_about(uint64_t known, uint64_t n)
{
	return n <= known + known / 50 + 1 && known <= n + n / 50 + 1;
}

/*
 * Starts and ends under the three loads, as they were when each rule of a peer
 * was held against its manual or source, case by case.  Whoever changes a load
 * or the engine writes down the new ones; a change of one policy alone is a
 * change of its rules.
 */
TEST(every_policy_starts_and_stops_what_its_rules_say)
{
	static const uint64_t known[POLICIES_LEN][LOADS][2] = {
		[POLICIES_STATIC] = { { 8, 0 }, { 8, 0 }, { 8, 0 } },
		[POLICIES_FPM_DYNAMIC] = { { 1271, 1266 }, { 232, 228 },
		    { 410, 406 } },
		[POLICIES_FPM_ONDEMAND] = { { 16, 8 }, { 35, 27 }, { 12, 9 } },
		[POLICIES_PREFORK] = { { 3230, 3227 }, { 660, 658 },
		    { 1110, 1108 } },
		[POLICIES_UWSGI] = { { 36, 28 }, { 26, 18 }, { 16, 12 } },
		[POLICIES_FASTCGI] = { { 14, 9 }, { 16, 12 }, { 12, 8 } },
		[POLICIES_ANYEVENT] = { { 145, 137 }, { 249, 244 },
		    { 78, 72 } },
	};

	for (unsigned policy = 0; policy < POLICIES_LEN; policy++) {
		for (unsigned i = 0; i < LOADS; i++) {
			const struct result_app *r = run(i, policy);

			CHECK(is_about(known[policy][i][0], r->spawned));
			CHECK(is_about(known[policy][i][1], r->ended));
		}
	}
}

/* --- our defaults ------------------------------------------------------- */

/* The rows of all policies under a load, which is played once. */
static const struct pareto_row *
all_of(unsigned load)
{
	static struct pareto_row rows[LOADS][PARETO_ROWS];

	if (rows[load][0].name == NULL)
		pareto_run(&loads[load], PARETO_ROWS, rows[load]);
	return rows[load];
}

TEST(no_peer_beats_our_processes_and_waits)
{
	for (unsigned load = 0; load < LOADS; load++) {
		const struct pareto_row *beaten = pareto_beaten(all_of(load));

		CHECK_STR(NULL, beaten == NULL ? NULL : beaten->name);
	}
}

/* The static policy is left out: it has all processes from the start. */
TEST(peers_with_waits_as_short_start_more)
{
	for (unsigned load = 0; load < LOADS; load++)
		CHECK_STR(
		    "apppoold", pareto_thriftiest(all_of(load), true)->name);
}

TESTS(NULL, NULL)
