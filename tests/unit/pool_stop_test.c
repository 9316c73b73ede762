/* The end of processes, of apps and of the whole pool. */

#include "rig.h"

/* --- one process -------------------------------------------------------- */

TEST(a_process_that_does_not_stop_gets_term_then_kill_then_is_stuck)
{
	rig.tells = true;
	rig_serving(rig_options(), 1);
	AFTER(pool_retire(&rig.pool, 0, rig.now), "stop 0, spawn 1");
	NOT_BEFORE(20000, "term 0");
	NOT_BEFORE(25000, "kill 0");
	NOT_BEFORE(30000, "tell 0 stuck, term 1, tell 0 backoff");
	CHECK_EQ(1, rig_app(0)->stuck);
}

TEST(a_stuck_process_that_dies_after_all_frees_its_number)
{
	rig_running(rig_options(), 1);
	pool_misbehaved(&rig.pool, 0, END_NONSENSE, rig.now);
	LET(rig_at(60000));
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(0, rig_app(0)->stuck);
	CHECK_EQ(1, rig.pool.free_processes.count);
}

TEST(a_process_whose_start_was_not_carried_out_is_gone_at_once)
{
	rig_add(&rig.o);
	AFTER(rig_leave(0), "over 0");
	CHECK_EQ(0, rig.pool.living);
}

TEST(a_process_told_to_stop_while_it_is_spawned_stops_then)
{
	AFTER(rig_add(&rig.o), "spawn 0");
	AFTER(rig_leave(0), "stop 0");
	rig_spawned(0);
	CHECK(rig_ready(0));
	CHECK_EQ(0, app_processes(rig_app(0)));
	AFTER(rig_exits(0, END_EXIT), "over 0");
}

TEST(a_process_told_to_stop_that_could_not_be_spawned_is_gone)
{
	AFTER(rig_add(&rig.o), "spawn 0");
	AFTER(rig_leave(0), "stop 0");
	AFTER(rig_spawn_failed(0, false), "over 0");
	CHECK_EQ(0, rig_app(0)->figures.spawn_failures);
}

TEST(timeouts_of_zero_go_through_all_steps_at_once)
{
	rig.o.stop_timeout = 0;
	rig.o.kill_timeout = 0;
	rig_serving(rig.o, 1);
	AFTER(pool_retire(&rig.pool, 0, rig.now), "stop 0, spawn 1");
	AFTER(rig_at(0), "term 0, kill 0");
	CHECK(rig_process(0)->stuck);
}

/* --- detached ----------------------------------------------------------- */

TEST(a_detached_process_has_its_successor_at_once_beyond_no_ceiling)
{
	rig_begin_with(rig_limits(), 2);
	rig.o.min_processes = rig.o.max_processes = 2;
	rig_running(rig.o, 2);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(pool_detach(&rig.pool, 0, rig.now), "spawn 2");
	CHECK_EQ(PROCESS_DETACHED, rig_process(0)->state);
	CHECK_EQ(2, app_processes(rig_app(0)));
	CHECK_EQ(2, rig.pool.living);
	CHECK_EQ(1, rig_app(0)->figures.sessions);
}

TEST(a_detached_process_is_told_to_stop_after_its_last_session)
{
	rig.o.concurrency = 2;
	rig_busy(rig.o, 1, 2);
	AFTER(pool_detach(&rig.pool, 0, rig.now), "spawn 1");
	rig_ready(1);
	AFTER(rig_arrive(), "hand 2>1");
	/* Nothing ends the sessions: not stop_timeout either. */
	rig_at(3600000);
	AFTER(rig_done_of(0, 0), "");
	AFTER(rig_done_of(0, 1), "stop 0");
	AFTER(rig_at(3620000), "term 0");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(2, rig_app(0)->figures.completed);
	CHECK_EQ(0, rig_app(0)->figures.lost);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_DETACHED]);
}

TEST(an_idle_process_above_the_minimum_that_is_detached_has_a_successor)
{
	rig_running(rig_options(), 3);
	AFTER(pool_detach(&rig.pool, 1, rig.now), "stop 1, spawn 3");
	CHECK_EQ(3, app_processes(rig_app(0)));
}

