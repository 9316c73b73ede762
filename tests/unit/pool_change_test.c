/* Changes of options, sizes and memory while everything runs. */

#include "rig.h"

/* --- restart ------------------------------------------------------------ */

TEST(restart_has_a_new_process_ready_before_an_old_one_leaves)
{
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 2");
	CHECK_EQ(1, rig_process(2)->generation);
	AFTER(rig_ready(2), "stop 1, spawn 3");
	AFTER(rig_ready(3), "stop 0");
}

TEST(restart_lets_a_busy_process_finish)
{
	rig_running(rig_options(), 1);
	rig_arrive();
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "hand 0>0, spawn 1");
	rig_ready(1);
	CHECK_EQ(PROCESS_RETIRING, rig_process(0)->state);
}

TEST(restart_goes_beyond_max_processes_by_one)
{
	rig_begin_with(rig_limits(), 1);
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 1");
}

TEST(restart_of_many_starts_a_tenth_of_them_at_a_time)
{
	rig_begin_with(rig_limits(), 40);
	rig.o.min_processes = rig.o.max_processes = 20;
	rig_running(rig.o, 20);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 20, spawn 21");
}

TEST(a_full_table_has_one_old_process_leave_first)
{
	struct pool_limits limits = rig_limits();

	limits.processes = 2;
	rig_begin_with(limits, 2);
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "stop 1");
	AFTER(rig_exits(1, END_EXIT), "spawn 1");
}

TEST(idle_processes_of_the_new_generation_get_connections_first)
{
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	pool_app_restart(&rig.pool, 0, rig.now);
	rig_ready(2);
	LET(rig_arrive());
	(void)rig_done(2);
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
	AFTER(rig_arrive_n(2), "hand 0>2, hand 1>0");
}

TEST(a_new_generation_that_dies_young_is_given_up)
{
	rig.tells = true;
	rig_running(rig_options(), 1);
	pool_app_restart(&rig.pool, 0, rig.now);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(1, rig_app(0)->outdated);
		rig_at((i + 1) * 200000);
		rig_spawned(1);
		rig_exits(1, i == 1 ? END_SIGNAL : END_FAILURE);
	}
	CHECK_EQ(0, rig_app(0)->outdated);
	CHECK(!app_rolling(rig_app(0)));
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
}

TEST(a_first_process_that_fails_twice_alike_ends_the_rollout)
{
	rig.o.start_limit = 100;
	rig.o.restart_delay_max = TSPAN_SECONDS(1000);
	rig.tells = true;
	rig_running(rig.o, 1);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 1");
	rig_spawned(1);
	rig_exits(1, END_FAILURE);
	AFTER(rig_at(1250), "tell 0 backoff, spawn 1");
	rig_spawned(1);
	rig_exits(1, END_FAILURE);
	CHECK_STR("tell 0 backoff, tell 0 given up, tell 0 ready", rig_did());
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
	/* As after start_limit failures nothing but a trial is started. */
	(void)rig_arrive();
	AFTER((void)rig_arrive(), "hand 0>0");
	AFTER(rig_at(1000000), "");
}

TEST(a_process_that_fails_after_ready_has_failed_otherwise)
{
	rig_running(rig_options(), 1);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	rig_spawned(1);
	rig_exits(1, END_FAILURE);
	LET(rig_at(2000));
	rig_spawned(1);
	rig_ready(1);
	rig_exits(1, END_FAILURE);
	CHECK(app_rolling(rig_app(0)));
}

/* No process was started after another had failed. */
TEST(first_processes_that_fail_together_are_tried_again)
{
	rig_begin_with(rig_limits(), 40);
	rig.o.max_processes = 20;
	rig_running(rig.o, 20);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 20, spawn 21");
	rig_spawned(20);
	rig_spawned(21);
	rig_at(10);
	rig_exits(20, END_FAILURE);
	rig_exits(21, END_FAILURE);
	CHECK(app_rolling(rig_app(0)));
	AFTER(rig_at(2000), "spawn 21, spawn 20");
}

TEST(a_generation_that_has_served_may_fail_start_limit_times)
{
	rig_running(rig.o, 3);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	LET(rig_ready(3));
	LET(rig_arrive());
	rig_done(3);
	rig_exits(2, END_EXIT);
	for (int i = 0; i < 2; i++) {
		CHECK(app_rolling(rig_app(0)));
		rig_spawned(4);
		rig_exits(4, END_FAILURE);
		LET(rig_at(10000 * (i + 1)));
	}
	CHECK(app_rolling(rig_app(0)));
}

