/* Processes that start and stop by a promised wait. */

#include "rig.h"

/* Hardly anything but the need, and late connections, start a process. */
static void
begin(void)
{
	rig_begin();
	rig.o.target_wait = TSPAN_MSECONDS(20);
	rig.o.start_delay = TSPAN_SECONDS(100000);
	rig.o.stop_delay = TSPAN_SECONDS(10);
	rig.o.stop_timeout = TSPAN_SECONDS(100000);
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
finish(int64_t app, int64_t b)
{
	(void)b;
	for (uint32_t n = 0; n < rig.pool.nprocesses; n++)
		if (rig_process(n)->state == PROCESS_ACTIVE &&
		    rig_process(n)->app == (uint32_t)app)
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
			finish(app, 0);
		}
		(void)rig_did();
		rig_at(at + 200);
		end_all();
	}
}

static void
serve(int64_t seconds, int64_t n)
{
	serve_app(0, (unsigned)seconds, (unsigned)n);
}

static void
serve_second(int64_t seconds, int64_t n)
{
	serve_app(1, (unsigned)seconds, (unsigned)n);
}

/* Lets time pass; each process that is told to stop is gone at once. */
static void
rest(int64_t seconds, int64_t b)
{
	(void)b;
	for (int64_t i = 0; i < seconds; i++) {
		LET(rig_at(elapsed() + 1000));
		end_all();
	}
}

/* --- starts ------------------------------------------------------------- */

/* The need of the app, as if an estimate had just found it. */
static void
set_need(int64_t app, int64_t need)
{
	struct app_options o = rig_app((uint32_t)app)->options;
	struct promise *m = &rig.pool.apps[app].promise;

	m->need = (uint32_t)need;
	m->sure = true;
	m->updated = rig.now;
	rig_change((uint32_t)app, &o);
}

/* --- connections that wait ------------------------------------------------ */

/* An app whose sessions take a second, with that many processes. */
static void
serving_a_second(int64_t n, int64_t b)
{
	(void)b;
	rig_running(rig.o, (uint32_t)n);
	for (unsigned i = 0; i < PROMISE_EVIDENCE; i++) {
		LET(rig_arrive_at(0));
		rig_at(elapsed() + 1000);
		finish(0, 0);
	}
	(void)rig_did();
}

/* --- stops -------------------------------------------------------------- */

