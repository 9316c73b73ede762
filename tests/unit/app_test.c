/* The tables of an app's phases and health. */

#include "core/app.h"

#include "check.h"

static enum app_phase
after(enum app_phase phase, const enum app_event *events, unsigned n)
{
	struct app a = { .phase = (uint8_t)phase };

	for (unsigned i = 0; i < n; i++)
		app_enter(&a, events[i]);
	return (enum app_phase)a.phase;
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
	static const enum app_event events[] = { APP_RETURNED };

	CHECK_EQ(APP_DRAINED, after(APP_STOPPING, events, 1));
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
	static const enum app_event events[] = { APP_ENDED };

	for (int s = APP_RUNNING; s < APP_PHASES; s++)
		CHECK(after((enum app_phase)s, events, 1) >= APP_STOPPING);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_app_is_drained_before_it_stops);
	RUN(connections_that_come_back_are_served_by_a_stopping_app);
	RUN(an_app_with_stuck_processes_is_over_twice);
	RUN(every_phase_but_free_ends_when_the_pool_ends);
	return check_finish();
}
