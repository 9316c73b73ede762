/* Deaths, failed starts, and what they mean for connections and starts. */

#include "rig.h"

/* --- what a dead process had -------------------------------------------- */

TEST(an_assigned_connection_of_a_dead_process_goes_back_at_once)
{
	rig_running(rig_options(), 2);
	rig_arrive();
	AFTER(rig_died(0, END_SIGNAL), "hand 0>1");
	CHECK_EQ(0, rig.pool.conns[0].retries);
	rig_gone(0);
}

TEST(a_connection_that_a_dead_process_never_received_goes_to_a_sibling)
{
	rig_running(rig_options(), 2);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(rig_died(0, END_SIGNAL), "");
	AFTER(rig_retaken(0), "hand 0>1");
	rig_gone(0);
	CHECK_EQ(1, rig_app(0)->figures.retaken);
	CHECK_EQ(0, rig_app(0)->figures.lost);
}

TEST(a_connection_that_a_dead_process_had_received_is_lost)
{
	rig.o.concurrency = 2;
	rig_busy(rig.o, 1, 2);
	rig_died(0, END_SIGNAL);
	rig_retaken(1);
	rig_gone(0);
	CHECK_EQ(1, rig_app(0)->figures.lost);
	CHECK_EQ(1, rig_app(0)->queue.count);
}

TEST(connections_taken_back_come_before_waiters_in_their_old_order)
{
	rig.o.concurrency = 3;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 5);
	rig_died(0, END_SIGNAL);
	rig_retaken(2);
	rig_retaken(0);
	rig_retaken(1);
	rig_gone(0);
	AFTER(rig_at(1250), "spawn 0");
	AFTER(rig_ready(0), "hand 0>0, hand 1>0, hand 2>0");
}

TEST(a_connection_is_taken_back_retry_limit_times_and_then_refused)
{
	rig.o.retry_limit = 2;
	rig_running(rig.o, 4);
	rig_arrive();
	for (int i = 0; i < 3; i++) {
		uint32_t process;

		(void)rig_did();
		process = rig.pool.conns[0].process;
		NEED(process != ILIST_NONE);
		rig_died(process, END_SIGNAL);
		rig_retaken(0);
		rig_gone(process);
	}
	CHECK_STR("refuse 0 retries", rig_did());
	CHECK_EQ(3, rig_app(0)->figures.retaken);
	CHECK_EQ(1, rig_app(0)->figures.refused);
}

TEST(a_number_that_is_used_again_has_no_retries)
{
	rig.o.retry_limit = 1;
	rig_running(rig.o, 4);
	for (int i = 0; i < 2; i++) {
		uint32_t process;

		CHECK_EQ(0, rig_arrive());
		(void)rig_did();
		process = rig.pool.conns[0].process;
		rig_died(process, END_SIGNAL);
		rig_retaken(0);
		LET(rig_gone(process));
		CHECK(rig_done(rig.pool.conns[0].process));
	}
	CHECK_EQ(0, rig_app(0)->figures.refused);
}

TEST(messages_from_before_the_death_still_count)
{
	rig_busy(rig_options(), 1, 1);
	rig_died(0, END_EXIT);
	CHECK(rig_done_of(0, 0));
	rig_gone(0);
	CHECK_EQ(1, rig_app(0)->figures.completed);
	CHECK_EQ(0, rig_app(0)->figures.lost);
}

TEST(a_number_of_a_dead_process_is_not_used_before_it_is_gone)
{
	rig.o.restart_delay = 0;
	rig_running(rig.o, 1);
	AFTER(rig_died(0, END_SIGNAL), "spawn 1");
	rig_gone(0);
	AFTER(rig_exits(1, END_SIGNAL), "spawn 0");
}

/* --- backoff ------------------------------------------------------------ */

/* Lets the only process die; gives the time until the next is started. */
static int64_t
restart_after_death(uint32_t process)
{
	tstamp died = rig.now;

	LET(rig_exits(process, END_SIGNAL));
	while (app_processes(rig_app(0)) == 0 &&
	    pool_deadline(&rig.pool) != TSTAMP_NEVER)
		rig_at((pool_deadline(&rig.pool) - RIG_START) / 1000000 + 1);
	return (rig.now - died) / 1000000;
}

TEST(the_delay_doubles_up_to_its_maximum_with_a_quarter_of_jitter)
{
	rig.o.restart_delay_max = TSPAN_SECONDS(16);
	rig_running(rig.o, 1);
	for (int i = 0; i < 7; i++) {
		int64_t ms = restart_after_death(0),
			times = 1 << (i < 4 ? i : 4);

		CHECK(ms >= 1000 * times && ms <= 1250 * times + 2);
		(void)rig_did();
		rig_ready(0);
	}
}

