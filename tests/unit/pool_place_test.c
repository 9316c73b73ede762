/* One ceiling over several apps: who gives a process, and who gets it. */

#include "rig.h"

static struct app_options
place_options(uint32_t min)
{
	struct app_options o = rig_options();

	o.min_processes = min;
	o.stop_timeout = TSPAN_SECONDS(100000);
	return o;
}

/* An app without processes, and somebody who wants it. */
static uint32_t
begin_wanting(void)
{
	struct app_options o = place_options(0);
	uint32_t app = rig_add(&o);

	rig_arrive_at(app);
	return app;
}

/* --- idle processes ----------------------------------------------------- */

static void
an_idle_process_of_another_app_makes_room(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(1), 2);
	(void)begin_wanting();
	CHECK_STR("stop 1", rig_did());
	CHECK_EQ(END_EVICTED, rig_process(1)->end);
	rig_exits(1, END_EXIT);
	CHECK_STR("spawn 1", rig_did());
	CHECK_EQ(1, rig_process(1)->app);
	rig_end();
}

static void
the_minimum_of_another_app_is_left_to_it(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(2), 2);
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	rig_end();
}

static void
the_app_with_the_lowest_load_gives(void)
{
	rig_begin_with(rig_limits(), 5);
	rig_running(place_options(1), 3);
	rig_running(place_options(1), 2);
	/* 50 percent of the second, 67 of the first. */
	rig_arrive_at(0);
	rig_arrive_at(0);
	rig_arrive_at(1);
	(void)rig_did();
	rig_at(10000);
	(void)begin_wanting();
	CHECK_STR("stop 4", rig_did());
	rig_end();
}

static void
the_longest_idle_process_goes_first(void)
{
	rig_begin_with(rig_limits(), 3);
	rig_serving(place_options(0), 3);
	(void)begin_wanting();
	CHECK_STR("stop 2", rig_did());
	rig_end();
}

static void
no_more_are_stopped_than_places_are_wanted(void)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(0), 4);
	(void)begin_wanting();
	rig_at(5000);
	CHECK_STR("stop 3", rig_did());
	rig_end();
}

static void
who_waits_for_start_delay_may_have_an_idle_process_too(void)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 4);
	rig_running(o, 3);
	rig_running(o, 1);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(99);
	CHECK_STR("hand 0>3", rig_did());
	rig_at(100);
	CHECK_STR("stop 2", rig_did());
	rig_end();
}

static void
the_minimum_comes_by_eviction_too(void)
{
	struct app_options o = place_options(2);

	rig_begin_with(rig_limits(), 3);
	rig_running(place_options(1), 3);
	(void)rig_add(&o);
	CHECK_STR("stop 2, stop 1", rig_did());
	rig_end();
}

static void
spare_processes_evict_nobody(void)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 3);
	rig_running(o, 1);
	o.min_idle = 2;
	rig_change(1, &o);
	rig_at(5000);
	CHECK_STR("", rig_did());
	rig_end();
}

/* Two of three work all the time: with one fewer it would be overloaded. */
static void
an_app_that_needs_its_idle_process_keeps_it(void)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 5);
	o.max_processes = 3;
	rig_running(o, 3);
	rig_running(place_options(1), 2);
	rig_arrive_at(0);
	rig_arrive_at(0);
	(void)rig_did();
	rig_at(20000);
	for (int i = 0; i < 3; i++)
		rig_arrive_at(1);
	(void)rig_did();
	rig_at(21000);
	CHECK_STR("", rig_did());
	rig_end();
}

/* --- busy processes ----------------------------------------------------- */

static void
without_an_idle_one_the_next_session_to_end_makes_room(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(1), 2);
	rig_arrive_n(3);
	(void)begin_wanting();
	CHECK_STR("hand 0>0, hand 1>1", rig_did());
	(void)rig_done(1);
	CHECK_STR("stop 1", rig_did());
	rig_exits(1, END_EXIT);
	CHECK_STR("spawn 1", rig_did());
	CHECK_EQ(1, rig_process(1)->app);
	rig_end();
}

static void
a_busy_app_gives_no_process_of_its_minimum(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(2), 2);
	rig_arrive_n(3);
	(void)begin_wanting();
	(void)rig_did();
	(void)rig_done(1);
	CHECK_STR("hand 2>1", rig_did());
	rig_end();
}

static void
a_busy_app_gives_to_one_that_has_two_fewer(void)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 3);
	rig_running(place_options(1), 1);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(50);
	rig_arrive_n(4);
	rig_at(100);
	(void)rig_did();
	CHECK(rig_app(1)->places_wanted > 0);
	(void)rig_done(2);
	CHECK_STR("stop 2", rig_did());
	rig_end();
}

