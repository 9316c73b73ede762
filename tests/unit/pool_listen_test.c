/* Apps whose processes accept connections themselves. */

#include "rig.h"

static void
begin(void)
{
	rig_begin();
	rig.o.sessions = false;
	rig.o.listens = true;
	rig.o.stop_timeout = TSPAN_SECONDS(100000);
}

/* An app of n processes, the last of them started last. */
static void
begin_listening(int64_t n, int64_t b)
{
	const uint32_t min = rig.o.min_processes;

	(void)b;
	rig.o.min_processes = (uint32_t)n;
	LET(rig_add(&rig.o));
	for (uint32_t i = 0; i < n; i++)
		rig_spawned(i);
	rig.o.min_processes = min;
	rig_change(0, &rig.o);
}

/* A process has used so many percent of a processor. */
static void
worked(int64_t process, int64_t percent)
{
	pool_worked(
	    &rig.pool, (uint32_t)process, (double)percent / 100, true, rig.now);
}

static const struct rig_verb verbs[] = { { "listening", begin_listening },
	{ "worked", worked }, { NULL, NULL } };

static const struct rig_play plays[] = {
	{ "the_first_connection_starts_a_process_at_once",
	    { "min_processes = 0", "add ->", "backlog 1 -> spawn 0" } },
	{ "no_connection_is_accepted_for_a_listening_app",
	    { "listening 1", "backlog 5", "at 50", "? may_accept = 0", "->" } },
	{ "a_backlog_that_stays_for_start_delay_starts_another",
	    { "listening 1", "backlog 3", "not_before 100 -> spawn 1" } },
	{ "a_backlog_that_goes_starts_nothing",
	    { "listening 1", "backlog 3", "at 90", "backlog 0", "at 95",
		"backlog 3", "at 194 ->" } },
	{ "a_failed_app_tries_a_start_for_each_that_comes_into_its_backlog",
	    { "start_limit = 1", "add -> *", "spawn_failed 0 0", "backlog 1",
		"not_before 1000 -> spawn 0", "spawn_failed 0 0", "backlog 1",
		"at 60000 ->", "backlog 2 -> spawn 0" } },
	{ "a_process_is_ready_when_it_has_lived_for_ready_after",
	    { "ready_after = 1s", "start_limit = 2", "tells",
		"start_timeout = 500ms", "add -> *", "at 100", "spawned 0",
		"at 1099 ->", "? state 0 = starting", "at 1100 -> tell 0 ready",
		"? state 0 = idle" } },
	{ "a_death_before_ready_after_is_a_failed_start",
	    { "ready_after = 1s", "start_limit = 2", "add -> *", "spawned 0",
		"at 999", "exits 0 exit", "? failed_starts = 1", "? failed = 0",
		"at 10000 -> spawn 0", "spawned 0", "exits 0 failure",
		"? failed = 1" } },
	{ "an_old_process_stays_until_the_new_one_is_ready",
	    { "ready_after = 1s", "start_limit = 2", "listening 1", "at 1000",
		"restart -> spawn 1", "spawned 1",
		"not_before 2000 -> stop 0" } },
	{ "a_process_told_to_stop_before_it_is_ready_stops",
	    { "ready_after = 1s", "start_limit = 2", "add -> *", "spawned 0",
		"restart -> stop 0, spawn 1", "at 1000",
		"? state 0 = stopping" } },
	{ "a_job_that_is_done_before_ready_after_was_ready",
	    { "ready_after = 1s", "start_limit = 2", "listens = 0", "tells",
		"add -> *", "spawned 0", "at 100",
		"exits 0 exit -> tell 0 ready", "? failed_starts = 0" } },
	{ "a_changed_ready_after_holds_for_starting_processes",
	    { "ready_after = 1s", "start_limit = 2", "ready_after = 86400s",
		"add -> *", "spawned 0", "at 500", "ready_after = 1s", "change",
		"at 1000", "? state 0 = idle" } },
	{ "a_job_that_is_done_is_no_failure_of_its_generation",
	    { "ready_after = 1s", "start_limit = 2", "listens = 0",
		"listening 1", "at 1000", "restart -> *", "spawned 1",
		"exits 1 exit", "? failed_starts = 0", "-> stop 0" } },
	{ "a_job_that_fails_later_is_not_ready",
	    { "ready_after = 1s", "start_limit = 2", "listens = 0", "add -> *",
		"spawned 0", "exits 0 exit", "? is_ready = 1", "at 10000",
		"spawned 0", "exits 0 failure", "? is_ready = 0" } },
	{ "jobs_that_end_in_turn_do_not_prolong_the_pause",
	    { "listens = 0", "start_limit = 2", "min_processes = 2",
		"listening 2", "exits 0 exit", "at 600", "exits 1 exit ->",
		"at 1000 -> spawn 1, spawn 0" } },
	{ "a_job_that_is_done_forgives_failures_before",
	    { "listens = 0", "start_limit = 2", "listening 1",
		"exits 0 failure", "at 20000 -> *", "spawned 0",
		"exits 0 failure", "at 40000 -> *", "spawned 0",
		"exits 0 failure", "at 60000 -> *", "spawned 0",
		"exits 0 failure", "at 80000 -> *", "spawned 0", "exits 0 exit",
		"? backoff = 0", "? failed_starts = 0" } },
	/* Load. */
	{ "a_busy_processor_starts_another_by_load",
	    { "listening 1", "worked 0 95", "at 10000 -> spawn 1",
		"? load = 95" } },
	{ "more_than_one_processor_counts_as_one",
	    { "listening 1", "worked 0 700", "at 10000 -> spawn 1",
		"? load = 100" } },
	{ "a_process_that_is_not_in_use_stops_after_max_idle_time",
	    { "min_processes = 0", "max_idle_time = 60s", "listening 1",
		"at 50000", "worked 0 0", "at 80000", "looked",
		"not_before 110000 -> stop 0" } },
	{ "an_idle_process_stays_until_its_connections_were_looked_for",
	    { "min_processes = 0", "max_idle_time = 60s", "listening 1",
		"at 50000", "worked 0 0", "at 79999", "looked", "at 200000 ->",
		"looked -> stop 0" } },
	{ "low_load_stops_processes_of_a_listening_app",
	    { "multi_threshold = 50", "listening 2", "worked 0 10",
		"worked 1 10", "at 60000 -> stop 0" } },
	{ "a_process_that_leaves_takes_its_load_with_it",
	    { "listening 2", "worked 0 50", "worked 1 25", "? load_busy = 750",
		"exits 0 signal", "? load_busy = 250" } },
	{ "a_generation_that_does_not_live_ends_no_old_process",
	    { "ready_after = 1s", "start_limit = 2", "listening 1", "at 1000",
		"restart", "at 10000 -> *", "spawned 1", "exits 1 failure",
		"at 20000 -> *", "spawned 1", "exits 1 failure",
		"? state 0 = idle", "? given_up = 1" } },
	/* A long job has the same pause behind it. */
	{ "a_job_starts_restart_delay_after_the_one_before_each_time",
	    { "listens = 0", "listening 1", "repeat 10", "exits 0 exit",
		"after 999 ->", "after 1 -> spawn 0", "spawned 0", "again",
		"at 3600000", "exits 0 exit",
		"not_before 3601000 -> spawn 0" } },
};

RIG_PLAYS(begin, verbs)
