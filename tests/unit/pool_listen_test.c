/* Apps whose processes accept connections themselves. */

#include "rig.h"

static struct app_options
listen_options(uint32_t min)
{
	struct app_options o = rig_options();

	o.sessions = false;
	o.listens = true;
	o.min_processes = min;
	o.stop_timeout = TSPAN_SECONDS(100000);
	return o;
}

static void
backlog(uint32_t depth)
{
	pool_backlog(&rig.pool, 0, depth, rig.now);
	pool_check(&rig.pool);
}

static void
worked(uint32_t process, double processors, bool in_use)
{
	pool_worked(&rig.pool, process, processors, in_use, rig.now);
	pool_check(&rig.pool);
}

/* An app of n processes, the last of them started last. */
static void
begin_listening(struct app_options o, uint32_t n)
{
	uint32_t min = o.min_processes;

	o.min_processes = n;
	LET(rig_add(&o));
	for (uint32_t i = 0; i < n; i++)
		rig_spawned(i);
	o.min_processes = min;
	rig_change(0, &o);
}

TEST(the_first_connection_starts_a_process_at_once)
{
	rig.o = listen_options(0);
	AFTER(rig_add(&rig.o), "");
	AFTER(backlog(1), "spawn 0");
}

TEST(no_connection_is_accepted_for_a_listening_app)
{
	begin_listening(listen_options(1), 1);
	backlog(5);
	rig_at(50);
	CHECK(!pool_may_accept(&rig.pool, 0));
	CHECK_STR("", rig_did());
}

TEST(a_backlog_that_stays_for_start_delay_starts_another)
{
	begin_listening(listen_options(1), 1);
	backlog(3);
	NOT_BEFORE(100, "spawn 1");
}

TEST(a_backlog_that_goes_starts_nothing)
{
	begin_listening(listen_options(1), 1);
	backlog(3);
	rig_at(90);
	backlog(0);
	rig_at(95);
	backlog(3);
	AFTER(rig_at(194), "");
}

TEST(a_failed_app_tries_a_start_for_each_that_comes_into_its_backlog)
{
	rig.o = listen_options(1);
	rig.o.start_limit = 1;
	LET(rig_add(&rig.o));
	rig_spawn_failed(0, false);
	backlog(1);
	NOT_BEFORE(1000, "spawn 0");
	rig_spawn_failed(0, false);
	backlog(1);
	AFTER(rig_at(60000), "");
	AFTER(backlog(2), "spawn 0");
}

TEST(a_busy_processor_starts_another_by_load)
{
	for (int more = 0; more < 2; more++) {
		rig_begin();
		begin_listening(listen_options(1), 1);
		/* More than one processor counts as one. */
		worked(0, more ? 7 : 0.95, true);
		AFTER(rig_at(10000), "spawn 1");
		CHECK_NEAR(more ? 100 : 95, app_load(rig_app(0), rig.now));
	}
}

TEST(a_process_that_is_not_in_use_stops_after_max_idle_time)
{
	rig.o = listen_options(0);
	rig.o.max_idle_time = TSPAN_SECONDS(60);
	begin_listening(rig.o, 1);
	rig_at(50000);
	worked(0, 0, true);
	NOT_BEFORE(110000, "stop 0");
}

TEST(low_load_stops_processes_of_a_listening_app)
{
	rig.o = listen_options(1);
	rig.o.multi_threshold = 50;
	begin_listening(rig.o, 2);
	worked(0, 0.1, true);
	worked(1, 0.1, true);
	AFTER(rig_at(60000), "stop 0");
}

TEST(a_process_that_leaves_takes_its_load_with_it)
{
	begin_listening(listen_options(1), 2);
	worked(0, 0.5, true);
	worked(1, 0.25, true);
	CHECK_EQ(750, rig_app(0)->busy);
	rig_exits(0, END_SIGNAL);
	CHECK_EQ(250, rig_app(0)->busy);
}

static struct app_options
settling_options(uint32_t min)
{
	struct app_options o = listen_options(min);

	o.ready_after = TSPAN_SECONDS(1);
	o.start_limit = 2;
	return o;
}

TEST(a_process_is_ready_when_it_has_lived_for_ready_after)
{
	rig.o = settling_options(1);
	rig.tells = true;
	rig.o.start_timeout = TSPAN_MSECONDS(500);
	LET(rig_add(&rig.o));
	rig_at(100);
	rig_spawned(0);
	AFTER(rig_at(1099), "");
	CHECK_EQ(PROCESS_STARTING, rig_process(0)->state);
	AFTER(rig_at(1100), "tell 0 ready");
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
}

