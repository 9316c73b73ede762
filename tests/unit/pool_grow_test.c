/* Growth: when processes are started, and how many. */

#include "rig.h"

/* An app of n busy processes; the next connection waits. */
static void
begin_busy(struct app_options o, uint32_t n)
{
	rig_busy(o, n, n * o.concurrency);
}

/* --- minimum ------------------------------------------------------------ */

TEST(an_app_is_ready_when_min_processes_are)
{
	rig.tells = true;
	rig.o.min_processes = 2;
	LET(rig_add(&rig.o));
	AFTER(rig_ready(0), "");
	AFTER(rig_ready(1), "tell 0 ready");
}

TEST(without_sessions_an_app_is_ready_when_it_is_spawned)
{
	rig.tells = true;
	rig.o.sessions = false;
	LET(rig_add(&rig.o));
	AFTER(rig_spawned(0), "tell 0 ready");
}

TEST(an_end_above_the_minimum_is_not_replaced)
{
	rig_busy(rig_options(), 2, 1);
	rig_done(0);
	AFTER(rig_exits(0, END_EXIT), "");
}

TEST(with_no_minimum_no_process_starts_before_a_connection_comes)
{
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	AFTER(rig_at(10000), "");
	AFTER(rig_arrive(), "spawn 0");
}

TEST(without_a_queue_the_first_connection_waits_for_the_first_process)
{
	rig.o.min_processes = 0;
	rig.o.max_queue = 0;
	rig.o.close_when_full = true;
	rig_add(&rig.o);
	AFTER(rig_arrive(), "spawn 0");
	AFTER(rig_arrive(), "refuse 1 full");
	AFTER(rig_ready(0), "hand 0>0");
}

TEST(a_paused_listener_brings_the_first_process_too)
{
	rig.o.min_processes = 0;
	rig.o.max_queue = 0;
	rig_add(&rig.o);
	AFTER(rig_accept_paused(0), "spawn 0");
	AFTER(rig_ready(0), "resume 0");
}

/* --- waiters ------------------------------------------------------------ */

TEST(a_process_is_started_when_the_oldest_has_waited_start_delay)
{
	begin_busy(rig_options(), 1);
	rig_at(30);
	rig_arrive_n(5);
	CHECK_EQ(130, rig_due());
	NOT_BEFORE(130, "spawn 1");
}

TEST(a_connection_served_within_start_delay_starts_no_process)
{
	begin_busy(rig_options(), 1);
	rig_arrive();
	rig_at(50);
	rig_done(0);
	AFTER(rig_at(1000), "hand 1>0");
}

TEST(the_pace_doubles_while_waiters_remain)
{
	begin_busy(rig_options(), 1);
	rig_arrive_n(20);
	AFTER(rig_at(100), "spawn 1");
	AFTER(rig_ready(1), "hand 1>1");
	NOT_BEFORE(200, "spawn 2, spawn 3");
	rig_ready(2);
	LET(rig_ready(3));
	AFTER(rig_at(300), "spawn 4, spawn 5, spawn 6, spawn 7");
}

TEST(starting_processes_count_for_the_pace)
{
	begin_busy(rig_options(), 1);
	rig_arrive_n(20);
	AFTER(rig_at(100), "spawn 1");
	AFTER(rig_at(200), "spawn 2");
	AFTER(rig_at(300), "spawn 3, spawn 4");
}

TEST(no_more_processes_are_started_than_waiters_need)
{
	for (int growth = GROWTH_DOUBLE; growth <= GROWTH_ALL; growth++) {
		rig_begin();
		rig.o.growth = (enum app_growth)growth;
		begin_busy(rig.o, 1);
		rig_arrive_n(2);
		AFTER(rig_at(1000), "spawn 1, spawn 2");
	}
}

TEST(with_concurrency_one_start_serves_several_waiters)
{
	rig.o.concurrency = 4;
	begin_busy(rig.o, 1);
	rig_arrive_n(5);
	AFTER(rig_at(1000), "spawn 1, spawn 2");
}