TEST(a_stop_keeps_stop_delay_and_takes_the_longest_idle)
{
	rig_running(rig.o, 4);
	serve(20, 1);
	/* 0 was first in line. */
	while (ready(0) == 4)
		rest(1, 0);
	CHECK_EQ(PROCESS_GONE, rig_process(3)->state);
	rest(8, 0);
	CHECK_EQ(3, ready(0));
	rest(2, 0);
	CHECK_EQ(2, ready(0));
	CHECK_EQ(PROCESS_GONE, rig_process(2)->state);
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

/* --- one ceiling for several apps ----------------------------------------- */

/* Sets what both apps need, and fills the ceiling of 12 places. */
static void
sharing(uint32_t first, uint32_t first_need, uint32_t second_need)
{
	struct app_options o;

	begin();
	o = rig.o;
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

static const struct rig_verb verbs[] = { { "serve", serve },
	{ "serve_second", serve_second }, { "rest", rest },
	{ "finish", finish }, { "need", set_need },
	{ "seconds", serving_a_second }, { NULL, NULL } };

static const struct rig_play plays[] = {
	/* Starts. */
	{ "without_a_target_the_need_is_known_and_starts_and_stops_nothing",
	    { "target_wait = 0", "running 2", "serve 20 3", "? need = 3",
		"? ready = 2", "rest 1000", "? ready = 2", "? due = -1" } },
	{ "the_need_is_started_without_the_patience_of_waiters",
	    { "running 1", "serve 1 3", "? ready = 1", "serve 2 3",
		"? ready = 3", "serve 60 3", "? ready = 3" } },
	{ "connections_one_after_the_other_need_one_process",
	    { "running 1", "repeat 2000", "arrive -> *", "after 50", "finish 0",
		"again", "->", "? ready = 1" } },
	{ "several_sessions_at_a_time_share_a_process",
	    { "concurrency = 4", "running 1", "repeat 500", "arrive 3 -> *",
		"after 50", "done 0", "done 0", "done 0", "after 150", "again",
		"->", "? ready = 1" } },
	{ "a_wait_for_a_lock_is_none_for_a_process",
	    { "limited = 1", "running 1", "repeat 500", "arrive -> *",
		"after 20", "granted 0", "arrive -> *", "after 50", "finish 0",
		"granted 0 -> *", "after 50", "finish 0 -> *", "again",
		"? ready = 1", "? least = 1" } },
	{ "the_need_is_bound_by_max_processes",
	    { "max_processes = 2", "running 1", "serve 60 3", "? ready = 2",
		"max_processes = 1", "change", "serve 60 3", "? ready = 1" } },
	{ "the_need_waits_for_a_pause_after_failures",
	    { "running 3", "serve 20 3", "died 0 signal", "gone 0 ->",
		"after 2500 -> spawn 0" } },
	{ "a_process_of_one_session_has_its_successor_at_once",
	    { "exit_ends = 1", "running 3", "need 0 3", "arrive -> hand 0>0",
		"exits 0 exit -> spawn 3" } },
	{ "a_load_over_the_threshold_starts_none",
	    { "grow_threshold = 10", "running 1", "arrive",
		"at 60000 -> hand 0>0" } },
	{ "a_load_under_the_thresholds_stops_none",
	    { "multi_threshold = 50", "target_wait = 0",
		"kill_interval = 1000s", "running 3", "arrive -> *", "at 50",
		"finish 0", "at 60000", "? marked > 0", "target_wait = 20ms",
		"change", "? marked = 0", "arrive", "at 60050", "finish 0",
		"at 2000000 -> hand 0>0" } },
	/* Connections that wait. */
	{ "late_connections_bring_a_process_each",
	    { "seconds 1", "arrive -> hand 0>0", "arrive -> spawn 1", "arrive",
		"arrive -> spawn 2, spawn 3" } },
	{ "connections_that_are_served_in_ten_targets_are_not_late",
	    { "target_wait = 100ms", "seconds 1", "arrive",
		"arrive -> hand 0>0", "arrive -> spawn 1, spawn 2" } },
	{ "what_is_late_is_bound_by_start_delay_too",
	    { "target_wait = 10s", "start_delay = 99ms", "seconds 1", "arrive",
		"arrive -> hand 0>0, spawn 1" } },
	/* Ten targets of 20 ms are 200 ms; the processes took 30 ms to start.
	 */
	{ "one_connection_waits_for_ten_targets",
	    { "start_delay = 50ms", "min_processes = 2", "add -> *",
		"spawned 0", "spawned 1", "at 30", "ready 0", "ready 1",
		"arrive 2 -> *", "arrive", "not_before 230 -> spawn 2" } },
	{ "one_connection_waits_for_ten_start_delays_at_most",
	    { "start_delay = 10ms", "min_processes = 2", "add -> *",
		"spawned 0", "spawned 1", "at 30", "ready 0", "ready 1",
		"arrive 2 -> *", "arrive", "not_before 130 -> spawn 2" } },
	{ "as_many_waiters_as_processes_wait_for_a_start",
	    { "start_delay = 50ms", "min_processes = 2", "add -> *",
		"spawned 0", "spawned 1", "at 30", "ready 0", "ready 1",
		"arrive 2 -> *", "arrive 2", "not_before 60 -> spawn 2" } },
	/* Stops. */
	{ "processes_that_are_not_needed_stop_one_by_one_after_five_minutes",
	    { "running 1", "serve 60 3", "? ready = 3", "rest 280",
		"? ready = 3", "rest 300", "? ready = 1",
		"? exits load = 2" } },
	{ "processes_stay_while_nothing_is_known",
	    { "running 5", "arrive -> *", "at 50", "finish 0", "rest 1000",
		"? ready = 5" } },
	{ "an_idle_process_that_is_needed_stays",
	    { "max_idle_time = 100ms", "stop_delay = 0", "running 3",
		"serve 20 3",
		/* Each is idle for 150 ms of 200. */ "? ready = 3", "rest 600",
		"? ready = 1" } },
	{ "the_last_process_of_an_app_stops_for_idleness_alone",
	    { "min_processes = 0", "running 2", "serve 20 1", "rest 3600",
		"? ready = 1" } },
	{ "an_app_at_rest_has_no_deadline",
	    { "running 2", "serve 60 2", "rest 3600", "? ready = 1",
		"? due = -1" } },
	{ "the_minimum_stays",
	    { "min_processes = 3", "running 5", "serve 20 1", "rest 600",
		"? ready = 3" } },
	{ "spare_processes_stay",
	    { "min_idle = 3", "running 5", "serve 20 1", "rest 600",
		"? ready = 3" } },
	/* Nothing may stop while a connection waits in the backlog. */
	{ "an_app_whose_listener_waits_for_a_number_has_no_deadline",
	    { "few_conns 3 20", "running 3", "serve 4 3", "rest 200",
		"? ready = 3", "min_processes = 0", "target_wait = 0",
		"start_timeout = 100000s", "add", "arrive_at 1", "arrive_at 1",
		"arrive_at 1 -> *", "paused 0", "rest 1", "? due > 1000000",
		"? ready = 3" } },
	{ "a_need_takes_an_idle_process_that_another_app_can_spare",
	    { "begin 6", "running 5", "running 1", "serve 3 1",
		"serve_second 10 3", "? ready = 3", "? ready 1 = 3" } },
	{ "a_need_takes_no_process_that_another_app_needs",
	    { "begin 4", "running 3", "running 1", "repeat 60", "serve 1 3",
		"serve_second 1 2", "again", "? ready = 3", "? ready 1 = 1" } },
};

RIG_PLAYS(begin, verbs)
