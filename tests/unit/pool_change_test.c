/* Changes of options, sizes and memory while everything runs. */

#include "rig.h"

/* --- memory ------------------------------------------------------------- */

/* Two apps with waiters, sessions and starts under way. */
static void
begin_in_flight(void)
{
	struct app_options o = rig_options();

	rig_begin();
	o.concurrency = 2;
	o.max_processes = 2;
	o.queue_timeout = TSPAN_SECONDS(3);
	rig_running(o, 2);
	rig_busy(rig_options(), 3, 5);
	rig_arrive_n(2);
	rig_arrive_at(1);
	rig_arrive_at(1);
	pool_quit(&rig.pool, 3, END_RETIRED, rig.now);
	rig_died(1, END_SIGNAL);
}

/* Writes what follows from the same facts, at most size bytes. */
static void
play_on(char *text, size_t size)
{
	size_t len = 0;

	for (int64_t ms = 0; ms < 100000; ms += 500) {
		rig_at(ms);
		len +=
		    (size_t)snprintf(text + len, size - len, "%s; ", rig_did());
		if (ms == 1000)
			rig_gone(1);
		if (ms == 2000)
			rig_done(0);
		if (ms == 4000)
			rig_arrive_n(2);
		NEED(len < size);
	}
}

/* The pool goes on in other memory. */
static void
move(struct pool_limits limits)
{
	void *memory = calloc(1, pool_memory(&limits));

	pool_move(&rig.pool, &limits, memory);
	memset(rig.memory, 0xa5, 1);
	free(rig.memory);
	rig.memory = memory;
	pool_check(&rig.pool);
}

TEST(larger_memory_changes_no_session_and_no_waiter)
{
	static char here[16384], there[16384];
	struct pool_limits limits = rig_limits();

	begin_in_flight();
	play_on(here, sizeof(here));

	begin_in_flight();
	limits.apps = 10;
	limits.processes = 100;
	limits.conns = 1000;
	limits.sessions = 9;
	move(limits);
	CHECK(strlen(here) > 400);
	play_on(there, sizeof(there));
	CHECK_STR(here, there);
}

TEST(larger_memory_has_room_for_more)
{
	struct pool_limits limits = rig_limits();

	limits.apps = 1;
	limits.processes = 1;
	rig_begin_with(limits, 20);
	rig_running(rig.o, 1);
	move(rig_limits());
	CHECK_EQ(1, rig_add(&rig.o));
	CHECK_STR("spawn 1", rig_did());
	rig.o.concurrency = 4;
	rig_change(0, &rig.o);
	AFTER(rig_arrive_n(4), "hand 0>0, hand 1>0, hand 2>0, hand 3>0");
}

TEST(larger_tables_serve_what_the_smaller_ones_held_up)
{
	struct pool_limits limits = rig_limits();

	limits.processes = 1;
	limits.conns = 2;
	rig_begin_with(limits, 20);
	rig_running(rig.o, 1);
	rig_arrive_n(2);
	AFTER(rig_at(900), "hand 0>0");
	rig_accept_paused(0);
	move(rig_limits());
	CHECK_STR("spawn 1, spawn 2, resume 0", rig_did());
}

/* No action is taken out; all but the last are called off again. */
TEST(actions_that_were_called_off_take_no_memory)
{
	struct pool_limits limits = {
		.apps = 1, .processes = 1, .conns = 1, .sessions = 1
	};

	rig_begin_with(limits, 1);
	rig_add(&rig.o);
	for (int i = 0; i < 1000; i++)
		pool_app_restart(&rig.pool, 0, rig.now);
	CHECK_STR("spawn 0", rig_did());
}

/* --- canaries --- */

/* Sessions, one after the other, each of that length, of any process. */
static void
serve(unsigned n, tspan took)
{
	for (; n > 0; n--) {
		uint32_t conn;

		LET(conn = rig_arrive_at(0));
		rig.now += took;
		CHECK(rig_done_of(rig.pool.conns[conn].process, conn));
	}
}

/* Two processes that have served, and a canary, 2, which is served first. */
static void
begin_canary(void)
{
	rig.o.min_processes = 2;
	rig.o.canary = (struct canary_options){ 1, TSPAN_SECONDS(60) };
	rig_running(rig.o, 2);
	serve(100, TSPAN_MSECONDS(10));
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	AFTER(CHECK(rig_ready(2)), "");
}

static const struct app_rollout *
rollout(void)
{
	return &rig_app(0)->rollout;
}