TEST(the_pace_falls_back_when_the_queue_is_empty)
{
	begin_busy(rig_options(), 1);
	rig_arrive_n(3);
	AFTER(rig_at(200), "spawn 1, spawn 2");
	rig_ready(1);
	rig_ready(2);
	AFTER(rig_done(0), "hand 1>1, hand 2>2, hand 3>0");
	rig_arrive_n(5);
	NOT_BEFORE(300, "spawn 3");
}

TEST(without_start_delay_all_processes_needed_start_at_once)
{
	rig.o.start_delay = 0;
	begin_busy(rig.o, 1);
	AFTER(rig_arrive(), "spawn 1");
	AFTER(rig_arrive_n(2), "spawn 2, spawn 3");
}

TEST(without_start_delay_or_any_process_all_needed_start_at_once)
{
	rig.o.start_delay = 0;
	rig.o.min_processes = 0;
	rig.o.concurrency = 2;
	LET(rig_add(&rig.o));
	AFTER(rig_arrive_n(5), "spawn 0, spawn 1, spawn 2");
}

/* --- patience ------------------------------------------------------------ */

/* An app of one busy process, which took so many milliseconds to start. */
static void
begin_measured(struct app_options o, int64_t took)
{
	rig_add(&o);
	rig_at(took);
	rig_ready(0);
	LET(rig_arrive_n(o.concurrency));
}

TEST(a_waiter_waits_no_longer_than_a_start_takes)
{
	begin_measured(rig_options(), 5);
	rig_arrive_n(2);
	CHECK_EQ(10, rig_due());
	NOT_BEFORE(10, "spawn 1");
}

TEST(a_start_of_over_start_delay_leaves_the_patience_at_start_delay)
{
	begin_measured(rig_options(), 101);
	rig_arrive();
	NOT_BEFORE(201, "spawn 1");
}

TEST(each_step_of_growth_waits_as_long_as_a_start_takes)
{
	begin_measured(rig_options(), 5);
	rig_arrive_n(20);
	AFTER(rig_at(10), "spawn 1");
	NOT_BEFORE(15, "spawn 2");
	AFTER(rig_at(20), "spawn 3, spawn 4");
}

TEST(each_start_halves_the_weight_of_those_before)
{
	begin_measured(rig_options(), 80);
	CHECK_EQ(TSPAN_MSECONDS(80), rig.pool.apps[0].start_time);
	rig_arrive();
	AFTER(rig_at(160), "spawn 1");
	rig_at(180);
	rig_ready(1);
	CHECK_EQ(TSPAN_MSECONDS(50), rig.pool.apps[0].start_time);
}

TEST(the_time_in_the_start_queue_is_no_part_of_a_start)
{
	LET(rig_add(&rig.o));
	pool_start_queued(&rig.pool, 0, true, rig.now);
	rig_at(60);
	pool_start_queued(&rig.pool, 0, false, rig.now);
	rig_at(65);
	rig_ready(0);
	CHECK_EQ(TSPAN_MSECONDS(5), rig.pool.apps[0].start_time);
}

TEST(the_first_start_that_is_measured_brings_a_due_growth_at_once)
{
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	AFTER(rig_arrive_n(4), "spawn 0");
	rig_at(5);
	AFTER(rig_ready(0), "hand 0>0, spawn 1");
}

TEST(a_start_that_fails_measures_nothing)
{
	LET(rig_add(&rig.o));
	rig_at(5);
	rig_died(0, END_FAILURE);
	CHECK_EQ(0, rig.pool.apps[0].start_time);
}

TEST(ready_after_measures_no_start)
{
	rig.o.sessions = false;
	rig.o.listens = true;
	rig.o.ready_after = TSPAN_MSECONDS(5);
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_at(5);
	CHECK_EQ(1, rig.pool.apps[0].in_state[PROCESS_IDLE]);
	CHECK_EQ(0, rig.pool.apps[0].start_time);
}

TEST(spare_processes_keep_to_start_delay)
{
	rig.o.min_idle = 1;
	begin_measured(rig.o, 5);
	CHECK_EQ(105, rig_due());
	NOT_BEFORE(105, "spawn 1");
}

/* --- steps --------------------------------------------------------------- */

