/* Connections that are parked between two requests. */

#include "rig.h"

static void
unpark(int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	CHECK(pool_may_accept(&rig.pool, 0));
	(void)pool_unparked(&rig.pool, 0, rig.now);
}

static void
hold_one(int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	pool_held(&rig.pool, 0, rig.now);
}

static void
end(int64_t how, int64_t b)
{
	(void)b;
	pool_park_ended(&rig.pool, 0, (enum park_end)how, rig.now);
}

static const struct rig_verb verbs[] = { { "unpark", unpark },
	{ "held", hold_one }, { "ended", end }, { NULL, NULL } };

static const struct rig_play plays[] = {
	{ "a_process_that_parks_its_connection_is_idle",
	    { "running 1", "arrive -> hand 0>0", "parks 0", "? state 0 = idle",
		"? requests = 1", "? parked = 1", "? completed = 0",
		"? sessions = 0" } },
	{ "a_parked_connection_with_a_request_waits_as_others_do",
	    { "max_processes = 1", "queue_timeout = 1s", "running 1",
		"arrive -> hand 0>0", "parks 0", "arrive -> hand 0>0", "unpark",
		"? waiting = 1", "at 1000 -> refuse 1 late",
		"? timed_out = 1" } },
	{ "a_full_queue_turns_a_parked_connection_away_as_others",
	    { "max_processes = 1", "max_queue = 0", "close_when_full = 1",
		"running 1", "arrive -> hand 0>0", "parks 0",
		"arrive -> hand 0>0", "unpark -> refuse 1 full" } },
	{ "parked_sessions_count_for_max_requests",
	    { "max_requests = 1", "running 1", "arrive -> hand 0>0, spawn 1",
		"parks 0 -> stop 0" } },
	{ "a_parked_connection_starts_the_first_process",
	    { "min_processes = 0", "running 1", "arrive -> hand 0>0",
		"parks 0 -> *", "exits 0 exit -> *", "unpark -> spawn 0",
		"ready 0 -> hand 0>0" } },
	{ "a_parked_connection_goes_to_whichever_process_is_idle",
	    { "running 2", "arrive -> hand 0>0", "parks 0",
		"arrive -> hand 0>0", "unpark -> hand 1>1", "? parked = 0",
		"? accepted = 2" } },
	/* Served, given up by its client, too late, refused. */
	{ "a_parked_connection_ends_once",
	    { "running 1", "arrive -> hand 0>0", "parks 0", "ended 0",
		"? completed = 1", "held", "held", "held", "? parked = 3",
		"ended 1", "ended 2", "ended 3", "? parked = 0",
		"? abandoned = 1", "? timed_out = 1", "? refused = 1",
		"? accepted = 4" } },
};

RIG_PLAYS(rig_begin, verbs)