TEST(a_detached_process_stops_with_its_app)
{
	rig_busy(rig_options(), 1, 1);
	LET(pool_detach(&rig.pool, 0, rig.now));
	rig_ready(1);
	AFTER(rig_leave(0), "stop 0, stop 1");
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
}

TEST(a_session_of_a_detached_process_ends_at_request_timeout)
{
	rig.o.request_timeout = TSPAN_SECONDS(5);
	rig_busy(rig.o, 1, 1);
	LET(pool_detach(&rig.pool, 0, rig.now));
	rig_ready(1);
	AFTER(rig_at(5000), "term 0");
}

TEST(a_connection_that_comes_back_from_a_detached_process_is_served)
{
	rig_running(rig_options(), 2);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(pool_detach(&rig.pool, 0, rig.now), "spawn 2");
	AFTER(rig_hand_failed(0), "stop 0, hand 0>1");
}

/* --- one app ------------------------------------------------------------ */

TEST(a_closing_app_serves_waiters_and_newcomers)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(2), "hand 0>0");
	pool_app_close(&rig.pool, 0, rig.now);
	CHECK(pool_may_accept(&rig.pool, 0));
	rig_arrive();
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "");
	AFTER(rig_done(0), "hand 1>0");
	AFTER(rig_done(0), "hand 2>0, stop 0");
	AFTER(rig_done(0), "");
	AFTER(rig_exits(0, END_EXIT), "over 0");
	CHECK_EQ(3, rig_app(0)->figures.completed);
}

TEST(a_closing_app_keeps_no_minimum_but_starts_what_its_waiters_need)
{
	rig_running(rig_options(), 1);
	rig_at(40000);
	pool_app_close(&rig.pool, 0, rig.now);
	AFTER(rig_exits(0, END_SIGNAL), "");
	AFTER(rig_arrive(), "spawn 0");
}

/* A process that hangs would keep the app, and its waiters, for ever. */
TEST(a_leaving_app_ends_after_its_stop_timeout)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(2), "hand 0>0");
	pool_app_close(&rig.pool, 0, rig.now);
	NOT_BEFORE(20000, "refuse 1 stopping, term 0");
	CHECK_EQ(1, rig_app(0)->figures.refused);
	AFTER(rig_at(25000), "kill 0");
	/* Connections it has not received are not served any more, either. */
	rig_died(0, END_SIGNAL);
	AFTER(rig_retaken(0), "refuse 0 stopping");
	rig_gone(0);
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "over 0");
}

TEST(a_leaving_app_comes_back_with_its_waiters_and_processes)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(2), "hand 0>0");
	rig_leave(0);
	pool_app_resume(&rig.pool, 0, rig.now);
	AFTER(rig_at(30000), "");
	AFTER(rig_done(0), "hand 1>0");
}

TEST(a_leaving_app_whose_processes_stop_comes_back_with_others)
{
	rig_running(rig_options(), 1);
	AFTER(rig_leave(0), "stop 0");
	AFTER(pool_app_resume(&rig.pool, 0, rig.now), "spawn 1");
	AFTER(rig_exits(0, END_EXIT), "");
}

TEST(an_app_that_is_over_may_be_freed_and_its_number_used_again)
{
	rig_running(rig.o, 1);
	AFTER(rig_leave(0), "stop 0");
	AFTER(rig_exits(0, END_EXIT), "over 0");
	pool_app_free(&rig.pool, 0);
	CHECK_EQ(0, rig_add(&rig.o));
	CHECK_STR("spawn 0", rig_did());
	CHECK_EQ(0, rig_app(0)->figures.completed);
}

/* The last process of an app loses no unread connection, either. */
TEST(a_closing_app_serves_what_its_last_process_did_not_receive)
{
	rig_busy(rig.o, 1, 1);
	AFTER(rig_leave(0), "stop 0");
	rig_died(0, END_SIGNAL);
	AFTER(rig_retaken(0), "spawn 1");
	rig_gone(0);
	AFTER(rig_ready(1), "hand 0>1, stop 1");
	rig_done(1);
	AFTER(rig_exits(1, END_EXIT), "over 0");
	CHECK_EQ(1, rig_app(0)->figures.completed);
}

