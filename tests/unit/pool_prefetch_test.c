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

static void
idle_processes_come_before_prefetch(void)
{
	rig_running(prefetch_options(1), 2);
	rig_arrive_n(2);
	CHECK_STR("hand 0>0, hand 1>1", rig_did());
}

static void
the_process_given_least_recently_prefetches_first(void)
{
	rig_running(prefetch_options(2), 2);
	rig_arrive_n(2);
	(void)rig_did();
	rig_arrive_n(3);
	CHECK_STR("hand 2>0, hand 3>1, hand 4>0", rig_did());
}

static void
beyond_prefetch_connections_wait(void)
{
	rig_running(prefetch_options(1), 1);
	rig_arrive_n(3);
	CHECK_STR("hand 0>0, hand 1>0", rig_did());
	CHECK_EQ(1, app_waiting(rig_app(0)));
}

static void
a_waiter_is_prefetched_when_a_session_ends(void)
{
	rig_running(prefetch_options(1), 1);
	rig_arrive_n(3);
	(void)rig_did();
	(void)rig_done(0);
	CHECK_STR("hand 2>0", rig_did());
}

static void
prefetched_connections_are_demand_when_all_are_busy(void)
{
	struct app_options o = prefetch_options(4);

	o.start_delay = TSPAN_MSECONDS(100);
	rig_running(o, 1);
	rig_arrive_n(3);
	rig_at(99);
	CHECK_STR("hand 0>0, hand 1>0, hand 2>0", rig_did());
	rig_at(100);
	CHECK_STR("spawn 1", rig_did());
}

static void
time_in_the_socket_is_waiting_and_no_session(void)
{
	rig_running(prefetch_options(1), 1);
	rig_arrive_n(2);
	(void)rig_did();
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

static void
max_requests_bounds_prefetch(void)
{
	struct app_options o = prefetch_options(5);

	o.max_requests = 3;
	rig_running(o, 1);
	rig_arrive_n(4);
	CHECK_STR("hand 0>0, hand 1>0, hand 2>0, spawn 1", rig_did());
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
		rig_arrive_n(processes);
		(void)rig_did();
		rig.now += TSPAN_USECONDS(usec);
		for (uint32_t n = 0; n < processes; n++)
			(void)rig_done(n);
	}
	(void)rig_did();
}

static void
by_itself_nothing_is_handed_ahead_before_256_sessions(void)
{
	rig_running(auto_options(), 1);
	for (int i = 0; i < 255; i++) {
		rig_arrive();
		(void)rig_did();
		rig.now += TSPAN_USECONDS(100);
		(void)rig_done(0);
	}
	rig_arrive_n(2);
	CHECK_STR("hand 0>0", rig_did());
}

static void
by_itself_one_is_handed_ahead_where_sessions_are_brief(void)
{
	begin_with_sessions(1, 100);
	rig_arrive_n(3);
	CHECK_STR("hand 0>0, hand 1>0", rig_did());
	CHECK_EQ(1, app_waiting(rig_app(0)));
}

static void
by_itself_nothing_is_handed_ahead_where_sessions_are_long(void)
{
	begin_with_sessions(1, 1001);
	rig_arrive_n(2);
	CHECK_STR("hand 0>0", rig_did());
}

/* Half of the sessions are brief, but a hand-over hardly counts. */
static void
by_itself_the_mean_session_decides(void)
{
	begin_with_sessions(1, 100);
	rig_arrive_n(1);
	(void)rig_did();
	rig.now += TSPAN_MSECONDS(300);
	(void)rig_done(0);
	rig_arrive_n(2);
	CHECK_STR("hand 0>0", rig_did());
}

static void
by_itself_nothing_is_handed_ahead_behind_a_session_that_lasts(void)
{
	begin_with_sessions(1, 100);
	rig_arrive();
	(void)rig_did();
	rig.now += TSPAN_USECONDS(210);
	rig_arrive();
	CHECK_STR("", rig_did());
	CHECK_EQ(1, app_waiting(rig_app(0)));
}

static void
by_itself_a_younger_session_is_preferred_to_one_that_lasts(void)
{
	begin_with_sessions(2, 100);
	rig_arrive();
	CHECK_STR("hand 1>1", rig_did());
	rig.now += TSPAN_USECONDS(210);
	rig_arrive_n(2);
	CHECK_STR("hand 0>0, hand 2>0", rig_did());
}

/* A moment later the session may have lasted too long for that. */
static void
by_itself_nothing_is_accepted_only_to_be_handed_ahead(void)
{
	struct app_options o = auto_options();

	o.max_queue = 0;
	begin_with_sessions(1, 100);
	rig_change(0, &o);
	rig_arrive();
	(void)rig_did();
	CHECK(!pool_may_accept(&rig.pool, 0));
}