TEST(after_a_rollout_was_given_up_old_processes_end_without_failure)
{
	rig.tells = true;
	rig_running(rig_options(), 1);
	pool_app_restart(&rig.pool, 0, rig.now);
	for (int i = 0; i < 2; i++) {
		rig_at((i + 1) * 200000);
		rig_spawned(1);
		rig_exits(1, END_FAILURE);
	}
	(void)rig_did();
	pool_stop(&rig.pool, TSPAN_SECONDS(10), TSPAN_SECONDS(5), rig.now);
	AFTER(pool_app_drained(&rig.pool, 0, rig.now), "stop 0");
	AFTER(rig_exits(0, END_EXIT), "over 0");
}

/* Three new processes that become ready and die replace one old process. */
TEST(after_a_new_process_died_young_old_processes_stay)
{
	rig.o.min_processes = 3;
	rig_running(rig.o, 3);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 3");
	AFTER(rig_ready(3), "stop 2, spawn 4");
	rig_exits(2, END_EXIT);
	rig_exits(3, END_SIGNAL);
	for (int i = 0; i < 2; i++) {
		rig_ready(4);
		rig_exits(4, END_SIGNAL);
		LET(rig_at((i + 1) * 200000));
	}
	CHECK(rig_app(0)->rollout.state == ROLLOUT_GIVEN_UP);
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
	CHECK_EQ(PROCESS_IDLE, rig_process(1)->state);
}

TEST(after_a_young_death_a_rollout_goes_on_when_another_process_serves)
{
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	AFTER(rig_ready(2), "stop 1, spawn 3");
	rig_exits(1, END_EXIT);
	rig_exits(2, END_SIGNAL);
	rig_ready(3);
	rig_at(2000);
	/* Replacements stay one more than the old processes, however many die.
	 */
	CHECK_STR("spawn 2", rig_did());
	rig_ready(2);
	AFTER(rig_at(10000), "");
	LET(rig_arrive());
	AFTER((void)rig_done(2), "stop 0");
	CHECK_EQ(END_RESTARTED, rig_process(0)->end);
}

/*
 * After a failure of the new generation: its next process is ready and proves
 * nothing yet, and the app has one process more than it wants.
 */
static void
begin_doubtful(struct app_options o, uint32_t max_processes)
{
	rig_begin_with(rig_limits(), max_processes);
	o.min_processes = 2;
	rig_running(o, 2);
	rig_at(40000);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 2");
	rig_spawned(2);
	rig_exits(2, END_FAILURE);
	AFTER(rig_at(42000), "spawn 2");
	AFTER(rig_ready(2), "");
}

TEST(after_a_failure_of_the_new_generation_no_old_job_is_stopped)
{
	rig.o.sessions = false;
	rig.o.ready_after = TSPAN_SECONDS(1);
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_at(40000);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 1");
	rig_spawned(1);
	rig_exits(1, END_FAILURE);
	AFTER(rig_at(42000), "spawn 1");
	rig_spawned(1);
	AFTER(rig_at(50000), "");
	CHECK_EQ(PROCESS_IDLE, rig_process(1)->state);
	/* The new one has lived for min_server_life. */
	AFTER(rig_at(72000), "stop 0");
	CHECK_EQ(END_RESTARTED, rig_process(0)->end);
}

TEST(after_a_failure_of_the_new_generation_no_old_process_idles_too_long)
{
	struct app_options o = rig_options();

	o.max_idle_time = TSPAN_SECONDS(50);
	begin_doubtful(o, 20);
	AFTER(rig_at(60000), "");
	AFTER(rig_at(72000), "stop 1, spawn 3");
}

TEST(after_a_failure_of_the_new_generation_no_old_process_is_given_away)
{
	struct app_options o = rig_options();

	begin_doubtful(o, 2);
	o.min_processes = 0;
	rig_add(&o);
	(void)rig_arrive_at(1);
	AFTER(rig_at(50000), "");
	AFTER(rig_arrive(), "hand 1>2");
	AFTER(rig_done(2), "stop 1, spawn 3");
	CHECK_EQ(END_RESTARTED, rig_process(1)->end);
}

/* Without a place no process could prove itself, and all would wait for ever.
 */
TEST(under_a_lowered_ceiling_an_old_process_leaves_for_the_next_attempt)
{
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	rig_spawned(2);
	rig_exits(2, END_FAILURE);
	rig.o.min_processes = rig.o.max_processes = 1;
	AFTER(rig_change(0, &rig.o), "stop 0");
	rig_exits(0, END_EXIT);
	AFTER(rig_at(2000), "spawn 0");
}

