/* Processes that start and stop by a promised wait. */

#include "rig.h"

/*
 * Options under which hardly anything but the need, and connections that would
 * be late, start a process.
 */
static struct app_options
promise_options(void)
{
	struct app_options o = rig_options();

	o.target_wait = TSPAN_MSECONDS(20);
	o.start_delay = TSPAN_SECONDS(100000);
	o.stop_delay = TSPAN_SECONDS(10);
	o.stop_timeout = TSPAN_SECONDS(100000);
	return o;
}

static void
begin(void)
{
	rig_begin();
	rig.o = promise_options();
}

/* How many processes are idle or active. */
static uint32_t
ready(uint32_t app)
{
	return app_ready(rig_app(app));
}

/* All processes that were asked for start at once. */
static void
start_all(void)
{
	for (uint32_t n = 0; n < rig.pool.nprocesses; n++)
		if (rig_process(n)->state == PROCESS_STARTING)
			(void)rig_ready(n);
}

/* Processes that were told to stop are gone. */
static void
end_all(void)
{
	for (uint32_t n = 0; n < rig.pool.nprocesses; n++)
		if (rig_process(n)->state == PROCESS_STOPPING)
			rig_exits(n, END_EXIT);
}

/* The processes serve what they have. */
static void
finish(uint32_t app)
{
	for (uint32_t n = 0; n < rig.pool.nprocesses; n++)
		if (rig_process(n)->state == PROCESS_ACTIVE &&
		    rig_process(n)->app == app)
			(void)rig_done(n);
}

static int64_t
elapsed(void)
{
	return (rig.now - RIG_START) / 1000000;
}

/*
 * For so many seconds, five times in each, this many connections come at once,
 * and each is served for 50 ms.
 */
static void
serve_app(uint32_t app, unsigned seconds, unsigned n)
{
	for (unsigned i = 0; i < 5 * seconds; i++) {
		int64_t at = elapsed();

		for (unsigned c = 0; c < n; c++)
			(void)rig_arrive_at(app);
		for (unsigned round = 1; round <= 3; round++) {
			(void)rig_did();
			start_all();
			rig_at(at + 50 * round);
			finish(app);
		}
		(void)rig_did();
		rig_at(at + 200);
		end_all();
	}
}

static void
serve(unsigned seconds, unsigned n)
{
	serve_app(0, seconds, n);
}

/* Lets time pass; each process that is told to stop is gone at once. */
static void
rest(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		LET(rig_at(elapsed() + 1000));
		end_all();
	}
}

/* --- starts ------------------------------------------------------------- */

TEST(without_a_target_the_need_is_known_and_starts_and_stops_nothing)
{
	rig.o.target_wait = 0;
	rig_running(rig.o, 2);
	serve(20, 3);
	CHECK_EQ(3, rig_app(0)->promise.need);
	CHECK_EQ(2, ready(0));
	rest(1000);
	CHECK_EQ(2, ready(0));
	CHECK_EQ(-1, rig_due());
}

TEST(the_need_is_started_without_the_patience_of_waiters)
{
	rig_running(rig.o, 1);
	serve(1, 3);
	CHECK_EQ(1, ready(0));
	serve(2, 3);
	CHECK_EQ(3, ready(0));
	serve(60, 3);
	CHECK_EQ(3, ready(0));
}

TEST(connections_one_after_the_other_need_one_process)
{
	rig_running(rig.o, 1);
	for (unsigned i = 0; i < 2000; i++) {
		LET(rig_arrive());
		rig_at(elapsed() + 50);
		finish(0);
	}
	CHECK_STR("", rig_did());
	CHECK_EQ(1, ready(0));
}

TEST(the_need_is_bound_by_max_processes)
{
	rig.o.max_processes = 2;
	rig_running(rig.o, 1);
	serve(60, 3);
	CHECK_EQ(2, ready(0));
	rig.o.max_processes = 1;
	rig_change(0, &rig.o);
	serve(60, 3);
	CHECK_EQ(1, ready(0));
}

