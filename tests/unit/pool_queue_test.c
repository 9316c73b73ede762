/* Waiters: how many, how long, and in what order. */

#include "rig.h"

/* An app of one busy process, which cannot grow. */
static void
begin_busy(struct app_options o)
{
	o.max_processes = 1;
	rig_busy(o, 1, 1);
}

TEST(with_on_full_wait_no_more_come_in_than_max_queue)
{
	rig.o.max_queue = 2;
	begin_busy(rig.o);
	rig_arrive_n(2);
	CHECK(!pool_may_accept(&rig.pool, 0));
}

TEST(with_no_queue_connections_come_in_while_a_process_has_room)
{
	rig.o.max_queue = 0;
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	CHECK(pool_may_accept(&rig.pool, 0));
	rig_arrive();
	CHECK(!pool_may_accept(&rig.pool, 0));
	CHECK_STR("hand 0>0", rig_did());
}

TEST(accepting_is_resumed_once_when_there_is_room_again)
{
	rig.o.max_queue = 2;
	begin_busy(rig.o);
	rig_arrive_n(2);
	rig_accept_paused(0);
	AFTER(rig_done(0), "hand 1>0, resume 0");
	AFTER(rig_done(0), "hand 2>0");
}

TEST(accepting_that_found_no_room_after_all_is_resumed_again)
{
	rig.o.max_queue = 1;
	begin_busy(rig.o);
	rig_arrive();
	rig_accept_paused(0);
	AFTER(rig_done(0), "hand 1>0, resume 0");
	rig_arrive();
	rig_accept_paused(0);
	AFTER(rig_done(0), "hand 0>0, resume 0");
}

TEST(accepting_that_found_the_backlog_empty_is_not_resumed_again)
{
	rig.o.max_queue = 1;
	begin_busy(rig.o);
	rig_arrive();
	rig_accept_paused(0);
	LET(rig_done(0));
	rig_accept_resumed(0);
	CHECK_EQ(0, app_demand(rig_app(0)));
	AFTER(rig_done(0), "");
}

TEST(accepting_is_resumed_when_a_waiter_leaves)
{
	rig.o.max_queue = 1;
	begin_busy(rig.o);
	rig_arrive();
	rig_accept_paused(0);
	AFTER(pool_abandoned(&rig.pool, 1, rig.now), "resume 0");
}

TEST(accepting_is_resumed_when_max_queue_grows)
{
	rig.o.max_queue = 0;
	begin_busy(rig.o);
	rig_accept_paused(0);
	rig.o.max_queue = 1;
	AFTER(rig_change(0, &rig.o), "resume 0");
}

TEST(a_paused_listener_counts_as_a_waiter_since_the_pause)
{
	rig.o.max_queue = 0;
	begin_busy(rig.o);
	rig_at(50);
	rig_accept_paused(0);
	CHECK_EQ(1, app_demand(rig_app(0)));
	CHECK_EQ(
	    RIG_START + TSPAN_MSECONDS(50), pool_waiting_since(&rig.pool, 0));
}

TEST(with_on_full_close_the_newcomer_is_refused)
{
	rig.o.max_queue = 1;
	rig.o.close_when_full = true;
	begin_busy(rig.o);
	AFTER(rig_arrive_n(2), "refuse 2 full");
	CHECK_EQ(1, rig_app(0)->queue.count);
	CHECK_EQ(1, rig_app(0)->figures.refused);
}

TEST(a_number_is_not_used_again_before_its_refusal_is_done)
{
	rig.o.max_queue = 0;
	rig.o.close_when_full = true;
	begin_busy(rig.o);
	CHECK_EQ(1, rig_arrive());
	CHECK_EQ(2, rig_arrive());
	CHECK_STR("refuse 1 full, refuse 2 full", rig_did());
	CHECK_EQ(2, rig_arrive());
}

TEST(a_full_queue_is_told_once_until_it_was_empty)
{
	rig.o.max_queue = 1;
	rig.o.close_when_full = true;
	begin_busy(rig.o);
	rig.tells = true;
	AFTER(rig_arrive(), "tell 0 full");
	AFTER(rig_arrive(), "refuse 2 full");
	rig_done(0);
	AFTER(rig_arrive(), "hand 1>0, tell 0 full");
}

TEST(a_connection_that_is_refused_at_once_has_no_process)
{
	struct action a;

	rig.o.max_queue = 0;
	rig.o.close_when_full = true;
	begin_busy(rig.o);
	rig_arrive();
	CHECK(pool_next_action(&rig.pool, &a));
	CHECK_EQ(ACTION_REFUSE, a.kind);
	CHECK_EQ(ILIST_NONE, a.process);
}