static void
pass(tspan time)
{
	rig.now += time;
	pool_tick(&rig.pool, rig.now);
}

TEST(no_old_process_leaves_before_the_time_of_the_canary_is_over)
{
	begin_canary();
	LET(serve(10, TSPAN_MSECONDS(10)));
	AFTER(pass(TSPAN_SECONDS(59)), "");
	AFTER(pass(TSPAN_SECONDS(1)), "stop 1, spawn 3");
}

TEST(slow_sessions_of_the_canary_end_the_rollout)
{
	begin_canary();
	LET(serve(4, TSPAN_MSECONDS(100)));
	CHECK(app_rolling(rig_app(0)));
	serve(1, TSPAN_MSECONDS(100));
	CHECK_EQ(CANARY_SLOW, rollout()->canary.fault);
	CHECK_EQ(ROLLOUT_GIVEN_UP, rollout()->state);
	CHECK_STR("stop 2", rig_did());
	CHECK_EQ(2, app_ready(rig_app(0)));
	/* A process that is started now is of neither generation. */
	CHECK_EQ(2, rig_app(0)->generation);
}

TEST(sessions_that_are_slow_in_both_generations_do_not_end_the_rollout)
{
	begin_canary();
	for (unsigned i = 0; i < 10; i++) {
		uint32_t first, second;

		LET(first = rig_arrive_at(0));
		LET(second = rig_arrive_at(0));
		rig.now += TSPAN_MSECONDS(100);
		CHECK(rig_done_of(rig.pool.conns[first].process, first));
		CHECK(rig_done_of(rig.pool.conns[second].process, second));
	}
	CHECK_EQ(10, rollout()->canary.new.slow);
	CHECK_EQ(10, rollout()->canary.old.slow);
	CHECK(app_rolling(rig_app(0)));
}

TEST(two_lost_sessions_of_the_canary_end_the_rollout)
{
	begin_canary();
	for (unsigned i = 0; i < 2; i++) {
		uint32_t conn;

		LET(conn = rig_arrive_at(0));
		CHECK(app_rolling(rig_app(0)));
		CHECK(pool_session_over(
		    &rig.pool, 2, conn, SESSION_LOST, rig.now));
	}
	CHECK_EQ(CANARY_LOST, rollout()->canary.fault);
	CHECK_EQ(ROLLOUT_GIVEN_UP, rollout()->state);
}

TEST(a_canary_that_dies_ends_the_rollout_at_once)
{
	begin_canary();
	AFTER(rig_exits(2, END_SIGNAL), "");
	CHECK_EQ(CANARY_FAILED, rollout()->canary.fault);
	CHECK_EQ(2, app_ready(rig_app(0)));
}

TEST(a_later_replacement_knows_nothing_of_a_canary_that_failed)
{
	begin_canary();
	LET(rig_exits(2, END_SIGNAL));
	LET(pool_replace(&rig.pool, 0, rig.now));
	CHECK(app_rolling(rig_app(0)));
	CHECK_EQ(CANARY_WELL, rollout()->canary.fault);
}

TEST(a_canary_that_has_not_served_is_looked_at_for_longer)
{
	uint32_t conn;

	begin_canary();
	LET(conn = rig_arrive_at(0));
	CHECK_EQ(2, rig.pool.conns[conn].process);
	LET(serve(1, TSPAN_MSECONDS(10)));
	AFTER(pass(TSPAN_SECONDS(60)), "");
	LET(CHECK(rig_done_of(2, conn)));
	AFTER(pass(TSPAN_SECONDS(60)), "stop 0, spawn 3");
}

TEST(at_most_as_many_canaries_start_as_there_are_processes)
{
	rig.o.canary = (struct canary_options){ 5, TSPAN_SECONDS(60) };
	rig_running(rig.o, 2);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 2, spawn 3");
}

/* --- time --- */

/* The pool knows the time of each fact. */
#define LATER(fact) \
	do { \
		rig.now += 1000; \
		fact; \
		pool_check(&rig.pool); \
		CHECK_EQ(rig.now, rig.pool.now); \
	} while (0)