TEST(a_linear_step_is_one_process_those_starting_not_counted)
{
	rig.o.growth = GROWTH_LINEAR;
	begin_busy(rig.o, 1);
	rig_arrive_n(20);
	AFTER(rig_at(100), "spawn 1");
	AFTER(rig_at(200), "spawn 2");
	rig_ready(1);
	AFTER(rig_ready(2), "hand 1>1, hand 2>2");
	AFTER(rig_at(300), "spawn 3");
}

/* Processes are ready within a millisecond, and soon busy. */
TEST(linear_steps_are_start_delay_apart_however_short_starts_are)
{
	rig.o.growth = GROWTH_LINEAR;
	begin_busy(rig.o, 1);
	rig_arrive_n(20);
	for (uint32_t n = 1; n <= 5; n++) {
		rig_at(100 * n - 1);
		CHECK_EQ(n, rig.pool.nprocesses);
		rig_at(100 * n);
		CHECK_EQ(n + 1, rig.pool.nprocesses);
		(void)rig_did();
		rig_at(100 * n + 1);
		rig_ready(n);
	}
}

TEST(a_step_of_all_is_what_the_waiters_need_after_the_patience)
{
	rig.o.growth = GROWTH_ALL;
	begin_busy(rig.o, 1);
	rig_arrive_n(3);
	NOT_BEFORE(100, "spawn 1, spawn 2, spawn 3");
	rig_arrive();
	NOT_BEFORE(200, "spawn 4");
}

/* --- the first process, and what comes back ------------------------------ */

/* Waiters of the backoff are past start_delay by far. */
TEST(after_the_first_of_old_waiters_the_pace_goes_on)
{
	rig.o.min_processes = 0;
	rig_busy(rig.o, 1, 8);
	rig_at(50);
	rig_exits(0, END_SIGNAL);
	AFTER(rig_at(1050), "spawn 0");
	AFTER(rig_at(1150), "spawn 1");
	AFTER(rig_at(1250), "spawn 2, spawn 3");
}

/* The connection has waited long, in a process that never read it. */
TEST(a_connection_taken_back_makes_the_app_grow_at_once)
{
	begin_busy(rig.o, 2);
	rig_arrive();
	AFTER(rig_at(100), "spawn 2");
	AFTER(rig_ready(2), "hand 2>2");
	rig_at(40000);
	rig_arrive();
	AFTER(rig_at(40100), "spawn 3");
	rig_ready(3);
	rig_at(40150);
	rig_died(0, END_SIGNAL);
	AFTER(rig_retaken(0), "hand 3>3, spawn 4");
	rig_gone(0);
}

/* --- ceilings ----------------------------------------------------------- */

TEST(at_its_ceiling_an_app_has_no_deadline_for_growth)
{
	rig.o.max_processes = 1;
	begin_busy(rig.o, 1);
	rig_arrive();
	/* The estimate of the need alone has one. */
	CHECK_EQ(1000, rig_due());
}

TEST(a_raised_ceiling_serves_waiters_at_once)
{
	rig.o.max_processes = 1;
	begin_busy(rig.o, 1);
	rig_arrive_n(3);
	AFTER(rig_at(5000), "");
	rig.o.max_processes = 2;
	AFTER(rig_change(0, &rig.o), "spawn 1");
}

/* Two apps of one busy process each under a ceiling of `max` for both. */
static void
begin_two(uint32_t max)
{
	struct app_options o = rig_options();

	rig_begin_with(rig_limits(), max);
	o.min_processes = 0;
	rig_running(o, 1);
	rig_running(o, 1);
	rig_arrive_at(0);
	LET(rig_arrive_at(1));
}

TEST(a_process_that_is_leaving_takes_a_place_until_it_is_gone)
{
	begin_two(2);
	rig_arrive_at(1);
	rig_at(200);
	rig_done(0);
	AFTER(pool_retire(&rig.pool, 0, rig.now), "stop 0");
	CHECK_EQ(1, rig.pool.count);
	AFTER(rig_died(0, END_EXIT), "");
	AFTER(rig_gone(0), "spawn 0");
}

TEST(places_go_to_apps_in_the_order_of_asking)
{
	begin_two(2);
	rig_arrive_at(1);
	rig_at(50);
	rig_arrive_at(0);
	rig_arrive_at(0);
	AFTER(rig_at(1000), "");
	/* App 0 loses its process: the place is for app 1, which came first. */
	LET(rig_done(0));
	AFTER(rig_exits(0, END_EXIT), "spawn 0");
	CHECK_EQ(1, rig_process(0)->app);
}

