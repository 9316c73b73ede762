/* Stops of processes: idle, too many, or after max_requests. */

#include "rig.h"

/* --- idle --------------------------------------------------------------- */

/* Milliseconds from a start to READY, to a stop, and from that to the next. */
TEST(an_idle_process_is_kept_for_what_a_start_costs)
{
	static const int64_t table[][3] = { { 1, 5000, 200 },
		{ 10, 10000, 400 }, { 290, 290000, 11600 },
		{ 400, 300000, 12000 } };
	struct app_options o = rig_options();

	o.max_idle_time = o.stop_delay = APP_AUTO;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const int64_t *t = table[i];

		rig_begin();
		o.min_processes = 3;
		LET(rig_add(&o));
		rig_at(t[0]);
		for (uint32_t n = 0; n < 3; n++)
			(void)rig_ready(n);
		o.min_processes = 1;
		LET(rig_change(0, &o));
		NOT_BEFORE(t[0] + t[1], "stop 0");
		rig_exits(0, END_EXIT);
		NOT_BEFORE(t[0] + t[1] + t[2], "stop 1");
	}
}

/* --- max_requests ------------------------------------------------------- */

TEST(numbers_of_requests_differ_by_a_tenth)
{
	uint64_t least = UINT64_MAX, most = 0;

	rig.o.max_requests = 100;
	rig.o.min_processes = 20;
	rig.o.max_processes = 20;
	rig_add(&rig.o);
	for (uint32_t n = 0; n < 20; n++) {
		uint64_t limit = rig_process(n)->request_limit;

		CHECK(limit >= 100 && limit <= 110);
		least = limit < least ? limit : least;
		most = limit > most ? limit : most;
	}
	CHECK(least < most);
}

