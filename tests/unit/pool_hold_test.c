/* Apps that are drained or stopped, and run again. */

#include "rig.h"

static void
hold(enum process_end why)
{
	pool_app_hold(&rig.pool, 0, why, rig.now);
	pool_check(&rig.pool);
}

static void
resume(void)
{
	pool_app_resume(&rig.pool, 0, rig.now);
	pool_check(&rig.pool);
}

TEST(a_drained_app_has_its_processes_stop_and_accepts_nothing)
{
	rig.tells = true;
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	AFTER(hold(END_DRAINED), "stop 0, stop 1");
	CHECK(!pool_may_accept(&rig.pool, 0));
	CHECK_STR("draining", app_state_name(rig_app(0)));
	AFTER(rig_exits(0, END_EXIT), "");
	AFTER(rig_exits(1, END_EXIT), "tell 0 at rest");
	CHECK_STR("drained", app_state_name(rig_app(0)));
	CHECK_EQ(2, rig_app(0)->figures.exits[END_DRAINED]);
	/* Nothing brings it back by itself. */
	AFTER(rig_at(3600000), "");
}

TEST(a_draining_app_serves_sessions_and_waiters_first)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(2), "hand 0>0");
	AFTER(hold(END_DRAINED), "");
	AFTER(rig_done(0), "hand 1>0, stop 0");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
	rig_done(0);
	CHECK_EQ(2, rig_app(0)->figures.completed);
}

TEST(a_waiter_of_a_draining_app_gets_a_process_for_itself)
{
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	AFTER(rig_arrive(), "spawn 0");
	hold(END_DRAINED);
	rig_spawned(0);
	rig_exits(0, END_FAILURE);
	AFTER(rig_at(10000), "spawn 0");
	AFTER(rig_ready(0), "hand 0>0, stop 0");
}

TEST(a_connection_that_comes_back_to_a_held_app_is_served)
{
	rig_busy(rig_options(), 1, 1);
	AFTER(hold(END_DRAINED), "stop 0");
	rig_died(0, END_SIGNAL);
	rig_retaken(0);
	CHECK_STR("draining", app_state_name(rig_app(0)));
	AFTER(rig_gone(0), "spawn 1");
	AFTER(rig_ready(1), "hand 0>1, stop 1");
}

TEST(a_paused_listener_of_a_drained_app_asks_for_no_process)
{
	rig.o.min_processes = 0;
	rig.o.max_queue = 1;
	rig_add(&rig.o);
	rig_arrive();
	rig_accept_paused(0);
	hold(END_DRAINED);
	rig_accept_paused(0);
	CHECK_EQ(1, app_demand(rig_app(0)));
	CHECK_STR("spawn 0", rig_did());
	AFTER(rig_ready(0), "hand 0>0, stop 0");
}

TEST(a_resumed_app_begins_anew)
{
	rig.tells = true;
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	LET(hold(END_DRAINED));
	rig_exits(0, END_EXIT);
	LET(rig_exits(1, END_EXIT));
	AFTER(resume(), "spawn 1, spawn 0");
	CHECK_STR("starting", app_state_name(rig_app(0)));
	CHECK(pool_may_accept(&rig.pool, 0));
	rig_ready(0);
	AFTER(rig_ready(1), "tell 0 ready");
}

TEST(an_app_that_is_resumed_early_keeps_its_busy_process)
{
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 2);
	hold(END_DRAINED);
	resume();
	AFTER(rig_done(0), "hand 1>0");
	rig_done(0);
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
}

TEST(a_failed_app_that_was_held_is_tried_again)
{
	rig.o.start_limit = 1;
	LET(rig_add(&rig.o));
	rig_spawn_failed(0, false);
	CHECK(rig_app(0)->failed);
	hold(END_STOPPED);
	pool_app_drained(&rig.pool, 0, rig.now);
	CHECK_STR("stopped", app_state_name(rig_app(0)));
	CHECK_STR("", rig_did());
	AFTER(resume(), "spawn 0");
	CHECK(!rig_app(0)->failed);
}

TEST(a_stopping_app_serves_its_backlog_first)
{
	rig_running(rig_options(), 1);
	AFTER(hold(END_STOPPED), "");
	CHECK_STR("stopping", app_state_name(rig_app(0)));
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "stop 0");
	CHECK(!pool_may_accept(&rig.pool, 0));
}

TEST(a_drained_app_that_stops_accepts_what_waits_in_its_backlog)
{
	rig_running(rig_options(), 1);
	LET(hold(END_DRAINED));
	rig_exits(0, END_EXIT);
	hold(END_STOPPED);
	AFTER(rig_arrive(), "spawn 0");
	pool_app_drained(&rig.pool, 0, rig.now);
	AFTER(rig_ready(0), "hand 0>0, stop 0");
}

TEST(a_held_app_ends_with_all_others)
{
	rig_running(rig_options(), 1);
	LET(hold(END_DRAINED));
	rig_exits(0, END_EXIT);
	pool_stop(&rig.pool, TSPAN_SECONDS(30), TSPAN_SECONDS(5), rig.now);
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "over 0");
}

TEST(a_held_app_is_not_rolled_out)
{
	rig_busy(rig_options(), 1, 1);
	hold(END_DRAINED);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "stop 0");
	CHECK(!app_rolling(rig_app(0)));
}

TESTS(rig_begin, rig_end)
