/* Locks before hand-overs: when they are asked for, and given back. */

#include "rig.h"

/* An app with a limit and so many ready processes; it cannot grow. */
static void
begin_limited(uint32_t n, bool turns_away)
{
	struct app_options o = rig_options();

	o.limited = true;
	o.close_when_full = turns_away;
	o.max_processes = n;
	rig_running(o, n);
}

static void
granted(uint32_t lock)
{
	pool_lock_answered(&rig.pool, 0, LIMIT_GRANTED, lock, 0, rig.now);
	pool_check(&rig.pool);
}

/* The other answers, in which there is no lock. */
static void
answered(enum limit_answer answer, tstamp until)
{
	pool_lock_answered(&rig.pool, 0, answer, 0, until, rig.now);
}

TEST(no_more_locks_are_asked_for_than_connections_wait)
{
	begin_limited(4, false);
	AFTER(rig_arrive_n(2), "lock 0, lock 0");
}

TEST(a_lock_for_each_place_serves_the_oldest_waiter)
{
	begin_limited(2, false);
	AFTER(rig_arrive_n(3), "lock 0, lock 0");
	AFTER(granted(1), "hand 0>0");
	AFTER(granted(2), "hand 1>1");
}

TEST(done_gives_the_lock_back_and_asks_for_the_next)
{
	begin_limited(1, false);
	LET(rig_arrive_n(2));
	LET(granted(5));
	AFTER(rig_done(0), "unlock 5, lock 0");
}

TEST(a_lock_without_a_waiter_goes_back_at_once)
{
	begin_limited(1, false);
	LET(rig_arrive());
	pool_abandoned(&rig.pool, 0, rig.now);
	AFTER(granted(3), "unlock 3");
}

TEST(death_gives_the_lock_back)
{
	begin_limited(1, false);
	LET(rig_arrive());
	LET(granted(9));
	LET(rig_died(0, END_SIGNAL));
	rig_gone(0);
	CHECK(strstr(rig_did(), "unlock 9") != NULL);
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

TEST(a_connection_taken_back_keeps_its_lock)
{
	begin_limited(2, false);
	LET(rig_arrive());
	LET(granted(4));
	LET(rig_died(0, END_SIGNAL));
	AFTER(rig_retaken(0), "hand 0>1");
	AFTER(rig_done(1), "unlock 4");
}

TEST(waiting_for_a_lock_does_not_make_the_app_grow)
{
	rig.o.limited = true;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(3), "lock 0");
	AFTER(rig_at(5000), "");
}

TEST(waiting_for_a_process_makes_the_app_grow)
{
	rig.o.limited = true;
	rig_busy(rig.o, 1, 3);
	AFTER(granted(1), "hand 0>0");
	AFTER(rig_at(150), "spawn 1");
}

TEST(waiting_for_a_lock_is_no_waste)
{
	begin_limited(1, false);
	LET(rig_arrive());
	rig_at(5000);
	CHECK_EQ(0, pool_idle_while_waiting(&rig.pool, 0, rig.now));
}

TEST(with_on_full_wait_a_denied_waiter_stays_and_asks_again)
{
	begin_limited(1, false);
	LET(rig_arrive());
	AFTER(answered(LIMIT_DENIED, 0), "");
	NOT_BEFORE(100, "lock 0");
}

TEST(with_on_full_close_a_denied_waiter_is_refused)
{
	begin_limited(1, true);
	LET(rig_arrive());
	AFTER(answered(LIMIT_DENIED, 0), "refuse 0 limit");
	CHECK_EQ(1, rig_app(0)->figures.refused);
	LET(rig_arrive());
	AFTER(answered(LIMIT_TIMED_OUT, 0), "refuse 0 late");
	CHECK_EQ(1, rig_app(0)->figures.timed_out);
}

TEST(without_a_server_an_open_limit_needs_no_locks_for_a_while)
{
	tstamp until;

	begin_limited(3, false);
	LET(rig_arrive_n(2));
	until = rig.now + TSPAN_SECONDS(1);
	answered(LIMIT_OPEN, until);
	CHECK_STR("hand 0>0, hand 1>1", rig_did());
	/* The other request has no answer either. */
	answered(LIMIT_OPEN, until);
	rig_at(1000);
	AFTER(rig_arrive(), "lock 0");
}

TEST(without_a_server_a_closed_limit_asks_again_later)
{
	begin_limited(1, false);
	LET(rig_arrive());
	answered(LIMIT_CLOSED, rig.now + TSPAN_SECONDS(1));
	CHECK_STR("", rig_did());
	AFTER(rig_at(1000), "lock 0");
}

TEST(a_removed_limit_lets_all_waiters_in)
{
	begin_limited(1, false);
	LET(rig_arrive_n(2));
	LET(granted(6));
	rig.o.max_processes = 1;
	rig_change(0, &rig.o);
	AFTER(rig_done(0), "unlock 6, hand 1>0");
}

TEST(a_full_queue_is_told_once_while_its_waiters_want_locks)
{
	begin_limited(1, true);
	rig.tells = true;
	for (uint32_t i = 0; i < 20; i++)
		rig_arrive();
	CHECK_STR("lock 0, tell 0 full", rig_did());
	AFTER(rig_arrive(), "refuse 20 full");
}

TEST(no_process_stops_while_a_connection_waits_for_a_lock)
{
	rig.o.limited = true;
	rig.o.max_idle_time = TSPAN_SECONDS(10);
	rig_busy(rig.o, 1, 2);
	granted(7);
	AFTER(rig_at(1000), "hand 0>0, spawn 1");
	AFTER(rig_ready(1), "lock 0");
	AFTER(rig_at(60000), "");
}

TEST(a_waiter_gives_a_lock_of_a_former_limit_back_and_asks_anew)
{
	begin_limited(2, false);
	LET(rig_arrive_n(2));
	rig_exits(0, END_SIGNAL);
	LET(rig_exits(1, END_SIGNAL));
	AFTER(granted(4), "");
	AFTER(pool_limit_moved(&rig.pool, 0, rig.now), "unlock 4");
	AFTER(rig_at(2000), "spawn 1");
	AFTER(rig_ready(1), "");
	AFTER(granted(5), "hand 0>1");
}

TEST(a_session_keeps_the_lock_of_a_former_limit_until_its_end)
{
	begin_limited(1, false);
	LET(rig_arrive());
	LET(granted(4));
	AFTER(pool_limit_moved(&rig.pool, 0, rig.now), "");
	AFTER(rig_done(0), "unlock 4");
}

TEST(a_connection_taken_back_after_the_limit_moved_needs_another_lock)
{
	begin_limited(2, false);
	LET(rig_arrive());
	LET(granted(4));
	pool_limit_moved(&rig.pool, 0, rig.now);
	rig_died(0, END_SIGNAL);
	AFTER(rig_retaken(0), "unlock 4, lock 0");
	AFTER(granted(5), "hand 0>1");
}

/* A process that is stopped would be started again at once. */
TEST(a_process_stays_while_the_listener_waits_for_a_number)
{
	struct pool_limits limits = rig_limits();

	limits.conns = 1;
	rig_begin_with(limits, 4);
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	AFTER(rig_arrive(), "spawn 0");
	rig.o.limited = true;
	rig.o.max_idle_time = TSPAN_SECONDS(1);
	rig_add(&rig.o);
	AFTER(rig_accept_paused(1), "spawn 1");
	rig_ready(1);
	AFTER(rig_at(20000), "");
}

TESTS(rig_begin, rig_end)