TEST(a_shorter_restart_delay_max_holds_for_the_present_delay)
{
	tstamp died;

	rig_running(rig.o, 1);
	for (int i = 0; i < 6; i++) {
		(void)restart_after_death(0);
		(void)rig_did();
		rig_ready(0);
	}
	died = rig.now;
	LET(rig_exits(0, END_SIGNAL));
	rig.o.restart_delay_max = TSPAN_SECONDS(2);
	rig_change(0, &rig.o);
	CHECK_EQ(0, app_processes(rig_app(0)));
	CHECK(pool_deadline(&rig.pool) <= died + TSPAN_MSECONDS(2500));
}

TEST(a_process_that_outlives_min_server_life_resets_the_delay)
{
	rig_running(rig_options(), 1);
	(void)restart_after_death(0);
	(void)rig_did();
	rig_ready(0);
	rig_at(100000);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
}

/* A process that was there when others failed proves nothing. */
TEST(an_older_process_does_not_reset_the_delay)
{
	rig.o.min_processes = 2;
	rig.o.max_processes = 2;
	rig_running(rig.o, 2);
	rig_at(60000);
	LET(rig_arrive());
	rig_exits(1, END_EXIT);
	CHECK(rig_app(0)->backoff.delay != 0);
	rig_hand_failed(0);
	rig_at(60020);
	CHECK(rig_app(0)->backoff.delay != 0);
}

TEST(an_old_death_is_replaced_at_once)
{
	rig_running(rig_options(), 1);
	rig_at(30000);
	LET(rig_arrive());
	AFTER(rig_exits(0, END_SIGNAL), "spawn 1");
	CHECK_EQ(0, rig_app(0)->backoff.delay);
}

TEST(an_end_that_we_asked_for_is_no_failure)
{
	rig_running(rig_options(), 1);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 1");
	AFTER(rig_ready(1), "stop 0");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_RESTARTED]);
}

TEST(exit_0_without_a_session_is_a_failed_start)
{
	rig_running(rig_options(), 1);
	rig_at(100000);
	rig_exits(0, END_EXIT);
	CHECK_EQ(1, rig_app(0)->figures.spawn_failures);
	CHECK_EQ(1, rig_app(0)->failed_starts);
}

TEST(a_process_that_retires_young_and_unused_has_a_late_successor)
{
	rig_running(rig_options(), 1);
	pool_retire(&rig.pool, 0, rig.now);
	AFTER(rig_at(999), "stop 0");
	AFTER(rig_at(1251), "spawn 1");
}

TEST(exit_0_after_a_session_is_clean)
{
	rig_busy(rig_options(), 1, 1);
	rig_done(0);
	rig_exits(0, END_EXIT);
	CHECK_EQ(0, rig_app(0)->failed_starts);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
	CHECK_STR("spawn 1", rig_did());
}

/* With connections waiting and no process, the backoff is cut short. */
TEST(with_waiters_and_no_process_the_wait_is_restart_delay_at_most)
{
	rig_running(rig_options(), 1);
	for (int i = 0; i < 4; i++) {
		(void)restart_after_death(0);
		(void)rig_did();
		rig_ready(0);
	}
	rig_exits(0, END_SIGNAL);
	CHECK(rig_app(0)->backoff.until - rig.now > TSPAN_SECONDS(10));
	rig_arrive();
	CHECK_EQ((rig.now - RIG_START) / 1000000 + 1000, rig_due());
}

/* --- failed apps -------------------------------------------------------- */

/* Fails the process that is starting, until the app has failed. */
static void
fail_starts(unsigned n)
{
	while (n-- > 0) {
		(void)rig_did();
		rig_spawned(0);
		rig_exits(0, END_FAILURE);
		if (n > 0)
			while (rig_app(0)->in_state[PROCESS_STARTING] == 0)
				rig_at((pool_deadline(&rig.pool) - RIG_START) /
					1000000 +
				    1);
	}
}

static void
begin_failed(void)
{
	struct app_options o = rig_options();

	rig.tells = true;
	rig_add(&o);
	fail_starts(3);
}

TEST(start_limit_failed_starts_in_a_row_fail_the_app)
{
	rig_add(&rig.o);
	fail_starts(2);
	CHECK(!rig_app(0)->failed);
	(void)rig_did();
	rig_at(10000);
	fail_starts(1);
	CHECK(rig_app(0)->failed);
	CHECK_STR("failed", app_state_name(rig_app(0)));
}

