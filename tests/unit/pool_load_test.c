/* The load estimate, spare processes and the kill policy. */

#include "rig.h"

/* Options under which load alone starts and stops processes. */
static void
begin(void)
{
	rig_begin();
	rig.o.start_delay = TSPAN_SECONDS(100000);
	rig.o.load.multi_threshold = 50;
	rig.o.stop_delay = TSPAN_SECONDS(10);
	rig.o.stop_timeout = TSPAN_SECONDS(100000);
}

/* Keeps a process busy for so many of each ten seconds, from now on. */
static void
work_for(unsigned tenths, unsigned intervals, int64_t from)
{
	for (unsigned i = 0; i < intervals; i++) {
		uint32_t conn;

		rig_at(from + 10000 * i);
		conn = rig_arrive_at(0);
		(void)rig_did();
		rig_at(from + 10000 * i + 1000 * tenths);
		(void)rig_done_of(rig.pool.conns[conn].process, conn);
	}
	rig_at(from + 10000 * intervals);
}

/* --- growing ------------------------------------------------------------ */

TEST(a_process_that_is_nearly_always_busy_brings_another)
{
	rig_running(rig.o, 1);
	AFTER(work_for(8, 8, 0), "");
	begin();
	rig_running(rig.o, 1);
	AFTER(work_for(9, 1, 0), "spawn 1");
}