/* The app that has more asked first, and yet it gives. */
static void
who_has_two_fewer_comes_before_the_giver(void)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 3);
	rig_running(place_options(1), 1);
	rig_arrive_n(4);
	(void)rig_did();
	rig_at(100);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(200);
	CHECK_EQ(0, rig.pool.places.first);
	(void)rig_did();
	(void)rig_done(2);
	CHECK_STR("stop 2", rig_did());
	rig_exits(2, END_EXIT);
	CHECK_STR("spawn 2", rig_did());
	CHECK_EQ(1, rig_process(2)->app);
	rig_end();
}

static void
busy_apps_of_one_size_take_nothing_from_each_other(void)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 2);
	rig_running(place_options(1), 2);
	for (int i = 0; i < 4; i++) {
		rig_arrive_at(0);
		rig_arrive_at(1);
	}
	(void)rig_did();
	rig_at(1000);
	(void)rig_done(0);
	(void)rig_done(2);
	CHECK_STR("hand 4>0, hand 5>2", rig_did());
	rig_end();
}

/* Two that are alike and always busy stand before one that has none. */
static void
who_has_none_waits_behind_nobody_who_could_not_be_given(void)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(0), 2);
	rig_running(place_options(0), 2);
	for (int i = 0; i < 4; i++) {
		rig_arrive_at(0);
		rig_arrive_at(1);
	}
	(void)rig_did();
	rig_at(200);
	(void)begin_wanting();
	CHECK(rig_app(0)->places_wanted > 0 && rig_app(1)->places_wanted > 0);
	(void)rig_done(0);
	CHECK_STR("stop 0", rig_did());
	/* One place is enough for it. */
	(void)rig_done(2);
	CHECK_STR("hand 5>2", rig_did());
	rig_exits(0, END_EXIT);
	CHECK_STR("spawn 0", rig_did());
	CHECK_EQ(2, rig_process(0)->app);
	rig_end();
}

/* Its load was high a moment ago, and falls while the other one waits. */
static void
an_idle_process_is_given_when_its_load_has_fallen(void)
{
	struct app_options o = place_options(0);

	o.max_processes = 2;
	o.update_interval = TSPAN_SECONDS(1);
	rig_begin_with(rig_limits(), 3);
	rig_running(o, 2);
	rig_running(o, 1);
	rig_arrive_at(0);
	rig_arrive_at(0);
	rig_arrive_at(1);
	(void)rig_did();
	rig_at(5000);
	(void)rig_done(0);
	(void)rig_done(1);
	rig_arrive_at(1);
	rig_at(5500);
	CHECK_STR("", rig_did());
	rig_at(20000);
	CHECK_STR("stop 0", rig_did());
	rig_exits(0, END_EXIT);
	CHECK_STR("spawn 0", rig_did());
	CHECK_EQ(1, rig_process(0)->app);
	rig_end();
}

static void
an_app_does_not_make_room_for_itself(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(0), 2);
	rig_arrive_n(4);
	rig_at(1000);
	(void)rig_did();
	CHECK(rig_app(0)->places_wanted > 0);
	(void)rig_done(0);
	CHECK_STR("hand 2>0", rig_did());
	rig_end();
}

/* --- what can be given only later ---------------------------------------- */

static void
one_that_is_ready_and_not_needed_any_more_makes_room(void)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 2);
	rig_running(o, 1);
	rig_arrive_n(2);
	rig_at(100);
	CHECK_STR("hand 0>0, spawn 1", rig_did());
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	pool_abandoned(&rig.pool, 1, rig.now);
	rig_ready(1);
	CHECK_STR("stop 1", rig_did());
	rig_end();
}

static void
an_app_gives_what_it_needs_no_more_when_its_load_has_gone(void)
{
	rig_begin_with(rig_limits(), 3);
	rig_running(place_options(0), 2);
	rig_arrive_n(2);
	rig_running(place_options(0), 1);
	rig_arrive_at(1);
	rig_at(95000);
	(void)rig_did();
	rig_arrive_at(1);
	rig_at(99000);
	rig_done(0);
	rig_done(1);
	CHECK_STR("", rig_did());
	rig_at(300000);
	CHECK_STR("stop 0", rig_did());
	rig_end();
}

static void
a_lowered_minimum_makes_room(void)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(2), 2);
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	rig_change(0, &o);
	CHECK_STR("stop 1", rig_did());
	rig_end();
}

/* Four processes with three sessions each, and somebody who wants a place. */
static void
begin_shared(void)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 4);
	o.concurrency = 3;
	rig_running(o, 4);
	rig_arrive_n(12);
	(void)begin_wanting();
	(void)rig_did();
}

static void
for_one_place_one_busy_process_retires(void)
{
	begin_shared();
	for (uint32_t n = 0; n < 4; n++)
		rig_done(n);
	CHECK_STR("stop 0", rig_did());
	rig_end();
}