static const struct rig_play plays[] = {
	/* Idle. */
	{ "a_process_stops_when_it_was_idle_for_max_idle_time",
	    { "max_idle_time = 1s", "running 2", "? due = 1000",
		"not_before 1000 -> stop 1", "exits 1 exit",
		"? exits idle = 1" } },
	/*
	 * READY of a process that is stopping measures a start, too: 1 ms after
	 * one of 400 ms, which makes 200.5 s of 300 s.
	 */
	{ "a_late_ready_brings_the_next_idle_stop_nearer",
	    { "max_idle_time = auto", "stop_delay = auto",
		"stop_timeout = 100000s", "min_processes = 3", "add -> *",
		"start_queued 2 1", "at 400", "start_queued 2 0", "spawned 2",
		"ready 0", "ready 1", "min_processes = 1", "change",
		"unheard 2 1 -> stop 2", "at 401", "ready 2",
		"? state 2 = stopping", "not_before 200900 -> stop 0" } },
	/*
	 * Nothing tells how long the start of a process takes that listens
	 * itself.
	 */
	{ "an_idle_process_is_kept_for_five_minutes_where_starts_are_unknown",
	    { "sessions = 0", "listens = 1", "min_processes = 2",
		"max_idle_time = auto", "add -> *", "spawned 0", "spawned 1",
		"min_processes = 1", "change", "at 150000", "looked",
		"not_before 300000 -> stop 0" } },
	{ "idle_time_begins_when_the_last_session_ends",
	    { "min_processes = 0", "max_idle_time = 1s", "running 1", "at 500",
		"arrive -> *", "at 5000", "done 0",
		"not_before 6000 -> stop 0" } },
	{ "the_least_recently_used_stops_first",
	    { "max_idle_time = 1s", "running 3", "at 500", "arrive 3 -> *",
		"done 1", "at 510", "done 2", "at 520", "done 0",
		"at 1510 -> stop 1", "at 9000 -> stop 2" } },
	{ "idle_stops_are_stop_delay_apart",
	    { "stop_delay = 10s", "max_idle_time = 1s", "running 4",
		"at 1000 -> stop 3", "exits 3 exit",
		"not_before 11000 -> stop 2", "exits 2 exit",
		"at 21000 -> stop 1" } },
	{ "idle_stops_leave_min_processes",
	    { "min_processes = 2", "stop_delay = 0", "max_idle_time = 1s",
		"running 4", "at 1000 -> stop 3, stop 2", "exits 3 exit",
		"exits 2 exit", "at 1000000 ->", "? due = -1" } },
	/* The backlog may need the process, which leaves with its app. */
	{ "no_process_stops_for_idleness_while_its_app_is_closing",
	    { "max_idle_time = 1s", "running 1", "at 5000", "close ->",
		"drained -> stop 0", "? end 0 = closed" } },
	{ "without_max_idle_time_no_idle_process_stops",
	    { "running 4", "at 100000000 ->" } },
	{ "no_process_stops_while_another_is_starting",
	    { "max_idle_time = 1s", "running 2", "arrive 3",
		"at 100 -> hand 0>0, hand 1>1, spawn 2", "done 0",
		"done 1 -> *", "done 0", "at 5000 ->", "ready 2 -> stop 1" } },
	/* Ceilings. */
	{ "under_a_lowered_ceiling_idle_processes_stop_at_once",
	    { "running 4", "max_processes = 2", "change -> stop 3, stop 2" } },
	{ "under_a_lowered_ceiling_busy_processes_stop_when_idle",
	    { "busy 3 3", "max_processes = 1", "change ->", "done 1 -> stop 1",
		"done 0 -> stop 0", "done 2 ->" } },
	{ "over_a_lowered_ceiling_nothing_is_started",
	    { "busy 3 5", "max_processes = 2", "change", "at 5000 ->" } },
	{ "under_a_lowered_global_ceiling_idle_processes_of_any_app_stop",
	    { "running 2", "running 2", "resize 2 0 -> stop 1, stop 3" } },
	{ "a_lowered_global_ceiling_leaves_each_app_its_minimum",
	    { "min_processes = 2", "running 2", "min_processes = 0",
		"running 2", "arrive_at 1", "arrive_at 1 -> *", "resize 2 0 ->",
		"done 2", "done 3 -> stop 2, stop 3" } },
	/* Max_requests. */
	{ "after_max_requests_a_process_retires_and_is_replaced",
	    { "max_requests = 2", "busy 1 1", "done 0 ->",
		"arrive -> hand 0>0, spawn 1", "done 0 -> stop 0",
		"exits 0 exit", "? exits max_requests = 1",
		"? spawn_failures = 0" } },
	{ "at_the_ceiling_a_replacement_waits_until_the_old_process_retires",
	    { "max_requests = 1", "max_processes = 1", "running 1",
		"arrive -> hand 0>0", "done 0 -> stop 0, spawn 1" } },
	/* Two long sessions of four that it could have do not block the app. */
	{ "a_process_with_its_last_sessions_and_room_leaves_its_place",
	    { "max_requests = 2", "concurrency = 4", "max_processes = 1",
		"running 1", "arrive -> hand 0>0",
		"arrive -> hand 1>0, stop 0, spawn 1", "? state 0 = retiring",
		"ready 1", "arrive -> hand 2>1", "done 0 0", "done 0 1",
		"exits 0 exit", "? exits max_requests = 1",
		"? completed = 2" } },
	{ "no_process_is_handed_more_than_max_requests",
	    { "max_requests = 3", "concurrency = 2", "max_processes = 1",
		"running 1", "arrive 4 -> hand 0>0, hand 1>0",
		"done 0 0 -> hand 2>0", "done 0 1 -> stop 0, spawn 1",
		"? state 0 = retiring", "done 0 2 ->" } },
	{ "a_connection_taken_back_does_not_count_against_max_requests",
	    { "max_requests = 2", "concurrency = 2", "busy 1 2",
		"? expiring = 1", "hand_failed 1", "? expiring = 0",
		"? handed = 1" } },
	{ "under_a_lowered_ceiling_a_freed_process_stops_before_it_serves",
	    { "busy 3 5", "max_processes = 2", "change", "done 0 -> stop 0",
		"done 1 -> hand 3>1" } },
	{ "in_an_app_of_jobs_processes_over_a_lowered_minimum_stop",
	    { "sessions = 0", "running 0", "min_processes = 3", "change -> *",
		"spawned 0", "spawned 1", "spawned 2", "min_processes = 1",
		"change -> stop 0, stop 1" } },
	{ "a_process_that_asks_to_retire_is_replaced_and_gets_nothing_more",
	    { "serving 1", "arrive 2 -> *", "retire 0 -> stop 0, spawn 1",
		"done 0 ->", "ready 1 -> hand 1>1", "exits 0 exit",
		"? exits retired = 1", "? backoff = 0" } },
};

RIG_PLAYS(rig_begin, NULL)
