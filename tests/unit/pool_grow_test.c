/* Growth: when processes are started, and how many. */

#include "rig.h"

/* --- waiters ------------------------------------------------------------ */

TEST(no_more_processes_are_started_than_waiters_need)
{
	for (int growth = GROWTH_DOUBLE; growth <= GROWTH_ALL; growth++) {
		rig_begin();
		rig.o.growth = (enum app_growth)growth;
		rig_busy(rig.o, 1, 1);
		rig_arrive_n(2);
		AFTER(rig_at(1000), "spawn 1, spawn 2");
	}
}

/* --- steps --------------------------------------------------------------- */

/* Processes are ready within a millisecond, and soon busy. */
TEST(linear_steps_are_start_delay_apart_however_short_starts_are)
{
	rig.o.growth = GROWTH_LINEAR;
	rig_busy(rig.o, 1, 1);
	rig_arrive_n(20);
	for (uint32_t n = 1; n <= 5; n++) {
		rig_at(100 * n - 1);
		CHECK_EQ(n, rig.pool.nprocesses);
		rig_at(100 * n);
		CHECK_EQ(n + 1, rig.pool.nprocesses);
		(void)rig_did();
		rig_at(100 * n + 1);
		rig_ready(n);
	}
}

/* --- ceilings ----------------------------------------------------------- */

/* Two apps of one busy process each under a ceiling of `max` for both. */
static void
begin_two(int64_t max, int64_t b)
{
	struct app_options o = rig_options();

	(void)b;
	rig_begin_with(rig_limits(), (uint32_t)max);
	o.min_processes = 0;
	rig_running(o, 1);
	rig_running(o, 1);
	rig_arrive_at(0);
	LET(rig_arrive_at(1));
}

static const struct rig_verb verbs[] = { { "two", begin_two }, { NULL, NULL } };

