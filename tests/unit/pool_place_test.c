/* A ceiling over several apps: which app gives a place, and which gets it. */

#include "rig.h"

static void
begin(void)
{
	rig_begin();
	rig.o.stop_timeout = TSPAN_SECONDS(100000);
}

/* An app without processes, and a connection for it. */
static void
begin_wanting(int64_t a, int64_t b)
{
	struct app_options o = rig.o;

	(void)a;
	(void)b;
	o.min_processes = o.min_idle = 0;
	rig_arrive_at(rig_add(&o));
}

static const struct rig_verb verbs[] = { { "wanting", begin_wanting },
	{ NULL, NULL } };

static const struct rig_play plays[] = {
	/* What an app may have. */
	{ "an_app_may_have_as_many_processes_as_its_maximum",
	    { "begin 100", "max_processes = 8", "running 1",
		"? may_have = 8" } },
	{ "an_app_may_have_no_place_of_a_busy_process_of_another",
	    { "begin 5", "max_processes = 8", "running 1", "running 3",
		"arrive_at 1", "arrive_at 1", "arrive_at 1 -> *",
		"? may_have = 2" } },
	{ "an_app_may_have_places_of_idle_processes_above_a_minimum",
	    { "begin 5", "max_processes = 8", "running 1", "running 3",
		"? may_have = 4" } },
	{ "an_app_has_its_ready_processes_alone_while_a_start_must_wait",
	    { "max_processes = 8", "running 2", "exits 0 signal",
		"? may_have = 1", "at 60000 ->", "? may_have = 8" } },
	/* Idle processes. */
	{ "an_idle_process_of_another_app_makes_room",
	    { "begin 2", "running 2", "wanting -> stop 1", "? end 1 = evicted",
		"exits 1 exit -> spawn 1", "? app_of 1 = 1" } },
	{ "the_minimum_of_another_app_is_left_to_it",
	    { "begin 2", "min_processes = 2", "running 2", "wanting ->" } },
	{ "the_app_with_the_lowest_load_gives",
	    { "begin 5", "running 3", "running 2",
		/* 50 percent of the second, 67 of the first. */ "arrive_at 0",
		"arrive_at 0", "arrive_at 1 -> *", "at 10000",
		"wanting -> stop 4" } },
	{ "no_more_processes_are_evicted_than_places_are_wanted",
	    { "begin 4", "min_processes = 0", "running 4", "wanting",
		"at 5000 -> stop 3" } },
	{ "an_app_that_grows_may_evict_an_idle_process_too",
	    { "begin 4", "running 3", "running 1", "arrive_at 1", "arrive_at 1",
		"at 99 -> hand 0>3", "at 100 -> stop 2" } },
	{ "the_minimum_comes_by_eviction_too",
	    { "begin 3", "running 3", "min_processes = 2",
		"add -> stop 2, stop 1" } },
	{ "spare_processes_evict_no_other",
	    { "begin 4", "running 3", "running 1", "min_idle = 2", "change 1",
		"at 5000 ->" } },
	/*
	 * Two processes of three are always busy: two alone would be
	 * overloaded.
	 */
	{ "an_app_that_needs_its_idle_process_keeps_it",
	    { "begin 5", "max_processes = 3", "running 3", "running 2",
		"arrive_at 0", "arrive_at 0 -> *", "at 20000", "arrive_at 1",
		"arrive_at 1", "arrive_at 1 -> *", "at 21000 ->" } },
	/* Busy processes. */
	{ "without_an_idle_process_the_next_session_to_end_makes_room",
	    { "begin 2", "running 2", "arrive 3",
		"wanting -> hand 0>0, hand 1>1", "done 1 -> stop 1",
		"exits 1 exit -> spawn 1", "? app_of 1 = 1" } },
	{ "a_busy_app_gives_no_process_of_its_minimum",
	    { "begin 2", "min_processes = 2", "running 2", "arrive 3",
		"wanting -> *", "done 1 -> hand 2>1" } },
	{ "a_busy_app_gives_to_an_app_with_two_processes_fewer",
	    { "begin 4", "running 3", "running 1", "arrive_at 1", "arrive_at 1",
		"at 50", "arrive 4", "at 100 -> *", "? places_wanted 1 > 0",
		"done 2 -> stop 2" } },
	/* The app with more processes asked first, and yet gives. */
	{ "an_app_with_two_processes_fewer_comes_before_the_giver",
	    { "begin 4", "running 3", "running 1", "arrive 4 -> *", "at 100",
		"arrive_at 1", "arrive_at 1", "at 200", "? places_first = 0",
		"-> *", "done 2 -> stop 2", "exits 2 exit -> spawn 2",
		"? app_of 2 = 1" } },
	{ "busy_apps_of_one_size_take_nothing_from_each_other",
	    { "begin 4", "running 2", "running 2", "arrive_at 0", "arrive_at 1",
		"arrive_at 0", "arrive_at 1", "arrive_at 0", "arrive_at 1",
		"arrive_at 0", "arrive_at 1 -> *", "at 1000", "done 0",
		"done 2 -> hand 4>0, hand 5>2" } },
	/* The load of the first app falls while the second app waits. */
	{ "an_idle_process_is_given_when_its_load_has_fallen",
	    { "min_processes = 0", "max_processes = 2", "update_interval = 1s",
		"begin 3", "running 2", "running 1", "arrive_at 0",
		"arrive_at 0", "arrive_at 1 -> *", "at 5000", "done 0",
		"done 1", "arrive_at 1", "at 5500 ->", "at 20000 -> stop 0",
		"exits 0 exit -> spawn 0", "? app_of = 1" } },
	{ "an_app_does_not_make_room_for_itself",
	    { "begin 2", "min_processes = 0", "running 2", "arrive 4",
		"at 1000 -> *", "? places_wanted > 0", "done 0 -> hand 2>0" } },
	/* Places that are given later. */
	{ "a_new_process_that_is_not_needed_any_more_makes_room",
	    { "min_processes = 0", "begin 2", "running 1", "arrive 2",
		"at 100 -> hand 0>0, spawn 1", "wanting ->", "abandoned 1",
		"ready 1 -> stop 1" } },
	{ "an_app_gives_what_it_needs_no_more_when_its_load_has_gone",
	    { "begin 3", "min_processes = 0", "running 2", "arrive 2",
		"running 1", "arrive_at 1", "at 95000 -> *", "arrive_at 1",
		"at 99000", "done 0", "done 1 ->", "at 300000 -> stop 0" } },
	{ "a_lowered_minimum_makes_room",
	    { "begin 2", "min_processes = 2", "running 2", "wanting ->",
		"min_processes = 0", "change -> stop 1" } },
	{ "for_one_place_one_busy_process_retires",
	    { "begin 4", "concurrency = 3", "running 4", "arrive 12",
		"wanting -> *", "done 0", "done 1", "done 2",
		"done 3 -> stop 0" } },
	{ "an_idle_process_makes_room_before_a_retiring_one_does",
	    { "begin 4", "concurrency = 3", "running 4", "arrive 12",
		"wanting -> *", "done 0 -> stop 0", "done 1", "done 1 ->",
		"done 1 -> stop 1" } },
	{ "an_app_that_may_grow_no_more_wants_no_place",
	    { "min_processes = 0", "begin 3", "running 2", "arrive 2",
		"running 1", "arrive_at 1", "arrive_at 1", "at 1000",
		"? places_wanted 1 > 0", "max_processes = 1", "change 1",
		"? places_wanted 1 = 0" } },
	{ "spare_processes_without_a_place_at_the_start_hold_no_app_up",
	    { "begin 4", "running 1", "min_idle = 4",
		"add -> spawn 1, spawn 2, spawn 3", "ready 1", "ready 2",
		"ready 3", "at 1000", "wanting -> stop 1",
		"exits 1 exit -> spawn 1", "? app_of 1 = 2" } },
	{ "a_process_that_leaves_under_a_lowered_ceiling_makes_no_room",
	    { "begin 3", "min_processes = 0", "running 3", "arrive 2 -> *",
		"resize 2 0 -> stop 2", "wanting", "done 0 -> stop 0" } },
	{ "an_app_without_a_process_gets_what_the_first_in_line_did_not",
	    { "begin 2", "min_processes = 0", "running 1", "running 1",
		"arrive_at 0", "arrive_at 1", "arrive_at 1", "at 1000",
		"wanting -> *", "done 0 -> stop 0", "exits 0 exit -> spawn 0",
		"? app_of = 2" } },
	{ "an_app_whose_place_a_minimum_takes_is_given_another",
	    { "begin 2", "running 1", "min_processes = 0", "running 1 -> *",
		"died 0 signal", "wanting ->",
		/* A late tick comes together with the end of the delay. */
		"late 3s", "gone 0 -> spawn 0, stop 1", "? app_of = 0" } },
	/*
	 * Two equal and busy apps stand in line before an app without a
	 * process.
	 */
	{ "an_app_without_a_process_passes_apps_that_cannot_be_given_any",
	    { "begin 4", "min_processes = 0", "running 2", "running 2",
		"arrive 3", "arrive_at 1", "arrive_at 1", "arrive_at 1 -> *",
		"at 200", "wanting", "? places_wanted 0 > 0",
		"? places_wanted 1 > 0", "done 0 -> stop 0",
		/* The app needs no more than one place. */
		"done 2 -> hand 5>2", "exits 0 exit -> spawn 0",
		"? app_of 0 = 2" } },
};

RIG_PLAYS(begin, verbs)
