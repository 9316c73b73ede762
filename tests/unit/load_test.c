/* The decaying estimate of busy processes. */

#include "core/promise.h"

#include "check.h"

#define START TSPAN_SECONDS(1000)
#define INTERVAL TSPAN_SECONDS(10)
#define GAIN 0.5

static struct load l;
static tstamp now;

static void
begin(void)
{
	now = START;
	load_init(&l, now);
}

/* Lets so many processes be busy for so many seconds. */
static void
busy(double n, int64_t seconds)
{
	load_set(&l, n, now);
	now += TSPAN_SECONDS(seconds);
}

static void
update(void)
{
	load_update(&l, GAIN, INTERVAL, now);
}

static void
the_first_update_is_the_sample(void)
{
	busy(3, 10);
	update();
	CHECK_NEAR(3, l.work);
}

static void
busy_time_is_integrated(void)
{
	busy(4, 2);
	busy(0, 6);
	busy(1, 2);
	update();
	CHECK_NEAR(1, l.work);
}

static void
a_session_without_an_end_counts(void)
{
	busy(1, 10);
	update();
	now += TSPAN_SECONDS(10);
	update();
	CHECK_NEAR(1, l.work);
}

static void
an_update_weighs_by_the_gain(void)
{
	busy(0, 10);
	update();
	busy(4, 10);
	update();
	CHECK_NEAR(2, l.work);
	busy(0, 10);
	update();
	CHECK_NEAR(1, l.work);
}

static void
a_late_update_weighs_like_several_in_time(void)
{
	busy(8, 10);
	update();
	busy(0, 30);
	update();
	CHECK_NEAR(1, l.work);
}

static void
an_early_update_weighs_less(void)
{
	busy(8, 10);
	update();
	busy(0, 5);
	update();
	busy(0, 5);
	update();
	CHECK_NEAR(4, l.work);
}

static void
a_month_of_sleep_leaves_nothing(void)
{
	busy(8, 10);
	update();
	busy(0, 30 * 86400);
	update();
	CHECK_NEAR(0, l.work);
	CHECK(load_at_rest(&l));
}

static void
the_estimate_can_be_looked_at_between_updates(void)
{
	busy(0, 10);
	update();
	busy(4, 10);
	CHECK_NEAR(2, load_work(&l, GAIN, INTERVAL, now));
	CHECK_NEAR(0, l.work);
}

static void
two_updates_at_one_time_are_one(void)
{
	busy(2, 10);
	update();
	update();
	CHECK_NEAR(2, l.work);
}

static void
a_load_is_not_at_rest_while_a_process_is_busy_or_was(void)
{
	CHECK(load_at_rest(&l));
	load_set(&l, 1, now);
	CHECK(!load_at_rest(&l));
	busy(1, 1);
	load_set(&l, 0, now);
	CHECK(!load_at_rest(&l));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check.begin = begin;
	RUN(the_first_update_is_the_sample);
	RUN(busy_time_is_integrated);
	RUN(a_session_without_an_end_counts);
	RUN(an_update_weighs_by_the_gain);
	RUN(a_late_update_weighs_like_several_in_time);
	RUN(an_early_update_weighs_less);
	RUN(a_month_of_sleep_leaves_nothing);
	RUN(the_estimate_can_be_looked_at_between_updates);
	RUN(two_updates_at_one_time_are_one);
	RUN(a_load_is_not_at_rest_while_a_process_is_busy_or_was);
	return check_finish();
}
