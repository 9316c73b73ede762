/* Sessions that last too long, and processes too old, too large, too used. */

#include "rig.h"

static struct app_options
age_options(void)
{
	struct app_options o = rig_options();

	o.stop_timeout = TSPAN_SECONDS(100000);
	o.update_interval = TSPAN_SECONDS(100000);
	o.start_timeout = TSPAN_SECONDS(100000);
	return o;
}

static void
begin(void)
{
	rig_begin();
	rig.o = age_options();
}

/* --- sessions ----------------------------------------------------------- */

static struct app_options
timeout_options(void)
{
	struct app_options o = age_options();

	o.request_timeout = TSPAN_SECONDS(30);
	return o;
}

TEST(a_session_over_request_timeout_has_its_process_ended)
{
	rig_running(timeout_options(), 1);
	rig_arrive();
	AFTER(rig_at(29999), "hand 0>0");
	AFTER(rig_at(30000), "term 0, spawn 1");
	CHECK_EQ(END_REQUEST_TIMEOUT, rig_process(0)->end);
	AFTER(rig_at(35000), "kill 0");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_REQUEST_TIMEOUT]);
}

TEST(a_session_of_a_blind_process_is_never_too_old)
{
	rig_running(timeout_options(), 1);
	rig_arrive();
	rig_at(20000);
	pool_blind(&rig.pool, 0, rig.now);
	AFTER(rig_at(90000), "hand 0>0");
	CHECK_EQ(PROCESS_ACTIVE, rig_process(0)->state);
}

TEST(a_session_that_ends_in_time_ends_nothing)
{
	rig_running(timeout_options(), 1);
	for (int i = 0; i < 5; i++) {
		rig_at(25000 * i);
		LET(rig_arrive());
		rig_at(25000 * (i + 1));
		(void)rig_done(0);
	}
	CHECK_STR("", rig_did());
}

TEST(a_prefetched_session_ages_from_its_turn_on)
{
	rig.o = timeout_options();
	rig.o.prefetch = 1;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 2);
	rig_at(20000);
	(void)rig_done(0);
	NOT_BEFORE(50000, "term 0, spawn 1");
}

TEST(of_several_sessions_the_oldest_counts)
{
	rig.o = timeout_options();
	rig.o.concurrency = 2;
	rig_running(rig.o, 1);
	rig_arrive();
	rig_at(20000);
	LET(rig_arrive());
	rig_at(25000);
	(void)rig_done_of(0, 0);
	NOT_BEFORE(50000, "term 0, spawn 1");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

TEST(a_retiring_process_has_its_request_timeout_too)
{
	rig_running(timeout_options(), 1);
	rig_arrive();
	LET(pool_retire(&rig.pool, 0, rig.now));
	AFTER(rig_at(30000), "term 0");
}

TEST(a_slow_session_is_reported_once)
{
	rig.o.slow_timeout = TSPAN_SECONDS(5);
	rig_running(rig.o, 1);
	rig_arrive();
	AFTER(rig_at(4999), "hand 0>0");
	AFTER(rig_at(60000), "slow 0");
	(void)rig_done(0);
	rig_arrive();
	AFTER(rig_at(65000), "hand 0>0, slow 0");
}

/* --- max_lifetime, max_memory ------------------------------------------- */

static struct app_options
lifetime_options(void)
{
	struct app_options o = age_options();

	o.max_lifetime = TSPAN_SECONDS(60);
	return o;
}

TEST(at_max_lifetime_the_replacement_is_ready_first)
{
	rig_running(lifetime_options(), 1);
	AFTER(rig_at(66000), "spawn 1");
	AFTER(rig_ready(1), "stop 0");
	CHECK_EQ(END_LIFETIME, rig_process(0)->end);
}

TEST(a_busy_process_at_max_lifetime_serves_on_until_it_is_replaced)
{
	rig_running(lifetime_options(), 1);
	rig_at(59000);
	rig_arrive();
	AFTER(rig_at(66000), "hand 0>0, spawn 1");
	(void)rig_done(0);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(rig_ready(1), "stop 0");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
}

TEST(an_idle_process_above_the_minimum_is_not_replaced)
{
	rig_running(lifetime_options(), 2);
	AFTER(rig_at(66000), "stop 0, spawn 2");
}

TEST(without_a_place_an_idle_process_leaves_before_its_replacement)
{
	rig.o = lifetime_options();
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_at(66000), "stop 0, spawn 1");
}

