/* Sessions that last too long, and processes too old, too large, too used. */

#include "rig.h"

static void
begin(void)
{
	rig_begin();
	rig.o.stop_timeout = TSPAN_SECONDS(100000);
	rig.o.load.update_interval = TSPAN_SECONDS(100000);
	rig.o.start_timeout = TSPAN_SECONDS(100000);
}

/* --- max_lifetime, max_memory ------------------------------------------- */

TEST(lifetimes_differ_by_a_tenth)
{
	rig.o.max_lifetime = TSPAN_SECONDS(60);
	rig.o.min_processes = 4;
	rig_running(rig.o, 4);
	for (uint32_t a = 0; a < 4; a++)
		for (uint32_t b = 0; b < a; b++)
			CHECK(rig_process(a)->jitter != rig_process(b)->jitter);
	rig_at(59999);
	CHECK_EQ(0, rig_app(0)->outdated);
	rig_at(63000);
	CHECK(rig_app(0)->outdated > 0 && rig_app(0)->outdated < 4);
	rig_at(66000);
	CHECK_EQ(4, rig_app(0)->outdated);
}

static const struct rig_play plays[] = {
	/* Sessions. */
	{ "a_session_over_request_timeout_has_its_process_ended",
	    { "request_timeout = 30s", "running 1", "arrive",
		"at 29999 -> hand 0>0", "at 30000 -> term 0, spawn 1",
		"? end 0 = request_timeout", "at 35000 -> kill 0",
		"exits 0 signal", "? backoff = 0",
		"? exits request_timeout = 1" } },
	{ "a_session_of_a_blind_process_is_never_too_old",
	    { "request_timeout = 30s", "running 1", "arrive", "at 20000",
		"blind", "at 90000 -> hand 0>0", "? state 0 = active" } },
	{ "a_prefetched_session_ages_from_its_turn_on",
	    { "request_timeout = 30s", "prefetch = 1", "max_processes = 1",
		"busy 1 2", "at 20000", "done 0",
		"not_before 50000 -> term 0, spawn 1" } },
	{ "of_several_sessions_the_oldest_counts",
	    { "request_timeout = 30s", "concurrency = 2", "running 1", "arrive",
		"at 20000", "arrive -> *", "at 25000", "done 0 0",
		"not_before 50000 -> term 0, spawn 1", "exits 0 signal",
		"? lost = 1" } },
	{ "a_retiring_process_has_its_request_timeout_too",
	    { "request_timeout = 30s", "running 1", "arrive", "retire -> *",
		"at 30000 -> term 0" } },
	{ "a_slow_session_is_reported_once",
	    { "slow_timeout = 5s", "running 1", "arrive", "at 4999 -> hand 0>0",
		"at 60000 -> slow 0", "done 0", "arrive",
		"at 65000 -> hand 0>0, slow 0" } },
	/* Max_lifetime, max_memory. */
	{ "at_max_lifetime_the_replacement_is_ready_first",
	    { "max_lifetime = 60s", "running 1", "at 66000 -> spawn 1",
		"ready 1 -> stop 0", "? end 0 = max_lifetime" } },
	{ "a_busy_process_at_max_lifetime_serves_on_until_it_is_replaced",
	    { "max_lifetime = 60s", "running 1", "at 59000", "arrive",
		"at 66000 -> hand 0>0, spawn 1", "done 0", "arrive -> hand 0>0",
		"ready 1 -> stop 0", "? state 0 = retiring" } },
	{ "an_idle_process_above_the_minimum_is_not_replaced",
	    { "max_lifetime = 60s", "running 2",
		"at 66000 -> stop 0, spawn 2" } },
	{ "without_a_place_an_idle_process_leaves_before_its_replacement",
	    { "max_lifetime = 60s", "max_processes = 1", "running 1",
		"at 66000 -> stop 0, spawn 1" } },
	{ "without_a_place_a_busy_process_leaves_when_its_session_ends",
	    { "max_lifetime = 60s", "max_processes = 1", "running 1",
		"at 59000", "arrive", "at 66000 -> hand 0>0",
		"done 0 -> stop 0, spawn 1" } },
	{ "without_a_place_a_busy_process_leaves_though_connections_wait",
	    { "max_lifetime = 60s", "max_processes = 2", "running 2",
		"at 59000", "arrive 5", "at 66000 -> hand 0>0, hand 1>1",
		"done 0 -> stop 0, spawn 2",
		/* The replacements come one after the other. */
		"done 1 -> hand 2>1",
		"ready 2 -> stop 1, hand 3>2, spawn 3" } },
	{ "without_a_place_a_process_with_several_sessions_gets_no_more",
	    { "max_lifetime = 60s", "max_processes = 1", "concurrency = 2",
		"running 1", "at 59000", "arrive 4",
		"at 66000 -> hand 0>0, hand 1>0", "done 0 -> stop 0, spawn 1",
		"? state 0 = retiring" } },
	{ "a_shorter_max_lifetime_holds_for_living_processes",
	    { "max_lifetime = 60s", "running 1", "max_lifetime = 10s", "change",
		"at 11000 -> spawn 1" } },
	{ "a_process_over_max_memory_is_replaced",
	    { "max_memory = 1000", "running 1", "measured 0 1000 ->",
		"measured 0 1001 -> spawn 1", "ready 1 -> stop 0",
		"? end 0 = max_memory" } },
	/* Processes whose output nobody reads. */
	{ "a_process_that_nobody_hears_leaves_when_another_is_ready",
	    { "running 1", "unheard 0 1 -> spawn 1", "ready 1 -> stop 0",
		"? end 0 = keeper",
		/* At once, if none can follow, or while it starts. */
		"unheard 1 0 -> stop 1, spawn 2", "? end 1 = keeper",
		"unheard 2 1 -> stop 2, spawn 3" } },
	/* A process for each connection. */
	{ "while_renewing_each_connection_has_a_process_of_its_own",
	    { "running 1", "renew 0 1 -> stop 0", "arrive -> spawn 1",
		"ready 1 -> hand 0>1", "done 1 -> stop 1",
		"arrive 2 -> spawn 2, spawn 3" } },
	{ "while_renewing_an_older_process_does_not_serve_a_connection",
	    { "min_processes = 0", "add", "renew 0 1", "arrive -> *",
		"abandoned", "at 10", "arrive -> *",
		"ready 0 -> stop 0, spawn 1", "ready 1 -> hand 0>1" } },
	{ "an_app_that_renews_is_ready_without_a_process",
	    { "tells", "add -> *", "renew 0 1 -> tell 0 ready" } },
	{ "when_renewing_ends_the_minimum_comes_back",
	    { "running 1", "renew 0 1 -> *", "renew 0 0 -> spawn 1" } },
	/* A session for each process. */
	{ "a_completed_session_forgives_failed_starts",
	    { "exit_ends = 1", "running 1", "exits 0 exit", "at 2000 -> *",
		"ready 0", "arrive -> *", "? failed_starts = 1", "exits 0 exit",
		"? failed_starts = 0", "? backoff = 0" } },
	{ "an_exit_without_its_session_is_a_failed_start",
	    { "exit_ends = 1", "running 1", "exits 0 failure",
		"? backoff > 0" } },
	{ "a_single_session_that_was_never_received_goes_to_another_process",
	    { "exit_ends = 1", "busy 1 1", "ready 1", "died 0 failure",
		"retaken 0", "gone 0", "? completed = 0",
		"-> hand 0>1, spawn 2" } },
	{ "while_renewing_a_connection_comes_in_even_without_a_queue",
	    { "max_queue = 0", "min_processes = 0", "add", "renew 0 1",
		"arrive -> spawn 0", "paused 0 ->",
		"ready 0 -> hand 0>0, resume 0" } },
	{ "an_app_that_accepts_itself_is_never_renewed",
	    { "sessions = 0", "listens = 1", "add -> *", "spawned 0",
		"renew 0 1", "backlog 0 1 ->" } },
	{ "a_prefetched_session_ages_from_a_growth_of_concurrency_on",
	    { "request_timeout = 30s", "min_processes = 0", "max_processes = 1",
		"prefetch = 1", "request_timeout = 10s", "busy 1 2", "at 9000",
		"concurrency = 2", "change", "done 0",
		"not_before 19000 -> term 0" } },
	{ "a_session_that_ends_in_time_ends_nothing",
	    { "request_timeout = 30s", "running 1", "arrive -> *", "at 25000",
		"done 0", "arrive -> *", "at 50000", "done 0", "arrive -> *",
		"at 75000", "done 0 ->" } },
	{ "while_renewing_a_new_process_waits_for_its_lock",
	    { "limited = 1", "min_processes = 0", "add", "renew 0 1",
		"arrive -> spawn 0", "ready 0 -> lock 0",
		"granted 1 -> hand 0>0" } },
	{ "a_single_session_is_completed_by_any_exit",
	    { "exit_ends = 1", "running 1", "arrive -> hand 0>0, spawn 1",
		"exits 0 failure", "? completed = 1", "? lost = 0",
		"? backoff = 0" } },
	{ "a_single_session_is_lost_by_a_signal",
	    { "exit_ends = 1", "running 1", "arrive -> hand 0>0, spawn 1",
		"exits 0 signal", "? completed = 0", "? lost = 1",
		"? backoff = 0" } },
	{ "an_exit_after_it_failed_completes_nothing",
	    { "exit_ends = 1", "running 1", "arrive -> hand 0>0, spawn 1",
		"misbehaved 0 fail", "exits 0 failure", "? completed = 0",
		"? lost = 1", "? backoff = 0" } },
};

RIG_PLAYS(begin, NULL)