TEST(the_need_waits_for_a_pause_after_failures)
{
	rig_running(rig.o, 3);
	serve(20, 3);
	rig_died(0, END_SIGNAL);
	AFTER(rig_gone(0), "");
	AFTER(rig_at(elapsed() + 2500), "spawn 0");
}

/* The need of the app, as if an estimate had just found it. */
static void
set_need(uint32_t app, uint32_t need)
{
	struct app_options o = rig_app(app)->options;
	struct promise *m = &rig.pool.apps[app].promise;

	m->need = need;
	m->sure = true;
	m->updated = rig.now;
	rig_change(app, &o);
}

TEST(a_process_of_one_session_has_its_successor_at_once)
{
	rig.o.exit_ends = true;
	rig_running(rig.o, 3);
	set_need(0, 3);
	AFTER((void)rig_arrive(), "hand 0>0");
	AFTER(rig_exits(0, END_EXIT), "spawn 3");
}

TEST(a_load_over_the_threshold_starts_none)
{
	rig.o.grow_threshold = 10;
	rig_running(rig.o, 1);
	(void)rig_arrive();
	AFTER(rig_at(60000), "hand 0>0");
}

TEST(a_load_under_the_thresholds_stops_none)
{
	rig.o.multi_threshold = 50;
	rig.o.target_wait = 0;
	rig.o.kill_interval = TSPAN_SECONDS(1000);
	rig_running(rig.o, 3);
	LET(rig_arrive());
	rig_at(50);
	finish(0);
	rig_at(60000);
	CHECK(rig_app(0)->shrinking.marked > 0);
	rig.o.target_wait = TSPAN_MSECONDS(20);
	rig_change(0, &rig.o);
	CHECK_EQ(0, rig_app(0)->shrinking.marked);
	(void)rig_arrive();
	rig_at(60050);
	finish(0);
	AFTER(rig_at(2000000), "hand 0>0");
}

TEST(several_sessions_at_a_time_share_a_process)
{
	rig.o.concurrency = 4;
	rig_running(rig.o, 1);
	for (unsigned i = 0; i < 500; i++) {
		(void)rig_arrive();
		(void)rig_arrive();
		LET(rig_arrive());
		rig_at(elapsed() + 50);
		while (rig_process(0)->state == PROCESS_ACTIVE)
			(void)rig_done(0);
		rig_at(elapsed() + 150);
	}
	CHECK_STR("", rig_did());
	CHECK_EQ(1, ready(0));
}

TEST(a_wait_for_a_lock_is_none_for_a_process)
{
	rig.o.limited = true;
	rig_running(rig.o, 1);
	for (unsigned i = 0; i < 500; i++) {
		LET(rig_arrive());
		rig_at(elapsed() + 20);
		pool_lock_answered(&rig.pool, 0, LIMIT_GRANTED, 0, 0, rig.now);
		LET(rig_arrive());
		rig_at(elapsed() + 50);
		finish(0);
		LET(pool_lock_answered(
		    &rig.pool, 0, LIMIT_GRANTED, 0, 0, rig.now));
		rig_at(elapsed() + 50);
		LET(finish(0));
	}
	CHECK_EQ(1, ready(0));
	CHECK_EQ(1, promise_least(&rig_app(0)->promise));
}

/* --- connections that wait ------------------------------------------------ */

/* An app whose sessions take a second, with that many processes. */
static void
serving_a_second(struct app_options o, uint32_t n)
{
	rig_running(o, n);
	for (unsigned i = 0; i < PROMISE_EVIDENCE; i++) {
		LET(rig_arrive());
		rig_at(elapsed() + 1000);
		finish(0);
	}
	(void)rig_did();
}

TEST(late_connections_bring_a_process_each)
{
	serving_a_second(rig.o, 1);
	AFTER((void)rig_arrive(), "hand 0>0");
	AFTER((void)rig_arrive(), "spawn 1");
	(void)rig_arrive();
	AFTER((void)rig_arrive(), "spawn 2, spawn 3");
}