TEST(without_a_place_a_busy_process_leaves_when_its_session_ends)
{
	rig.o = lifetime_options();
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	rig_at(59000);
	rig_arrive();
	AFTER(rig_at(66000), "hand 0>0");
	AFTER((void)rig_done(0), "stop 0, spawn 1");
}

TEST(without_a_place_a_busy_process_leaves_though_connections_wait)
{
	rig.o = lifetime_options();
	rig.o.max_processes = 2;
	rig_running(rig.o, 2);
	rig_at(59000);
	rig_arrive_n(5);
	AFTER(rig_at(66000), "hand 0>0, hand 1>1");
	AFTER((void)rig_done(0), "stop 0, spawn 2");
	/* The replacements come one after the other. */
	AFTER((void)rig_done(1), "hand 2>1");
	AFTER(rig_ready(2), "stop 1, hand 3>2, spawn 3");
}

TEST(without_a_place_a_process_with_several_sessions_gets_no_more)
{
	rig.o = lifetime_options();
	rig.o.max_processes = 1;
	rig.o.concurrency = 2;
	rig_running(rig.o, 1);
	rig_at(59000);
	rig_arrive_n(4);
	AFTER(rig_at(66000), "hand 0>0, hand 1>0");
	AFTER((void)rig_done(0), "stop 0, spawn 1");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
}

TEST(lifetimes_differ_by_a_tenth)
{
	rig.o = lifetime_options();
	rig.o.min_processes = 4;
	rig_running(rig.o, 4);
	for (uint32_t a = 0; a < 4; a++)
		for (uint32_t b = 0; b < a; b++)
			CHECK(rig_process(a)->jitter != rig_process(b)->jitter);
	rig_at(59999);
	CHECK_EQ(0, rig_app(0)->outdated);
	rig_at(63000);
	CHECK(rig_app(0)->outdated > 0 && rig_app(0)->outdated < 4);
	rig_at(66000);
	CHECK_EQ(4, rig_app(0)->outdated);
}

TEST(a_shorter_max_lifetime_holds_for_living_processes)
{
	rig.o = lifetime_options();
	rig_running(rig.o, 1);
	rig.o.max_lifetime = TSPAN_SECONDS(10);
	rig_change(0, &rig.o);
	AFTER(rig_at(11000), "spawn 1");
}

TEST(a_process_over_max_memory_is_replaced)
{
	rig.o.max_memory = 1000;
	rig_running(rig.o, 1);
	AFTER(pool_measured(&rig.pool, 0, 1000, rig.now), "");
	AFTER(pool_measured(&rig.pool, 0, 1001, rig.now), "spawn 1");
	AFTER(rig_ready(1), "stop 0");
	CHECK_EQ(END_MEMORY, rig_process(0)->end);
}

/* --- processes whose output nobody reads -------------------------------- */

TEST(a_process_that_nobody_hears_leaves_when_another_is_ready)
{
	rig_running(age_options(), 1);
	AFTER(pool_unheard(&rig.pool, 0, true, rig.now), "spawn 1");
	AFTER(rig_ready(1), "stop 0");
	CHECK_EQ(END_KEEPER, rig_process(0)->end);
	/* At once, if none can follow, or while it starts. */
	AFTER(pool_unheard(&rig.pool, 1, false, rig.now), "stop 1, spawn 2");
	CHECK_EQ(END_KEEPER, rig_process(1)->end);
	AFTER(pool_unheard(&rig.pool, 2, true, rig.now), "stop 2, spawn 3");
}

/* --- one process for each connection ------------------------------------ */

TEST(while_renewing_each_connection_has_a_process_of_its_own)
{
	rig_running(rig.o, 1);
	AFTER(pool_app_renew(&rig.pool, 0, true, rig.now), "stop 0");
	AFTER(rig_arrive(), "spawn 1");
	AFTER(rig_ready(1), "hand 0>1");
	AFTER((void)rig_done(1), "stop 1");
	AFTER(rig_arrive_n(2), "spawn 2, spawn 3");
}

TEST(while_renewing_an_older_process_does_not_serve_a_connection)
{
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	pool_app_renew(&rig.pool, 0, true, rig.now);
	LET(rig_arrive());
	pool_abandoned(&rig.pool, 0, rig.now);
	rig_at(10);
	LET(rig_arrive());
	AFTER(rig_ready(0), "stop 0, spawn 1");
	AFTER(rig_ready(1), "hand 0>1");
}