TEST(a_death_before_ready_after_is_a_failed_start)
{
	rig.o = settling_options(1);
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_at(999);
	rig_exits(0, END_EXIT);
	CHECK_EQ(1, rig_app(0)->failed_starts);
	CHECK(!rig_app(0)->failed);
	AFTER(rig_at(10000), "spawn 0");
	rig_spawned(0);
	rig_exits(0, END_FAILURE);
	CHECK(rig_app(0)->failed);
}

TEST(an_old_process_stays_until_the_new_one_is_ready)
{
	rig.o = settling_options(1);
	begin_listening(rig.o, 1);
	rig_at(1000);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "spawn 1");
	rig_spawned(1);
	NOT_BEFORE(2000, "stop 0");
}

TEST(a_generation_that_does_not_live_ends_no_old_process)
{
	begin_listening(settling_options(1), 1);
	rig_at(1000);
	pool_app_restart(&rig.pool, 0, rig.now);
	for (uint32_t n = 1; n <= 2; n++) {
		LET(rig_at(10000 * n));
		rig_spawned(1);
		rig_exits(1, END_FAILURE);
	}
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
	CHECK(rig_app(0)->rollout.state == ROLLOUT_GIVEN_UP);
}

TEST(a_process_told_to_stop_before_it_is_ready_stops)
{
	rig.o = settling_options(1);
	LET(rig_add(&rig.o));
	rig_spawned(0);
	AFTER(pool_app_restart(&rig.pool, 0, rig.now), "stop 0, spawn 1");
	rig_at(1000);
	CHECK_EQ(PROCESS_STOPPING, rig_process(0)->state);
}

TEST(a_job_that_is_done_before_ready_after_was_ready)
{
	rig.o = settling_options(1);
	rig.o.listens = false;
	rig.tells = true;
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_at(100);
	AFTER(rig_exits(0, END_EXIT), "tell 0 ready");
	CHECK_EQ(0, rig_app(0)->failed_starts);
}

TEST(a_changed_ready_after_holds_for_starting_processes)
{
	rig.o = settling_options(1);
	rig.o.ready_after = TSPAN_SECONDS(86400);
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_at(500);
	rig.o.ready_after = TSPAN_SECONDS(1);
	rig_change(0, &rig.o);
	rig_at(1000);
	CHECK_EQ(PROCESS_IDLE, rig_process(0)->state);
}

TEST(a_job_that_is_done_is_no_failure_of_its_generation)
{
	rig.o = settling_options(1);
	rig.o.listens = false;
	begin_listening(rig.o, 1);
	rig_at(1000);
	LET(pool_app_restart(&rig.pool, 0, rig.now));
	rig_spawned(1);
	rig_exits(1, END_EXIT);
	CHECK_EQ(0, rig_app(0)->failed_starts);
	CHECK_STR("stop 0", rig_did());
}

TEST(a_job_that_fails_later_is_not_ready)
{
	rig.o = settling_options(1);
	rig.o.listens = false;
	LET(rig_add(&rig.o));
	rig_spawned(0);
	rig_exits(0, END_EXIT);
	CHECK(app_is_ready(rig_app(0)));
	rig_at(10000);
	rig_spawned(0);
	rig_exits(0, END_FAILURE);
	CHECK(!app_is_ready(rig_app(0)));
}

/* A job app of that minimum, with all processes started at 0. */
static void
begin_jobs(unsigned min_processes)
{
	struct app_options o = settling_options(min_processes);

	o.listens = false;
	o.ready_after = 0;
	LET(rig_add(&o));
	for (uint32_t n = 0; n < min_processes; n++)
		rig_spawned(n);
}

TEST(a_job_starts_restart_delay_after_the_one_before_each_time)
{
	begin_jobs(1);
	for (int64_t n = 0; n < 10; n++) {
		rig_exits(0, END_EXIT);
		NOT_BEFORE(1000 * n + 1000, "spawn 0");
		rig_spawned(0);
	}
	/* So does one after a long job. */
	rig_at(3600 * 1000);
	rig_exits(0, END_EXIT);
	NOT_BEFORE(3601 * 1000, "spawn 0");
}

TEST(jobs_that_end_in_turn_do_not_prolong_the_pause)
{
	begin_jobs(2);
	rig_exits(0, END_EXIT);
	rig_at(600);
	AFTER(rig_exits(1, END_EXIT), "");
	AFTER(rig_at(1000), "spawn 1, spawn 0");
}

TEST(a_job_that_is_done_forgives_failures_before)
{
	begin_jobs(1);
	for (uint32_t n = 0; n < 4; n++) {
		rig_exits(0, END_FAILURE);
		LET(rig_at(20 * 1000 * (n + 1)));
		rig_spawned(0);
	}
	rig_exits(0, END_EXIT);
	CHECK_EQ(0, rig_app(0)->backoff.delay);
	CHECK_EQ(0, rig_app(0)->failed_starts);
}

TESTS(rig_begin, rig_end)