TEST(sessions_of_the_old_generation_prove_nothing_of_the_new_one)
{
	rig_running(rig_options(), 1);
	pool_app_restart(&rig.pool, 0, rig.now);
	rig_spawned(1);
	rig_exits(1, END_FAILURE);
	LET(rig_arrive());
	(void)rig_done(0);
	CHECK_EQ(1, rig_app(0)->failed_starts);
}

TEST(restart_calls_off_starts_that_were_not_carried_out)
{
	rig_add(&rig.o);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 0");
	CHECK_EQ(1, rig_process(0)->generation);
}

TEST(after_a_restart_ready_is_announced_again)
{
	rig.tells = true;
	rig_running(rig_options(), 1);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 1");
	AFTER(rig_ready(1), "stop 0, tell 0 ready");
}

TEST(an_old_process_gets_no_more_sessions_than_when_it_was_started)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive(), "hand 0>0");
	rig.o.concurrency = 3;
	rig_change(0, &rig.o);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	AFTER(rig_arrive(), "");
	CHECK_EQ(0, rig_app(0)->room.places);
	AFTER(rig_ready(1), "stop 0, hand 1>1");
	CHECK_EQ(2, rig_app(0)->room.places);
}

TEST(one_process_is_replaced_and_the_others_stay)
{
	rig_begin_with(rig_limits(), 3);
	rig.o.max_processes = 3;
	rig_running(rig.o, 3);
	AFTER(pool_replace(&rig.pool, 1, rig.now), "spawn 3");
	AFTER(rig_ready(3), "stop 1");
	CHECK_EQ(0, rig_app(0)->generation);
	CHECK(!app_rolling(rig_app(0)));
}

TEST(several_processes_are_replaced_together)
{
	rig_running(rig.o, 4);
	pool_replace(&rig.pool, 1, rig.now);
	pool_replace(&rig.pool, 2, rig.now);
	pool_replace(&rig.pool, 2, rig.now);
	CHECK_EQ(2, rig_app(0)->rollout.size);
	CHECK_STR("spawn 4", rig_did());
	AFTER(rig_ready(4), "stop 2, spawn 5");
	AFTER(rig_ready(5), "stop 1");
}

TEST(a_process_whose_replacement_does_not_live_stays)
{
	rig_running(rig.o, 2);
	pool_replace(&rig.pool, 1, rig.now);
	for (uint32_t i = 0; i < rig.o.start_limit; i++) {
		AFTER(rig_at(10000 * (i + 1)), "spawn 2");
		rig_spawned(2);
		/* The other old process serves, which proves nothing. */
		LET(rig_arrive());
		rig_done(0);
		rig_exits(2, END_FAILURE);
	}
	CHECK_EQ(ROLLOUT_GIVEN_UP, rig_app(0)->rollout.state);
	CHECK_EQ(0, rig_app(0)->outdated);
	CHECK_EQ(PROCESS_IDLE, rig_process(1)->state);
}

TEST(a_starting_process_that_is_to_be_replaced_starts_again)
{
	AFTER(rig_add(&rig.o), "spawn 0");
	AFTER(pool_replace(&rig.pool, 0, rig.now), "stop 0, spawn 1");
}

/* --- options ------------------------------------------------------------ */

TEST(more_concurrency_serves_waiters_at_once)
{
	rig.o.max_processes = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive_n(4), "hand 0>0");
	rig.o.concurrency = 3;
	AFTER(rig_change(0, &rig.o), "hand 1>0, hand 2>0");
}

TEST(less_concurrency_ends_no_session_and_adds_none)
{
	rig.o.concurrency = 4;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 4);
	rig.o.concurrency = 2;
	rig_change(0, &rig.o);
	rig_arrive();
	rig_done(0);
	AFTER(rig_done(0), "");
	CHECK_EQ(2, process_sessions(rig_process(0)));
	AFTER(rig_done(0), "hand 4>0");
}

TEST(a_change_leaves_the_order_of_idle_processes)
{
	rig_running(rig.o, 3);
	rig.o.concurrency = 2;
	rig_change(0, &rig.o);
	rig.o.concurrency = 1;
	rig_change(0, &rig.o);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>1, hand 2>2");
}

TEST(a_raised_minimum_is_met_at_once)
{
	rig_running(rig.o, 1);
	rig.o.min_processes = 3;
	AFTER(rig_change(0, &rig.o), "spawn 1, spawn 2");
}

