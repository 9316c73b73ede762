/* The rules of the peers that look at load or assign connections. */

#include "policy_rig.h"

/* Waits for so many workers, at most 1000 seconds. */
static void
grow_to(unsigned n)
{
	for (unsigned i = 0; rig_count() < n && i < 1000; i++) {
		rig_seconds(1);
		rig_ready();
	}
}

/*
 * Keeps so many workers busy for that share of each second, with a request
 * each; the ends of the seconds are the ends of the pauses.
 */
static void
work(unsigned workers, unsigned percent, unsigned n)
{
	while (n-- > 0) {
		rig_arrive(workers);
		rig_pass(10 * percent);
		rig_finish_all();
		rig_pass(1000 - 10 * percent);
	}
}

/* --- uWSGI -------------------------------------------------------------- */

static void
busyness_begins_with_cheaper(void)
{
	rig_begin(POLICIES_UWSGI, 3, 8);
	CHECK_EQ(3, rig_starts());
	rig_end();
	rig_begin(POLICIES_UWSGI, 0, 8);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
busyness_over_50_starts_one_every_third_second(void)
{
	rig_begin_ready(POLICIES_UWSGI, 2, 8);
	work(2, 80, 3);
	CHECK_EQ(0, rig_starts());
	work(2, 80, 1);
	CHECK_EQ(1, rig_starts());
	work(2, 80, 2);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

static void
busyness_counts_workers_that_start_as_idle(void)
{
	rig_begin_ready(POLICIES_UWSGI, 2, 8);
	work(2, 80, 4);
	CHECK_EQ(1, rig_starts());
	/* Two busy workers of three at 60 percent are under 50. */
	work(2, 60, 9);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

static void
busyness_of_a_worker_that_finishes_nothing_is_100(void)
{
	rig_begin_ready(POLICIES_UWSGI, 1, 8);
	rig_arrive(1);
	rig_seconds(4);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

/* Four workers, idle, the last one started just now. */
static void
begin_grown_busyness(void)
{
	rig_begin_ready(POLICIES_UWSGI, 1, 4);
	rig_arrive(4);
	grow_to(4);
	rig_finish_all();
	(void)rig_starts();
}

/* Seconds to the next stop. */
static unsigned
next_stop(void)
{
	unsigned n = 0;

	(void)rig_stops();
	while (rig.stops == 0 && n < 1000) {
		rig_seconds(1);
		n++;
	}
	return n;
}

static void
busyness_stops_one_after_10_idle_windows(void)
{
	begin_grown_busyness();
	rig_seconds(29);
	CHECK_EQ(0, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(29);
	CHECK_EQ(0, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
busyness_never_stops_below_cheaper(void)
{
	begin_grown_busyness();
	rig_seconds(1000);
	CHECK_EQ(1, rig_count());
	rig_end();
}

static void
busyness_stops_the_worker_that_was_started_first(void)
{
	uint32_t first;

	begin_grown_busyness();
	first = rig_nth(1);
	rig_seconds(30);
	CHECK_EQ(first, rig.stopped);
	rig_end();
}

static void
busyness_stops_no_busy_worker(void)
{
	uint32_t busy, second;

	rig_begin_ready(POLICIES_UWSGI, 1, 8);
	rig_arrive(8);
	grow_to(8);
	busy = rig_nth(1);
	second = rig_nth(2);
	for (unsigned n = 2; n <= 8; n++)
		rig_finish(rig_nth(n));
	/* One busy worker of eight is far below 25 percent. */
	rig_seconds(31);
	CHECK_EQ(1, rig_stops());
	CHECK_EQ(second, rig.stopped);
	CHECK_EQ(1, rig.workers[busy].nserving);
	rig_end();
}

static void
busyness_emergencies_end_the_penalty(void)
{
	begin_grown_busyness();
	rig_seconds(30);
	work(3, 90, 3);
	rig_ready();
	(void)next_stop();
	(void)rig_starts();
	/* 12 windows now; more than 33 waiters, for a moment, make them 3. */
	rig_pass((unsigned)((rig.manager->ops->due(rig.manager) - rig.now) /
	    TSPAN_MSECONDS(1)));
	rig_arrive(44);
	rig_pass(2);
	CHECK_EQ(1, rig_starts());
	rig_ready();
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	CHECK(next_stop() < 12);
	/* The only emergency is over, but the timer was wound before. */
	CHECK_EQ(3 * 3, next_stop());
	CHECK_EQ(10 * 3, next_stop());
	rig_end();
}

static void
busyness_between_both_puts_the_stop_off(void)
{
	begin_grown_busyness();
	rig_seconds(24);
	work(4, 40, 3);
	/* A window between both does not count: one more is needed. */
	rig_seconds(3);
	CHECK_EQ(0, rig_stops());
	rig_seconds(3);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
busyness_between_both_for_three_windows_begins_anew(void)
{
	begin_grown_busyness();
	rig_seconds(18);
	work(4, 40, 9);
	rig_seconds(29);
	CHECK_EQ(0, rig_stops());
	rig_seconds(2);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
busyness_pays_a_penalty_for_a_start_after_a_stop(void)
{
	begin_grown_busyness();
	rig_seconds(30);
	CHECK_EQ(1, rig_stops());
	work(3, 90, 3);
	CHECK_EQ(1, rig_starts());
	rig_ready();
	/* 12 windows now. */
	rig_seconds(35);
	CHECK_EQ(0, rig_stops());
	rig_seconds(2);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
busyness_of_25_is_not_low(void)
{
	begin_grown_busyness();
	/* No worker is busy when the master looks: any could be stopped. */
	rig_pass(600);
	work(4, 25, 60);
	CHECK_EQ(0, rig_stops());
	work(4, 24, 60);
	CHECK(rig_stops() > 0);
	rig_end();
}

static void
busyness_stops_in_a_row_lower_the_multiplier(void)
{
	begin_grown_busyness();
	rig_seconds(30);
	work(3, 90, 3);
	rig_ready();
	(void)next_stop();
	CHECK_EQ(12 * 3, next_stop());
	CHECK_EQ(11 * 3, next_stop());
	rig_end();
}

static void
busyness_starts_one_each_second_for_a_long_backlog(void)
{
	rig_begin_ready(POLICIES_UWSGI, 1, 8);
	rig_arrive(1 + 33);
	rig_seconds(2);
	CHECK_EQ(0, rig_starts());
	rig_arrive(1);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
busyness_stops_emergency_workers_after_3_windows(void)
{
	rig_begin_ready(POLICIES_UWSGI, 1, 3);
	rig_arrive(60);
	rig_seconds(2);
	CHECK_EQ(2, rig_starts());
	rig_ready();
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	rig_seconds(8);
	CHECK_EQ(0, rig_stops());
	rig_seconds(4);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

/* --- mod_fastcgi -------------------------------------------------------- */

static void
fastcgi_starts_nothing_before_the_first_connection(void)
{
	rig_begin_ready(POLICIES_FASTCGI, 4, 8);
	CHECK_EQ(0, rig_count());
	rig_seconds(1000);
	CHECK_EQ(0, rig_count());
	rig_arrive(1);
	CHECK_EQ(1, rig_count());
	rig_end();
}

static void
fastcgi_starts_one_for_a_connection_that_has_waited_3_seconds(void)
{
	rig_begin_ready(POLICIES_FASTCGI, 1, 8);
	rig_arrive(1);
	rig_ready();
	rig_arrive(1);
	(void)rig_starts();
	rig_pass(2999);
	CHECK_EQ(0, rig_starts());
	rig_pass(1);
	CHECK_EQ(1, rig_starts());
	rig_pass(2999);
	CHECK_EQ(0, rig_starts());
	rig_pass(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
fastcgi_starts_none_for_a_connection_that_is_served_in_time(void)
{
	rig_begin_ready(POLICIES_FASTCGI, 1, 8);
	rig_arrive(1);
	rig_ready();
	(void)rig_starts();
	for (unsigned n = 0; n < 10; n++) {
		rig_arrive(1);
		rig_pass(2900);
		rig_finish(0);
	}
	CHECK_EQ(0, rig_starts());
	rig_end();
}

static void
fastcgi_starts_one_a_second_however_many_wait(void)
{
	rig_begin_ready(POLICIES_FASTCGI, 1, 8);
	rig_arrive(1);
	rig_ready();
	(void)rig_starts();
	for (unsigned n = 0; n < 100; n++) {
		rig_arrive(1);
		rig_pass(10);
	}
	rig_seconds(3);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

/* n processes, all idle, a second before the next kill policy. */
static void
begin_grown_fastcgi(unsigned min, unsigned n)
{
	rig_begin_ready(POLICIES_FASTCGI, min, 8);
	rig_arrive(100);
	grow_to(n);
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	(void)rig_starts();
	rig_seconds(299 - (unsigned)((rig.now - RIG_START) / TSPAN_SECONDS(1)));
}

/*
 * Lets n processes be there when the kill policy has just run, at this
 * smoothed load: the sum of the last interval was twice as much, in one
 * request.
 */
static void
look_at(unsigned n, unsigned percent)
{
	unsigned served = 2 * n * 300 * percent / 100;
	unsigned end = (served + 30 + 299) / 300 * 300;

	rig_begin_ready(POLICIES_FASTCGI, 0, 8);
	rig_arrive(1);
	rig_ready();
	rig_finish(0);
	rig_seconds(end - 20 - served);
	rig_arrive(1);
	rig_seconds(served);
	rig_finish(0);
	rig_arrive(n);
	grow_to(n);
	rig_finish_all();
	rig_seconds(20);
}

static void
fastcgi_stops_one_at_each_kill_interval(void)
{
	begin_grown_fastcgi(0, 4);
	CHECK_EQ(0, rig_stops());
	rig_seconds(300);
	CHECK_EQ(1, rig_stops());
	rig_seconds(300);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
fastcgi_never_stops_the_last(void)
{
	begin_grown_fastcgi(0, 4);
	rig_seconds(5000);
	CHECK_EQ(1, rig_count());
	rig_end();
}

static void
fastcgi_looks_at_min_processes_too_late(void)
{
	begin_grown_fastcgi(4, 4);
	rig_seconds(300);
	CHECK_EQ(3, rig_count());
	rig_seconds(5000);
	CHECK_EQ(1, rig_count());
	rig_end();
}

static void
fastcgi_divides_integers_so_that_three_can_be_too_many(void)
{
	/* 45 percent of three would be 67 of two: over the threshold of 50. */
	look_at(3, 45);
	CHECK_EQ(2, rig_count());
	rig_end();
	look_at(3, 53);
	CHECK_EQ(3, rig_count());
	rig_end();
}

static void
fastcgi_divides_integers_rightly_for_two(void)
{
	/* 30 percent of two are 60 of one. */
	look_at(2, 30);
	CHECK_EQ(2, rig_count());
	rig_end();
	look_at(2, 20);
	CHECK_EQ(1, rig_count());
	rig_end();
}

static void
fastcgi_counts_no_request_before_its_end(void)
{
	begin_grown_fastcgi(0, 2);
	rig_arrive(2);
	rig_seconds(2);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
fastcgi_stops_the_youngest_be_it_busy(void)
{
	uint32_t youngest;

	begin_grown_fastcgi(0, 3);
	youngest = rig_nth(3);
	rig_arrive(3);
	rig_seconds(2);
	CHECK_EQ(youngest, rig.stopped);
	CHECK_EQ(1, rig.workers[youngest].nserving);
	rig_end();
}

static void
fastcgi_waits_for_a_victim_to_end(void)
{
	begin_grown_fastcgi(0, 3);
	rig_arrive(3);
	rig_seconds(2);
	CHECK_EQ(1, rig_stops());
	rig_arrive(1);
	rig_seconds(310);
	CHECK_EQ(0, rig_stops());
	CHECK_EQ(0, rig_starts());
	rig_end();
}

static void
fastcgi_waits_restart_delay_for_a_slot_that_was_used(void)
{
	begin_grown_fastcgi(0, 3);
	rig_seconds(601);
	CHECK_EQ(2, rig_stops());
	rig_arrive(100);
	rig_seconds(3);
	CHECK_EQ(1, rig_starts());
	/* Other connections ask again 3 seconds later, which is too early. */
	rig_seconds(3);
	CHECK_EQ(0, rig_starts());
	rig_seconds(3);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
fastcgi_carries_half_of_the_old_load_on(void)
{
	/* 60 percent of two, then nothing: 30, which are 60 of one. */
	look_at(2, 60);
	CHECK_EQ(2, rig_count());
	rig_seconds(300);
	CHECK_EQ(2, rig_count());
	rig_seconds(300);
	CHECK_EQ(1, rig_count());
	rig_end();
}

/* So many processes in each app, all idle, long before the kill policy. */
static void
begin_fastcgi_apps(unsigned apps, unsigned min, unsigned n)
{
	rig_begin_apps(POLICIES_FASTCGI, apps, min, 10);
	for (unsigned app = 0; app < apps; app++)
		rig_arrive_at(app, 40);
	grow_to(apps * n);
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	(void)rig_starts();
	(void)rig_stops();
}

static void
fastcgi_stops_at_once_when_slack_is_short(void)
{
	/* The ceiling is 60: with 55 and the slack it is reached. */
	begin_fastcgi_apps(6, 0, 9);
	rig_seconds(200);
	CHECK_EQ(0, rig_stops());
	rig_arrive_at(5, 10);
	rig_seconds(4);
	CHECK_EQ(1, rig_starts());
	CHECK(rig_stops() > 0);
	rig_end();
}

static void
fastcgi_lets_the_first_class_pay_below_the_minimum(void)
{
	begin_fastcgi_apps(2, 2, 3);
	rig_seconds(300);
	CHECK_EQ(4, rig_count());
	rig_seconds(300);
	CHECK_EQ(3, rig_count());
	rig_seconds(300);
	/* The last process of a class is never stopped: the second pays. */
	CHECK_EQ(2, rig_count());
	rig_end();
}

/* --- AnyEvent::Fork::Pool ----------------------------------------------- */

static void
anyevent_begins_with_idle(void)
{
	rig_begin(POLICIES_ANYEVENT, 3, 8);
	CHECK_EQ(3, rig_starts());
	rig_end();
}

static void
anyevent_starts_one_at_once_when_the_pool_is_empty(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 8);
	rig_arrive(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
anyevent_queues_a_second_job_behind_the_first(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 8);
	rig_arrive(1);
	rig_ready();
	(void)rig_starts();
	rig_arrive(1);
	CHECK_EQ(2, rig.workers[0].nserving);
	rig_seconds(10);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

static void
anyevent_leaves_a_job_where_it_is_beside_an_idle_worker(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 2, 2);
	rig_arrive(3);
	rig_finish(rig.workers[0].nserving == 1 ? 0 : 1);
	CHECK_EQ(2, rig.workers[rig_busy()].nserving);
	rig_seconds(10);
	CHECK_EQ(2, rig.workers[rig_busy()].nserving);
	rig_end();
}

static void
anyevent_starts_one_every_tenth_of_a_second_while_jobs_wait(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 8);
	rig_arrive(20);
	CHECK_EQ(1, rig_starts());
	rig_pass(99);
	CHECK_EQ(0, rig_starts());
	rig_pass(1);
	CHECK_EQ(1, rig_starts());
	rig_pass(200);
	CHECK_EQ(2, rig_starts());
	rig_end();
}

static void
anyevent_has_max_at_most(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 4);
	rig_arrive(100);
	rig_seconds(10);
	CHECK_EQ(4, rig_count());
	rig_end();
}

static void
anyevent_gives_jobs_to_workers_that_start(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 4);
	rig_arrive(2);
	CHECK_EQ(0, rig.workers[0].nserving);
	rig_ready();
	CHECK_EQ(2, rig.workers[0].nserving);
	rig_end();
}

static void
anyevent_keeps_idle_workers_spare(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 2, 8);
	rig_arrive(1);
	rig_pass(100);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
anyevent_with_idle_0_never_stops_one(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 4);
	rig_arrive(100);
	for (unsigned n = 0; n < 50; n++) {
		rig_pass(100);
		rig_ready();
		rig_finish_all();
	}
	rig_seconds(1000);
	CHECK_EQ(4, rig_count());
	rig_end();
}

static void
anyevent_with_idle_1_stops_one_every_10_seconds_and_the_last(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 1, 4);
	rig_arrive(8);
	rig_pass(300);
	rig_ready();
	CHECK_EQ(4, rig_count());
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	rig_pass(9999);
	CHECK_EQ(0, rig_stops());
	rig_pass(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(100);
	CHECK_EQ(1, rig_count());
	rig_arrive(1);
	rig_finish(rig_busy());
	rig_seconds(10);
	CHECK_EQ(0, rig_count());
	rig_end();
}

/* Two workers that have just fallen idle. */
static void
begin_grown_anyevent(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 1, 2);
	rig_arrive(2);
	rig_pass(100);
	rig_ready();
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	CHECK_EQ(2, rig_count());
}

static void
anyevent_stops_none_while_all_were_busy_in_between(void)
{
	begin_grown_anyevent();
	rig_pass(6000);
	rig_arrive(2);
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	rig_pass(9900);
	CHECK_EQ(0, rig_stops());
	rig_pass(100);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
anyevent_puts_a_stop_off_when_it_wants_a_start(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 2, 4);
	rig_arrive(2);
	rig_finish(0);
	/* The timer of stops runs; now fewer than `idle` are idle again. */
	rig_pass(50);
	rig_arrive(1);
	rig_finish_all();
	rig_pass(9960);
	CHECK_EQ(0, rig_stops());
	rig_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(busyness_begins_with_cheaper);
	RUN(busyness_over_50_starts_one_every_third_second);
	RUN(busyness_counts_workers_that_start_as_idle);
	RUN(busyness_of_a_worker_that_finishes_nothing_is_100);
	RUN(busyness_stops_one_after_10_idle_windows);
	RUN(busyness_never_stops_below_cheaper);
	RUN(busyness_stops_the_worker_that_was_started_first);
	RUN(busyness_stops_no_busy_worker);
	RUN(busyness_emergencies_end_the_penalty);
	RUN(busyness_between_both_puts_the_stop_off);
	RUN(busyness_between_both_for_three_windows_begins_anew);
	RUN(busyness_pays_a_penalty_for_a_start_after_a_stop);
	RUN(busyness_of_25_is_not_low);
	RUN(busyness_stops_in_a_row_lower_the_multiplier);
	RUN(busyness_starts_one_each_second_for_a_long_backlog);
	RUN(busyness_stops_emergency_workers_after_3_windows);
	RUN(fastcgi_starts_nothing_before_the_first_connection);
	RUN(fastcgi_starts_one_for_a_connection_that_has_waited_3_seconds);
	RUN(fastcgi_starts_none_for_a_connection_that_is_served_in_time);
	RUN(fastcgi_starts_one_a_second_however_many_wait);
	RUN(fastcgi_stops_one_at_each_kill_interval);
	RUN(fastcgi_never_stops_the_last);
	RUN(fastcgi_looks_at_min_processes_too_late);
	RUN(fastcgi_divides_integers_so_that_three_can_be_too_many);
	RUN(fastcgi_divides_integers_rightly_for_two);
	RUN(fastcgi_counts_no_request_before_its_end);
	RUN(fastcgi_stops_the_youngest_be_it_busy);
	RUN(fastcgi_waits_for_a_victim_to_end);
	RUN(fastcgi_waits_restart_delay_for_a_slot_that_was_used);
	RUN(fastcgi_carries_half_of_the_old_load_on);
	RUN(fastcgi_stops_at_once_when_slack_is_short);
	RUN(fastcgi_lets_the_first_class_pay_below_the_minimum);
	RUN(anyevent_begins_with_idle);
	RUN(anyevent_starts_one_at_once_when_the_pool_is_empty);
	RUN(anyevent_queues_a_second_job_behind_the_first);
	RUN(anyevent_leaves_a_job_where_it_is_beside_an_idle_worker);
	RUN(anyevent_starts_one_every_tenth_of_a_second_while_jobs_wait);
	RUN(anyevent_has_max_at_most);
	RUN(anyevent_gives_jobs_to_workers_that_start);
	RUN(anyevent_keeps_idle_workers_spare);
	RUN(anyevent_with_idle_0_never_stops_one);
	RUN(anyevent_with_idle_1_stops_one_every_10_seconds_and_the_last);
	RUN(anyevent_stops_none_while_all_were_busy_in_between);
	RUN(anyevent_puts_a_stop_off_when_it_wants_a_start);
	return check_finish();
}
