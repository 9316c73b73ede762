/* The peers that keep a band of idle workers, by their manuals. */

#include "policy_rig.h"

/* --- the backlog -------------------------------------------------------- */

static void
an_idle_worker_accepts_at_once(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 2);
	rig_arrive(2);
	CHECK_EQ(1, rig.workers[0].nserving);
	CHECK_EQ(1, rig.workers[1].nserving);
	rig_end();
}

static void
the_longest_blocked_worker_accepts(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 3);
	rig_arrive(3);
	rig_finish(2);
	rig_finish(0);
	rig_arrive(1);
	CHECK_EQ(1, rig.workers[2].nserving);
	CHECK_EQ(0, rig.workers[0].nserving);
	rig_end();
}

static void
a_worker_that_finishes_accepts_the_oldest_waiting_connection(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 1);
	rig_arrive(3);
	rig_finish(0);
	CHECK_EQ(1, rig.workers[0].serving[0]);
	rig_finish(0);
	CHECK_EQ(2, rig.workers[0].serving[0]);
	rig_end();
}

static void
a_worker_with_concurrency_accepts_so_many(void)
{
	rig_begin_like(POLICIES_STATIC,
	    (struct conf_app){ .pool.sessions = true,
		.pool.max_processes = 2,
		.pool.concurrency = 3 },
	    1);
	rig_ready();
	rig_arrive(7);
	CHECK_EQ(3, rig.workers[0].nserving);
	CHECK_EQ(3, rig.workers[1].nserving);
	rig_end();
}

static void
a_full_backlog_refuses_connections(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 1);
	rig_arrive(1 + 1024 + 100);
	CHECK_EQ(0, rig.refused);
	rig_arrive(1);
	CHECK_EQ(1, rig.refused);
	rig_end();
}

static void
an_app_without_connections_has_its_minimum(void)
{
	for (unsigned policy = 0; policy < POLICIES_LEN; policy++) {
		rig_begin_like(policy,
		    (struct conf_app){
			.handoff = CONF_HANDOFF_NONE,
			.pool.min_processes = 3,
			.pool.max_processes = 8,
			.pool.concurrency = 1,
		    },
		    1);
		rig_ready();
		rig_seconds(1000);
		CHECK_EQ(3, rig_count());
		rig_end();
	}
}

/* --- static ------------------------------------------------------------- */

static void
static_has_all_workers_from_the_start_for_ever(void)
{
	rig_begin(POLICIES_STATIC, 1, 8);
	CHECK_EQ(8, rig_starts());
	rig_ready();
	rig_arrive(100);
	rig_seconds(100);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

/* --- php-fpm, dynamic --------------------------------------------------- */

static void
dynamic_has_the_sizes_of_its_pool_file(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 5);
	CHECK_EQ(2, rig_count());
	rig_arrive(2);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
dynamic_forks_1_2_4_8_in_seconds_that_follow(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 100);
	CHECK_EQ(40, rig_count());
	rig_arrive(1000);
	for (unsigned n = 1; n <= 8; n *= 2) {
		rig_seconds(1);
		CHECK_EQ(n, rig_starts());
		rig_ready();
	}
	rig_end();
}

static void
dynamic_forks_no_more_than_are_missing(void)
{
	/* At least 4 spare ones, 8 at first. */
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 20);
	rig_arrive(1000);
	rig_seconds(3);
	rig_ready();
	CHECK_EQ(1 + 2 + 4, rig_starts());
	rig_seconds(1);
	CHECK_EQ(4, rig_starts());
	rig_end();
}

static void
dynamic_forks_none_in_place_of_idle_children(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 20);
	rig_arrive(8);
	rig_seconds(2);
	rig_ready();
	CHECK_EQ(1 + 2, rig_starts());
	/* Three of four are spare. */
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
dynamic_counts_no_child_that_starts(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 5);
	rig_arrive(2);
	rig_seconds(2);
	CHECK_EQ(2, rig_starts());
	rig_end();
}

static void
dynamic_begins_anew_after_a_second_without_need(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 100);
	rig_arrive(40);
	rig_seconds(3);
	CHECK_EQ(1 + 2 + 4, rig_starts());
	rig_ready();
	rig_finish_all();
	rig_seconds(1);
	rig_arrive(47);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
dynamic_stops_at_max_children(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 5);
	for (unsigned n = 0; n < 10; n++) {
		rig_arrive(10);
		rig_seconds(1);
		rig_ready();
	}
	CHECK_EQ(5, rig_count());
	rig_end();
}

/* Five children, all of them idle. */
static void
begin_grown_dynamic(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 5);
	rig_arrive(5);
	for (unsigned n = 0; n < 5; n++) {
		rig_seconds(1);
		rig_ready();
	}
	rig_finish_all();
	(void)rig_starts();
	(void)rig_stops();
}

static void
dynamic_stops_one_a_second_over_max_spare(void)
{
	begin_grown_dynamic();
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
dynamic_stops_the_idle_child_with_the_longest_life(void)
{
	uint32_t oldest;

	begin_grown_dynamic();
	oldest = rig_nth(1);
	rig_seconds(1);
	CHECK_EQ(oldest, rig.stopped);
	rig_end();
}

static void
dynamic_keeps_max_spare_idle_for_ever(void)
{
	begin_grown_dynamic();
	rig_seconds(1000);
	CHECK_EQ(3, rig_count());
	rig_end();
}

/* --- php-fpm, ondemand -------------------------------------------------- */

static void
ondemand_begins_with_none(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 4, 8);
	CHECK_EQ(0, rig_count());
	rig_end();
}