static void
by_itself_it_is_taken_back_after_2_ms(void)
{
	begin_with_sessions(2, 100);
	rig_arrive_n(3);
	(void)rig_did();
	rig.unread = 2;
	rig.now += TSPAN_USECONDS(100);
	(void)rig_done(0);
	CHECK_STR("", rig_did());
	rig.now += TSPAN_USECONDS(1899);
	CHECK_STR("", rig_did());
	CHECK(pool_deadline(&rig.pool) == rig.now + TSPAN_USECONDS(1));
	rig.now += TSPAN_USECONDS(1);
	pool_tick(&rig.pool, rig.now);
	CHECK_STR("take 1, hand 2>0", rig_did());
}

/* --- taking back -------------------------------------------------------- */

/* Process 0 has connections 0 and 2, process 1 has 1, since 0 ms. */
static void
begin_ahead(void)
{
	rig_running(prefetch_options(1), 2);
	rig_arrive_n(3);
	CHECK_STR("hand 0>0, hand 1>1, hand 2>0", rig_did());
	rig.unread = 2;
}

static void
a_prefetched_connection_is_taken_back_after_5_ms(void)
{
	begin_ahead();
	rig_at(1);
	(void)rig_done(1);
	CHECK_STR("", rig_did());
	rig_at(4);
	CHECK_STR("", rig_did());
	rig_at(5);
	CHECK_STR("take 0, hand 2>1", rig_did());
	CHECK_EQ(1, rig_app(0)->figures.retaken);
}

static void
an_old_prefetched_connection_is_taken_back_at_once(void)
{
	begin_ahead();
	rig_at(60);
	(void)rig_done(1);
	CHECK_STR("take 0, hand 2>1", rig_did());
}