static void
one_that_is_idle_makes_room_before_a_retiring_one_does(void)
{
	begin_shared();
	rig_done(0);
	CHECK_STR("stop 0", rig_did());
	rig_done(1);
	rig_done(1);
	CHECK_STR("", rig_did());
	rig_done(1);
	CHECK_STR("stop 1", rig_did());
	rig_end();
}

static void
who_may_grow_no_more_wants_no_place(void)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 3);
	rig_running(o, 2);
	rig_arrive_n(2);
	rig_running(o, 1);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(1000);
	CHECK(rig_app(1)->places_wanted > 0);
	o.max_processes = 1;
	rig_change(1, &o);
	CHECK(rig_app(1)->places_wanted == 0);
	rig_end();
}

static void
spare_processes_that_found_no_place_at_the_start_hold_nobody_up(void)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 1);
	o.min_idle = 4;
	rig_add(&o);
	CHECK_STR("spawn 1, spawn 2, spawn 3", rig_did());
	for (uint32_t n = 1; n < 4; n++)
		rig_ready(n);
	rig_at(1000);
	(void)begin_wanting();
	CHECK_STR("stop 1", rig_did());
	rig_exits(1, END_EXIT);
	CHECK_STR("spawn 1", rig_did());
	CHECK_EQ(2, rig_process(1)->app);
	rig_end();
}

static void
one_that_leaves_because_of_a_lowered_ceiling_makes_no_room(void)
{
	rig_begin_with(rig_limits(), 3);
	rig_running(place_options(0), 3);
	rig_arrive_n(2);
	(void)rig_did();
	pool_resize(&rig.pool, 2, 0, rig.now);
	CHECK_STR("stop 2", rig_did());
	(void)begin_wanting();
	rig_done(0);
	CHECK_STR("stop 0", rig_did());
	rig_end();
}

static void
who_has_none_is_given_what_the_first_in_line_was_not(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(0), 1);
	rig_running(place_options(0), 1);
	rig_arrive_at(0);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(1000);
	(void)begin_wanting();
	(void)rig_did();
	rig_done(0);
	CHECK_STR("stop 0", rig_did());
	rig_exits(0, END_EXIT);
	CHECK_STR("spawn 0", rig_did());
	CHECK_EQ(2, rig_process(0)->app);
	rig_end();
}

static void
who_waits_for_a_place_that_a_minimum_takes_is_given_another(void)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(1), 1);
	rig_running(place_options(0), 1);
	(void)rig_did();
	rig_died(0, END_SIGNAL);
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	/* Late, and so at once with the end of the delay. */
	rig.now += TSPAN_SECONDS(3);
	rig_gone(0);
	CHECK_STR("spawn 0, stop 1", rig_did());
	CHECK_EQ(0, rig_process(0)->app);
	rig_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_idle_process_of_another_app_makes_room);
	RUN(the_minimum_of_another_app_is_left_to_it);
	RUN(the_app_with_the_lowest_load_gives);
	RUN(the_longest_idle_process_goes_first);
	RUN(no_more_are_stopped_than_places_are_wanted);
	RUN(who_waits_for_start_delay_may_have_an_idle_process_too);
	RUN(the_minimum_comes_by_eviction_too);
	RUN(spare_processes_evict_nobody);
	RUN(an_app_that_needs_its_idle_process_keeps_it);
	RUN(without_an_idle_one_the_next_session_to_end_makes_room);
	RUN(a_busy_app_gives_no_process_of_its_minimum);
	RUN(a_busy_app_gives_to_one_that_has_two_fewer);
	RUN(who_has_two_fewer_comes_before_the_giver);
	RUN(busy_apps_of_one_size_take_nothing_from_each_other);
	RUN(who_has_none_waits_behind_nobody_who_could_not_be_given);
	RUN(an_idle_process_is_given_when_its_load_has_fallen);
	RUN(an_app_does_not_make_room_for_itself);
	RUN(one_that_is_ready_and_not_needed_any_more_makes_room);
	RUN(an_app_gives_what_it_needs_no_more_when_its_load_has_gone);
	RUN(a_lowered_minimum_makes_room);
	RUN(for_one_place_one_busy_process_retires);
	RUN(one_that_is_idle_makes_room_before_a_retiring_one_does);
	RUN(who_may_grow_no_more_wants_no_place);
	RUN(spare_processes_that_found_no_place_at_the_start_hold_nobody_up);
	RUN(one_that_leaves_because_of_a_lowered_ceiling_makes_no_room);
	RUN(who_has_none_is_given_what_the_first_in_line_was_not);
	RUN(who_waits_for_a_place_that_a_minimum_takes_is_given_another);
	return check_finish();
}
