/* Stops of processes: idle, too many, or after max_requests. */

#include "rig.h"

/* An app of n idle processes that may stop after a second, 0 used last. */
static void
begin_idle(struct app_options o, uint32_t n)
{
	o.max_idle_time = TSPAN_SECONDS(1);
	rig_running(o, n);
}

/* --- idle --------------------------------------------------------------- */

TEST(a_process_stops_when_it_was_idle_for_max_idle_time)
{
	begin_idle(rig_options(), 2);
	CHECK_EQ(1000, rig_due());
	NOT_BEFORE(1000, "stop 1");
	rig_exits(1, END_EXIT);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_IDLE]);
}

/* Milliseconds from a start to READY, to a stop, and from that to the next. */
TEST(an_idle_process_is_kept_for_what_a_start_costs)
{
	static const int64_t table[][3] = { { 1, 5000, 200 },
		{ 10, 10000, 400 }, { 290, 290000, 11600 },
		{ 400, 300000, 12000 } };
	struct app_options o = rig_options();

	o.max_idle_time = o.stop_delay = APP_AUTO;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const int64_t *t = table[i];

		rig_begin();
		o.min_processes = 3;
		LET(rig_add(&o));
		rig_at(t[0]);
		for (uint32_t n = 0; n < 3; n++)
			(void)rig_ready(n);
		o.min_processes = 1;
		LET(rig_change(0, &o));
		NOT_BEFORE(t[0] + t[1], "stop 0");
		rig_exits(0, END_EXIT);
		NOT_BEFORE(t[0] + t[1] + t[2], "stop 1");
	}
}

/*
 * READY of a process that is stopping measures a start, too: 1 ms after one of
 * 400 ms, which makes 200.5 s of 300 s.
 */
TEST(a_late_ready_brings_the_next_idle_stop_nearer)
{
	rig.o.max_idle_time = rig.o.stop_delay = APP_AUTO;
	rig.o.stop_timeout = TSPAN_SECONDS(100000);
	rig.o.min_processes = 3;
	LET(rig_add(&rig.o));
	pool_start_queued(&rig.pool, 2, true, rig.now);
	rig_at(400);
	pool_start_queued(&rig.pool, 2, false, rig.now);
	rig_spawned(2);
	rig_ready(0);
	rig_ready(1);
	rig.o.min_processes = 1;
	rig_change(0, &rig.o);
	AFTER(pool_unheard(&rig.pool, 2, true, rig.now), "stop 2");
	rig_at(401);
	CHECK(rig_ready(2));
	CHECK_EQ(PROCESS_STOPPING, rig_process(2)->state);
	NOT_BEFORE(200900, "stop 0");
}

/* Nothing tells how long the start of a process takes that listens itself. */
TEST(an_idle_process_is_kept_for_five_minutes_where_starts_are_unknown)
{
	rig.o.sessions = false;
	rig.o.listens = true;
	rig.o.min_processes = 2;
	rig.o.max_idle_time = APP_AUTO;
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_spawned(1);
	rig.o.min_processes = 1;
	rig_change(0, &rig.o);
	NOT_BEFORE(300000, "stop 0");
}

TEST(idle_time_begins_when_the_last_session_ends)
{
	rig.o.min_processes = 0;
	begin_idle(rig.o, 1);
	rig_at(500);
	LET(rig_arrive());
	rig_at(5000);
	rig_done(0);
	NOT_BEFORE(6000, "stop 0");
}

TEST(the_least_recently_used_stops_first)
{
	begin_idle(rig_options(), 3);
	rig_at(500);
	LET(rig_arrive_n(3));
	rig_done(1);
	rig_at(510);
	rig_done(2);
	rig_at(520);
	rig_done(0);
	AFTER(rig_at(1510), "stop 1");
	AFTER(rig_at(9000), "stop 2");
}

TEST(idle_stops_are_stop_delay_apart)
{
	rig.o.stop_delay = TSPAN_SECONDS(10);
	begin_idle(rig.o, 4);
	AFTER(rig_at(1000), "stop 3");
	rig_exits(3, END_EXIT);
	NOT_BEFORE(11000, "stop 2");
	rig_exits(2, END_EXIT);
	AFTER(rig_at(21000), "stop 1");
}

TEST(idle_stops_leave_min_processes)
{
	rig.o.min_processes = 2;
	rig.o.stop_delay = 0;
	begin_idle(rig.o, 4);
	AFTER(rig_at(1000), "stop 3, stop 2");
	rig_exits(3, END_EXIT);
	rig_exits(2, END_EXIT);
	AFTER(rig_at(1000000), "");
	CHECK_EQ(-1, rig_due());
}

/* The backlog may need the process, which leaves with its app. */
TEST(no_process_stops_for_idleness_while_its_app_is_closing)
{
	begin_idle(rig_options(), 1);
	rig_at(5000);
	AFTER(pool_app_close(&rig.pool, 0, rig.now), "");
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "stop 0");
	CHECK_EQ(END_CLOSED, rig_process(0)->end);
}

TEST(without_max_idle_time_no_idle_process_stops)
{
	rig_running(rig_options(), 4);
	AFTER(rig_at(100000000), "");
}

TEST(no_process_stops_while_another_is_starting)
{
	begin_idle(rig_options(), 2);
	rig_arrive_n(3);
	AFTER(rig_at(100), "hand 0>0, hand 1>1, spawn 2");
	rig_done(0);
	LET(rig_done(1));
	rig_done(0);
	AFTER(rig_at(5000), "");
	AFTER(rig_ready(2), "stop 1");
}