TEST(waiters_and_newcomers_of_a_failed_app_are_refused)
{
	rig_add(&rig.o);
	rig_arrive_n(2);
	AFTER(fail_starts(3), "refuse 0 failed, refuse 1 failed");
	AFTER(rig_arrive(), "refuse 1 failed");
}

TEST(accepting_paused_before_the_failure_is_resumed_and_refuses)
{
	rig.o.max_queue = 0;
	rig_add(&rig.o);
	rig_accept_paused(0);
	AFTER(fail_starts(3), "resume 0");
	AFTER(rig_arrive(), "refuse 0 failed");
}

TEST(a_failed_app_leaves_other_apps_alone)
{
	uint32_t other;

	begin_failed();
	other = rig_add(&rig.o);
	CHECK_EQ(1, other);
	CHECK(!rig_app(1)->failed);
	CHECK_EQ(1, rig_app(1)->in_state[PROCESS_STARTING]);
}

TEST(a_failed_app_tries_one_start_each_restart_delay_max)
{
	tstamp at;

	LET(begin_failed());
	for (int i = 0; i < 3; i++) {
		at = rig.now;
		CHECK_EQ(at + TSPAN_SECONDS(60), pool_deadline(&rig.pool));
		AFTER(rig_at((at - RIG_START) / 1000000 + 60001), "spawn 0");
		rig_spawned(0);
		LET(rig_exits(0, END_FAILURE));
	}
}

TEST(a_failed_app_tries_one_start_at_a_time)
{
	rig.o.min_processes = 3;
	rig.o.start_limit = 1;
	AFTER(rig_add(&rig.o), "spawn 0, spawn 1, spawn 2");
	for (uint32_t n = 0; n < 3; n++)
		rig_spawn_failed(n, false);
	AFTER(rig_at(60000), "spawn 2");
	AFTER(rig_at(80000), "");
}

TEST(a_failed_app_without_a_minimum_tries_after_a_refusal)
{
	rig.o.min_processes = 0;
	rig.o.start_limit = 1;
	rig_add(&rig.o);
	LET(rig_arrive());
	rig_spawned(0);
	AFTER(rig_exits(0, END_FAILURE), "refuse 0 failed");
	AFTER(rig_at(59999), "");
	CHECK_EQ(-1, rig_due());
	AFTER(rig_arrive(), "refuse 0 failed, spawn 0");
}

/* So many milliseconds after the last failure. */
static void
after_failure(int64_t ms)
{
	rig_at((rig_app(0)->backoff.failed_at - RIG_START) / 1000000 + ms);
}

TEST(a_connection_to_a_failed_app_brings_a_start_soon)
{
	LET(begin_failed());
	after_failure(100);
	AFTER(rig_arrive(), "refuse 0 failed");
	AFTER(after_failure(999), "");
	AFTER(after_failure(1000), "spawn 0");
}

TEST(a_failed_app_starts_once_for_its_connections)
{
	begin_failed();
	after_failure(5000);
	rig_arrive_n(2);
	CHECK_EQ(1, rig_app(0)->in_state[PROCESS_STARTING]);
	LET(fail_starts(1));
	AFTER(after_failure(59999), "");
	AFTER(after_failure(60000), "spawn 0");
}

TEST(a_failed_app_recovers_when_a_process_is_ready)
{
	LET(begin_failed());
	LET(rig_at(100000));
	rig_ready(0);
	CHECK(!rig_app(0)->failed);
	CHECK_STR("tell 0 recovered, tell 0 ready", rig_did());
	AFTER(rig_arrive(), "hand 0>0");
}

TEST(failures_do_not_fail_an_app_that_has_a_ready_process)
{
	rig.o.min_processes = 2;
	rig.o.max_processes = 2;
	LET(rig_add(&rig.o));
	rig_ready(1);
	fail_starts(5);
	CHECK(!rig_app(0)->failed);
	AFTER(rig_arrive(), "hand 0>1");
}

TEST(once_a_session_has_ended_well_failures_are_counted_anew)
{
	LET(begin_failed());
	LET(rig_at(100000));
	rig_ready(0);
	LET(rig_arrive());
	rig_done(0);
	CHECK_EQ(0, rig_app(0)->failed_starts);
}

TEST(restart_clears_failed)
{
	LET(begin_failed());
	pool_app_restart(&rig.pool, 0, rig.now);
	CHECK(!rig_app(0)->failed);
	CHECK_STR("spawn 0", rig_did());
}

/* --- spawns that fail --------------------------------------------------- */

