/* Deaths, failed starts, and what they mean for connections and starts. */

#include "rig.h"

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
	unsigned late = 0;

	rig.o.restart_delay_max = TSPAN_SECONDS(16);
	rig_running(rig.o, 1);
	for (int i = 0; i < 7; i++) {
		int64_t ms = restart_after_death(0),
			times = 1 << (i < 4 ? i : 4);

		CHECK(ms >= 1000 * times && ms <= 1250 * times + 2);
		late += ms > 1125 * times;
		(void)rig_did();
		rig_ready(0);
	}
	CHECK(late > 0 && late < 7);
}

static void
restart_so_often(int64_t n, int64_t b)
{
	(void)b;
	while (n-- > 0) {
		(void)restart_after_death(0);
		(void)rig_did();
		rig_ready(0);
	}
}

/* --- failed apps -------------------------------------------------------- */

/* Fails the process that is starting, until the app has failed. */
static void
fail_starts(int64_t n, int64_t b)
{
	(void)b;
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
begin_failed(int64_t a, int64_t b)
{
	(void)a;
	rig.tells = true;
	rig_add(&rig.o);
	fail_starts(3, b);
}

/* So many milliseconds after the last failure. */
static void
after_failure(int64_t ms, int64_t b)
{
	(void)b;
	rig_at((rig_app(0)->backoff.failed_at - RIG_START) / 1000000 + ms);
}

/* --- silence ------------------------------------------------------------ */

static const struct rig_verb verbs[] = { { "failed", begin_failed },
	{ "fail", fail_starts }, { "restarts", restart_so_often },
	{ "after_failure", after_failure }, { NULL, NULL } };

static const struct rig_play plays[] = {
	/* Connections of a dead process. */
	{ "an_assigned_connection_of_a_dead_process_goes_back_at_once",
	    { "running 2", "arrive", "died 0 signal -> hand 0>1",
		"? retries = 0", "gone 0" } },
	{ "a_connection_that_a_dead_process_never_received_goes_to_a_sibling",
	    { "running 2", "arrive -> hand 0>0", "died 0 signal ->",
		"retaken 0 -> hand 0>1", "gone 0", "? retaken = 1",
		"? lost = 0" } },
	{ "a_connection_that_a_dead_process_had_received_is_lost",
	    { "concurrency = 2", "busy 1 2", "died 0 signal", "retaken 1",
		"gone 0", "? lost = 1", "? queue = 1" } },
	{ "connections_taken_back_come_before_waiters_in_their_old_order",
	    { "concurrency = 3", "max_processes = 1", "busy 1 5",
		"died 0 signal", "retaken 2", "retaken 0", "retaken 1",
		"gone 0", "at 1250 -> spawn 0",
		"ready 0 -> hand 0>0, hand 1>0, hand 2>0" } },
	{ "a_connection_is_taken_back_retry_limit_times_and_then_refused",
	    { "retry_limit = 2", "running 4", "arrive -> hand 0>0",
		"died 0 signal", "retaken", "gone 0 -> *", "died 1 signal",
		"retaken", "gone 1 -> *", "died 2 signal", "retaken",
		"gone 2 -> refuse 0 retries", "? retaken = 3",
		"? refused = 1" } },
	{ "a_number_that_is_used_again_has_no_retries",
	    { "retry_limit = 1", "running 4", "arrive -> hand 0>0",
		"died 0 signal", "retaken", "gone 0 -> *", "done 1",
		"arrive -> hand 0>1", "died 1 signal", "retaken", "gone 1 -> *",
		"done 2", "? refused = 0" } },
	{ "messages_from_before_the_death_still_count",
	    { "busy 1 1", "died 0 exit", "done 0 0", "gone 0",
		"? completed = 1", "? lost = 0" } },
	{ "a_number_of_a_dead_process_is_not_used_before_it_is_gone",
	    { "restart_delay = 0", "running 1", "died 0 signal -> spawn 1",
		"gone 0", "exits 1 signal -> spawn 0" } },
	/* Backoff. */
	{ "processes_that_die_together_are_one_failure",
	    { "start_limit = 100", "min_processes = 3", "running 3", "at 10",
		"exits 0 signal", "exits 1 signal", "exits 2 signal ->",
		"at 1260 -> spawn 2, spawn 1, spawn 0" } },
	/* A process that was there when others failed proves nothing. */
	{ "an_older_process_does_not_reset_the_delay",
	    { "min_processes = 2", "max_processes = 2", "running 2", "at 60000",
		"arrive -> *", "exits 1 exit", "? backoff > 0", "hand_failed 0",
		"at 60020", "? backoff > 0" } },
	{ "an_old_death_is_replaced_at_once",
	    { "running 1", "at 30000", "arrive -> *",
		"exits 0 signal -> spawn 1", "? backoff = 0" } },
	{ "a_shorter_restart_delay_max_holds_for_the_present_delay",
	    { "running 1", "restarts 6", "exits 0 signal -> *",
		"restart_delay_max = 2s", "change", "? processes = 0",
		"after 2500 -> spawn 0" } },
	{ "a_process_that_outlives_min_server_life_resets_the_delay",
	    { "running 1", "restarts 1", "at 100000", "? backoff = 0" } },
	/* The backoff is of more than ten seconds by then. */
	{ "with_waiters_and_no_process_the_wait_is_restart_delay_at_most",
	    { "running 1", "restarts 4", "exits 0 signal", "arrive",
		"after 998 ->", "after 2 -> spawn 0" } },
	{ "an_end_that_we_asked_for_is_no_failure",
	    { "running 1", "restart -> spawn 1", "ready 1 -> stop 0",
		"exits 0 signal", "? backoff = 0", "? exits restarted = 1" } },
	{ "exit_0_without_a_session_is_a_failed_start",
	    { "running 1", "at 100000", "exits 0 exit", "? spawn_failures = 1",
		"? failed_starts = 1" } },
	{ "a_process_that_retires_young_and_unused_has_a_late_successor",
	    { "running 1", "retire", "at 999 -> stop 0",
		"at 1251 -> spawn 1" } },
	{ "exit_0_after_a_session_is_clean",
	    { "busy 1 1", "done 0", "exits 0 exit", "? failed_starts = 0",
		"? backoff = 0", "-> spawn 1" } },
	/* Failed apps. */
	{ "start_limit_failed_starts_in_a_row_fail_the_app",
	    { "add", "fail 2", "? failed = 0", "-> *", "at 10000", "fail 1",
		"? failed = 1", "? state_of_app = failed" } },
	{ "waiters_and_newcomers_of_a_failed_app_are_refused",
	    { "add", "arrive 2", "fail 3 -> refuse 0 failed, refuse 1 failed",
		"arrive -> refuse 1 failed" } },
	{ "accepting_paused_before_the_failure_is_resumed_and_refuses",
	    { "max_queue = 0", "add", "paused 0", "fail 3 -> resume 0",
		"arrive -> refuse 0 failed" } },
	{ "a_failed_app_tries_one_start_at_a_time",
	    { "min_processes = 3", "start_limit = 1",
		"add -> spawn 0, spawn 1, spawn 2", "spawn_failed 0 0",
		"spawn_failed 1 0", "spawn_failed 2 0", "at 60000 -> spawn 2",
		"at 80000 ->" } },
	{ "a_failed_app_without_a_minimum_tries_after_a_refusal",
	    { "min_processes = 0", "start_limit = 1", "add", "arrive -> *",
		"spawned 0", "exits 0 failure -> refuse 0 failed",
		"at 59999 ->", "? due = -1",
		"arrive -> refuse 0 failed, spawn 0" } },
	{ "a_connection_to_a_failed_app_brings_a_start_soon",
	    { "failed -> *", "after_failure 100", "arrive -> refuse 0 failed",
		"after_failure 999 ->", "after_failure 1000 -> spawn 0" } },
	{ "a_failed_app_starts_once_for_its_connections",
	    { "failed", "after_failure 5000", "arrive 2", "? starting = 1",
		"fail 1 -> *", "after_failure 59999 ->",
		"after_failure 60000 -> spawn 0" } },
	{ "a_failed_app_recovers_when_a_process_is_ready",
	    { "failed -> *", "at 100000 -> *", "ready 0", "? failed = 0",
		"-> tell 0 recovered, tell 0 ready", "arrive -> hand 0>0" } },
	{ "an_app_is_in_its_state_since_that_has_changed",
	    { "failed -> *", "after_failure 5000", "? state_age = 5000",
		"arrive", "? state_age = 5000", "restart", "? state_age = 0",
		"? state_of_app = starting" } },
	{ "failures_do_not_fail_an_app_that_has_a_ready_process",
	    { "min_processes = 2", "max_processes = 2", "add -> *", "ready 1",
		"fail 5", "? failed = 0", "arrive -> hand 0>1" } },
	{ "once_a_session_has_ended_well_failures_are_counted_anew",
	    { "failed -> *", "at 100000 -> *", "ready 0", "arrive -> *",
		"done 0", "? failed_starts = 0" } },
	{ "restart_clears_failed",
	    { "failed -> *", "restart", "? failed = 0", "-> spawn 0" } },
	/* Spawns that fail. */
	{ "a_program_that_cannot_be_started_fails_the_app_at_once",
	    { "tells", "add -> *", "spawn_failed 0 0", "? failed = 1",
		"-> tell 0 backoff, tell 0 failed", "? exits spawn = 1" } },
	{ "a_program_that_cannot_be_started_again_does_not_fail_a_running_app",
	    { "min_processes = 2", "running 2", "exits 0 signal",
		"at 2000 -> spawn 0", "spawn_failed 0 0", "? failed = 0",
		"? failed_starts = 1" } },
	{ "only_successful_starts_count_as_spawned",
	    { "add -> *", "spawn_failed 0 1", "? spawned = 0", "at 250 -> *",
		"spawned 0", "? spawned = 1" } },
	/* Silence. */
	{ "a_process_not_ready_within_start_timeout_is_stopped_by_signals",
	    { "add -> *", "spawned 0", "at 29999 ->", "at 30000",
		/* The failure counts at once: the successor waits for it. */
		"-> term 0", "at 32000 -> spawn 1", "at 35000 -> kill 0",
		"exits 0 signal", "? exits start_timeout = 1",
		"? failed_starts = 1" } },
	{ "start_timeout_runs_from_the_start_and_not_from_the_queue",
	    { "add -> *", "start_queued 0 1", "at 100000 ->",
		"start_queued 0 0", "not_before 130000 -> term 0" } },
	{ "ready_said_after_start_timeout_is_too_late",
	    { "add -> *", "spawned 0", "at 30000 -> term 0", "ready 0",
		"arrive ->", "exits 0 signal", "? failed_starts = 1" } },
	/*
	 * A program that breaks the protocol at once must not be started at *
	 * full speed.
	 */
	{ "the_successor_of_a_process_killed_young_waits_for_restart_delay",
	    { "running 1", "misbehaved 0 nonsense -> kill 0", "at 999 ->",
		"exits 0 signal", "at 1251 -> spawn 0" } },
	{ "a_process_that_breaks_the_protocol_is_killed_and_gets_no_more",
	    { "running 2", "arrive -> hand 0>0",
		"misbehaved 0 nonsense -> kill 0", "arrive -> hand 1>1",
		"exits 0 signal", "? exits nonsense = 1", "? lost = 1" } },
	{ "a_failed_app_leaves_other_apps_alone",
	    { "failed", "add", "? failed 1 = 0", "? starting 1 = 1" } },
	{ "a_failed_app_tries_one_start_each_restart_delay_max",
	    { "failed -> *", "repeat 3", "after 59999 ->", "after 1 -> spawn 0",
		"spawned 0", "exits 0 failure -> *", "again" } },
	{ "want_of_memory_is_no_failure_and_is_tried_again",
	    { "add -> *", "repeat 100", "spawn_failed 0 1 ->", "after 249 ->",
		"after 1 -> spawn 0", "again", "? failed = 0",
		"? failed_starts = 0", "? backoff = 0" } },
	{ "a_process_that_receives_nothing_is_killed_after_pickup_timeout",
	    { "running 2", "arrive -> hand 0>0", "at 9999", "found_unread 0 ->",
		"at 10000", "found_unread 0 -> kill 0", "found_unread 0 ->",
		"? idle_while_waiting = 10s", "died 0 signal", "retaken",
		"gone 0 -> hand 0>1", "? exits pickup_timeout = 1" } },
};

RIG_PLAYS(rig_begin, verbs)
