/* A ceiling over several apps: which app gives a place, and which gets it. */

#include "rig.h"

static struct app_options
place_options(uint32_t min)
{
	struct app_options o = rig_options();

	o.min_processes = min;
	o.stop_timeout = TSPAN_SECONDS(100000);
	return o;
}

/* An app without processes, and a connection for it. */
static uint32_t
begin_wanting(void)
{
	struct app_options o = place_options(0);
	uint32_t app = rig_add(&o);

	rig_arrive_at(app);
	return app;
}

/* --- idle processes ----------------------------------------------------- */

TEST(an_idle_process_of_another_app_makes_room)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(1), 2);
	(void)begin_wanting();
	CHECK_STR("stop 1", rig_did());
	CHECK_EQ(END_EVICTED, rig_process(1)->end);
	AFTER(rig_exits(1, END_EXIT), "spawn 1");
	CHECK_EQ(1, rig_process(1)->app);
}

TEST(the_minimum_of_another_app_is_left_to_it)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(2), 2);
	(void)begin_wanting();
	CHECK_STR("", rig_did());
}

TEST(the_app_with_the_lowest_load_gives)
{
	rig_begin_with(rig_limits(), 5);
	rig_running(place_options(1), 3);
	rig_running(place_options(1), 2);
	/* 50 percent of the second, 67 of the first. */
	rig_arrive_at(0);
	rig_arrive_at(0);
	LET(rig_arrive_at(1));
	rig_at(10000);
	(void)begin_wanting();
	CHECK_STR("stop 4", rig_did());
}

TEST(no_more_processes_are_evicted_than_places_are_wanted)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(0), 4);
	(void)begin_wanting();
	AFTER(rig_at(5000), "stop 3");
}

TEST(an_app_that_grows_may_evict_an_idle_process_too)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 4);
	rig_running(o, 3);
	rig_running(o, 1);
	rig_arrive_at(1);
	rig_arrive_at(1);
	AFTER(rig_at(99), "hand 0>3");
	AFTER(rig_at(100), "stop 2");
}

TEST(the_minimum_comes_by_eviction_too)
{
	struct app_options o = place_options(2);

	rig_begin_with(rig_limits(), 3);
	rig_running(place_options(1), 3);
	AFTER((void)rig_add(&o), "stop 2, stop 1");
}

TEST(spare_processes_evict_no_other)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 3);
	rig_running(o, 1);
	o.min_idle = 2;
	rig_change(1, &o);
	AFTER(rig_at(5000), "");
}

/* Two processes of three are always busy: two alone would be overloaded. */
TEST(an_app_that_needs_its_idle_process_keeps_it)
{
	struct app_options o = place_options(1);

	rig_begin_with(rig_limits(), 5);
	o.max_processes = 3;
	rig_running(o, 3);
	rig_running(place_options(1), 2);
	rig_arrive_at(0);
	LET(rig_arrive_at(0));
	rig_at(20000);
	for (int i = 0; i < 3; i++)
		rig_arrive_at(1);
	(void)rig_did();
	AFTER(rig_at(21000), "");
}

/* --- busy processes ----------------------------------------------------- */

TEST(without_an_idle_process_the_next_session_to_end_makes_room)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(1), 2);
	rig_arrive_n(3);
	(void)begin_wanting();
	CHECK_STR("hand 0>0, hand 1>1", rig_did());
	AFTER((void)rig_done(1), "stop 1");
	AFTER(rig_exits(1, END_EXIT), "spawn 1");
	CHECK_EQ(1, rig_process(1)->app);
}

TEST(a_busy_app_gives_no_process_of_its_minimum)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(2), 2);
	rig_arrive_n(3);
	(void)begin_wanting();
	(void)rig_did();
	AFTER((void)rig_done(1), "hand 2>1");
}

TEST(a_busy_app_gives_to_an_app_with_two_processes_fewer)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 3);
	rig_running(place_options(1), 1);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(50);
	rig_arrive_n(4);
	LET(rig_at(100));
	CHECK(rig_app(1)->places_wanted > 0);
	AFTER((void)rig_done(2), "stop 2");
}

/* The app with more processes asked first, and yet gives. */
TEST(an_app_with_two_processes_fewer_comes_before_the_giver)
{
	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 3);
	rig_running(place_options(1), 1);
	LET(rig_arrive_n(4));
	rig_at(100);
	rig_arrive_at(1);
	rig_arrive_at(1);
	rig_at(200);
	CHECK_EQ(0, rig.pool.places.first);
	(void)rig_did();
	AFTER((void)rig_done(2), "stop 2");
	AFTER(rig_exits(2, END_EXIT), "spawn 2");
	CHECK_EQ(1, rig_process(2)->app);
}

TEST(busy_apps_of_one_size_take_nothing_from_each_other)
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
	AFTER((void)rig_done(2), "hand 4>0, hand 5>2");
}