TEST(time_passes_with_every_fact)
{
	rig.o.min_processes = 3;
	LATER(LET(rig_add(&rig.o)));
	LATER(pool_start_queued(&rig.pool, 0, true, rig.now));
	LATER(pool_start_queued(&rig.pool, 0, false, rig.now));
	LATER(rig_spawned(0));
	LATER(CHECK(pool_ready(&rig.pool, 0, rig.now)));
	LATER(LET(rig_arrive_at(0)));
	LATER(pool_hand_failed(&rig.pool, 0, rig.now));
	LATER(pool_abandoned(&rig.pool, 0, rig.now));
	LATER(pool_spoke(&rig.pool, 0, rig.now));
	LATER(
	    CHECK(!pool_session_over(&rig.pool, 0, 0, SESSION_DONE, rig.now)));
	LATER(
	    CHECK(!pool_session_over(&rig.pool, 0, 0, SESSION_LOST, rig.now)));
	LATER(pool_unread(&rig.pool, 0, rig.now, rig.now));
	LATER(pool_quit(&rig.pool, 0, END_RETIRED, rig.now));
	LATER(pool_quit(&rig.pool, 0, END_NONSENSE, rig.now));
	LATER(rig_died(0, END_SIGNAL));
	LATER(rig_gone(0));
	LATER(pool_spawn_failed(&rig.pool, 1, true, rig.now));
	LATER(pool_accept_resumed(&rig.pool, 0, rig.now));
	LATER(rig_change(0, &rig.o));
	LATER(pool_app_restart(&rig.pool, 0, rig.now));
	LATER(pool_resize(&rig.pool, 10, 0, rig.now));
	LATER(pool_app_close(&rig.pool, 0, rig.now));
	LATER(pool_app_drained(&rig.pool, 0, rig.now));
	LATER(
	    pool_stop(&rig.pool, TSPAN_SECONDS(9), TSPAN_SECONDS(1), rig.now));
	LATER(pool_stop_now(&rig.pool, TSPAN_SECONDS(1), rig.now));
}

