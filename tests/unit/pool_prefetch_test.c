/* Prefetch: connections handed out, taken back; and private queues. */

#include "rig.h"

static struct app_options
prefetch_options(uint32_t prefetch)
{
	struct app_options o = rig_options();

	o.prefetch = prefetch;
	o.start_delay = TSPAN_SECONDS(100000);
	o.min_processes = 0;
	return o;
}

/* --- handing ahead ------------------------------------------------------ */

TEST(the_process_given_least_recently_prefetches_first)
{
	rig_running(prefetch_options(2), 2);
	AFTER(rig_arrive_n(2), "hand 0>0, hand 1>1");
	AFTER(rig_arrive_n(3), "hand 2>0, hand 3>1, hand 4>0");
}

TEST(a_waiter_is_prefetched_when_a_session_ends)
{
	rig_running(prefetch_options(1), 1);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>0");
	AFTER((void)rig_done(0), "hand 2>0");
}

TEST(prefetched_connections_are_demand_when_all_are_busy)
{
	rig.o = prefetch_options(4);
	rig.o.start_delay = TSPAN_MSECONDS(100);
	rig_running(rig.o, 1);
	rig_arrive_n(3);
	AFTER(rig_at(99), "hand 0>0, hand 1>0, hand 2>0");
	AFTER(rig_at(100), "spawn 1");
}

TEST(time_in_the_socket_is_waiting_and_no_session)
{
	rig_running(prefetch_options(1), 1);
	LET(rig_arrive_n(2));
	CHECK_EQ(0, window_share(&rig_app(0)->queue_wait, 1, rig.now));
	rig_at(100);
	(void)rig_done(0);
	CHECK_EQ(TSPAN_MSECONDS(100),
	    window_share(&rig_app(0)->queue_wait, 1, rig.now));
	rig_at(150);
	(void)rig_done(0);
	CHECK_EQ(TSPAN_MSECONDS(100),
	    window_share(&rig_app(0)->session_time, 1, rig.now));
}

TEST(max_requests_bounds_prefetch)
{
	rig.o = prefetch_options(5);
	rig.o.max_requests = 3;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(4), "hand 0>0, hand 1>0, hand 2>0, spawn 1");
}

/* --- by itself ---------------------------------------------------------- */

static struct app_options
auto_options(void)
{
	struct app_options o = prefetch_options(1);

	o.prefetch_auto = true;
	return o;
}

/* Each of so many processes has had sessions of so many microseconds. */
static void
begin_with_sessions(unsigned processes, int64_t usec)
{
	rig_running(auto_options(), processes);
	for (int i = 0; i < 256; i++) {
		LET(rig_arrive_n(processes));
		rig.now += TSPAN_USECONDS(usec);
		for (uint32_t n = 0; n < processes; n++)
			(void)rig_done(n);
	}
	(void)rig_did();
}

TEST(by_itself_nothing_is_handed_ahead_before_256_sessions)
{
	rig_running(auto_options(), 1);
	for (int i = 0; i < 255; i++) {
		LET(rig_arrive());
		rig.now += TSPAN_USECONDS(100);
		(void)rig_done(0);
	}
	AFTER(rig_arrive_n(2), "hand 0>0");
}

TEST(by_itself_one_is_handed_ahead_where_sessions_are_brief)
{
	begin_with_sessions(1, 100);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>0");
	CHECK_EQ(1, app_waiting(rig_app(0)));
}

TEST(by_itself_nothing_is_handed_ahead_where_sessions_are_long)
{
	begin_with_sessions(1, 1001);
	AFTER(rig_arrive_n(2), "hand 0>0");
}

/* Half of the sessions are brief, but a hand-over hardly counts. */
TEST(by_itself_the_mean_session_decides)
{
	begin_with_sessions(1, 100);
	LET(rig_arrive_n(1));
	rig.now += TSPAN_MSECONDS(300);
	(void)rig_done(0);
	AFTER(rig_arrive_n(2), "hand 0>0");
}

TEST(by_itself_nothing_is_handed_ahead_behind_a_session_that_lasts)
{
	begin_with_sessions(1, 100);
	LET(rig_arrive());
	rig.now += TSPAN_USECONDS(210);
	AFTER(rig_arrive(), "");
	CHECK_EQ(1, app_waiting(rig_app(0)));
}

TEST(by_itself_a_younger_session_is_preferred_to_one_that_lasts)
{
	begin_with_sessions(2, 100);
	AFTER(rig_arrive(), "hand 1>1");
	rig.now += TSPAN_USECONDS(210);
	AFTER(rig_arrive_n(2), "hand 0>0, hand 2>0");
}

/* A moment later the session may have lasted too long for that. */
TEST(by_itself_nothing_is_accepted_only_to_be_handed_ahead)
{
	rig.o = auto_options();
	rig.o.max_queue = 0;
	begin_with_sessions(1, 100);
	rig_change(0, &rig.o);
	LET(rig_arrive());
	CHECK(!pool_may_accept(&rig.pool, 0));
}

TEST(by_itself_it_is_taken_back_after_2_ms)
{
	begin_with_sessions(2, 100);
	LET(rig_arrive_n(3));
	rig.unread = 2;
	rig.now += TSPAN_USECONDS(100);
	AFTER((void)rig_done(0), "");
	rig.now += TSPAN_USECONDS(1899);
	CHECK_STR("", rig_did());
	CHECK(pool_deadline(&rig.pool) == rig.now + TSPAN_USECONDS(1));
	rig.now += TSPAN_USECONDS(1);
	AFTER(pool_tick(&rig.pool, rig.now), "take 1, hand 2>0");
}