TEST(changed_timeouts_hold_for_running_sessions)
{
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_at(1000);
	rig.o.start_timeout = TSPAN_SECONDS(5);
	rig_change(0, &rig.o);
	AFTER(rig_at(5000), "term 0");
	rig.o.kill_timeout = TSPAN_SECONDS(1);
	rig_change(0, &rig.o);
	NOT_BEFORE(6000, "kill 0");
}

TEST(a_shorter_queue_timeout_holds_for_waiters)
{
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 2);
	rig_at(500);
	rig.o.queue_timeout = TSPAN_MSECONDS(600);
	rig_change(0, &rig.o);
	NOT_BEFORE(600, "refuse 1 late");
}

TEST(a_shorter_queue_refuses_no_waiter_in_it)
{
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 5);
	rig.o.max_queue = 1;
	AFTER(rig_change(0, &rig.o), "");
	CHECK_EQ(4, rig_app(0)->queue.count);
	CHECK(!pool_may_accept(&rig.pool, 0));
}

TEST(a_higher_start_limit_ends_the_failure)
{
	rig.o.start_limit = 1;
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_exits(0, END_FAILURE);
	CHECK(rig_app(0)->failed);
	rig.o.start_limit = 5;
	rig_change(0, &rig.o);
	CHECK(!rig_app(0)->failed);
	AFTER(rig_at(1250), "spawn 0");
}

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
	pool_retire(&rig.pool, 3, rig.now);
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

/* --- time --- */

/* The pool knows the time of each fact. */
#define LATER(fact) \
	do { \
		rig.now += 1000; \
		fact; \
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
	LATER(LET(rig_arrive()));
	LATER(rig_hand_failed(0));
	LATER(pool_abandoned(&rig.pool, 0, rig.now));
	LATER(pool_spoke(&rig.pool, 0, rig.now));
	LATER(
	    CHECK(!pool_session_over(&rig.pool, 0, 0, SESSION_DONE, rig.now)));
	LATER(
	    CHECK(!pool_session_over(&rig.pool, 0, 0, SESSION_LOST, rig.now)));
	LATER(pool_unread(&rig.pool, 0, rig.now, rig.now));
	LATER(pool_retire(&rig.pool, 0, rig.now));
	LATER(pool_misbehaved(&rig.pool, 0, END_NONSENSE, rig.now));
	LATER(rig_died(0, END_SIGNAL));
	LATER(rig_gone(0));
	LATER(rig_spawn_failed(1, true));
	LATER(rig_accept_resumed(0));
	LATER(rig_change(0, &rig.o));
	LATER(pool_app_restart(&rig.pool, 0, rig.now));
	LATER(pool_resize(&rig.pool, 10, 0, rig.now));
	LATER(pool_app_close(&rig.pool, 0, rig.now));
	LATER(pool_app_drained(&rig.pool, 0, rig.now));
	LATER(
	    pool_stop(&rig.pool, TSPAN_SECONDS(9), TSPAN_SECONDS(1), rig.now));
	LATER(pool_stop_now(&rig.pool, TSPAN_SECONDS(1), rig.now));
}

/* --- figures ------------------------------------------------------------ */

TEST(a_changed_max_requests_holds_for_living_processes)
{
	rig_busy(rig.o, 1, 1);
	rig_done(0);
	rig.o.max_requests = 2;
	rig_change(0, &rig.o);
	AFTER(rig_arrive(), "hand 0>0, spawn 1");
	rig.o.max_requests = 3;
	rig_change(0, &rig.o);
	AFTER(rig_done(0), "");
	LET(rig_arrive());
	AFTER(rig_done(0), "stop 0");
}

TEST(a_process_over_a_lowered_max_requests_gets_one_session_more)
{
	rig_running(rig.o, 1);
	for (unsigned i = 0; i < 3; i++) {
		LET(rig_arrive());
		rig_done(0);
	}
	rig.o.max_requests = 2;
	AFTER(rig_change(0, &rig.o), "");
	AFTER(rig_arrive(), "hand 0>0, spawn 1");
	rig_change(0, &rig.o);
	AFTER(rig_done(0), "stop 0");
}

TEST(less_concurrency_makes_no_session_a_prefetched_one)
{
	rig.o.concurrency = 2;
	rig_busy(rig.o, 2, 4);
	rig.o.concurrency = 1;
	rig_change(0, &rig.o);
	CHECK_EQ(0, rig_app(0)->prefetched.count);
	rig_done(0);
	rig_done(0);
	AFTER(rig_at(10), "");
}

TESTS(rig_begin, rig_end)