static const struct rig_play plays[] = {
	/* Restart. */
	{ "restart_has_a_new_process_ready_before_an_old_one_leaves",
	    { "min_processes = 2", "running 2", "restart -> spawn 2",
		"? generation_of 2 = 1", "ready 2 -> stop 1, spawn 3",
		"ready 3 -> stop 0" } },
	{ "restart_lets_a_busy_process_finish",
	    { "running 1", "arrive", "restart -> hand 0>0, spawn 1", "ready 1",
		"? state 0 = retiring" } },
	{ "restart_goes_beyond_max_processes_by_one",
	    { "begin 1", "max_processes = 1", "running 1",
		"restart -> spawn 1" } },
	{ "restart_of_many_starts_a_tenth_of_them_at_a_time",
	    { "begin 40", "min_processes = 20", "max_processes = 20",
		"running 20", "restart -> spawn 20, spawn 21" } },
	{ "a_full_table_has_one_old_process_leave_first",
	    { "few_processes 2 2", "min_processes = 2", "running 2",
		"restart -> stop 1", "exits 1 exit -> spawn 1" } },
	{ "idle_processes_of_the_new_generation_get_connections_first",
	    { "min_processes = 2", "running 2", "restart", "ready 2",
		"arrive -> *", "done 2", "? state 0 = idle",
		"arrive 2 -> hand 0>2, hand 1>0" } },
	{ "a_first_process_that_fails_twice_alike_ends_the_rollout",
	    { "start_limit = 100", "restart_delay_max = 1000s", "tells",
		"running 1", "restart -> spawn 1", "spawned 1",
		"exits 1 failure", "at 1250 -> tell 0 backoff, spawn 1",
		"spawned 1",
		"exits 1 failure -> tell 0 backoff, tell 0 given up, tell 0 ready",
		"? state 0 = idle",
		/* Nothing but a trial is started, as after start_limit. */
		"arrive", "arrive -> hand 0>0", "at 1000000 ->" } },
	{ "a_process_that_fails_after_ready_has_failed_otherwise",
	    { "running 1", "restart -> *", "spawned 1", "exits 1 failure",
		"at 2000 -> *", "spawned 1", "ready 1", "exits 1 failure",
		"? rolling = 1" } },
	/* No process was started after another had failed. */
	{ "first_processes_that_fail_together_are_tried_again",
	    { "begin 40", "max_processes = 20", "running 20",
		"restart -> spawn 20, spawn 21", "spawned 20", "spawned 21",
		"at 10", "exits 20 failure", "exits 21 failure",
		"? rolling = 1", "at 2000 -> spawn 21, spawn 20" } },
	{ "a_generation_that_has_served_may_fail_start_limit_times",
	    { "running 3", "restart -> *", "ready 3 -> *", "arrive -> *",
		"done 3", "exits 2 exit", "? rolling = 1", "spawned 4",
		"exits 4 failure", "at 10000 -> *", "? rolling = 1",
		"spawned 4", "exits 4 failure", "at 20000 -> *",
		"? rolling = 1" } },
	{ "after_a_rollout_was_given_up_old_processes_end_without_failure",
	    { "tells", "running 1", "restart", "at 200000", "spawned 1",
		"exits 1 failure", "at 400000", "spawned 1",
		"exits 1 failure -> *", "stop 10s 5s", "drained -> stop 0",
		"exits 0 exit -> over 0" } },
	{ "after_a_young_death_a_rollout_goes_on_when_another_process_serves",
	    { "min_processes = 2", "running 2", "restart -> *",
		"ready 2 -> stop 1, spawn 3", "exits 1 exit", "exits 2 signal",
		"ready 3", "at 2000",
		/* Replacements stay one more than the old processes. */
		"-> spawn 2", "ready 2", "at 10000 ->", "arrive -> *",
		"done 2 -> stop 0", "? end 0 = restarted" } },
	{ "after_a_failure_of_the_new_generation_no_old_job_is_stopped",
	    { "sessions = 0", "ready_after = 1s", "add -> *", "spawned 0",
		"at 40000", "restart -> spawn 1", "spawned 1",
		"exits 1 failure", "at 42000 -> spawn 1", "spawned 1",
		"at 50000 ->", "? state 1 = idle",
		/* The new one has lived for min_server_life. */
		"at 72000 -> stop 0", "? end 0 = restarted" } },
	/*
	 * Without a place no process could prove itself, and all would wait for
	 * ever.
	 */
	{ "under_a_lowered_ceiling_an_old_process_leaves_for_the_next_attempt",
	    { "min_processes = 2", "running 2", "restart -> *", "spawned 2",
		"exits 2 failure", "min_processes = 1", "max_processes = 1",
		"change -> stop 0", "exits 0 exit", "at 2000 -> spawn 0" } },
	{ "sessions_of_the_old_generation_prove_nothing_of_the_new_one",
	    { "running 1", "restart", "spawned 1", "exits 1 failure",
		"arrive -> *", "done 0", "? failed_starts = 1" } },
	{ "restart_calls_off_starts_that_were_not_carried_out",
	    { "add", "restart -> spawn 0", "? generation_of = 1" } },
	{ "after_a_restart_ready_is_announced_again",
	    { "tells", "running 1", "restart -> spawn 1",
		"ready 1 -> stop 0, tell 0 ready" } },
	{ "an_old_process_gets_no_more_sessions_than_when_it_was_started",
	    { "max_processes = 1", "running 1", "arrive -> hand 0>0",
		"concurrency = 3", "change", "restart -> *", "arrive ->",
		"? room_places = 0", "ready 1 -> stop 0, hand 1>1",
		"? room_places = 2" } },
	{ "one_process_is_replaced_and_the_others_stay",
	    { "begin 3", "max_processes = 3", "running 3",
		"replace 1 -> spawn 3", "ready 3 -> stop 1", "? generation = 0",
		"? rolling = 0" } },
	{ "several_processes_are_replaced_together",
	    { "running 4", "replace 1", "replace 2", "replace 2",
		"? rollout_size = 2", "-> spawn 4",
		"ready 4 -> stop 2, spawn 5", "ready 5 -> stop 1" } },
	{ "a_starting_process_that_is_to_be_replaced_starts_again",
	    { "add -> spawn 0", "replace -> stop 0, spawn 1" } },
	/* Options. */
	{ "more_concurrency_serves_waiters_at_once",
	    { "max_processes = 1", "running 1", "arrive 4 -> hand 0>0",
		"concurrency = 3", "change -> hand 1>0, hand 2>0" } },
	{ "less_concurrency_ends_no_session_and_adds_none",
	    { "concurrency = 4", "max_processes = 1", "busy 1 4",
		"concurrency = 2", "change", "arrive", "done 0", "done 0 ->",
		"? sessions_of = 2", "done 0 -> hand 4>0" } },
	{ "a_change_leaves_the_order_of_idle_processes",
	    { "running 3", "concurrency = 2", "change", "concurrency = 1",
		"change", "arrive 3 -> hand 0>0, hand 1>1, hand 2>2" } },
	{ "a_raised_minimum_is_met_at_once",
	    { "running 1", "min_processes = 3",
		"change -> spawn 1, spawn 2" } },
	{ "changed_timeouts_hold_for_running_sessions",
	    { "add -> *", "spawned 0", "at 1000", "start_timeout = 5s",
		"change", "at 5000 -> term 0", "kill_timeout = 1s", "change",
		"not_before 6000 -> kill 0" } },
	{ "a_shorter_queue_timeout_holds_for_waiters",
	    { "max_processes = 1", "busy 1 2", "at 500",
		"queue_timeout = 600ms", "change",
		"not_before 600 -> refuse 1 late" } },
	{ "a_shorter_queue_refuses_no_waiter_in_it",
	    { "max_processes = 1", "busy 1 5", "max_queue = 1", "change ->",
		"? queue = 4", "? may_accept = 0" } },
	{ "a_higher_start_limit_ends_the_failure",
	    { "start_limit = 1", "add -> *", "spawned 0", "exits 0 failure",
		"? failed = 1", "start_limit = 5", "change", "? failed = 0",
		"at 1250 -> spawn 0" } },
	/* Figures. */
	{ "a_changed_max_requests_holds_for_living_processes",
	    { "busy 1 1", "done 0", "max_requests = 2", "change",
		"arrive -> hand 0>0, spawn 1", "max_requests = 3", "change",
		"done 0 ->", "arrive -> *", "done 0 -> stop 0" } },
	{ "a_process_over_a_lowered_max_requests_gets_one_session_more",
	    { "running 1", "arrive -> *", "done 0", "arrive -> *", "done 0",
		"arrive -> *", "done 0", "max_requests = 2", "change ->",
		"arrive -> hand 0>0, spawn 1", "change", "done 0 -> stop 0" } },
	{ "less_concurrency_makes_no_session_a_prefetched_one",
	    { "concurrency = 2", "busy 2 4", "concurrency = 1", "change",
		"? prefetched = 0", "done 0", "done 0", "at 10 ->" } },
	{ "a_new_generation_that_dies_young_is_given_up",
	    { "tells", "running 1", "restart", "? outdated = 1", "at 200000",
		"spawned 1", "exits 1 failure", "? outdated = 1", "at 400000",
		"spawned 1", "exits 1 signal", "? outdated = 1", "at 600000",
		"spawned 1", "exits 1 failure", "? outdated = 0",
		"? rolling = 0", "? state 0 = idle" } },
	/*
	 * Three new processes that become ready and die replace one old
	 * process.
	 */
	{ "after_a_new_process_died_young_old_processes_stay",
	    { "min_processes = 3", "running 3", "restart -> spawn 3",
		"ready 3 -> stop 2, spawn 4", "exits 2 exit", "exits 3 signal",
		"ready 4", "exits 4 signal", "at 200000 -> *", "ready 4",
		"exits 4 signal", "at 400000 -> *", "? given_up = 1",
		"? state 0 = idle", "? state 1 = idle" } },
	/*
	 * After a failure of the new generation: its next process is ready and
	 * proves nothing yet, and the app has one process more than it wants.
	 */
	{ "after_a_failure_of_the_new_generation_no_old_process_idles_too_long",
	    { "max_idle_time = 50s", "min_processes = 2", "running 2",
		"at 40000", "restart -> spawn 2", "spawned 2",
		"exits 2 failure", "at 42000 -> spawn 2", "ready 2 ->",
		"at 60000 ->", "at 72000 -> stop 1, spawn 3" } },
	{ "after_a_failure_of_the_new_generation_no_old_process_is_given_away",
	    { "begin 2", "min_processes = 2", "running 2", "at 40000",
		"restart -> spawn 2", "spawned 2", "exits 2 failure",
		"at 42000 -> spawn 2", "ready 2 ->", "min_processes = 0", "add",
		"arrive_at 1", "at 50000 ->", "arrive -> hand 1>2",
		"done 2 -> stop 1, spawn 3", "? end 1 = restarted" } },
	/* The other old process serves, which proves nothing. */
	{ "a_process_whose_replacement_does_not_live_stays",
	    { "running 2", "replace 1", "at 10000 -> spawn 2", "spawned 2",
		"arrive -> *", "done 0", "exits 2 failure",
		"at 20000 -> spawn 2", "spawned 2", "arrive -> *", "done 0",
		"exits 2 failure", "at 30000 -> spawn 2", "spawned 2",
		"arrive -> *", "done 0", "exits 2 failure", "? given_up = 1",
		"? outdated = 0", "? state 1 = idle" } },
};

RIG_PLAYS(rig_begin, NULL)