TEST(an_app_that_renews_is_ready_without_a_process)
{
	rig.tells = true;
	LET(rig_add(&rig.o));
	AFTER(pool_app_renew(&rig.pool, 0, true, rig.now), "tell 0 ready");
}

TEST(when_renewing_ends_the_minimum_comes_back)
{
	rig_running(age_options(), 1);
	LET(pool_app_renew(&rig.pool, 0, true, rig.now));
	AFTER(pool_app_renew(&rig.pool, 0, false, rig.now), "spawn 1");
}

/* --- one session for each process --------------------------------------- */

static struct app_options
single_options(void)
{
	struct app_options o = age_options();

	o.exit_ends = true;
	return o;
}

TEST(a_single_session_is_completed_by_an_exit_unless_it_failed)
{
	static const struct {
		bool fails; /* says FAIL first */
		enum process_end how;
		uint64_t completed;
	} ends[] = { { false, END_FAILURE, 1 }, { false, END_SIGNAL, 0 },
		{ true, END_FAILURE, 0 } };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		begin();
		rig_running(single_options(), 1);
		AFTER(rig_arrive(), "hand 0>0, spawn 1");
		if (ends[i].fails)
			pool_misbehaved(&rig.pool, 0, END_FAIL, rig.now);
		rig_exits(0, ends[i].how);
		CHECK_EQ(ends[i].completed, rig_app(0)->figures.completed);
		CHECK_EQ(1 - ends[i].completed, rig_app(0)->figures.lost);
		CHECK_EQ(0, rig_app(0)->backoff.delay);
	}
}

TEST(a_completed_session_forgives_failed_starts)
{
	rig_running(single_options(), 1);
	rig_exits(0, END_EXIT);
	LET(rig_at(2000));
	rig_ready(0);
	LET(rig_arrive());
	CHECK_EQ(1, rig_app(0)->failed_starts);
	rig_exits(0, END_EXIT);
	CHECK_EQ(0, rig_app(0)->failed_starts);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
}

TEST(an_exit_without_its_session_is_a_failed_start)
{
	rig_running(single_options(), 1);
	rig_exits(0, END_FAILURE);
	CHECK(rig_app(0)->backoff.delay != 0);
}

TEST(a_single_session_that_was_never_received_goes_to_another_process)
{
	rig_busy(single_options(), 1, 1);
	rig_ready(1);
	rig_died(0, END_FAILURE);
	rig_retaken(0);
	rig_gone(0);
	CHECK_EQ(0, rig_app(0)->figures.completed);
	CHECK_STR("hand 0>1, spawn 2", rig_did());
}

TEST(while_renewing_a_new_process_waits_for_its_lock)
{
	rig.o.limited = true;
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	pool_app_renew(&rig.pool, 0, true, rig.now);
	AFTER(rig_arrive(), "spawn 0");
	AFTER(rig_ready(0), "lock 0");
	AFTER(pool_lock_answered(&rig.pool, 0, LIMIT_GRANTED, 1, 0, rig.now),
	    "hand 0>0");
}

TEST(while_renewing_a_connection_comes_in_even_without_a_queue)
{
	rig.o.max_queue = 0;
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	pool_app_renew(&rig.pool, 0, true, rig.now);
	AFTER(rig_arrive(), "spawn 0");
	AFTER(rig_accept_paused(0), "");
	AFTER(rig_ready(0), "hand 0>0, resume 0");
}

TEST(an_app_that_accepts_itself_is_never_renewed)
{
	rig.o.sessions = false;
	rig.o.listens = true;
	LET(rig_add(&rig.o));
	rig_spawned(0);
	pool_app_renew(&rig.pool, 0, true, rig.now);
	AFTER(pool_backlog(&rig.pool, 0, 1, rig.now), "");
}

TEST(a_prefetched_session_ages_from_a_growth_of_concurrency_on)
{
	rig.o = timeout_options();
	rig.o.min_processes = 0;
	rig.o.max_processes = 1;
	rig.o.prefetch = 1;
	rig.o.request_timeout = TSPAN_SECONDS(10);
	rig_busy(rig.o, 1, 2);
	rig_at(9000);
	rig.o.concurrency = 2;
	rig_change(0, &rig.o);
	rig_done(0);
	NOT_BEFORE(19000, "term 0");
}

TESTS(begin, rig_end)