TEST(connections_that_are_served_in_ten_targets_are_not_late)
{
	rig.o.target_wait = TSPAN_MSECONDS(100);
	serving_a_second(rig.o, 1);
	(void)rig_arrive();
	AFTER((void)rig_arrive(), "hand 0>0");
	AFTER((void)rig_arrive(), "spawn 1, spawn 2");
}

TEST(what_is_late_is_bound_by_start_delay_too)
{
	rig.o.target_wait = TSPAN_SECONDS(10);
	rig.o.start_delay = TSPAN_MSECONDS(99);
	serving_a_second(rig.o, 1);
	(void)rig_arrive();
	AFTER((void)rig_arrive(), "hand 0>0, spawn 1");
}

/* Two processes that took 30 ms to start, and are busy. */
static void
starting_for_30_ms(struct app_options o)
{
	o.min_processes = 2;
	LET(rig_add(&o));
	rig_spawned(0);
	rig_spawned(1);
	rig_at(30);
	(void)rig_ready(0);
	(void)rig_ready(1);
	(void)rig_arrive();
	LET(rig_arrive());
}

/* Ten targets of 20 ms are 200 ms; the processes took 30 ms to start. */
TEST(one_connection_waits_for_ten_targets_and_many_for_a_start)
{
	static const struct {
		int64_t start_delay;
		unsigned waiters;
		int64_t waited;
	} tries[] = { { 50, 1, 200 }, { 10, 1, 100 }, { 50, 2, 30 } };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		begin();
		rig.o.start_delay = TSPAN_MSECONDS(tries[i].start_delay);
		starting_for_30_ms(rig.o);
		rig_arrive_n(tries[i].waiters);
		NOT_BEFORE(30 + tries[i].waited, "spawn 2");
	}
}

/* --- stops -------------------------------------------------------------- */

TEST(processes_that_are_not_needed_stop_one_by_one_after_five_minutes)
{
	rig_running(rig.o, 1);
	serve(60, 3);
	CHECK_EQ(3, ready(0));
	rest(280);
	CHECK_EQ(3, ready(0));
	rest(300);
	CHECK_EQ(1, ready(0));
	CHECK_EQ(2, rig_app(0)->figures.exits[END_LOAD]);
}

TEST(a_stop_keeps_stop_delay_and_takes_the_longest_idle)
{
	rig_running(rig.o, 4);
	serve(20, 1);
	/* 0 was first in line. */
	while (ready(0) == 4)
		rest(1);
	CHECK_EQ(PROCESS_GONE, rig_process(3)->state);
	rest(8);
	CHECK_EQ(3, ready(0));
	rest(2);
	CHECK_EQ(2, ready(0));
	CHECK_EQ(PROCESS_GONE, rig_process(2)->state);
}

TEST(the_minimum_and_spare_processes_stay)
{
	for (int idle = 0; idle < 2; idle++) {
		begin();
		*(idle ? &rig.o.min_idle : &rig.o.min_processes) = 3;
		rig_running(rig.o, 5);
		serve(20, 1);
		rest(600);
		CHECK_EQ(3, ready(0));
	}
}

TEST(processes_stay_while_nothing_is_known)
{
	rig_running(rig.o, 5);
	LET(rig_arrive());
	rig_at(50);
	finish(0);
	rest(1000);
	CHECK_EQ(5, ready(0));
}

TEST(processes_stay_while_the_promise_is_broken)
{
	rig_running(rig.o, 5);
	for (unsigned i = 0; i < 40; i++) {
		serve(10, 1);
		rig.pool.apps[0].promise.missed += 2;
	}
	CHECK_EQ(5, ready(0));
	serve(280, 1);
	CHECK_EQ(5, ready(0));
	serve(60, 1);
	CHECK(ready(0) < 5);
}

TEST(an_idle_process_that_is_needed_stays)
{
	rig.o.max_idle_time = TSPAN_MSECONDS(100);
	rig.o.stop_delay = 0;
	rig_running(rig.o, 3);
	serve(20, 3);
	/* Each is idle for 150 ms of 200. */
	CHECK_EQ(3, ready(0));
	rest(600);
	CHECK_EQ(1, ready(0));
}

