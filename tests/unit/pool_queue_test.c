/* Waiters: how many, how long, and in what order. */

#include "rig.h"

TEST(a_connection_that_is_refused_at_once_has_no_process)
{
	struct action a;

	rig.o.max_queue = 0;
	rig.o.close_when_full = true;
	rig.o.max_processes = 1;
	rig_busy(rig.o, 1, 1);
	rig_arrive_at(0);
	CHECK(pool_next_action(&rig.pool, &a));
	CHECK_EQ(ACTION_REFUSE, a.kind);
	CHECK_EQ(ILIST_NONE, a.process);
}

/* --- numbers of connections ---------------------------------------------- */

/* Numbers for two connections, shared by two apps of one process each. */
static void
begin_scarce(int64_t a, int64_t b)
{
	struct pool_limits limits = rig_limits();
	struct app_options o = rig_options();

	(void)a;
	(void)b;
	limits.conns = 2;
	rig_begin_with(limits, 20);
	o.max_processes = 1;
	rig_running(o, 1);
	rig_running(o, 1);
	rig_arrive_at(0);
	LET(rig_arrive_at(0));
}

static const struct rig_verb verbs[] = { { "scarce", begin_scarce },
	{ NULL, NULL } };

static const struct rig_play plays[] = {
	{ "with_on_full_wait_no_more_come_in_than_max_queue",
	    { "max_queue = 2", "max_processes = 1", "busy 1 1", "arrive 2",
		"? may_accept = 0" } },
	{ "with_no_queue_connections_come_in_while_a_process_has_room",
	    { "max_queue = 0", "max_processes = 1", "running 1",
		"? may_accept = 1", "arrive", "? may_accept = 0",
		"-> hand 0>0" } },
	{ "accepting_is_resumed_once_when_there_is_room_again",
	    { "max_queue = 2", "max_processes = 1", "busy 1 1", "arrive 2",
		"paused 0", "done 0 -> hand 1>0, resume 0",
		"done 0 -> hand 2>0" } },
	{ "accepting_that_found_no_room_after_all_is_resumed_again",
	    { "max_queue = 1", "max_processes = 1", "busy 1 1", "arrive",
		"paused 0", "done 0 -> hand 1>0, resume 0", "arrive",
		"paused 0", "done 0 -> hand 0>0, resume 0" } },
	{ "accepting_that_found_the_backlog_empty_is_not_resumed_again",
	    { "max_queue = 1", "max_processes = 1", "busy 1 1", "arrive",
		"paused 0", "done 0 -> *", "resumed 0", "? demand = 0",
		"done 0 ->" } },
	{ "accepting_is_resumed_when_a_waiter_leaves",
	    { "max_queue = 1", "max_processes = 1", "busy 1 1", "arrive",
		"paused 0", "abandoned 1 -> resume 0" } },
	{ "accepting_is_resumed_when_max_queue_grows",
	    { "max_queue = 0", "max_processes = 1", "busy 1 1", "paused 0",
		"max_queue = 1", "change -> resume 0" } },
	{ "with_on_full_close_the_newcomer_is_refused",
	    { "max_queue = 1", "close_when_full = 1", "max_processes = 1",
		"busy 1 1", "arrive 2 -> refuse 2 full", "? queue = 1",
		"? refused = 1" } },
	{ "a_number_is_not_used_again_before_its_refusal_is_done",
	    { "max_queue = 0", "close_when_full = 1", "max_processes = 1",
		"busy 1 1", "arrive", "arrive -> refuse 1 full, refuse 2 full",
		"arrive" } },
	{ "a_full_queue_is_told_once_until_it_was_empty",
	    { "max_queue = 1", "close_when_full = 1", "max_processes = 1",
		"busy 1 1", "tells", "arrive -> tell 0 full",
		"arrive -> refuse 2 full", "done 0",
		"arrive -> hand 1>0, tell 0 full" } },
	{ "the_longest_queue_is_remembered",
	    { "max_processes = 1", "busy 1 1", "arrive 3", "done 0 -> *",
		"done 0 -> *", "? max_waiting = 3" } },
	/* Time. */
	{ "a_waiter_is_refused_after_queue_timeout",
	    { "queue_timeout = 500ms", "max_processes = 1", "busy 1 1",
		"arrive", "at 200", "arrive", "not_before 500 -> refuse 1 late",
		"at 700 -> refuse 2 late", "? timed_out = 2" } },
	{ "without_queue_timeout_a_connection_waits_for_ever",
	    { "max_processes = 1", "busy 1 1", "arrive", "at 86400000 ->" } },
	{ "a_connection_taken_back_late_is_served_rather_than_refused",
	    { "queue_timeout = 5s", "running 2", "arrive -> hand 0>0",
		"at 10000", "died 0 signal", "retaken 0",
		"gone 0 -> hand 0>1" } },
	{ "an_abandoned_connection_is_counted_and_not_served",
	    { "max_processes = 1", "busy 1 1", "arrive 2", "abandoned 1",
		"done 0 -> hand 2>0", "? abandoned = 1" } },
	{ "the_time_of_waiting_is_recorded",
	    { "max_processes = 1", "busy 1 1", "arrive", "at 300", "done 0",
		"? queue_wait = 300ms", "? session_time = 300ms" } },
	{ "the_time_of_waiting_is_recorded_once",
	    { "busy 2 1", "at 300", "died 0 signal", "retaken 0 -> hand 0>1",
		"? queue_wait = 0", "gone 0" } },
	/* Numbers of connections. */
	{ "no_more_come_in_than_there_are_numbers",
	    { "scarce", "? may_accept = 0", "? may_accept 1 = 0" } },
	{ "accepting_paused_for_numbers_is_resumed_by_another_apps_end",
	    { "scarce", "paused 1 ->", "done 0 -> hand 1>0, resume 1" } },
	{ "accepting_paused_for_numbers_is_resumed_by_a_refusal",
	    { "scarce", "max_processes = 1", "max_queue = 0",
		"close_when_full = 1", "change", "done 0 -> hand 1>0",
		"arrive_at 0", "paused 1 -> refuse 0 full, resume 1" } },
	{ "numbers_go_to_the_apps_in_turn",
	    { "scarce", "add -> *", "paused 1", "paused 2",
		"done 0 -> hand 1>0, resume 1", "arrive_at 1",
		"paused 1 -> hand 0>1", "done 0 -> resume 2" } },
	{ "an_app_without_use_for_a_number_passes_it_on",
	    { "scarce", "add -> *", "paused 1", "paused 2",
		"done 0 -> hand 1>0, resume 1", "resumed 1 -> resume 2" } },
	{ "a_paused_listener_counts_as_a_waiter_since_the_pause",
	    { "max_queue = 0", "max_processes = 1", "busy 1 1", "at 50",
		"paused 0", "? demand = 1", "? waits_since = 50" } },
};

RIG_PLAYS(rig_begin, verbs)
