/* The load estimate, spare processes and the kill policy. */

#include "rig.h"

/* Options under which load alone starts and stops processes. */
static struct app_options
load_options(void)
{
	struct app_options o = rig_options();

	o.start_delay = TSPAN_SECONDS(100000);
	o.multi_threshold = 50;
	o.stop_delay = TSPAN_SECONDS(10);
	o.stop_timeout = TSPAN_SECONDS(100000);
	return o;
}

static void
begin(void)
{
	rig_begin();
	rig.o = load_options();
}

/* Keeps a process busy for so many of each ten seconds, from now on. */
static void
work_for(unsigned tenths, unsigned intervals, int64_t from)
{
	for (unsigned i = 0; i < intervals; i++) {
		uint32_t conn;

		rig_at(from + 10000 * i);
		conn = rig_arrive();
		(void)rig_did();
		rig_at(from + 10000 * i + 1000 * tenths);
		(void)rig_done_of(rig.pool.conns[conn].process, conn);
	}
	rig_at(from + 10000 * intervals);
}

/* --- growing ------------------------------------------------------------ */

TEST(a_process_that_is_nearly_always_busy_brings_another)
{
	rig_running(load_options(), 1);
	AFTER(work_for(8, 8, 0), "");
	begin();
	rig_running(load_options(), 1);
	AFTER(work_for(9, 1, 0), "spawn 1");
}

TEST(a_process_stuck_in_a_session_is_busy)
{
	rig_busy(load_options(), 1, 1);
	NOT_BEFORE(10000, "spawn 1");
	/* Nothing more, while a start is under way. */
	AFTER(rig_at(25000), "");
}

TEST(load_starts_nothing_beyond_max_processes)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	rig_arrive();
	AFTER(rig_at(60000), "hand 0>0");
}

TEST(load_takes_no_place_that_others_wait_for)
{
	struct app_options o = load_options();

	rig_begin_with(rig_limits(), 2);
	rig_running(o, 1);
	rig_arrive();
	o.min_processes = 0;
	(void)rig_running(o, 1);
	LET(rig_arrive_at(1));
	AFTER(rig_at(30000), "");
	CHECK(rig_app(0)->places_wanted == 0);
}

TEST(sessions_count_by_their_part_of_concurrency)
{
	rig.o.concurrency = 4;
	rig_busy(rig.o, 1, 2);
	rig_at(10000);
	CHECK_NEAR(50, app_load(rig_app(0), rig.now));
	CHECK_NEAR(0.5, app_work(rig_app(0), rig.now));
}

TEST(prefetched_connections_make_no_process_busier)
{
	rig.o.prefetch = 3;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 4);
	rig_at(10000);
	CHECK_NEAR(100, app_load(rig_app(0), rig.now));
}

TEST(an_app_without_processes_has_no_load)
{
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	rig_at(10000);
	CHECK_NEAR(0, app_load(rig_app(0), rig.now));
}

/* --- spare processes ---------------------------------------------------- */

static struct app_options
spare_options(uint32_t idle)
{
	struct app_options o = rig_options();

	o.min_idle = idle;
	o.stop_timeout = TSPAN_SECONDS(100000);
	return o;
}

TEST(an_app_begins_with_its_spare_processes)
{
	rig.o = spare_options(3);
	AFTER(rig_add(&rig.o), "spawn 0, spawn 1, spawn 2");
}

TEST(min_idle_does_not_add_to_min_processes_at_the_start)
{
	rig.o = spare_options(2);
	rig.o.min_processes = 3;
	AFTER(rig_add(&rig.o), "spawn 0, spawn 1, spawn 2");
}

/* Makes both processes of min_idle = 2 busy. */
static void
begin_short(void)
{
	struct app_options o = spare_options(2);

	rig_add(&o);
	rig_ready(0);
	rig_ready(1);
	LET(rig_arrive_n(2));
}

TEST(spare_processes_come_one_per_start_delay)
{
	begin_short();
	NOT_BEFORE(100, "spawn 2");
	NOT_BEFORE(200, "spawn 3");
	AFTER(rig_at(9000), "");
}

TEST(a_short_rush_brings_no_spare_process)
{
	begin_short();
	rig_at(50);
	(void)rig_done(0);
	(void)rig_done(1);
	AFTER(rig_at(9000), "");
}

TEST(without_a_start_delay_all_spare_processes_come_at_once)
{
	rig.o = spare_options(3);
	rig.o.start_delay = 0;
	LET(rig_add(&rig.o));
	for (uint32_t i = 0; i < 3; i++)
		rig_ready(i);
	rig_arrive_n(3);
	CHECK_STR("hand 0>2, spawn 3, hand 1>1, "
		  "spawn 4, hand 2>0, spawn 5",
	    rig_did());
}