/* --- taking back -------------------------------------------------------- */

/* Process 0 has connections 0 and 2, process 1 has 1, since 0 ms. */
static void
begin_ahead(void)
{
	rig_running(prefetch_options(1), 2);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>1, hand 2>0");
	rig.unread = 2;
}

TEST(a_prefetched_connection_is_taken_back_after_5_ms)
{
	begin_ahead();
	rig_at(1);
	AFTER((void)rig_done(1), "");
	NOT_BEFORE(5, "take 0, hand 2>1");
	CHECK_EQ(1, rig_app(0)->figures.retaken);
	CHECK_EQ(0, rig.pool.conns[2].retries);
}

TEST(an_old_prefetched_connection_is_taken_back_at_once)
{
	begin_ahead();
	rig_at(60);
	AFTER((void)rig_done(1), "take 0, hand 2>1");
}

TEST(a_prefetched_connection_stays_when_its_turn_comes_first)
{
	begin_ahead();
	rig_at(1);
	(void)rig_done(1);
	rig_at(3);
	(void)rig_done(0);
	AFTER(rig_at(1000), "");
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

TEST(nothing_is_taken_from_a_process_that_received_all)
{
	begin_ahead();
	rig_at(60);
	rig.unread = ILIST_NONE;
	(void)rig_done(1);
	AFTER(rig_at(1000), "take 0");
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

/* The process has not read even its first connection: that comes back. */
TEST(the_first_connection_may_come_back_too)
{
	begin_ahead();
	rig_at(60);
	rig.unread = 0;
	AFTER((void)rig_done(1), "take 0, hand 0>1");
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

TEST(an_idle_process_gets_a_waiter_before_prefetched_connections)
{
	begin_ahead();
	AFTER(rig_arrive_n(2), "hand 3>1");
	rig_at(60);
	(void)rig_done(1);
	AFTER((void)rig_done(1), "hand 4>1");
	AFTER((void)rig_done(1), "take 0, hand 2>1");
}

TEST(each_free_place_takes_one_connection_back)
{
	rig_running(prefetch_options(2), 2);
	LET(rig_arrive_n(6));
	rig.unread = 2;
	rig_at(60);
	(void)rig_done(1);
	AFTER((void)rig_done(1), "");
	AFTER((void)rig_done(1), "take 0, hand 2>1");
}

TEST(a_new_process_takes_back_what_was_prefetched_longest)
{
	rig.o = prefetch_options(2);
	rig.o.start_delay = TSPAN_MSECONDS(100);
	rig_running(rig.o, 1);
	rig_arrive_n(3);
	LET(rig_at(100));
	rig.unread = 1;
	AFTER(rig_ready(1), "take 0, hand 1>1, spawn 2");
}

TEST(connections_prefetched_by_a_dead_process_come_back)
{
	begin_ahead();
	rig_at(60);
	rig_died(0, END_SIGNAL);
	AFTER((void)rig_done(1), "");
	AFTER(rig_retaken(2), "hand 2>1");
	rig_gone(0);
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

TEST(a_take_is_asked_for_once)
{
	begin_ahead();
	rig_at(60);
	(void)rig_done(1);
	pool_spoke(&rig.pool, 1, rig.now);
	AFTER(rig_at(70), "take 0, hand 2>1");
}

TEST(more_concurrency_makes_prefetched_connections_sessions)
{
	rig.o = prefetch_options(1);
	begin_ahead();
	CHECK_EQ(1, rig_app(0)->prefetched.count);
	rig.o.concurrency = 2;
	rig_change(0, &rig.o);
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

/* --- private queues ----------------------------------------------------- */

static struct app_options
private_options(uint32_t prefetch)
{
	struct app_options o = prefetch_options(prefetch);

	o.private_queue = true;
	return o;
}

TEST(of_private_queues_the_shortest_is_first)
{
	rig_running(private_options(3), 2);
	rig_arrive_n(6);
	CHECK_STR("hand 0>0, hand 1>1, hand 2>0, hand 3>1, hand 4>0, hand 5>1",
	    rig_did());
	(void)rig_done(0);
	(void)rig_done(0);
	AFTER(rig_arrive(), "hand 2>0");
}

TEST(private_queues_are_never_taken_from)
{
	rig_running(private_options(2), 2);
	LET(rig_arrive_n(4));
	rig_at(60);
	(void)rig_done(1);
	(void)rig_done(1);
	AFTER(rig_at(10000), "");
}

TEST(full_private_queues_leave_the_rest_in_the_backlog)
{
	rig_running(private_options(1), 1);
	LET(rig_arrive_n(2));
	CHECK(!pool_may_accept(&rig.pool, 0));
	rig_accept_paused(0);
	AFTER((void)rig_done(0), "resume 0");
}

TEST(full_private_queues_refuse_where_on_full_says_so)
{
	rig.o = private_options(1);
	rig.o.close_when_full = true;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>0, refuse 2 full");
}

TEST(before_the_first_process_is_ready_connections_wait_in_common)
{
	rig.o = private_options(1);
	rig.o.close_when_full = true;
	rig_add(&rig.o);
	AFTER(rig_arrive_n(2), "spawn 0");
	AFTER(rig_ready(0), "hand 0>0, hand 1>0");
}

TEST(full_private_queues_make_the_app_grow)
{
	rig.o = private_options(3);
	rig.o.start_delay = TSPAN_MSECONDS(100);
	rig_running(rig.o, 1);
	rig_arrive_n(2);
	AFTER(rig_at(100), "hand 0>0, hand 1>0, spawn 1");
}

TESTS(rig_begin, rig_end)
