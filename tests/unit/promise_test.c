/* The need of an app that promises a wait. */

#include "core/promise.h"

#include "check.h"

#define START TSPAN_SECONDS(1000)
#define SECOND TSPAN_SECONDS(1)

static struct promise p;
static struct promise_terms terms;
static tstamp now;

static void
begin(void)
{
	now = START;
	p = (struct promise){ .updated = now, .newest = now / PROMISE_SLOT };
	terms = (struct promise_terms){
		.target = TSPAN_MSECONDS(20),
		.each = 1,
		.most = 100,
	};
}

/* So many connections come, at a time, and are served for so long. */
static void
serve(unsigned n, tspan took)
{
	for (unsigned i = 0; i < n; i++) {
		promise_arrived(&p, i + 1);
		p.given++;
		promise_served(&p, took);
	}
}

/* Seconds, in each of which so many are served. */
static void
serve_for(unsigned seconds, unsigned n, tspan took)
{
	for (; seconds > 0; seconds--) {
		serve(n, took);
		now += SECOND;
		promise_update(&p, &terms, now);
	}
}

/* One connection after the other, so far apart. */
static void
trickle(unsigned n, tspan apart, tspan took)
{
	for (; n > 0; n--) {
		serve(1, took);
		now += apart;
		promise_update(&p, &terms, now);
	}
}

static void
rest_for(unsigned seconds)
{
	serve_for(seconds, 0, 0);
}

/* --- Erlang's formula ---------------------------------------------------- */