TEST(a_stuck_process_delays_the_end_by_half_of_its_kill_timeout)
{
	/* The app's kill_timeout is 5 s. */
	rig_busy(rig_options(), 1, 1);
	pool_stop_now(&rig.pool, TSPAN_SECONDS(1), rig.now);
	AFTER(rig_at(1000), "term 0, kill 0");
	NOT_BEFORE(3500, "over 0");
}

TEST(an_app_is_over_again_when_its_stuck_process_is_gone)
{
	rig_busy(rig_options(), 1, 1);
	rig_leave(0);
	AFTER(rig_at(60000), "stop 0, term 0, kill 0, over 0");
	CHECK_EQ(1, rig_app(0)->stuck);
	rig_died(0, END_SIGNAL);
	AFTER(rig_retaken(0), "refuse 0 stopping");
	AFTER(rig_gone(0), "over 0");
	pool_app_free(&rig.pool, 0);
}

/* A number must not be free before the refusal is carried out. */
TEST(an_app_is_over_after_its_last_refusal)
{
	struct action a;

	rig_busy(rig_options(), 1, 1);
	pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now);
	rig_died(0, END_SIGNAL);
	rig_retaken(0);
	rig_gone(0);
	CHECK(rig_app(0)->phase != APP_OVER);
	CHECK(pool_next_action(&rig.pool, &a));
	CHECK_EQ(ACTION_REFUSE, a.kind);
	CHECK(rig_app(0)->phase != APP_OVER);
	CHECK_STR("over 0", rig_did());
	CHECK_EQ(APP_OVER, rig_app(0)->phase);
}

TEST(an_app_that_waits_for_a_place_can_end)
{
	rig_begin_with(rig_limits(), 1);
	rig_running(rig.o, 1);
	rig.o.min_processes = 0;
	rig.o.queue_timeout = TSPAN_SECONDS(1);
	rig_add(&rig.o);
	rig_arrive_at(1);
	CHECK(rig_app(1)->places_wanted > 0);
	rig_leave(1);
	AFTER(rig_at(1000), "refuse 0 late, over 1");
	CHECK(rig_app(1)->places_wanted == 0);
	pool_app_free(&rig.pool, 1);
	CHECK_EQ(1, rig_add(&rig.o));
}

TEST(accepting_paused_after_the_drain_delays_no_end)
{
	rig.o.max_queue = 0;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 1);
	rig_hand_failed(0);
	rig_leave(0);
	rig_accept_paused(0);
	AFTER(rig_at(10), "hand 0>0, stop 0");
	rig_done(0);
	AFTER(rig_exits(0, END_EXIT), "over 0");
}

/* An app is over, and there are news of it that were not taken out. */
static void
begin_over_with_news(void)
{
	struct action a;

	rig.tells = true;
	LET(rig_add(&rig.o));
	rig_spawned(0);
	LET(rig_exits(0, END_FAILURE));
	rig_leave(0);
	rig.o.start_limit = 1;
	rig_change(0, &rig.o);
	CHECK(pool_next_action(&rig.pool, &a));
	CHECK_EQ(ACTION_OVER, a.kind);
}

TEST(no_news_are_told_of_an_app_that_was_freed)
{
	begin_over_with_news();
	AFTER(pool_app_free(&rig.pool, 0), "");
}

/* Adds two apps, one after the other, of the same number. */
TEST(no_news_are_told_of_the_former_app_of_a_number)
{
	begin_over_with_news();
	pool_app_free(&rig.pool, 0);
	CHECK_EQ(0, rig_add(&rig.o));
	CHECK_STR("spawn 0", rig_did());
}

TEST(accepting_paused_before_the_drain_delays_no_end)
{
	rig.o.max_queue = 0;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 1);
	rig_accept_paused(0);
	AFTER(pool_app_close(&rig.pool, 0, rig.now), "");
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "stop 0");
}