TEST(a_spare_process_comes_when_a_place_is_free_again)
{
	struct app_options o = spare_options(1);

	rig_begin_with(rig_limits(), 2);
	rig_add(&o);
	rig_ready(0);
	o = rig_options();
	rig_add(&o);
	rig_ready(1);
	LET(rig_arrive_at(0));
	AFTER(rig_at(5000), "");
	CHECK(rig_app(0)->growing.spare == SPARE_DENIED);
	AFTER(pool_resize(&rig.pool, 3, 0, rig.now), "spawn 2");
}

TEST(idleness_leaves_min_idle)
{
	rig.o = spare_options(2);
	rig.o.min_processes = 0;
	rig.o.max_idle_time = TSPAN_SECONDS(5);
	rig_running(rig.o, 4);
	AFTER(rig_at(60000), "stop 3, stop 2");
}

/* --- shrinking ---------------------------------------------------------- */

TEST(each_update_marks_one_process)
{
	rig_running(load_options(), 8);
	rig_at(10000);
	CHECK_EQ(1, rig_app(0)->shrinking.marked);
	rig_at(30000);
	CHECK_EQ(3, rig_app(0)->shrinking.marked);
}

TEST(victims_stop_from_the_kill_interval_on_at_the_pace_of_stop_delay)
{
	rig_running(load_options(), 4);
	NOT_BEFORE(60000, "stop 3");
	CHECK_EQ(END_LOAD, rig_process(3)->end);
	NOT_BEFORE(70000, "stop 2");
}

TEST(load_leaves_min_processes_and_min_idle)
{
	for (int idle = 0; idle < 2; idle++) {
		begin();
		*(idle ? &rig.o.min_idle : &rig.o.min_processes) = 3;
		rig_running(rig.o, 5);
		AFTER(rig_at(600000), "stop 4, stop 3");
	}
}

/* A process of two is always busy: alone it would be at 100 percent. */
TEST(no_process_is_marked_if_the_rest_would_be_busy)
{
	rig_busy(load_options(), 2, 1);
	AFTER(rig_at(600000), "");
}

/* A process of four is busy: 33 percent of three, 50 of two. */
TEST(as_many_processes_stay_as_keep_the_load_under_the_threshold)
{
	rig.o.multi_threshold = 40;
	rig_busy(rig.o, 4, 1);
	AFTER(rig_at(600000), "stop 3");
}

TEST(the_last_process_stays_with_a_single_threshold_of_0)
{
	rig.o.min_processes = 0;
	rig_running(rig.o, 2);
	AFTER(rig_at(600000), "stop 1");
}

TEST(the_last_process_stops_under_the_single_threshold)
{
	rig.o.min_processes = 0;
	rig.o.single_threshold = 1;
	rig_running(rig.o, 1);
	AFTER(rig_at(60000), "stop 0");
}

TEST(marks_drop_when_a_connection_waits)
{
	rig_running(load_options(), 2);
	rig_at(10000);
	CHECK_EQ(1, rig_app(0)->shrinking.marked);
	rig_arrive_n(3);
	CHECK_EQ(0, rig_app(0)->shrinking.marked);
}

TEST(a_busy_process_is_no_victim)
{
	rig.o.multi_threshold = 90;
	rig_busy(rig.o, 3, 2);
	rig_at(50000);
	(void)rig_done(0);
	(void)rig_done(1);
	LET(rig_arrive_n(3));
	AFTER(rig_at(61000), "");
}

TEST(with_concurrency_a_process_with_few_sessions_may_retire)
{
	rig.o.concurrency = 4;
	rig.o.multi_threshold = 60;
	rig_running(rig.o, 2);
	AFTER(rig_arrive_n(2), "hand 0>0, hand 1>1");
	AFTER(rig_at(60000), "stop 0");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
}

TEST(near_the_ceiling_alone_marked_processes_stop_for_a_start)
{
	for (uint32_t max = 8; max <= 10; max += 2) {
		struct app_options o = load_options();

		rig_begin_with(rig_limits(), max);
		pool_resize(&rig.pool, max, 4, rig.now);
		rig_running(o, 5);
		rig_at(20000);
		CHECK_EQ(2, rig_app(0)->shrinking.marked);
		o.min_processes = 0;
		(void)rig_add(&o);
		AFTER(rig_arrive_at(1),
		    max == 8 ? "stop 4, stop 3, spawn 5" : "spawn 5");
	}
}

TEST(an_idle_app_at_its_minimum_has_no_deadline)
{
	rig_running(load_options(), 1);
	CHECK_EQ(-1, rig_due());
}

TEST(a_shorter_kill_interval_holds_for_marked_processes)
{
	rig.o.min_processes = 1;
	rig.o.multi_threshold = 50;
	rig.o.kill_interval = TSPAN_SECONDS(86400);
	rig_running(rig.o, 2);
	rig_at(30000);
	CHECK_EQ(1, rig_app(0)->shrinking.marked);
	rig.o.kill_interval = TSPAN_SECONDS(60);
	rig_change(0, &rig.o);
	NOT_BEFORE(90000, "stop 1");
}

TESTS(begin, rig_end)