TEST(a_program_that_cannot_be_started_fails_the_app_at_once)
{
	rig.tells = true;
	LET(rig_add(&rig.o));
	rig_spawn_failed(0, false);
	CHECK(rig_app(0)->failed);
	CHECK_STR("tell 0 backoff, tell 0 failed", rig_did());
	CHECK_EQ(1, rig_app(0)->figures.exits[END_SPAWN]);
}

TEST(a_program_that_cannot_be_started_again_does_not_fail_a_running_app)
{
	rig.o.min_processes = 2;
	rig_running(rig.o, 2);
	rig_exits(0, END_SIGNAL);
	AFTER(rig_at(2000), "spawn 0");
	rig_spawn_failed(0, false);
	CHECK(!rig_app(0)->failed);
	CHECK_EQ(1, rig_app(0)->failed_starts);
}

TEST(want_of_memory_is_no_failure_and_is_tried_again)
{
	LET(rig_add(&rig.o));
	for (int i = 0; i < 100; i++) {
		AFTER(rig_spawn_failed(0, true), "");
		NOT_BEFORE(250 * (i + 1), "spawn 0");
	}
	CHECK(!rig_app(0)->failed);
	CHECK_EQ(0, rig_app(0)->failed_starts);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
}

TEST(only_successful_starts_count_as_spawned)
{
	LET(rig_add(&rig.o));
	rig_spawn_failed(0, true);
	CHECK_EQ(0, rig_app(0)->figures.spawned);
	LET(rig_at(250));
	rig_spawned(0);
	CHECK_EQ(1, rig_app(0)->figures.spawned);
}

/* --- silence ------------------------------------------------------------ */

TEST(a_process_not_ready_within_start_timeout_is_stopped_by_signals)
{
	LET(rig_add(&rig.o));
	rig_spawned(0);
	AFTER(rig_at(29999), "");
	rig_at(30000);
	/* The failure counts at once: the successor waits for it. */
	CHECK_STR("term 0", rig_did());
	AFTER(rig_at(32000), "spawn 1");
	AFTER(rig_at(35000), "kill 0");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_START_TIMEOUT]);
	CHECK_EQ(1, rig_app(0)->failed_starts);
}

TEST(start_timeout_runs_from_the_start_and_not_from_the_queue)
{
	LET(rig_add(&rig.o));
	pool_start_queued(&rig.pool, 0, true, rig.now);
	AFTER(rig_at(100000), "");
	pool_start_queued(&rig.pool, 0, false, rig.now);
	NOT_BEFORE(130000, "term 0");
}

TEST(ready_said_after_start_timeout_is_too_late)
{
	LET(rig_add(&rig.o));
	rig_spawned(0);
	AFTER(rig_at(30000), "term 0");
	CHECK(rig_ready(0));
	AFTER(rig_arrive(), "");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(1, rig_app(0)->failed_starts);
}

TEST(a_process_that_receives_nothing_is_killed_after_pickup_timeout)
{
	tstamp handed;

	rig_running(rig_options(), 2);
	rig_arrive();
	handed = rig.now;
	CHECK_STR("hand 0>0", rig_did());
	rig_at(9999);
	AFTER(pool_unread(&rig.pool, 0, handed, rig.now), "");
	rig_at(10000);
	AFTER(pool_unread(&rig.pool, 0, handed, rig.now), "kill 0");
	AFTER(pool_unread(&rig.pool, 0, handed, rig.now), "");
	CHECK_EQ(
	    TSPAN_SECONDS(10), pool_idle_while_waiting(&rig.pool, 0, rig.now));
	rig_died(0, END_SIGNAL);
	rig_retaken(0);
	AFTER(rig_gone(0), "hand 0>1");
	CHECK_EQ(1, rig_app(0)->figures.exits[END_PICKUP_TIMEOUT]);
}

/* A program that breaks the protocol at once must not be started at full speed.
 */
TEST(the_successor_of_a_process_killed_young_waits_for_restart_delay)
{
	rig_running(rig_options(), 1);
	AFTER(pool_misbehaved(&rig.pool, 0, END_NONSENSE, rig.now), "kill 0");
	AFTER(rig_at(999), "");
	rig_exits(0, END_SIGNAL);
	AFTER(rig_at(1251), "spawn 0");
}

TEST(a_process_that_breaks_the_protocol_is_killed_and_gets_no_more)
{
	rig_running(rig_options(), 2);
	AFTER(rig_arrive(), "hand 0>0");
	AFTER(pool_misbehaved(&rig.pool, 0, END_NONSENSE, rig.now), "kill 0");
	AFTER(rig_arrive(), "hand 1>1");
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(1, rig_app(0)->figures.exits[END_NONSENSE]);
	CHECK_EQ(1, rig_app(0)->figures.lost);
}

TESTS(rig_begin, rig_end)
