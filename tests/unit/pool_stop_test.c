/* The end of processes, of apps and of the whole pool. */

#include "rig.h"

/* --- one app ------------------------------------------------------------ */

/* A number must not be free before the refusal is carried out. */
TEST(an_app_is_over_after_its_last_refusal)
{
	struct action a;

	rig_busy(rig_options(), 1, 1);
	pool_stop_now(&rig.pool, TSPAN_SECONDS(3), rig.now);
	rig_died(0, END_SIGNAL);
	pool_retaken(&rig.pool, 0, rig.now);
	rig_gone(0);
	CHECK(rig_app(0)->phase != APP_OVER);
	CHECK(pool_next_action(&rig.pool, &a));
	CHECK_EQ(ACTION_REFUSE, a.kind);
	CHECK(rig_app(0)->phase != APP_OVER);
	CHECK_STR("over 0", rig_did());
	CHECK_EQ(APP_OVER, rig_app(0)->phase);
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

static const struct rig_play plays[] = {
	/* A process. */
	{ "a_process_that_does_not_stop_gets_term_then_kill_then_is_stuck",
	    { "tells", "serving 1", "retire -> stop 0, spawn 1",
		"not_before 20000 -> term 0", "not_before 25000 -> kill 0",
		"not_before 30000 -> tell 0 stuck, term 1, tell 0 backoff",
		"? stuck = 1" } },
	{ "a_stuck_process_that_dies_after_all_frees_its_number",
	    { "running 1", "misbehaved 0 nonsense", "at 60000 -> *",
		"exits 0 signal", "? stuck = 0", "? free_processes = 1" } },
	{ "a_process_whose_start_was_not_carried_out_is_gone_at_once",
	    { "add", "leave 0 -> over 0", "? living = 0" } },
	{ "a_process_told_to_stop_while_it_is_spawned_stops_then",
	    { "add -> spawn 0", "leave 0 -> stop 0", "spawned 0", "ready 0",
		"? processes = 0", "exits 0 exit -> over 0" } },
	{ "a_process_told_to_stop_that_could_not_be_spawned_is_gone",
	    { "add -> spawn 0", "leave 0 -> stop 0",
		"spawn_failed 0 0 -> over 0", "? spawn_failures = 0" } },
	{ "timeouts_of_zero_go_through_all_steps_at_once",
	    { "stop_timeout = 0", "kill_timeout = 0", "serving 1",
		"retire -> stop 0, spawn 1", "at 0 -> term 0, kill 0",
		"? is_stuck = 1" } },
	/* Detached. */
	{ "a_detached_process_has_its_successor_at_once_beyond_no_ceiling",
	    { "begin 2", "min_processes = 2", "max_processes = 2", "running 2",
		"arrive -> hand 0>0", "detach -> spawn 2",
		"? state 0 = detached", "? processes = 2", "? living = 2",
		"? sessions = 1" } },
	{ "a_detached_process_is_told_to_stop_after_its_last_session",
	    { "concurrency = 2", "busy 1 2", "detach -> spawn 1", "ready 1",
		"arrive -> hand 2>1",
		/* Nothing ends the sessions: not stop_timeout either. */
		"at 3600000", "done 0 0 ->", "done 0 1 -> stop 0",
		"at 3620000 -> term 0", "exits 0 signal", "? completed = 2",
		"? lost = 0", "? exits detached = 1" } },
	{ "an_idle_process_above_the_minimum_that_is_detached_has_a_successor",
	    { "running 3", "detach 1 -> stop 1, spawn 3", "? processes = 3" } },
	{ "a_detached_process_stops_with_its_app",
	    { "busy 1 1", "detach -> *", "ready 1", "leave 0 -> stop 0, stop 1",
		"? state 0 = retiring" } },
	{ "a_session_of_a_detached_process_ends_at_request_timeout",
	    { "request_timeout = 5s", "busy 1 1", "detach -> *", "ready 1",
		"at 5000 -> term 0" } },
	{ "a_connection_that_comes_back_from_a_detached_process_is_served",
	    { "running 2", "arrive -> hand 0>0", "detach -> spawn 2",
		"hand_failed 0 -> stop 0, hand 0>1" } },
	/* An app. */
	{ "a_closing_app_serves_waiters_and_newcomers",
	    { "max_processes = 1", "running 1", "arrive 2 -> hand 0>0", "close",
		"? may_accept = 1", "arrive", "drained ->",
		"done 0 -> hand 1>0", "done 0 -> hand 2>0, stop 0", "done 0 ->",
		"exits 0 exit -> over 0", "? completed = 3" } },
	{ "a_closing_app_keeps_no_minimum_but_starts_what_its_waiters_need",
	    { "running 1", "at 40000", "close", "exits 0 signal ->",
		"arrive -> spawn 0" } },
	/*
	 * A process that hangs would keep the app, and its waiters, for ever.
	 */
	{ "a_leaving_app_ends_after_its_stop_timeout",
	    { "max_processes = 1", "running 1", "arrive 2 -> hand 0>0", "close",
		"not_before 20000 -> refuse 1 stopping, term 0",
		"? refused = 1", "at 25000 -> kill 0",
		/* What it has not received is not served any more, either. */
		"died 0 signal", "retaken 0 -> refuse 0 stopping", "gone 0",
		"drained -> over 0" } },
	{ "a_leaving_app_comes_back_with_its_waiters_and_processes",
	    { "max_processes = 1", "running 1", "arrive 2 -> hand 0>0",
		"leave 0", "resume", "at 30000 ->", "done 0 -> hand 1>0" } },
	{ "a_leaving_app_whose_processes_stop_comes_back_with_others",
	    { "running 1", "leave 0 -> stop 0", "resume -> spawn 1",
		"exits 0 exit ->" } },
	{ "an_app_that_is_over_may_be_freed_and_its_number_used_again",
	    { "running 1", "leave 0 -> stop 0", "exits 0 exit -> over 0",
		"free", "add -> spawn 0", "? completed = 0" } },
	/* The last process of an app loses no unread connection, either. */
	{ "a_closing_app_serves_what_its_last_process_did_not_receive",
	    { "busy 1 1", "leave 0 -> stop 0", "died 0 signal",
		"retaken 0 -> spawn 1", "gone 0", "ready 1 -> hand 0>1, stop 1",
		"done 1", "exits 1 exit -> over 0", "? completed = 1" } },
	{ "a_stuck_process_delays_the_end_by_half_of_its_kill_timeout",
	    { /* The app's kill_timeout is 5 s. */ "busy 1 1", "stop_now 1s",
		"at 1000 -> term 0, kill 0", "not_before 3500 -> over 0" } },
	{ "an_app_is_over_again_when_its_stuck_process_is_gone",
	    { "busy 1 1", "leave 0",
		"at 60000 -> stop 0, term 0, kill 0, over 0", "? stuck = 1",
		"died 0 signal", "retaken 0 -> refuse 0 stopping",
		"gone 0 -> over 0", "free" } },
	{ "an_app_that_waits_for_a_place_can_end",
	    { "begin 1", "running 1", "min_processes = 0", "queue_timeout = 1s",
		"add", "arrive_at 1", "? places_wanted 1 > 0", "leave 1",
		"at 1000 -> refuse 0 late, over 1", "? places_wanted 1 = 0",
		"free 1", "add" } },
	{ "accepting_paused_after_the_drain_delays_no_end",
	    { "max_queue = 0", "max_processes = 1", "busy 1 1", "hand_failed 0",
		"leave 0", "paused 0", "at 10 -> hand 0>0, stop 0", "done 0",
		"exits 0 exit -> over 0" } },
	{ "accepting_paused_before_the_drain_delays_no_end",
	    { "max_queue = 0", "max_processes = 1", "busy 1 1", "paused 0",
		"close ->", "drained -> stop 0" } },
	/* Everything. */
	{ "the_whole_stop_serves_what_waits_within_its_budget",
	    { "max_processes = 1", "busy 1 3", "stop 10s 2s", "drained",
		"done 0 -> hand 1>0",
		"not_before 8000 -> refuse 2 stopping, term 0",
		"not_before 10000 -> kill 0", "exits 0 signal -> over 0",
		"? lost = 1" } },
	{ "the_whole_stop_ends_early_when_nothing_is_left",
	    { "running 2", "stop 10s 2s", "->", "drained -> stop 0, stop 1",
		"exits 0 exit", "exits 1 exit -> over 0",
		"? exits shutdown = 2" } },
	{ "no_app_is_kept_at_its_minimum_while_all_stops",
	    { "running 1", "at 40000", "stop 10s 2s", "exits 0 signal ->" } },
	{ "a_grace_beyond_the_budget_begins_at_once",
	    { "running 1", "stop 1s 5s", "at 0 -> term 0",
		"at 1000 -> kill 0" } },
	{ "stop_now_refuses_waiters_and_terminates_all",
	    { "max_processes = 2", "min_processes = 2", "busy 2 3",
		"stop_now 3s -> refuse 2 stopping, term 0, term 1",
		"? may_accept = 0", "at 3000 -> kill 0, kill 1" } },
	{ "a_second_stop_now_ends_sooner",
	    { "running 1", "stop_now 3s -> term 0", "stop_now 5s", "at 1000 ->",
		"stop_now 0", "at 1000 -> kill 0" } },
	{ "stop_now_overtakes_a_graceful_stop",
	    { "busy 1 1", "stop 100s 5s", "drained -> stop 0", "at 1000",
		"stop_now 3s -> term 0", "at 4000 -> kill 0" } },
	{ "stop_now_shortens_the_grace_after_a_term_that_was_sent",
	    { "kill_timeout = 600s", "serving 1", "retire",
		"at 20000 -> stop 0, spawn 1, term 0", "stop_now 3s",
		"at 23000 -> term 1, kill 1, kill 0" } },
	/* The HAND was not carried out yet. */
	{ "assigned_connections_are_refused_while_all_ends",
	    { "running 1", "arrive", "stop_now 3s", "died 0 signal",
		"gone 0 -> refuse 0 stopping, over 0" } },
	{ "an_app_without_processes_is_over_at_once",
	    { "min_processes = 0", "add", "stop_now 3s -> over 0" } },
};

RIG_PLAYS(rig_begin, NULL)
