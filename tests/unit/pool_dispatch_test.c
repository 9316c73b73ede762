/* Dispatch: which process gets which connection. */

#include "rig.h"

TEST(the_most_recently_idle_process_is_first)
{
	rig_running(rig_options(), 3);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>1, hand 2>2");
	rig_done(1);
	rig_done(0);
	rig_done(2);
	AFTER(rig_arrive_n(3), "hand 2>2, hand 0>0, hand 1>1");
}

TEST(blind_processes_take_turns)
{
	rig_running(rig_options(), 3);
	for (uint32_t n = 0; n < 3; n++)
		pool_blind(&rig.pool, n, rig.now);
	LET(rig_arrive_n(3));
	rig_done(1);
	rig_done(0);
	rig_done(2);
	AFTER(rig_arrive(), "hand 0>1");
	rig_done(1);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 2>2, hand 1>1");
}

TEST(of_blind_processes_the_newest_generation_is_first)
{
	rig_running(rig_options(), 3);
	for (uint32_t n = 0; n < 3; n++)
		pool_blind(&rig.pool, n, rig.now);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	rig_ready(3);
	LET(pool_blind(&rig.pool, 3, rig.now));
	AFTER(rig_arrive(), "hand 0>3");
}

TEST(a_process_that_is_not_ready_gets_nothing)
{
	AFTER(rig_add(&rig.o), "spawn 0");
	AFTER(rig_arrive(), "");
	AFTER(rig_spawned(0), "");
	AFTER(rig_ready(0), "hand 0>0");
}

TEST(waiters_are_served_in_the_order_of_arrival)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(4), "hand 0>0");
	AFTER(rig_done(0), "hand 1>0");
	AFTER(rig_done(0), "hand 2>0");
	AFTER(rig_done(0), "hand 3>0");
}

TEST(an_end_in_one_app_wakes_nobody_of_another)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	rig_running(rig.o, 1);
	rig_arrive_at(0);
	rig_arrive_at(1);
	LET(rig_arrive_at(1));
	AFTER(rig_done(0), "");
	AFTER(rig_done(1), "hand 2>1");
}

TEST(a_process_that_becomes_ready_serves_as_many_as_it_has_room_for)
{
	rig.o.concurrency = 3;
	LET(rig_add(&rig.o));
	rig_arrive_n(5);
	AFTER(rig_ready(0), "hand 0>0, hand 1>0, hand 2>0");
}

TEST(the_process_with_the_fewest_sessions_is_first)
{
	rig.o.concurrency = 3;
	rig_running(rig.o, 2);
	rig_arrive_n(6);
	CHECK_STR("hand 0>0, hand 1>1, hand 2>1, hand 3>0, hand 4>0, hand 5>1",
	    rig_did());
	rig_done(0);
	rig_done(0);
	rig_done(1);
	rig_arrive_n(2);
	CHECK_EQ(3, process_sessions(rig_process(0)));
	CHECK_EQ(2, process_sessions(rig_process(1)));
}

TEST(of_equally_busy_processes_the_most_recently_used_is_first)
{
	rig.o.concurrency = 2;
	rig_busy(rig.o, 3, 3);
	AFTER(rig_arrive(), "hand 3>2");
}

TEST(a_process_never_has_more_sessions_than_concurrency)
{
	rig.o.concurrency = 4;
	rig.o.max_processes = 2;
	rig_busy(rig.o, 2, 12);
	CHECK_EQ(4, process_sessions(rig_process(0)));
	CHECK_EQ(4, process_sessions(rig_process(1)));
	CHECK_EQ(4, rig_app(0)->queue.count);
}

/* --- hand-overs that fail ----------------------------------------------- */

TEST(a_connection_that_could_not_be_handed_goes_to_a_sibling_first)
{
	rig.o.max_processes = 2;
	rig_running(rig.o, 2);
	AFTER(rig_arrive_n(4), "hand 0>0, hand 1>1");
	AFTER(rig_hand_failed(0), "");
	AFTER(rig_done(1), "hand 0>1");
}

TEST(a_process_that_took_nothing_has_no_room_for_ten_milliseconds)
{
	rig_running(rig_options(), 1);
	AFTER(rig_arrive(), "hand 0>0");
	rig_hand_failed(0);
	NOT_BEFORE(10, "hand 0>0");
}

TEST(a_process_that_took_nothing_has_room_once_it_speaks)
{
	rig_busy(rig_options(), 1, 1);
	rig_hand_failed(0);
	rig_at(3);
	AFTER(pool_spoke(&rig.pool, 0, rig.now), "hand 0>0");
}

TEST(a_process_that_took_nothing_has_room_once_a_session_ends)
{
	rig.o.concurrency = 2;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 2);
	AFTER(rig_hand_failed(1), "");
	AFTER(rig_done(0), "hand 1>0");
}

TEST(a_hand_over_that_failed_does_not_count_against_max_requests)
{
	rig.o.max_requests = 1;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 1);
	rig_hand_failed(0);
	AFTER(rig_at(10), "hand 0>0");
}

TEST(a_process_has_the_times_of_its_state_and_its_use)
{
	rig_running(rig_options(), 1);
	rig_at(500);
	LET(rig_arrive());
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(500), rig_process(0)->since);
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(500), rig_process(0)->used);
	rig_at(700);
	rig_done(0);
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(700), rig_process(0)->since);
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(700), rig_process(0)->used);
}

TEST(waiting_beside_a_process_that_took_nothing_is_counted_as_waste)
{
	rig_busy(rig_options(), 1, 1);
	rig_hand_failed(0);
	rig_at(4);
	CHECK_EQ(
	    TSPAN_MSECONDS(4), pool_idle_while_waiting(&rig.pool, 0, rig.now));
	rig_at(100);
	CHECK_EQ(
	    TSPAN_MSECONDS(10), pool_idle_while_waiting(&rig.pool, 0, rig.now));
}

/* --- what a process may not say ------------------------------------------ */

TEST(done_of_a_connection_of_another_process_is_refused)
{
	rig_busy(rig_options(), 2, 2);
	CHECK(!rig_done_of(0, 1));
	CHECK(!rig_done_of(0, 77));
	CHECK(!rig_done_of(0, ILIST_NONE));
	CHECK(rig_done_of(0, 0));
	CHECK(!rig_done_of(0, 0));
}

TEST(done_of_a_connection_that_was_not_handed_yet_is_refused)
{
	rig_running(rig_options(), 1);
	rig_arrive();
	CHECK(!rig_done_of(0, 0));
	CHECK_STR("hand 0>0", rig_did());
	CHECK(rig_done_of(0, 0));
}

TEST_ALONE(ready_told_after_the_death_of_the_process_does_no_harm)
{
	struct app_options o = rig_options();

	rig_begin();
	LET(rig_add(&o));
	rig_spawned(0);
	rig_died(0, END_EXIT);
	CHECK(rig_ready(0));
	rig_gone(0);
	CHECK_EQ(0, app_ready(rig_app(0)));
}

TEST(a_session_said_to_be_lost_is_counted_and_its_process_serves_on)
{
	rig_busy(rig_options(), 1, 2);
	CHECK(pool_session_over(&rig.pool, 0, 0, SESSION_LOST, rig.now));
	CHECK_STR("hand 1>0", rig_did());
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

TESTS(rig_begin, rig_end)
