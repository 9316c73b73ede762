/* Connections that are parked between two requests. */

#include "rig.h"

/* A process parks what it has. */
static bool
park(uint32_t process)
{
	bool sound = pool_session_over(&rig.pool, process,
	    rig.pool.processes[process].conns.first, SESSION_PARKED, rig.now);

	pool_check(&rig.pool);
	return sound;
}

static uint32_t
unpark(void)
{
	uint32_t conn;

	CHECK(pool_may_accept(&rig.pool, 0));
	conn = pool_unparked(&rig.pool, 0, rig.now);
	pool_check(&rig.pool);
	return conn;
}

static void
end(enum park_end how)
{
	pool_park_ended(&rig.pool, 0, how, rig.now);
	pool_check(&rig.pool);
}

static const struct app_figures *
figures(void)
{
	return &rig_app(0)->figures;
}

/* A connection that its process has parked. */
static void
begin(struct app_options o, uint32_t processes)
{
	rig_running(o, processes);
	AFTER(rig_arrive(), "hand 0>0");
	CHECK(park(0));
}

TEST(a_process_that_parks_its_connection_is_idle)
{
	begin(rig_options(), 1);
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
	CHECK_EQ(1, rig_process(0)->requests);
	CHECK_EQ(1, figures()->parked);
	CHECK_EQ(0, figures()->completed);
	CHECK_EQ(0, figures()->sessions);
}

TEST(a_parked_connection_goes_to_whichever_process_is_idle)
{
	begin(rig_options(), 2);
	AFTER(rig_arrive(), "hand 0>0");
	CHECK_EQ(1, unpark());
	CHECK_STR("hand 1>1", rig_did());
	CHECK_EQ(0, figures()->parked);
	CHECK_EQ(2, figures()->accepted);
}

TEST(a_parked_connection_with_a_request_waits_as_others_do)
{
	rig.o.max_processes = 1;
	rig.o.queue_timeout = TSPAN_SECONDS(1);
	begin(rig.o, 1);
	AFTER(rig_arrive(), "hand 0>0");
	(void)unpark();
	CHECK_EQ(1, app_waiting(rig_app(0)));
	AFTER(rig_at(1000), "refuse 1 late");
	CHECK_EQ(1, figures()->timed_out);
}

TEST(a_full_queue_turns_a_parked_connection_away_as_others)
{
	rig.o.max_processes = 1;
	rig.o.max_queue = 0;
	rig.o.close_when_full = true;
	begin(rig.o, 1);
	AFTER(rig_arrive(), "hand 0>0");
	(void)unpark();
	CHECK_STR("refuse 1 full", rig_did());
}

TEST(a_parked_connection_ends_once)
{
	begin(rig_options(), 1);
	end(PARK_SERVED);
	CHECK_EQ(1, figures()->completed);
	for (int i = 0; i < 3; i++)
		pool_held(&rig.pool, 0, rig.now);
	CHECK_EQ(3, figures()->parked);
	end(PARK_ABANDONED);
	end(PARK_TIMED_OUT);
	end(PARK_REFUSED);
	CHECK_EQ(0, figures()->parked);
	CHECK_EQ(1, figures()->abandoned);
	CHECK_EQ(1, figures()->timed_out);
	CHECK_EQ(1, figures()->refused);
	CHECK_EQ(4, figures()->accepted);
}

TEST(parked_sessions_count_for_max_requests)
{
	rig.o.max_requests = 1;
	rig_running(rig.o, 1);
	AFTER(rig_arrive(), "hand 0>0, spawn 1");
	CHECK(park(0));
	CHECK_STR("stop 0", rig_did());
}

TEST(a_parked_connection_starts_the_first_process)
{
	rig.o.min_processes = 0;
	LET(begin(rig.o, 1));
	LET(rig_exits(0, END_EXIT));
	(void)unpark();
	CHECK_STR("spawn 0", rig_did());
	AFTER(rig_ready(0), "hand 0>0");
}

TESTS(rig_begin, rig_end)