/* --- ceilings ----------------------------------------------------------- */

TEST(under_a_lowered_ceiling_idle_processes_stop_at_once)
{
	rig_running(rig.o, 4);
	rig.o.max_processes = 2;
	AFTER(rig_change(0, &rig.o), "stop 3, stop 2");
}

TEST(under_a_lowered_ceiling_busy_processes_stop_when_idle)
{
	rig_busy(rig.o, 3, 3);
	rig.o.max_processes = 1;
	AFTER(rig_change(0, &rig.o), "");
	AFTER(rig_done(1), "stop 1");
	AFTER(rig_done(0), "stop 0");
	AFTER(rig_done(2), "");
}

TEST(over_a_lowered_ceiling_nothing_is_started)
{
	rig_busy(rig.o, 3, 5);
	rig.o.max_processes = 2;
	rig_change(0, &rig.o);
	AFTER(rig_at(5000), "");
}

TEST(under_a_lowered_global_ceiling_idle_processes_of_any_app_stop)
{
	rig_running(rig.o, 2);
	rig_running(rig.o, 2);
	AFTER(pool_resize(&rig.pool, 2, 0, rig.now), "stop 1, stop 3");
}

TEST(a_lowered_global_ceiling_leaves_each_app_its_minimum)
{
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	rig.o.min_processes = 0;
	rig_running(rig.o, 2);
	rig_arrive_at(1);
	LET(rig_arrive_at(1));
	AFTER(pool_resize(&rig.pool, 2, 0, rig.now), "");
	rig_done(2);
	AFTER(rig_done(3), "stop 2, stop 3");
}

/* --- max_requests ------------------------------------------------------- */

TEST(after_max_requests_a_process_retires_and_is_replaced)
{
	rig.o.max_requests = 2;
	rig_busy(rig.o, 1, 1);
	AFTER(rig_done(0), "");
	AFTER(rig_arrive(), "hand 0>0, spawn 1");
	AFTER(rig_done(0), "stop 0");
	rig_exits(0, END_EXIT);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_REQUESTS]);
	CHECK_EQ(0, rig_app(0)->figures.spawn_failures);
}

TEST(at_the_ceiling_a_replacement_waits_until_the_old_process_retires)
{
	rig.o.max_requests = 1;
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(rig_done(0), "stop 0, spawn 1");
}

/* Two long sessions of four that it could have do not block the app. */
TEST(a_process_with_its_last_sessions_and_room_leaves_its_place)
{
	rig.o.max_requests = 2;
	rig.o.concurrency = 4;
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(rig_arrive(), "hand 1>0, stop 0, spawn 1");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
	rig_ready(1);
	AFTER(rig_arrive(), "hand 2>1");
	rig_done_of(0, 0);
	rig_done_of(0, 1);
	rig_exits(0, END_EXIT);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_REQUESTS]);
	CHECK_EQ(2, rig_app(0)->figures.completed);
}

TEST(no_process_is_handed_more_than_max_requests)
{
	rig.o.max_requests = 3;
	rig.o.concurrency = 2;
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(4), "hand 0>0, hand 1>0");
	AFTER(rig_done_of(0, 0), "hand 2>0");
	AFTER(rig_done_of(0, 1), "stop 0, spawn 1");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
	AFTER(rig_done_of(0, 2), "");
}

TEST(a_connection_taken_back_does_not_count_against_max_requests)
{
	rig.o.max_requests = 2;
	rig.o.concurrency = 2;
	rig_busy(rig.o, 1, 2);
	CHECK(rig_process(0)->expiring);
	rig_hand_failed(1);
	CHECK(!rig_process(0)->expiring);
	CHECK_EQ(1, rig_process(0)->handed);
}

TEST(numbers_of_requests_differ_by_a_tenth)
{
	uint64_t least = UINT64_MAX, most = 0;

	rig.o.max_requests = 100;
	rig.o.min_processes = 20;
	rig.o.max_processes = 20;
	rig_add(&rig.o);
	for (uint32_t n = 0; n < 20; n++) {
		uint64_t limit = rig_process(n)->request_limit;

		CHECK(limit >= 100 && limit <= 110);
		least = limit < least ? limit : least;
		most = limit > most ? limit : most;
	}
	CHECK(least < most);
}

TEST(a_process_that_asks_to_retire_is_replaced_and_gets_nothing_more)
{
	rig_serving(rig_options(), 1);
	LET(rig_arrive_n(2));
	AFTER(pool_retire(&rig.pool, 0, rig.now), "stop 0, spawn 1");
	AFTER(rig_done(0), "");
	AFTER(rig_ready(1), "hand 1>1");
	rig_exits(0, END_EXIT);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_RETIRED]);
	CHECK_EQ(0, rig_app(0)->backoff.until);
}

TEST(under_a_lowered_ceiling_a_freed_process_stops_before_it_serves)
{
	rig_busy(rig.o, 3, 5);
	rig.o.max_processes = 2;
	rig_change(0, &rig.o);
	AFTER(rig_done(0), "stop 0");
	AFTER(rig_done(1), "hand 3>1");
}

TEST(in_an_app_of_jobs_processes_over_a_lowered_minimum_stop)
{
	rig.o.sessions = false;
	rig_running(rig.o, 0);
	rig.o.min_processes = 3;
	LET(rig_change(0, &rig.o));
	for (uint32_t n = 0; n < 3; n++)
		rig_spawned(n);
	rig.o.min_processes = 1;
	AFTER(rig_change(0, &rig.o), "stop 0, stop 1");
}

TESTS(rig_begin, rig_end)
