/* Histograms with fixed bounds. */

#include "core/buckets.h"
#include "core/window.h"

#include "check.h"

static void
bounds_rise_from_100_us_to_a_minute(void)
{
	CHECK_EQ(TSPAN_USECONDS(100), buckets_bound(0));
	for (unsigned i = 1; i < BUCKETS_BOUNDS; i++)
		CHECK(buckets_bound(i) > buckets_bound(i - 1));
	CHECK_EQ(TSPAN_SECONDS(60), buckets_bound(BUCKETS_BOUNDS - 1));
}

static void
a_bound_belongs_to_its_own_bucket(void)
{
	struct buckets b = { 0 };

	for (unsigned i = 0; i < BUCKETS_BOUNDS; i++) {
		buckets_add(&b, buckets_bound(i));
		CHECK_EQ(1, b.counts[i]);
		buckets_add(&b, buckets_bound(i) + 1);
		CHECK_EQ(1, b.counts[i + 1]);
		b.counts[i + 1] = 0;
	}
}

static void
no_time_at_all_is_in_the_first_bucket(void)
{
	struct buckets b = { 0 };

	buckets_add(&b, 0);
	CHECK_EQ(1, b.counts[0]);
}

static void
more_than_a_minute_is_in_the_last_bucket(void)
{
	struct buckets b = { 0 };

	buckets_add(&b, TSPAN_SECONDS(31536000));
	CHECK_EQ(1, b.counts[BUCKETS_BOUNDS]);
}

/* A thousand sessions at a time, for ten years: no integer of 64 bits. */
static void
the_sum_holds_centuries(void)
{
	struct buckets b = { 0 };

	for (int i = 0; i < 1000; i++)
		buckets_add(&b, TSPAN_SECONDS(315360000));
	CHECK_NEAR(3.1536e11, b.sum);
	buckets_add(&b, TSPAN_MSECONDS(1));
	CHECK(b.sum > 3.1536e11);
}

static void
a_window_keeps_the_histogram_of_what_it_forgot(void)
{
	struct window w;

	window_init(&w);
	window_add(&w, TSPAN_MSECONDS(3), TSPAN_SECONDS(1));
	window_add(&w, TSPAN_MSECONDS(4), TSPAN_SECONDS(1000));
	CHECK_EQ(TSPAN_MSECONDS(4), window_share(&w, 1, TSPAN_SECONDS(1000)));
	CHECK_EQ(2, w.ever.counts[5]);
	CHECK_NEAR(0.007, w.ever.sum);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(bounds_rise_from_100_us_to_a_minute);
	RUN(a_bound_belongs_to_its_own_bucket);
	RUN(no_time_at_all_is_in_the_first_bucket);
	RUN(more_than_a_minute_is_in_the_last_bucket);
	RUN(the_sum_holds_centuries);
	RUN(a_window_keeps_the_histogram_of_what_it_forgot);
	return check_finish();
}