TEST(an_app_that_got_a_place_goes_to_the_end_of_the_line)
{
	begin_two(2);
	for (int i = 0; i < 6; i++) {
		rig_arrive_at(1);
		rig_arrive_at(0);
	}
	rig_at(1000);
	LET(pool_resize(&rig.pool, 3, 0, rig.now));
	CHECK_EQ(1, rig_process(2)->app);
	rig_at(2000);
	LET(pool_resize(&rig.pool, 4, 0, rig.now));
	CHECK_EQ(0, rig_process(3)->app);
}

TEST(a_minimum_that_waits_for_a_place_gets_the_next_one)
{
	struct app_options o = rig_options();

	begin_two(2);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(1000);
	CHECK(rig_app(1)->places_wanted > 0);
	o.min_processes = 2;
	rig_change(0, &o);
	CHECK_EQ(0, rig.pool.places.first);
	LET(rig_done(1));
	AFTER(rig_exits(1, END_EXIT), "spawn 1");
	CHECK_EQ(0, rig_process(1)->app);
	CHECK(rig_app(0)->places_wanted == 0);
	CHECK(rig_app(1)->places_wanted > 0);
}

/* The wish of an app to grow comes last, its minimum first. */
TEST(an_app_in_line_that_falls_below_its_minimum_goes_to_the_front)
{
	struct app_options o = rig_options();

	begin_two(2);
	rig_arrive_at(1);
	rig_at(50);
	rig_arrive_at(0);
	rig_at(1000);
	CHECK_EQ(1, rig.pool.places.first);
	CHECK_EQ(2, rig.pool.places.count);
	o.min_processes = 2;
	rig_change(0, &o);
	CHECK_EQ(0, rig.pool.places.first);
	CHECK_EQ(2, rig.pool.places.count);
}

TEST(an_app_that_got_a_place_goes_on_at_its_pace)
{
	begin_two(2);
	for (int i = 0; i < 4; i++)
		rig_arrive_at(1);
	rig_at(100);
	CHECK(rig_app(1)->places_wanted > 0);
	rig_at(150);
	AFTER(pool_resize(&rig.pool, 8, 0, rig.now), "spawn 2");
	NOT_BEFORE(200, "spawn 3");
}

TEST(a_stuck_process_gives_its_place_to_the_line)
{
	begin_two(2);
	rig_arrive_at(1);
	rig_at(1000);
	AFTER(pool_misbehaved(&rig.pool, 0, END_NONSENSE, rig.now), "kill 0");
	NOT_BEFORE(6000, "spawn 2");
}

/* The SPAWN is not taken out: the process has never lived. */
TEST(a_start_that_was_called_off_gives_its_place_to_the_line)
{
	begin_two(3);
	rig_arrive_at(1);
	rig_at(99);
	rig_arrive_at(0);
	rig_at(100);
	CHECK_EQ(1, rig_process(2)->app);
	rig_at(199);
	CHECK(rig_app(0)->places_wanted > 0);
	pool_app_restart(&rig.pool, 1, rig.now);
	CHECK(rig_app(0)->places_wanted == 0);
	CHECK_STR("spawn 2, spawn 3", rig_did());
	CHECK_EQ(0, rig_process(2)->app);
}

TEST(an_app_in_line_without_waiters_any_more_gets_no_place)
{
	begin_two(2);
	rig_arrive_at(1);
	rig_at(1000);
	CHECK(rig_app(1)->places_wanted > 0);
	LET(rig_done(1));
	CHECK(rig_app(1)->places_wanted == 0);
	AFTER(pool_resize(&rig.pool, 4, 0, rig.now), "");
}

TEST(a_full_table_of_processes_is_a_ceiling_too)
{
	struct pool_limits limits = rig_limits();

	limits.processes = 2;
	rig_begin_with(limits, 20);
	rig_busy(rig.o, 2, 4);
	AFTER(rig_at(1000), "");
	AFTER(rig_done(0), "hand 2>0");
	AFTER(rig_exits(0, END_EXIT), "spawn 0");
}

TESTS(rig_begin, rig_end)