TEST(the_longest_queue_is_remembered)
{
	begin_busy(rig_options());
	rig_arrive_n(3);
	rig_done(0);
	LET(rig_done(0));
	CHECK_EQ(3, rig_app(0)->figures.max_waiting);
}

/* --- time --------------------------------------------------------------- */

TEST(a_waiter_is_refused_after_queue_timeout)
{
	rig.o.queue_timeout = TSPAN_MSECONDS(500);
	begin_busy(rig.o);
	rig_arrive();
	rig_at(200);
	rig_arrive();
	NOT_BEFORE(500, "refuse 1 late");
	AFTER(rig_at(700), "refuse 2 late");
	CHECK_EQ(2, rig_app(0)->figures.timed_out);
}

TEST(without_queue_timeout_a_connection_waits_for_ever)
{
	begin_busy(rig_options());
	rig_arrive();
	AFTER(rig_at(86400000), "");
}

TEST(a_connection_taken_back_late_is_served_rather_than_refused)
{
	rig.o.queue_timeout = TSPAN_SECONDS(5);
	rig_running(rig.o, 2);
	AFTER(rig_arrive(), "hand 0>0");
	rig_at(10000);
	rig_died(0, END_SIGNAL);
	rig_retaken(0);
	AFTER(rig_gone(0), "hand 0>1");
}

TEST(an_abandoned_connection_is_counted_and_not_served)
{
	begin_busy(rig_options());
	rig_arrive_n(2);
	pool_abandoned(&rig.pool, 1, rig.now);
	AFTER(rig_done(0), "hand 2>0");
	CHECK_EQ(1, rig_app(0)->figures.abandoned);
}

TEST(the_time_of_waiting_is_recorded)
{
	begin_busy(rig_options());
	rig_arrive();
	rig_at(300);
	rig_done(0);
	CHECK_EQ(TSPAN_MSECONDS(300),
	    window_share(&rig_app(0)->queue_wait, 1, rig.now));
	CHECK_EQ(TSPAN_MSECONDS(300),
	    window_share(&rig_app(0)->session_time, 1, rig.now));
}

TEST(the_time_of_waiting_is_recorded_once)
{
	rig_busy(rig_options(), 2, 1);
	rig_at(300);
	rig_died(0, END_SIGNAL);
	AFTER(rig_retaken(0), "hand 0>1");
	CHECK_EQ(0, window_share(&rig_app(0)->queue_wait, 1, rig.now));
	rig_gone(0);
}

/* --- numbers of connections ---------------------------------------------- */

/* Numbers for two connections, shared by two apps of one process each. */
static void
begin_scarce(void)
{
	struct pool_limits limits = rig_limits();
	struct app_options o = rig_options();

	limits.conns = 2;
	rig_begin_with(limits, 20);
	o.max_processes = 1;
	rig_running(o, 1);
	rig_running(o, 1);
	rig_arrive_at(0);
	LET(rig_arrive_at(0));
}

TEST(no_more_come_in_than_there_are_numbers)
{
	begin_scarce();
	CHECK(!pool_may_accept(&rig.pool, 0));
	CHECK(!pool_may_accept(&rig.pool, 1));
}

TEST(accepting_paused_for_numbers_is_resumed_by_another_apps_end)
{
	begin_scarce();
	AFTER(rig_accept_paused(1), "");
	AFTER(rig_done(0), "hand 1>0, resume 1");
}

TEST(accepting_paused_for_numbers_is_resumed_by_a_refusal)
{
	struct app_options o = rig_options();

	begin_scarce();
	o.max_processes = 1;
	o.max_queue = 0;
	o.close_when_full = true;
	rig_change(0, &o);
	AFTER(rig_done(0), "hand 1>0");
	rig_arrive_at(0);
	AFTER(rig_accept_paused(1), "refuse 0 full, resume 1");
}

TEST(numbers_go_to_the_apps_in_turn)
{
	struct app_options o = rig_options();

	begin_scarce();
	LET(rig_add(&o));
	rig_accept_paused(1);
	rig_accept_paused(2);
	AFTER(rig_done(0), "hand 1>0, resume 1");
	rig_arrive_at(1);
	AFTER(rig_accept_paused(1), "hand 0>1");
	AFTER(rig_done(0), "resume 2");
}

TEST(an_app_without_use_for_a_number_passes_it_on)
{
	struct app_options o = rig_options();

	begin_scarce();
	LET(rig_add(&o));
	rig_accept_paused(1);
	rig_accept_paused(2);
	AFTER(rig_done(0), "hand 1>0, resume 1");
	AFTER(rig_accept_resumed(1), "resume 2");
}

TESTS(rig_begin, rig_end)