TEST(servers_are_those_of_erlangs_formula_with_a_target)
{
	static const struct {
		uint32_t servers;
		double rate, session, variance, target;
		uint32_t most;
	} needs[] = {
		/* The share that waits: 0.0204 of 4 servers, 0.0038 of 5. */
		{ 5, 1, 1, 1, 1e-9, 100 },
		/* 0.0159 of 18, 0.0079 of 19. */
		{ 19, 10, 1, 1, 1e-9, 100 },
		/* A longer target needs fewer. */
		{ 17, 10, 0.1, 1, 0.02, 100 },
		{ 14, 10, 0.1, 1, 0.1, 100 },
		/* Sessions that vary more need more, from exponential on. */
		{ 17, 10, 0.1, 9, 0.1, 100 },
		{ 14, 10, 0.1, 0, 0.1, 100 },
		/* Hardly any work needs one. */
		{ 1, 0.005, 0.1, 1, 0.001, 100 },
		{ 1, 0, 0.1, 1, 0.001, 100 },
		/* More work than servers needs all of them. */
		{ 40, 50, 0.1, 1, 0.02, 40 },
		{ 1, 50, 0.1, 1, 0.02, 1 },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		CHECK_EQ(needs[i].servers,
		    promise_servers(needs[i].rate, needs[i].session,
			needs[i].variance, needs[i].target, needs[i].most));
}

/* --- evidence ------------------------------------------------------------- */

TEST(nothing_is_known_before_ten_sessions)
{
	serve_for(1, PROMISE_EVIDENCE - 1, TSPAN_MSECONDS(100));
	CHECK_EQ(0, p.need);
	CHECK_NEAR(0, promise_session(&p));
	serve(1, TSPAN_MSECONDS(100));
	CHECK_NEAR(0.1, promise_session(&p));
}

TEST(a_few_connections_start_nothing)
{
	serve_for(8, 1, TSPAN_MSECONDS(500));
	serve(2, TSPAN_MSECONDS(500));
	rest_for(3);
	/* Ten sessions, but fewer connections in the last while. */
	CHECK(p.need > 0);
	CHECK_EQ(0, promise_least(&p));
}

TEST(a_steady_rate_gives_the_need_at_once)
{
	static const struct {
		unsigned seconds;
		uint32_t each, most, present;
		tspan overhead;
		unsigned rate;
		tspan took;
		uint32_t least, greatest;
	} needs[] = {
		{ 1, 1, 100, 0, 0, 100, TSPAN_MSECONDS(100), 17, 17 },
		{ 101, 1, 100, 0, 0, 100, TSPAN_MSECONDS(100), 17, 17 },
		/* Several sessions at a time: 17 / 4. */
		{ 10, 4, 100, 0, 0, 100, TSPAN_MSECONDS(100), 5, 5 },
		/* Over the ceiling, and up to four times the ceiling. */
		{ 10, 1, 7, 0, 0, 100, TSPAN_MSECONDS(100), 17, 17 },
		{ 10, 1, 3, 0, 0, 100, TSPAN_MSECONDS(100), 12, 12 },
		/* A process for each session is busy while it starts, too. */
		{ 10, 1, 100, 0, TSPAN_MSECONDS(50), 100, TSPAN_MSECONDS(50),
		    17, 17 },
		/* Thousands of servers, in groups. */
		{ 5, 10, 10000, 100000, 0, 20000, SECOND, 2001, 2199 },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		begin();
		terms.each = needs[i].each;
		terms.most = needs[i].most;
		terms.present = needs[i].present;
		terms.overhead = needs[i].overhead;
		serve_for(needs[i].seconds, needs[i].rate, needs[i].took);
		CHECK(promise_least(&p) >= needs[i].least);
		CHECK(promise_least(&p) <= needs[i].greatest);
	}
}

TEST(a_need_is_no_more_than_connections_were_there_at_a_time)
{
	trickle(1000, TSPAN_MSECONDS(100), TSPAN_MSECONDS(90));
	CHECK_EQ(1, promise_least(&p));
}

TEST(connections_that_stay_count_though_none_come)
{
	terms.present = 3;
	serve_for(1, 20, TSPAN_MSECONDS(100));
	trickle(600, SECOND, TSPAN_MSECONDS(900));
	CHECK_EQ(3, promise_least(&p));
}

TEST(connections_of_the_past_while_count)
{
	serve_for(30, 100, TSPAN_MSECONDS(100));
	for (unsigned i = 0; i < 270; i++) {
		for (unsigned n = 0; n < 100; n++)
			serve(1, TSPAN_MSECONDS(100));
		now += SECOND;
		promise_update(&p, &terms, now);
	}
	CHECK_EQ(17, promise_least(&p));
	trickle(40, SECOND, TSPAN_MSECONDS(100));
	CHECK_EQ(1, promise_least(&p));
}

/* --- how it follows ------------------------------------------------------- */

TEST(a_rise_beyond_chance_shows_in_a_second)
{
	serve_for(120, 20, TSPAN_MSECONDS(100));
	CHECK(promise_least(&p) <= 6);
	serve_for(1, 200, TSPAN_MSECONDS(100));
	CHECK(promise_least(&p) >= 15);
}

TEST(a_rise_that_may_be_chance_does_not)
{
	uint32_t before;

	serve_for(120, 100, TSPAN_MSECONDS(100));
	before = promise_least(&p);
	serve_for(1, 110, TSPAN_MSECONDS(100));
	CHECK_EQ(before, promise_least(&p));
}

TEST(after_a_long_rest_the_former_rate_is_forgotten)
{
	serve_for(60, 100, TSPAN_MSECONDS(100));
	now += TSPAN_SECONDS(3600);
	promise_update(&p, &terms, now);
	CHECK_EQ(0, promise_least(&p));
	CHECK_EQ(1, p.need);
}

TEST(the_last_sessions_are_remembered_however_long_ago)
{
	serve_for(1, 100, TSPAN_MSECONDS(100));
	now += TSPAN_SECONDS(86400);
	promise_update(&p, &terms, now);
	CHECK_NEAR(0.1, promise_session(&p));
	CHECK_NEAR(20, p.sessions);
}

TEST(two_estimates_at_one_time_are_one)
{
	struct promise before;

	serve_for(5, 100, TSPAN_MSECONDS(100));
	before = p;
	promise_update(&p, &terms, now);
	CHECK(memcmp(&before, &p, sizeof(p)) == 0);
}

/* --- what stays ----------------------------------------------------------- */

TEST(the_greatest_size_stays_for_five_minutes)
{
	promise_started(&p, 9, SECOND, now);
	promise_started(&p, 4, SECOND, now + SECOND);
	CHECK_EQ(9, promise_most(&p, now + PROMISE_HOLD).size);
	CHECK_EQ(0, promise_most(&p, now + PROMISE_HOLD + PROMISE_SLOT).size);
}

TEST(a_size_near_the_start_of_the_clock_stays_too)
{
	now = 1;
	p = (struct promise){ .updated = now, .newest = now / PROMISE_SLOT };
	promise_started(&p, 3, SECOND, now);
	CHECK_EQ(3, promise_most(&p, now).size);
	CHECK_EQ(3, promise_most(&p, TSPAN_SECONDS(299)).size);
	CHECK_EQ(0, promise_most(&p, TSPAN_SECONDS(310)).size);
}

TEST(a_size_of_long_ago_leaves_no_trace)
{
	promise_started(&p, 9, SECOND, now);
	now += TSPAN_SECONDS(1000000);
	promise_started(&p, 2, SECOND, now);
	CHECK_EQ(2, promise_most(&p, now).size);
}

/* --- stops ---------------------------------------------------------------- */

TEST(stops_keep_their_pace_after_stops_and_starts)
{
	CHECK_EQ(0, promise_stop_due(&p, TSPAN_SECONDS(10)));
	promise_stopped(&p, now);
	CHECK_EQ(
	    now + TSPAN_SECONDS(10), promise_stop_due(&p, TSPAN_SECONDS(10)));
	promise_started(&p, 1, TSPAN_SECONDS(10), now + PROMISE_REGRET);
	CHECK_EQ(now + PROMISE_REGRET + TSPAN_SECONDS(10),
	    promise_stop_due(&p, TSPAN_SECONDS(10)));
}

/* Stops one, and starts one so much later. */
static void
stop_and_start(tspan later)
{
	promise_stopped(&p, now);
	now += later;
	promise_started(&p, 1, TSPAN_SECONDS(10), now);
}

TEST(a_start_soon_after_a_stop_doubles_the_pause)
{
	stop_and_start(PROMISE_REGRET);
	CHECK_EQ(0, p.pause);
	stop_and_start(PROMISE_REGRET - 1);
	CHECK_EQ(TSPAN_SECONDS(20), p.pause);
	stop_and_start(PROMISE_REGRET - 1);
	CHECK_EQ(TSPAN_SECONDS(40), p.pause);
}

TEST(a_stop_is_regretted_once)
{
	stop_and_start(SECOND);
	promise_started(&p, 2, TSPAN_SECONDS(10), now);
	CHECK_EQ(TSPAN_SECONDS(20), p.pause);
}

TEST(the_pause_is_a_quarter_of_an_hour_at_most)
{
	for (unsigned i = 0; i < 20; i++)
		stop_and_start(SECOND);
	CHECK_EQ(PROMISE_PAUSE_MAX, p.pause);
}

TEST(without_a_pace_a_regret_makes_one)
{
	promise_stopped(&p, now);
	promise_started(&p, 1, 0, now);
	CHECK_EQ(2 * PROMISE_TICK, p.pause);
}

TEST(a_pause_halves_after_twice_itself_and_two_minutes)
{
	tstamp stopped;

	stop_and_start(SECOND);
	stop_and_start(SECOND);
	now += TSPAN_SECONDS(200);
	promise_stopped(&p, now);
	stopped = now;
	promise_update(
	    &p, &terms, stopped + TSPAN_SECONDS(80) + PROMISE_REGRET - 1);
	CHECK_EQ(TSPAN_SECONDS(40), p.pause);
	promise_update(
	    &p, &terms, stopped + TSPAN_SECONDS(80) + PROMISE_REGRET);
	CHECK_EQ(TSPAN_SECONDS(20), p.pause);
}

TEST(a_long_rest_forgives_all_regret)
{
	for (unsigned i = 0; i < 20; i++)
		stop_and_start(SECOND);
	promise_stopped(&p, now);
	promise_update(&p, &terms, now + TSPAN_SECONDS(86400));
	CHECK_EQ(0, p.pause);
}

/* --- the promise ---------------------------------------------------------- */

static void
give(unsigned n, bool missed)
{
	p.given += n;
	p.missed += missed ? n : 0;
}

TEST(a_size_stays_if_half_of_what_may_is_late)
{
	terms.size = 6;
	give(995, false);
	give(5, true);
	rest_for(1);
	CHECK_EQ(0, promise_most(&p, now).size);
	give(1, true);
	rest_for(1);
	CHECK_EQ(6, promise_most(&p, now).size);
}

TEST(one_connection_that_waited_proves_nothing)
{
	terms.size = 6;
	give(1, true);
	rest_for(1);
	CHECK_EQ(0, promise_most(&p, now).size);
}

TEST(waits_keep_a_size_for_five_minutes_and_no_longer)
{
	terms.size = 6;
	give(100, true);
	rest_for(1);
	rest_for(299);
	CHECK_EQ(6, promise_most(&p, now).size);
	rest_for(10);
	CHECK_EQ(0, promise_most(&p, now).size);
}

TESTS(begin, NULL)