static void
a_prefetched_connection_stays_when_its_turn_comes_first(void)
{
	begin_ahead();
	rig_at(1);
	(void)rig_done(1);
	rig_at(3);
	(void)rig_done(0);
	rig_at(1000);
	CHECK_STR("", rig_did());
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

static void
nothing_is_taken_from_a_process_that_received_all(void)
{
	begin_ahead();
	rig_at(60);
	rig.unread = ILIST_NONE;
	(void)rig_done(1);
	rig_at(1000);
	CHECK_STR("take 0", rig_did());
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

/* The process has not read even its first connection: that comes back. */
static void
the_first_connection_may_come_back_too(void)
{
	begin_ahead();
	rig_at(60);
	rig.unread = 0;
	(void)rig_done(1);
	CHECK_STR("take 0, hand 0>1", rig_did());
	CHECK_EQ(0, rig_app(0)->prefetched.count);
}

static void
taking_back_counts_as_no_retry(void)
{
	begin_ahead();
	rig_at(60);
	(void)rig_done(1);
	(void)rig_did();
	CHECK_EQ(1, rig.pool.conns[2].process);
	CHECK_EQ(0, rig.pool.conns[2].retries);
}

static void
an_idle_process_gets_a_waiter_before_prefetched_connections(void)
{
	begin_ahead();
	rig_arrive_n(2);
	CHECK_STR("hand 3>1", rig_did());
	rig_at(60);
	(void)rig_done(1);
	(void)rig_done(1);
	CHECK_STR("hand 4>1", rig_did());
	(void)rig_done(1);
	CHECK_STR("take 0, hand 2>1", rig_did());
}

static void
each_free_place_takes_one_connection_back(void)
{
	rig_running(prefetch_options(2), 2);
	rig_arrive_n(6);
	(void)rig_did();
	rig.unread = 2;
	rig_at(60);
	(void)rig_done(1);
	(void)rig_done(1);
	CHECK_STR("", rig_did());
	(void)rig_done(1);
	CHECK_STR("take 0, hand 2>1", rig_did());
}

static void
a_new_process_takes_back_what_was_prefetched_longest(void)
{
	struct app_options o = prefetch_options(2);

	o.start_delay = TSPAN_MSECONDS(100);
	rig_running(o, 1);
	rig_arrive_n(3);
	rig_at(100);
	(void)rig_did();
	rig.unread = 1;
	rig_ready(1);
	CHECK_STR("take 0, hand 1>1, spawn 2", rig_did());
}

static void
connections_prefetched_by_a_dead_process_come_back(void)
{
	begin_ahead();
	rig_at(60);
	rig_died(0, END_SIGNAL);
	(void)rig_done(1);
	CHECK_STR("", rig_did());
	rig_retaken(2);
	CHECK_STR("hand 2>1", rig_did());
	rig_gone(0);
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

static void
a_take_is_asked_for_once(void)
{
	begin_ahead();
	rig_at(60);
	(void)rig_done(1);
	pool_spoke(&rig.pool, 1, rig.now);
	rig_at(70);
	CHECK_STR("take 0, hand 2>1", rig_did());
}

static void
more_concurrency_makes_prefetched_connections_sessions(void)
{
	struct app_options o = prefetch_options(1);

	begin_ahead();
	CHECK_EQ(1, rig_app(0)->prefetched.count);
	o.concurrency = 2;
	rig_change(0, &o);
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

static void
private_queues_are_filled_evenly(void)
{
	rig_running(private_options(3), 2);
	rig_arrive_n(6);
	CHECK_STR("hand 0>0, hand 1>1, hand 2>0, hand 3>1, hand 4>0, hand 5>1",
	    rig_did());
}

static void
of_private_queues_the_shortest_is_first(void)
{
	rig_running(private_options(3), 2);
	rig_arrive_n(6);
	(void)rig_did();
	(void)rig_done(0);
	(void)rig_done(0);
	rig_arrive();
	CHECK_STR("hand 2>0", rig_did());
}

static void
private_queues_are_never_taken_from(void)
{
	rig_running(private_options(2), 2);
	rig_arrive_n(4);
	(void)rig_did();
	rig_at(60);
	(void)rig_done(1);
	(void)rig_done(1);
	rig_at(10000);
	CHECK_STR("", rig_did());
}

static void
full_private_queues_leave_the_rest_in_the_backlog(void)
{
	rig_running(private_options(1), 1);
	rig_arrive_n(2);
	(void)rig_did();
	CHECK(!pool_may_accept(&rig.pool, 0));
	rig_accept_paused(0);
	(void)rig_done(0);
	CHECK_STR("resume 0", rig_did());
}

static void
full_private_queues_refuse_where_on_full_says_so(void)
{
	struct app_options o = private_options(1);

	o.close_when_full = true;
	rig_running(o, 1);
	rig_arrive_n(3);
	CHECK_STR("hand 0>0, hand 1>0, refuse 2 full", rig_did());
}

static void
before_the_first_process_is_ready_connections_wait_in_common(void)
{
	struct app_options o = private_options(1);

	o.close_when_full = true;
	rig_add(&o);
	rig_arrive_n(2);
	CHECK_STR("spawn 0", rig_did());
	rig_ready(0);
	CHECK_STR("hand 0>0, hand 1>0", rig_did());
}

static void
full_private_queues_make_the_app_grow(void)
{
	struct app_options o = private_options(3);

	o.start_delay = TSPAN_MSECONDS(100);
	rig_running(o, 1);
	rig_arrive_n(2);
	rig_at(100);
	CHECK_STR("hand 0>0, hand 1>0, spawn 1", rig_did());
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RIG(by_itself_nothing_is_handed_ahead_before_256_sessions);
	RIG(by_itself_one_is_handed_ahead_where_sessions_are_brief);
	RIG(by_itself_nothing_is_handed_ahead_where_sessions_are_long);
	RIG(by_itself_the_mean_session_decides);
	RIG(by_itself_nothing_is_handed_ahead_behind_a_session_that_lasts);
	RIG(by_itself_a_younger_session_is_preferred_to_one_that_lasts);
	RIG(by_itself_nothing_is_accepted_only_to_be_handed_ahead);
	RIG(by_itself_it_is_taken_back_after_2_ms);
	RIG(idle_processes_come_before_prefetch);
	RIG(the_process_given_least_recently_prefetches_first);
	RIG(beyond_prefetch_connections_wait);
	RIG(a_waiter_is_prefetched_when_a_session_ends);
	RIG(prefetched_connections_are_demand_when_all_are_busy);
	RIG(time_in_the_socket_is_waiting_and_no_session);
	RIG(max_requests_bounds_prefetch);
	RIG(a_prefetched_connection_is_taken_back_after_5_ms);
	RIG(an_old_prefetched_connection_is_taken_back_at_once);
	RIG(a_prefetched_connection_stays_when_its_turn_comes_first);
	RIG(nothing_is_taken_from_a_process_that_received_all);
	RIG(the_first_connection_may_come_back_too);
	RIG(taking_back_counts_as_no_retry);
	RIG(an_idle_process_gets_a_waiter_before_prefetched_connections);
	RIG(each_free_place_takes_one_connection_back);
	RIG(a_new_process_takes_back_what_was_prefetched_longest);
	RIG(connections_prefetched_by_a_dead_process_come_back);
	RIG(a_take_is_asked_for_once);
	RIG(more_concurrency_makes_prefetched_connections_sessions);
	RIG(private_queues_are_filled_evenly);
	RIG(of_private_queues_the_shortest_is_first);
	RIG(private_queues_are_never_taken_from);
	RIG(full_private_queues_leave_the_rest_in_the_backlog);
	RIG(full_private_queues_refuse_where_on_full_says_so);
	RIG(before_the_first_process_is_ready_connections_wait_in_common);
	RIG(full_private_queues_make_the_app_grow);
	return check_finish();
}
