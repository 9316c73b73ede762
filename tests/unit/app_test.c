/* The tables of an app's phases, health and accepting. */

#include "core/app.h"

#include "check.h"

static enum app_phase
after(enum app_phase s, const enum app_event *events, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		s = app_phase_next(s, events[i]);
	return s;
}

static void
an_app_is_drained_before_it_stops(void)
{
	static const enum app_event events[] = { APP_ADDED, APP_CLOSED,
		APP_EMPTIED, APP_SERVED, APP_LEFT, APP_FREED };

	CHECK_EQ(APP_CLOSING, after(APP_FREE, events, 2));
	CHECK_EQ(APP_DRAINED, after(APP_FREE, events, 3));
	CHECK_EQ(APP_STOPPING, after(APP_FREE, events, 4));
	CHECK_EQ(APP_OVER, after(APP_FREE, events, 5));
	CHECK_EQ(APP_FREE, after(APP_FREE, events, 6));
}

static void
connections_that_come_back_are_served_by_a_stopping_app(void)
{
	CHECK_EQ(APP_DRAINED, app_phase_next(APP_STOPPING, APP_RETURNED));
}

static void
an_app_with_stuck_processes_is_over_twice(void)
{
	static const enum app_event events[] = { APP_LEFT_STUCK, APP_UNSTUCK,
		APP_LEFT };

	CHECK_EQ(APP_STUCK, after(APP_STOPPING, events, 1));
	CHECK_EQ(APP_OVER, after(APP_STOPPING, events, 3));
}

static void
every_phase_but_free_ends_when_the_pool_ends(void)
{
	for (int s = APP_RUNNING; s < APP_PHASES; s++)
		CHECK(app_phase_next((enum app_phase)s, APP_ENDED) >=
		    APP_STOPPING);
}

static void
an_app_that_recovers_is_as_ready_as_it_was(void)
{
	CHECK_EQ(HEALTH_STARTING,
	    app_health_next(HEALTH_FAILED_STARTING, VERDICT_RECOVERED));
	CHECK_EQ(
	    HEALTH_READY, app_health_next(HEALTH_FAILED, VERDICT_RECOVERED));
}

static void
a_restart_forgets_that_ready_was_announced_and_no_failure(void)
{
	CHECK_EQ(
	    HEALTH_STARTING, app_health_next(HEALTH_READY, VERDICT_RESTARTED));
	CHECK_EQ(HEALTH_FAILED_STARTING,
	    app_health_next(HEALTH_FAILED, VERDICT_RESTARTED));
}

static void
accepting_that_finds_no_room_after_all_is_paused_again(void)
{
	CHECK_EQ(ACCEPTING_PENDING,
	    app_accepting_next(ACCEPTING_RESUMING, ACCEPT_PAUSED));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_app_is_drained_before_it_stops);
	RUN(connections_that_come_back_are_served_by_a_stopping_app);
	RUN(an_app_with_stuck_processes_is_over_twice);
	RUN(every_phase_but_free_ends_when_the_pool_ends);
	RUN(an_app_that_recovers_is_as_ready_as_it_was);
	RUN(a_restart_forgets_that_ready_was_announced_and_no_failure);
	RUN(accepting_that_finds_no_room_after_all_is_paused_again);
	return check_finish();
}