static const struct rig_play plays[] = {
	/* Minimum. */
	{ "an_app_is_ready_when_min_processes_are",
	    { "tells", "min_processes = 2", "add -> *", "ready 0 ->",
		"ready 1 -> tell 0 ready" } },
	{ "without_sessions_an_app_is_ready_when_it_is_spawned",
	    { "tells", "sessions = 0", "add -> *",
		"spawned 0 -> tell 0 ready" } },
	{ "an_end_above_the_minimum_is_not_replaced",
	    { "busy 2 1", "done 0", "exits 0 exit ->" } },
	{ "with_no_minimum_no_process_starts_before_a_connection_comes",
	    { "min_processes = 0", "add", "at 10000 ->",
		"arrive -> spawn 0" } },
	{ "without_a_queue_the_first_connection_waits_for_the_first_process",
	    { "min_processes = 0", "max_queue = 0", "close_when_full = 1",
		"add", "arrive -> spawn 0", "arrive -> refuse 1 full",
		"ready 0 -> hand 0>0" } },
	{ "a_paused_listener_brings_the_first_process_too",
	    { "min_processes = 0", "max_queue = 0", "add",
		"paused 0 -> spawn 0", "ready 0 -> resume 0" } },
	/* Waiters. */
	{ "a_process_is_started_when_the_oldest_has_waited_start_delay",
	    { "busy 1 1", "at 30", "arrive 5", "? due = 130",
		"not_before 130 -> spawn 1" } },
	{ "a_connection_served_within_start_delay_starts_no_process",
	    { "busy 1 1", "arrive", "at 50", "done 0",
		"at 1000 -> hand 1>0" } },
	{ "the_pace_doubles_while_waiters_remain",
	    { "busy 1 1", "arrive 20", "at 100 -> spawn 1",
		"ready 1 -> hand 1>1", "not_before 200 -> spawn 2, spawn 3",
		"ready 2", "ready 3 -> *",
		"at 300 -> spawn 4, spawn 5, spawn 6, spawn 7" } },
	{ "starting_processes_count_for_the_pace",
	    { "busy 1 1", "arrive 20", "at 100 -> spawn 1", "at 200 -> spawn 2",
		"at 300 -> spawn 3, spawn 4" } },
	{ "with_concurrency_one_start_serves_several_waiters",
	    { "concurrency = 4", "busy 1 4", "arrive 5",
		"at 1000 -> spawn 1, spawn 2" } },
	{ "the_pace_falls_back_when_the_queue_is_empty",
	    { "busy 1 1", "arrive 3", "at 200 -> spawn 1, spawn 2", "ready 1",
		"ready 2", "done 0 -> hand 1>1, hand 2>2, hand 3>0", "arrive 5",
		"not_before 300 -> spawn 3" } },
	{ "without_start_delay_all_processes_needed_start_at_once",
	    { "start_delay = 0", "busy 1 1", "arrive -> spawn 1",
		"arrive 2 -> spawn 2, spawn 3" } },
	{ "without_start_delay_or_any_process_all_needed_start_at_once",
	    { "start_delay = 0", "min_processes = 0", "concurrency = 2",
		"add -> *", "arrive 5 -> spawn 0, spawn 1, spawn 2" } },
	/* Patience. */
	{ "a_waiter_waits_no_longer_than_a_start_takes",
	    { "add", "at 5", "ready 0", "arrive 1 -> *", "arrive 2",
		"? due = 10", "not_before 10 -> spawn 1" } },
	{ "a_start_of_over_start_delay_leaves_the_patience_at_start_delay",
	    { "add", "at 101", "ready 0", "arrive 1 -> *", "arrive",
		"not_before 201 -> spawn 1" } },
	{ "each_step_of_growth_waits_as_long_as_a_start_takes",
	    { "add", "at 5", "ready 0", "arrive 1 -> *", "arrive 20",
		"at 10 -> spawn 1", "not_before 15 -> spawn 2",
		"at 20 -> spawn 3, spawn 4" } },
	{ "each_start_halves_the_weight_of_those_before",
	    { "add", "at 80", "ready 0", "arrive 1 -> *", "? start_time = 80ms",
		"arrive", "at 160 -> spawn 1", "at 180", "ready 1",
		"? start_time = 50ms" } },
	{ "the_time_in_the_start_queue_is_no_part_of_a_start",
	    { "add -> *", "start_queued 0 1", "at 60", "start_queued 0 0",
		"at 65", "ready 0", "? start_time = 5ms" } },
	{ "the_first_start_that_is_measured_brings_a_due_growth_at_once",
	    { "min_processes = 0", "add", "arrive 4 -> spawn 0", "at 5",
		"ready 0 -> hand 0>0, spawn 1" } },
	{ "a_start_that_fails_measures_nothing",
	    { "add -> *", "at 5", "died 0 failure", "? start_time = 0" } },
	{ "spare_processes_keep_to_start_delay",
	    { "min_idle = 1", "add", "at 5", "ready 0", "arrive 1 -> *",
		"? due = 105", "not_before 105 -> spawn 1" } },
	/* Steps. */
	{ "a_linear_step_is_one_process_those_starting_not_counted",
	    { "growth = linear", "busy 1 1", "arrive 20", "at 100 -> spawn 1",
		"at 200 -> spawn 2", "ready 1", "ready 2 -> hand 1>1, hand 2>2",
		"at 300 -> spawn 3" } },
	{ "a_step_of_all_is_what_the_waiters_need_after_the_patience",
	    { "growth = all", "busy 1 1", "arrive 3",
		"not_before 100 -> spawn 1, spawn 2, spawn 3", "arrive",
		"not_before 200 -> spawn 4" } },
	/* The first process, and what comes back. */
	/* Waiters of the backoff are past start_delay by far. */
	{ "after_the_first_of_old_waiters_the_pace_goes_on",
	    { "min_processes = 0", "busy 1 8", "at 50", "exits 0 signal",
		"at 1050 -> spawn 0", "at 1150 -> spawn 1",
		"at 1250 -> spawn 2, spawn 3" } },
	/* The connection has waited long, in a process that never read it. */
	{ "a_connection_taken_back_makes_the_app_grow_at_once",
	    { "busy 2 2", "arrive", "at 100 -> spawn 2", "ready 2 -> hand 2>2",
		"at 40000", "arrive", "at 40100 -> spawn 3", "ready 3",
		"at 40150", "died 0 signal", "retaken 0 -> hand 3>3, spawn 4",
		"gone 0" } },
	/* Ceilings. */
	{ "at_its_ceiling_an_app_has_no_deadline_for_growth",
	    { "max_processes = 1", "busy 1 1", "arrive",
		/* The estimate of the need alone has one. */
		"? due = 1000" } },
	{ "a_raised_ceiling_serves_waiters_at_once",
	    { "max_processes = 1", "busy 1 1", "arrive 3", "at 5000 ->",
		"max_processes = 2", "change -> spawn 1" } },
	{ "a_process_that_is_leaving_takes_a_place_until_it_is_gone",
	    { "two 2", "arrive_at 1", "at 200", "done 0", "retire -> stop 0",
		"? count = 1", "died 0 exit ->", "gone 0 -> spawn 0" } },
	{ "places_go_to_apps_in_the_order_of_asking",
	    { "two 2", "arrive_at 1", "at 50", "arrive_at 0", "arrive_at 0",
		"at 1000 ->",
		/* App 0 loses its process: the place is for app 1. */
		"done 0 -> *", "exits 0 exit -> spawn 0", "? app_of = 1" } },
	{ "an_app_that_got_a_place_goes_to_the_end_of_the_line",
	    { "two 2", "repeat 6", "arrive_at 1", "arrive_at 0", "again",
		"at 1000", "resize 3 0 -> *", "? app_of 2 = 1", "at 2000",
		"resize 4 0 -> *", "? app_of 3 = 0" } },
	{ "a_minimum_that_waits_for_a_place_gets_the_next_one",
	    { "two 2", "arrive_at 1", "arrive_at 1", "at 1000",
		"? places_wanted 1 > 0", "min_processes = 2", "change",
		"? places_first = 0", "done 1 -> *", "exits 1 exit -> spawn 1",
		"? app_of 1 = 0", "? places_wanted = 0",
		"? places_wanted 1 > 0" } },
	/* The wish of an app to grow comes last, its minimum first. */
	{ "an_app_in_line_that_falls_below_its_minimum_goes_to_the_front",
	    { "two 2", "arrive_at 1", "at 50", "arrive_at 0", "at 1000",
		"? places_first = 1", "? places_count = 2", "min_processes = 2",
		"change", "? places_first = 0", "? places_count = 2" } },
	{ "an_app_that_got_a_place_goes_on_at_its_pace",
	    { "two 2", "arrive_at 1", "arrive_at 1", "arrive_at 1",
		"arrive_at 1", "at 100", "? places_wanted 1 > 0", "at 150",
		"resize 8 0 -> spawn 2", "not_before 200 -> spawn 3" } },
	{ "a_stuck_process_gives_its_place_to_the_line",
	    { "two 2", "arrive_at 1", "at 1000",
		"misbehaved 0 nonsense -> kill 0",
		"not_before 6000 -> spawn 2" } },
	/* The SPAWN is not taken out: the process has never lived. */
	{ "a_start_that_was_called_off_gives_its_place_to_the_line",
	    { "two 3", "arrive_at 1", "at 99", "arrive_at 0", "at 100",
		"? app_of 2 = 1", "at 199", "? places_wanted > 0", "restart 1",
		"? places_wanted = 0", "-> spawn 2, spawn 3",
		"? app_of 2 = 0" } },
	{ "an_app_in_line_without_waiters_any_more_gets_no_place",
	    { "two 2", "arrive_at 1", "at 1000", "? places_wanted 1 > 0",
		"done 1 -> *", "? places_wanted 1 = 0", "resize 4 0 ->" } },
	{ "a_full_table_of_processes_is_a_ceiling_too",
	    { "few_processes 2 20", "busy 2 4", "at 1000 ->",
		"done 0 -> hand 2>0", "exits 0 exit -> spawn 0" } },
	{ "ready_after_measures_no_start",
	    { "sessions = 0", "listens = 1", "ready_after = 5ms", "add -> *",
		"spawned 0", "at 5", "? idle = 1", "? start_time = 0" } },
};

RIG_PLAYS(rig_begin, verbs)