/* Two equal and busy apps stand in line before an app without a process. */
TEST(an_app_without_a_process_passes_apps_that_cannot_be_given_any)
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
	AFTER((void)rig_done(0), "stop 0");
	/* The app needs no more than one place. */
	AFTER((void)rig_done(2), "hand 5>2");
	AFTER(rig_exits(0, END_EXIT), "spawn 0");
	CHECK_EQ(2, rig_process(0)->app);
}

/* The load of the first app falls while the second app waits. */
TEST(an_idle_process_is_given_when_its_load_has_fallen)
{
	struct app_options o = place_options(0);

	o.max_processes = 2;
	o.update_interval = TSPAN_SECONDS(1);
	rig_begin_with(rig_limits(), 3);
	rig_running(o, 2);
	rig_running(o, 1);
	rig_arrive_at(0);
	rig_arrive_at(0);
	LET(rig_arrive_at(1));
	rig_at(5000);
	(void)rig_done(0);
	(void)rig_done(1);
	rig_arrive_at(1);
	AFTER(rig_at(5500), "");
	AFTER(rig_at(20000), "stop 0");
	AFTER(rig_exits(0, END_EXIT), "spawn 0");
	CHECK_EQ(1, rig_process(0)->app);
}

TEST(an_app_does_not_make_room_for_itself)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(0), 2);
	rig_arrive_n(4);
	LET(rig_at(1000));
	CHECK(rig_app(0)->places_wanted > 0);
	AFTER((void)rig_done(0), "hand 2>0");
}

/* --- what can be given only later ---------------------------------------- */

TEST(a_new_process_that_is_not_needed_any_more_makes_room)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 2);
	rig_running(o, 1);
	rig_arrive_n(2);
	AFTER(rig_at(100), "hand 0>0, spawn 1");
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	pool_abandoned(&rig.pool, 1, rig.now);
	AFTER(rig_ready(1), "stop 1");
}

TEST(an_app_gives_what_it_needs_no_more_when_its_load_has_gone)
{
	rig_begin_with(rig_limits(), 3);
	rig_running(place_options(0), 2);
	rig_arrive_n(2);
	rig_running(place_options(0), 1);
	rig_arrive_at(1);
	LET(rig_at(95000));
	rig_arrive_at(1);
	rig_at(99000);
	rig_done(0);
	AFTER(rig_done(1), "");
	AFTER(rig_at(300000), "stop 0");
}

TEST(a_lowered_minimum_makes_room)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(2), 2);
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	AFTER(rig_change(0, &o), "stop 1");
}

/* Four processes with three sessions each, and an app in line for a place. */
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

TEST(for_one_place_one_busy_process_retires)
{
	begin_shared();
	for (uint32_t n = 0; n < 4; n++)
		rig_done(n);
	CHECK_STR("stop 0", rig_did());
}

TEST(an_idle_process_makes_room_before_a_retiring_one_does)
{
	begin_shared();
	AFTER(rig_done(0), "stop 0");
	rig_done(1);
	AFTER(rig_done(1), "");
	AFTER(rig_done(1), "stop 1");
}

TEST(an_app_that_may_grow_no_more_wants_no_place)
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
}

TEST(spare_processes_without_a_place_at_the_start_hold_no_app_up)
{
	struct app_options o = place_options(0);

	rig_begin_with(rig_limits(), 4);
	rig_running(place_options(1), 1);
	o.min_idle = 4;
	AFTER(rig_add(&o), "spawn 1, spawn 2, spawn 3");
	for (uint32_t n = 1; n < 4; n++)
		rig_ready(n);
	rig_at(1000);
	(void)begin_wanting();
	CHECK_STR("stop 1", rig_did());
	AFTER(rig_exits(1, END_EXIT), "spawn 1");
	CHECK_EQ(2, rig_process(1)->app);
}

TEST(a_process_that_leaves_under_a_lowered_ceiling_makes_no_room)
{
	rig_begin_with(rig_limits(), 3);
	rig_running(place_options(0), 3);
	LET(rig_arrive_n(2));
	AFTER(pool_resize(&rig.pool, 2, 0, rig.now), "stop 2");
	(void)begin_wanting();
	AFTER(rig_done(0), "stop 0");
}

TEST(an_app_without_a_process_gets_what_the_first_in_line_did_not)
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
	AFTER(rig_done(0), "stop 0");
	AFTER(rig_exits(0, END_EXIT), "spawn 0");
	CHECK_EQ(2, rig_process(0)->app);
}

TEST(an_app_whose_place_a_minimum_takes_is_given_another)
{
	rig_begin_with(rig_limits(), 2);
	rig_running(place_options(1), 1);
	LET(rig_running(place_options(0), 1));
	rig_died(0, END_SIGNAL);
	(void)begin_wanting();
	CHECK_STR("", rig_did());
	/* A late tick comes together with the end of the delay. */
	rig.now += TSPAN_SECONDS(3);
	AFTER(rig_gone(0), "spawn 0, stop 1");
	CHECK_EQ(0, rig_process(0)->app);
}

TESTS(rig_begin, rig_end)
