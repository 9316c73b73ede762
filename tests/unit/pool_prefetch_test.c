/* Prefetch: connections handed out, taken back; and private queues. */

#include "rig.h"

static void
begin(void)
{
	rig_begin();
	rig.o.start_delay = TSPAN_SECONDS(100000);
	rig.o.min_processes = 0;
}

/* --- by itself ---------------------------------------------------------- */

/* Each of so many processes has had sessions of that length. */
static void
begin_with_sessions(int64_t processes, int64_t span)
{
	rig.o.prefetch = 1;
	rig.o.prefetch_auto = true;
	rig_running(rig.o, (uint32_t)processes);
	for (int i = 0; i < 256; i++) {
		LET(rig_arrive_n((unsigned)processes));
		rig.now += span;
		for (uint32_t n = 0; n < processes; n++)
			(void)rig_done(n);
	}
	(void)rig_did();
}

TEST(by_itself_it_is_taken_back_after_2_ms)
{
	begin_with_sessions(2, TSPAN_USECONDS(100));
	LET(rig_arrive_n(3));
	rig.unread = 2;
	rig.now += TSPAN_USECONDS(100);
	AFTER((void)rig_done(0), "");
	rig.now += TSPAN_USECONDS(1899);
	CHECK_STR("", rig_did());
	CHECK(pool_deadline(&rig.pool) == rig.now + TSPAN_USECONDS(1));
	rig.now += TSPAN_USECONDS(1);
	AFTER(pool_tick(&rig.pool, rig.now), "take 1, hand 2>0");
}

/* --- taking back -------------------------------------------------------- */

/* Process 0 has connections 0 and 2, process 1 has 1, since 0 ms. */
static void
begin_ahead(int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	rig.o.prefetch = 1;
	rig_running(rig.o, 2);
	AFTER(rig_arrive_n(3), "hand 0>0, hand 1>1, hand 2>0");
	rig.unread = 2;
}

/* --- private queues ----------------------------------------------------- */

static const struct rig_verb verbs[] = { { "ahead", begin_ahead },
	{ "sessions", begin_with_sessions }, { NULL, NULL } };