static const struct rig_play plays[] = {
	/* Growing. */
	{ "a_process_stuck_in_a_session_is_busy",
	    { "busy 1 1", "not_before 10000 -> spawn 1",
		/* Nothing more, while a start is under way. */
		"at 25000 ->" } },
	{ "load_starts_nothing_beyond_max_processes",
	    { "max_processes = 1", "running 1", "arrive",
		"at 60000 -> hand 0>0" } },
	{ "load_takes_no_place_that_others_wait_for",
	    { "begin 2", "running 1", "arrive", "min_processes = 0",
		"running 1", "arrive_at 1 -> *", "at 30000 ->",
		"? places_wanted = 0" } },
	{ "prefetched_connections_make_no_process_busier",
	    { "prefetch = 3", "max_processes = 1", "busy 1 4", "at 10000",
		"? load = 100" } },
	{ "an_app_without_processes_has_no_load",
	    { "min_processes = 0", "add", "at 10000", "? load = 0" } },
	/* Spare processes. */
	{ "an_app_begins_with_its_spare_processes",
	    { "min_idle = 3", "start_delay = 100ms", "multi_threshold = 0",
		"stop_delay = 1s", "add -> spawn 0, spawn 1, spawn 2" } },
	{ "min_idle_does_not_add_to_min_processes_at_the_start",
	    { "min_idle = 2", "start_delay = 100ms", "multi_threshold = 0",
		"stop_delay = 1s", "min_processes = 3",
		"add -> spawn 0, spawn 1, spawn 2" } },
	{ "spare_processes_come_one_per_start_delay",
	    { "min_idle = 2", "start_delay = 100ms", "multi_threshold = 0",
		"add", "ready 0", "ready 1", "arrive 2 -> *",
		"not_before 100 -> spawn 2", "not_before 200 -> spawn 3",
		"at 9000 ->" } },
	{ "a_short_rush_brings_no_spare_process",
	    { "min_idle = 2", "start_delay = 100ms", "multi_threshold = 0",
		"add", "ready 0", "ready 1", "arrive 2 -> *", "at 50", "done 0",
		"done 1", "at 9000 ->" } },
	{ "without_a_start_delay_all_spare_processes_come_at_once",
	    { "min_idle = 3", "start_delay = 100ms", "multi_threshold = 0",
		"stop_delay = 1s", "start_delay = 0", "add -> *", "ready 0",
		"ready 1", "ready 2",
		"arrive 3 -> hand 0>2, spawn 3, hand 1>1, spawn 4, hand 2>0, spawn 5" } },
	{ "idleness_leaves_min_idle",
	    { "min_idle = 2", "start_delay = 100ms", "multi_threshold = 0",
		"stop_delay = 1s", "min_processes = 0", "max_idle_time = 5s",
		"running 4", "at 60000 -> stop 3, stop 2" } },
	/* Shrinking. */
	{ "each_update_marks_one_process",
	    { "running 8", "at 10000", "? marked = 1", "at 30000",
		"? marked = 3" } },
	{ "victims_stop_from_the_kill_interval_on_at_the_pace_of_stop_delay",
	    { "running 4", "not_before 60000 -> stop 3", "? end 3 = load",
		"not_before 70000 -> stop 2" } },
	/* A process of two is always busy: alone it would be at 100 percent. */
	{ "no_process_is_marked_if_the_rest_would_be_busy",
	    { "busy 2 1", "at 600000 ->" } },
	/* A process of four is busy: 33 percent of three, 50 of two. */
	{ "as_many_processes_stay_as_keep_the_load_under_the_threshold",
	    { "multi_threshold = 40", "busy 4 1", "at 600000 -> stop 3" } },
	{ "the_last_process_stays_with_a_single_threshold_of_0",
	    { "min_processes = 0", "running 2", "at 600000 -> stop 1" } },
	{ "the_last_process_stops_under_the_single_threshold",
	    { "min_processes = 0", "single_threshold = 1", "running 1",
		"at 60000 -> stop 0" } },
	{ "marks_drop_when_a_connection_waits",
	    { "running 2", "at 10000", "? marked = 1", "arrive 3",
		"? marked = 0" } },
	{ "a_busy_process_is_no_victim",
	    { "multi_threshold = 90", "busy 3 2", "at 50000", "done 0",
		"done 1", "arrive 3 -> *", "at 61000 ->" } },
	{ "with_concurrency_a_process_with_few_sessions_may_retire",
	    { "concurrency = 4", "multi_threshold = 60", "running 2",
		"arrive 2 -> hand 0>0, hand 1>1", "at 60000 -> stop 0",
		"? state 0 = retiring" } },
	{ "an_idle_app_at_its_minimum_has_no_deadline",
	    { "running 1", "? due = -1" } },
	{ "a_shorter_kill_interval_holds_for_marked_processes",
	    { "multi_threshold = 50", "kill_interval = 86400s", "running 2",
		"at 30000", "? marked = 1", "kill_interval = 60s", "change",
		"not_before 90000 -> stop 1" } },
	{ "sessions_count_by_their_part_of_concurrency",
	    { "concurrency = 4", "busy 1 2", "at 10000", "? load = 50" } },
	{ "a_spare_process_comes_when_a_place_is_free_again",
	    { "begin 2", "start_delay = 100ms", "multi_threshold = 0",
		"min_idle = 1", "add", "ready 0", "min_idle = 0", "add",
		"ready 1", "arrive -> *", "at 5000 ->", "? spare_denied = 1",
		"resize 3 0 -> spawn 2" } },
	{ "load_leaves_min_processes",
	    { "min_processes = 3", "running 5",
		"at 600000 -> stop 4, stop 3" } },
	{ "load_leaves_min_idle",
	    { "min_idle = 3", "running 5", "at 600000 -> stop 4, stop 3" } },
	{ "near_the_ceiling_marked_processes_stop_for_a_start",
	    { "begin 8", "resize 8 4", "running 5", "at 20000", "? marked = 2",
		"min_processes = 0", "add",
		"arrive_at 1 -> stop 4, stop 3, spawn 5" } },
	{ "far_from_the_ceiling_marked_processes_stay",
	    { "begin 10", "resize 10 4", "running 5", "at 20000",
		"? marked = 2", "min_processes = 0", "add",
		"arrive_at 1 -> spawn 5" } },
};

RIG_PLAYS(begin, NULL)