TEST(the_last_process_of_an_app_stops_for_idleness_alone)
{
	rig.o.min_processes = 0;
	rig_running(rig.o, 2);
	serve(20, 1);
	rest(3600);
	CHECK_EQ(1, ready(0));
}

TEST(an_app_at_rest_has_no_deadline)
{
	rig_running(rig.o, 2);
	serve(60, 2);
	rest(3600);
	CHECK_EQ(1, ready(0));
	CHECK_EQ(-1, rig_due());
}

/* Nothing may stop while a connection waits in the backlog. */
TEST(an_app_whose_listener_waits_for_a_number_has_no_deadline)
{
	struct pool_limits limits = rig_limits();
	struct app_options o = promise_options();

	limits.conns = 3;
	rig_begin_with(limits, 20);
	rig_running(o, 3);
	serve(4, 3);
	rest(200);
	CHECK_EQ(3, ready(0));
	o.min_processes = 0;
	o.target_wait = 0;
	o.start_timeout = TSPAN_SECONDS(100000);
	rig_add(&o);
	for (int i = 0; i < 3; i++)
		(void)rig_arrive_at(1);
	(void)rig_did();
	rig_accept_paused(0);
	rest(1);
	CHECK(rig_due() > 1000000);
	CHECK_EQ(3, ready(0));
}

/* --- one ceiling for several apps ----------------------------------------- */

TEST(a_need_takes_an_idle_process_that_another_app_can_spare)
{
	struct app_options o = promise_options();

	rig_begin_with(rig_limits(), 6);
	rig_running(o, 5);
	(void)rig_running(o, 1);
	serve_app(0, 3, 1);
	serve_app(1, 10, 3);
	CHECK_EQ(3, ready(0));
	CHECK_EQ(3, ready(1));
}

TEST(a_need_takes_no_process_that_another_app_needs)
{
	struct app_options o = promise_options();

	rig_begin_with(rig_limits(), 4);
	rig_running(o, 3);
	(void)rig_running(o, 1);
	for (unsigned i = 0; i < 60; i++) {
		serve_app(0, 1, 3);
		serve_app(1, 1, 2);
	}
	CHECK_EQ(3, ready(0));
	CHECK_EQ(1, ready(1));
}

/* Sets what both apps need, and fills the ceiling of 12 places. */
static void
sharing(uint32_t first, uint32_t first_need, uint32_t second_need)
{
	struct app_options o = promise_options();

	o.max_processes = 12;
	o.start_delay = TSPAN_MSECONDS(50);
	o.min_processes = 0;
	rig_begin_with(rig_limits(), 12);
	(void)rig_running(o, first);
	(void)rig_running(o, 12 - first);
	set_need(0, first_need);
	set_need(1, second_need);
}

/* All processes are busy, and a connection waits for the second app. */
static void
crowd(uint32_t first)
{
	for (uint32_t i = 0; i < 12; i++)
		(void)rig_arrive_at(i < first ? 0 : 1);
	(void)rig_arrive_at(0);
	LET(rig_arrive_at(1));
	AFTER(rig_at(elapsed() + 600), "");
	(void)rig_done(0);
}

TEST(busy_apps_share_places_by_their_needs)
{
	sharing(8, 8, 4);
	crowd(8);
	/* 7 of 8 against 5 of 4. */
	CHECK_STR("hand 12>0", rig_did());
	sharing(8, 4, 4);
	crowd(8);
	/* 7 of 4 against 5 of 4. */
	CHECK_STR("stop 0", rig_did());
	sharing(8, 12, 12);
	AFTER(crowd(8), "stop 0");
	sharing(7, 4, 4);
	crowd(7);
	/* 6 of 4 against 6 of 4. */
	CHECK_STR("stop 0", rig_did());
	sharing(6, 4, 4);
	AFTER(crowd(6), "hand 12>0");
	sharing(6, 4, 8);
	crowd(6);
	/* 5 of 4 against 7 of 8. */
	CHECK_STR("stop 0", rig_did());
}

TESTS(begin, rig_end)