/* --- everything --------------------------------------------------------- */

TEST(the_whole_stop_serves_what_waits_within_its_budget)
{
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 3);
	pool_stop(&rig.pool, TSPAN_SECONDS(10), TSPAN_SECONDS(2), rig.now);
	pool_app_drained(&rig.pool, 0, rig.now);
	AFTER(rig_done(0), "hand 1>0");
	NOT_BEFORE(8000, "refuse 2 stopping, term 0");
	NOT_BEFORE(10000, "kill 0");
	AFTER(rig_exits(0, END_SIGNAL), "over 0");
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

TEST(the_whole_stop_ends_early_when_nothing_is_left)
{
	rig_running(rig_options(), 2);
	pool_stop(&rig.pool, TSPAN_SECONDS(10), TSPAN_SECONDS(2), rig.now);
	CHECK_STR("", rig_did());
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "stop 0, stop 1");
	rig_exits(0, END_EXIT);
	AFTER(rig_exits(1, END_EXIT), "over 0");
	CHECK_EQ(2, rig_app(0)->figures.exits[END_SHUTDOWN]);
}

TEST(no_app_is_kept_at_its_minimum_while_all_stops)
{
	rig_running(rig_options(), 1);
	rig_at(40000);
	pool_stop(&rig.pool, TSPAN_SECONDS(10), TSPAN_SECONDS(2), rig.now);
	AFTER(rig_exits(0, END_SIGNAL), "");
}

TEST(a_grace_beyond_the_budget_begins_at_once)
{
	rig_running(rig_options(), 1);
	pool_stop(&rig.pool, TSPAN_SECONDS(1), TSPAN_SECONDS(5), rig.now);
	AFTER(rig_at(0), "term 0");
	AFTER(rig_at(1000), "kill 0");
}

TEST(stop_now_refuses_waiters_and_terminates_all)
{
	rig.o.max_processes = 2;
	rig.o.min_processes = 2;
	rig_busy(rig.o, 2, 3);
	pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now);
	CHECK_STR("refuse 2 stopping, term 0, term 1", rig_did());
	CHECK(!pool_may_accept(&rig.pool, 0));
	AFTER(rig_at(3000), "kill 0, kill 1");
}

TEST(a_second_stop_now_ends_sooner)
{
	rig_running(rig_options(), 1);
	AFTER(pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now), "term 0");
	pool_stop_now(&rig.pool, TSPAN_SECONDS(5), rig.now);
	AFTER(rig_at(1000), "");
	pool_stop_now(&rig.pool, 0, rig.now);
	AFTER(rig_at(1000), "kill 0");
}

TEST(stop_now_overtakes_a_graceful_stop)
{
	rig_busy(rig_options(), 1, 1);
	pool_stop(&rig.pool, TSPAN_SECONDS(100), TSPAN_SECONDS(5), rig.now);
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "stop 0");
	rig_at(1000);
	AFTER(pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now), "term 0");
	AFTER(rig_at(4000), "kill 0");
}

TEST(stop_now_shortens_the_grace_after_a_term_that_was_sent)
{
	rig.o.kill_timeout = TSPAN_SECONDS(600);
	rig_serving(rig.o, 1);
	pool_retire(&rig.pool, 0, rig.now);
	AFTER(rig_at(20000), "stop 0, spawn 1, term 0");
	pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now);
	AFTER(rig_at(23000), "term 1, kill 1, kill 0");
}

/* The HAND was not carried out yet. */
TEST(assigned_connections_are_refused_while_all_ends)
{
	rig_running(rig_options(), 1);
	rig_arrive();
	pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now);
	rig_died(0, END_SIGNAL);
	AFTER(rig_gone(0), "refuse 0 stopping, over 0");
}

TEST(an_app_without_processes_is_over_at_once)
{
	rig.o.min_processes = 0;
	rig_add(&rig.o);
	AFTER(pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now), "over 0");
}

TESTS(rig_begin, rig_end)