static const struct rig_play plays[] = {
	/* Handing ahead. */
	{ "the_process_given_least_recently_prefetches_first",
	    { "prefetch = 2", "running 2", "arrive 2 -> hand 0>0, hand 1>1",
		"arrive 3 -> hand 2>0, hand 3>1, hand 4>0" } },
	{ "a_waiter_is_prefetched_when_a_session_ends",
	    { "prefetch = 1", "running 1", "arrive 3 -> hand 0>0, hand 1>0",
		"done 0 -> hand 2>0" } },
	{ "prefetched_connections_are_demand_when_all_are_busy",
	    { "prefetch = 4", "start_delay = 100ms", "running 1", "arrive 3",
		"at 99 -> hand 0>0, hand 1>0, hand 2>0",
		"at 100 -> spawn 1" } },
	{ "time_in_the_socket_is_waiting_and_no_session",
	    { "prefetch = 1", "running 1", "arrive 2 -> *", "? queue_wait = 0",
		"at 100", "done 0", "? queue_wait = 100ms", "at 150", "done 0",
		"? session_time = 100ms" } },
	{ "max_requests_bounds_prefetch",
	    { "prefetch = 5", "max_requests = 3", "running 1",
		"arrive 4 -> hand 0>0, hand 1>0, hand 2>0, spawn 1" } },
	{ "by_itself_nothing_is_handed_ahead_before_256_sessions",
	    { "prefetch = 1", "prefetch_auto = 1", "running 1", "repeat 255",
		"arrive -> *", "late 100us", "done 0", "again",
		"arrive 2 -> hand 0>0" } },
	/* By itself. */
	{ "by_itself_one_is_handed_ahead_where_sessions_are_brief",
	    { "sessions 1 100us", "arrive 3 -> hand 0>0, hand 1>0",
		"? waiting = 1" } },
	{ "by_itself_nothing_is_handed_ahead_where_sessions_are_long",
	    { "sessions 1 1001us", "arrive 2 -> hand 0>0" } },
	/* Half of the sessions are brief, but a hand-over hardly counts. */
	{ "by_itself_the_mean_session_decides",
	    { "sessions 1 100us", "arrive 1 -> *", "late 300ms", "done 0",
		"arrive 2 -> hand 0>0" } },
	{ "by_itself_nothing_is_handed_ahead_behind_a_session_that_lasts",
	    { "sessions 1 100us", "arrive -> *", "late 210us", "arrive ->",
		"? waiting = 1" } },
	{ "by_itself_a_younger_session_is_preferred_to_one_that_lasts",
	    { "sessions 2 100us", "arrive -> hand 1>1", "late 210us",
		"arrive 2 -> hand 0>0, hand 2>0" } },
	/* Taking back. */
	{ "a_prefetched_connection_is_taken_back_after_5_ms",
	    { "ahead", "at 1", "done 1 ->", "not_before 5 -> take 0, hand 2>1",
		"? retaken = 1", "? retries 2 = 0" } },
	{ "an_old_prefetched_connection_is_taken_back_at_once",
	    { "ahead", "at 60", "done 1 -> take 0, hand 2>1" } },
	{ "a_prefetched_connection_stays_when_its_turn_comes_first",
	    { "ahead", "at 1", "done 1", "at 3", "done 0", "at 1000 ->",
		"? prefetched = 0" } },
	{ "nothing_is_taken_from_a_process_that_received_all",
	    { "ahead", "at 60", "unread none", "done 1", "at 1000 -> take 0",
		"? prefetched = 0" } },
	/*
	 * The process has not read even its first connection: that comes back.
	 */
	{ "the_first_connection_may_come_back_too",
	    { "ahead", "at 60", "unread 0", "done 1 -> take 0, hand 0>1",
		"? prefetched = 0" } },
	{ "an_idle_process_gets_a_waiter_before_prefetched_connections",
	    { "ahead", "arrive 2 -> hand 3>1", "at 60", "done 1",
		"done 1 -> hand 4>1", "done 1 -> take 0, hand 2>1" } },
	{ "each_free_place_takes_one_connection_back",
	    { "prefetch = 2", "running 2", "arrive 6 -> *", "unread 2", "at 60",
		"done 1", "done 1 ->", "done 1 -> take 0, hand 2>1" } },
	{ "a_new_process_takes_back_what_was_prefetched_longest",
	    { "prefetch = 2", "start_delay = 100ms", "running 1", "arrive 3",
		"at 100 -> *", "unread 1",
		"ready 1 -> take 0, hand 1>1, spawn 2" } },
	{ "connections_prefetched_by_a_dead_process_come_back",
	    { "ahead", "at 60", "died 0 signal", "done 1 ->",
		"retaken 2 -> hand 2>1", "gone 0", "? lost = 1" } },
	{ "a_take_is_asked_for_once",
	    { "ahead", "at 60", "done 1", "spoke 1",
		"at 70 -> take 0, hand 2>1" } },
	{ "more_concurrency_makes_prefetched_connections_sessions",
	    { "prefetch = 1", "ahead", "? prefetched = 1", "concurrency = 2",
		"change", "? prefetched = 0" } },
	/* Private queues. */
	{ "of_private_queues_the_shortest_is_first",
	    { "prefetch = 3", "private_queue = 1", "running 2",
		"arrive 6 -> hand 0>0, hand 1>1, hand 2>0, hand 3>1, hand 4>0, hand 5>1",
		"done 0", "done 0", "arrive -> hand 2>0" } },
	{ "private_queues_are_never_taken_from",
	    { "prefetch = 2", "private_queue = 1", "running 2", "arrive 4 -> *",
		"at 60", "done 1", "done 1", "at 10000 ->" } },
	{ "full_private_queues_leave_the_rest_in_the_backlog",
	    { "prefetch = 1", "private_queue = 1", "running 1", "arrive 2 -> *",
		"? may_accept = 0", "paused 0", "done 0 -> resume 0" } },
	{ "full_private_queues_refuse_where_on_full_says_so",
	    { "prefetch = 1", "private_queue = 1", "close_when_full = 1",
		"running 1",
		"arrive 3 -> hand 0>0, hand 1>0, refuse 2 full" } },
	{ "before_the_first_process_is_ready_connections_wait_in_common",
	    { "prefetch = 1", "private_queue = 1", "close_when_full = 1", "add",
		"arrive 2 -> spawn 0", "ready 0 -> hand 0>0, hand 1>0" } },
	{ "full_private_queues_make_the_app_grow",
	    { "prefetch = 3", "private_queue = 1", "start_delay = 100ms",
		"running 1", "arrive 2",
		"at 100 -> hand 0>0, hand 1>0, spawn 1" } },
	/* A moment later the session may have lasted too long for that. */
	{ "by_itself_nothing_is_accepted_only_to_be_handed_ahead",
	    { "max_queue = 0", "sessions 1 100us", "arrive -> *",
		"? may_accept = 0" } },
};

RIG_PLAYS(begin, verbs)
