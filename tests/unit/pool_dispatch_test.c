/* Dispatch: which process gets which connection. */

#include "rig.h"

TEST(a_process_has_the_times_of_its_state_and_its_use)
{
	rig_running(rig_options(), 1);
	rig_at(500);
	LET(rig_arrive_at(0));
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(500), rig_process(0)->since);
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(500), rig_process(0)->used);
	rig_at(700);
	rig_done(0);
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(700), rig_process(0)->since);
	CHECK_EQ(RIG_START + TSPAN_MSECONDS(700), rig_process(0)->used);
}

static const struct rig_play plays[] = {
	{ "the_most_recently_idle_process_is_first",
	    { "running 3", "arrive 3 -> hand 0>0, hand 1>1, hand 2>2", "done 1",
		"done 0", "done 2",
		"arrive 3 -> hand 2>2, hand 0>0, hand 1>1" } },
	{ "blind_processes_take_turns",
	    { "running 3", "blind", "blind 1", "blind 2", "arrive 3 -> *",
		"done 1", "done 0", "done 2", "arrive -> hand 0>1", "done 1",
		"arrive 3 -> hand 0>0, hand 2>2, hand 1>1" } },
	{ "of_blind_processes_the_newest_generation_is_first",
	    { "running 3", "blind", "blind 1", "blind 2", "restart -> *",
		"ready 3", "blind 3 -> *", "arrive -> hand 0>3" } },
	{ "a_process_that_is_not_ready_gets_nothing",
	    { "add -> spawn 0", "arrive ->", "spawned 0 ->",
		"ready 0 -> hand 0>0" } },
	{ "waiters_are_served_in_the_order_of_arrival",
	    { "max_processes = 1", "running 1", "arrive 4 -> hand 0>0",
		"done 0 -> hand 1>0", "done 0 -> hand 2>0",
		"done 0 -> hand 3>0" } },
	{ "an_end_in_one_app_wakes_nobody_of_another",
	    { "max_processes = 1", "running 1", "running 1", "arrive_at 0",
		"arrive_at 1", "arrive_at 1 -> *", "done 0 ->",
		"done 1 -> hand 2>1" } },
	{ "a_process_that_becomes_ready_serves_as_many_as_it_has_room_for",
	    { "concurrency = 3", "add -> *", "arrive 5",
		"ready 0 -> hand 0>0, hand 1>0, hand 2>0" } },
	{ "the_process_with_the_fewest_sessions_is_first",
	    { "concurrency = 3", "running 2",
		"arrive 3 -> hand 0>0, hand 1>1, hand 2>1",
		"arrive 3 -> hand 3>0, hand 4>0, hand 5>1", "done 0", "done 0",
		"done 1", "arrive 2", "? sessions_of = 3",
		"? sessions_of 1 = 2" } },
	{ "of_equally_busy_processes_the_most_recently_used_is_first",
	    { "concurrency = 2", "busy 3 3", "arrive -> hand 3>2" } },
	{ "a_process_never_has_more_sessions_than_concurrency",
	    { "concurrency = 4", "max_processes = 2", "busy 2 12",
		"? sessions_of = 4", "? sessions_of 1 = 4", "? queue = 4" } },
	/* Hand-overs that fail. */
	{ "a_connection_that_could_not_be_handed_goes_to_a_sibling_first",
	    { "max_processes = 2", "running 2",
		"arrive 4 -> hand 0>0, hand 1>1", "hand_failed 0 ->",
		"done 1 -> hand 0>1" } },
	{ "a_process_that_took_nothing_has_no_room_for_ten_milliseconds",
	    { "running 1", "arrive -> hand 0>0", "hand_failed 0",
		"not_before 10 -> hand 0>0" } },
	{ "a_process_that_took_nothing_has_room_once_it_speaks",
	    { "busy 1 1", "hand_failed 0", "at 3", "spoke -> hand 0>0" } },
	{ "a_process_that_took_nothing_has_room_once_a_session_ends",
	    { "concurrency = 2", "max_processes = 1", "busy 1 2",
		"hand_failed 1 ->", "done 0 -> hand 1>0" } },
	{ "waiting_beside_a_process_that_took_nothing_is_counted_as_waste",
	    { "busy 1 1", "hand_failed 0", "at 4", "? idle_while_waiting = 4ms",
		"at 100", "? idle_while_waiting = 10ms" } },
	/* Messages that a process may not send. */
	{ "done_of_a_connection_of_another_process_is_refused",
	    { "busy 2 2", "!done 0 1", "!done 0 77", "!done 0 none", "done 0 0",
		"!done 0 0" } },
	{ "done_of_a_connection_that_was_not_handed_yet_is_refused",
	    { "running 1", "arrive", "!done 0 0", "-> hand 0>0", "done 0 0" } },
	/* Messages that come too late, or tell of a loss. */
	{ "ready_told_after_the_death_of_the_process_does_no_harm",
	    { "add -> *", "spawned 0", "died 0 exit", "ready 0", "gone 0",
		"? ready = 0" } },
	{ "a_session_said_to_be_lost_is_counted_and_its_process_serves_on",
	    { "busy 1 2", "loses 0 -> hand 1>0", "? lost = 1" } },
};

RIG_PLAYS(rig_begin, NULL)