static void
ondemand_forks_for_each_connection_without_an_idle_child(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 8);
	rig_arrive(3);
	CHECK_EQ(3, rig_starts());
	rig_ready();
	rig_finish_all();
	rig_arrive(2);
	CHECK_EQ(0, rig_starts());
	rig_arrive(2);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
ondemand_has_max_children_at_most(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 8);
	rig_arrive(20);
	CHECK_EQ(8, rig_starts());
	rig_end();
}

static void
ondemand_stops_one_a_second_after_more_than_10_whole_seconds(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 8);
	rig_arrive(3);
	rig_ready();
	rig_finish_all();
	rig_seconds(11);
	CHECK_EQ(0, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(1);
	CHECK_EQ(0, rig_count());
	rig_end();
}

static void
ondemand_looks_at_the_child_with_the_longest_life_alone(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 8);
	rig_arrive(1);
	rig_ready();
	rig_seconds(1);
	rig_arrive(1);
	rig_ready();
	rig_finish(rig_nth(2));
	rig_seconds(10);
	rig_finish(rig_nth(1));
	rig_seconds(10);
	CHECK_EQ(0, rig_stops());
	rig_seconds(2);
	CHECK_EQ(RIG_WORKERS, rig_nth(1));
	rig_end();
}

static void
ondemand_never_shrinks_under_a_little_traffic(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 4);
	rig_arrive(4);
	rig_ready();
	rig_finish_all();
	/* One connection every 2 seconds keeps four children warm. */
	for (unsigned n = 0; n < 100; n++) {
		rig_arrive(1);
		rig_finish(rig_busy());
		rig_seconds(2);
	}
	CHECK_EQ(4, rig_count());
	rig_end();
}

/* --- Apache prefork ----------------------------------------------------- */

static void
prefork_has_its_defaults_at_256(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 256);
	CHECK_EQ(5, rig_count());
	rig_arrive(1);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
prefork_forks_1_2_4_up_to_32_however_few_are_missing(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 256);
	rig_arrive(1000);
	for (unsigned n = 1; n <= 32; n *= 2) {
		rig_seconds(1);
		CHECK_EQ(n, rig_starts());
		rig_ready();
	}
	rig_seconds(1);
	CHECK_EQ(32, rig_starts());
	rig_end();
}

static void
prefork_counts_children_that_start_as_idle(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 8);
	rig_arrive(1);
	rig_seconds(10);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

/* All of 20 children are idle. */
static void
begin_grown_prefork(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 20);
	rig_arrive(20);
	for (unsigned n = 0; n < 10; n++) {
		rig_seconds(1);
		rig_ready();
	}
	rig_finish_all();
	(void)rig_stops();
}

static void
prefork_stops_one_a_second_over_max_spare(void)
{
	begin_grown_prefork();
	CHECK_EQ(20, rig_count());
	for (unsigned n = 0; n < 18; n++) {
		rig_seconds(1);
		CHECK_EQ(1, rig_stops());
	}
	rig_seconds(10);
	CHECK_EQ(2, rig_count());
	rig_end();
}

static void
prefork_stops_the_longest_blocked(void)
{
	begin_grown_prefork();
	rig_arrive(1);
	rig_finish(rig_busy());
	rig_seconds(1);
	CHECK_EQ(1, rig.stopped);
	rig_end();
}

static void
dynamic_and_prefork_keep_min_processes(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 5, 6);
	CHECK_EQ(5, rig_count());
	rig_seconds(10);
	CHECK_EQ(5, rig_count());
	rig_end();
	rig_begin_ready(POLICIES_PREFORK, 5, 6);
	CHECK_EQ(5, rig_count());
	rig_seconds(10);
	CHECK_EQ(5, rig_count());
	rig_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_idle_worker_accepts_at_once);
	RUN(the_longest_blocked_worker_accepts);
	RUN(a_worker_that_finishes_accepts_the_oldest_waiting_connection);
	RUN(a_worker_with_concurrency_accepts_so_many);
	RUN(a_full_backlog_refuses_connections);
	RUN(an_app_without_connections_has_its_minimum);
	RUN(static_has_all_workers_from_the_start_for_ever);
	RUN(dynamic_has_the_sizes_of_its_pool_file);
	RUN(dynamic_forks_1_2_4_8_in_seconds_that_follow);
	RUN(dynamic_forks_no_more_than_are_missing);
	RUN(dynamic_forks_none_in_place_of_idle_children);
	RUN(dynamic_counts_no_child_that_starts);
	RUN(dynamic_begins_anew_after_a_second_without_need);
	RUN(dynamic_stops_at_max_children);
	RUN(dynamic_stops_one_a_second_over_max_spare);
	RUN(dynamic_stops_the_idle_child_with_the_longest_life);
	RUN(dynamic_keeps_max_spare_idle_for_ever);
	RUN(ondemand_begins_with_none);
	RUN(ondemand_forks_for_each_connection_without_an_idle_child);
	RUN(ondemand_has_max_children_at_most);
	RUN(ondemand_stops_one_a_second_after_more_than_10_whole_seconds);
	RUN(ondemand_looks_at_the_child_with_the_longest_life_alone);
	RUN(ondemand_never_shrinks_under_a_little_traffic);
	RUN(prefork_has_its_defaults_at_256);
	RUN(prefork_forks_1_2_4_up_to_32_however_few_are_missing);
	RUN(prefork_counts_children_that_start_as_idle);
	RUN(prefork_stops_one_a_second_over_max_spare);
	RUN(prefork_stops_the_longest_blocked);
	RUN(dynamic_and_prefork_keep_min_processes);
	return check_finish();
}
