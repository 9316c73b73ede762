/* Percentiles over the last minute. */

#include "core/prng.h"
#include "core/window.h"

#include "check.h"

static const tstamp start = TSPAN_SECONDS(1000);
static struct window w;

static void
begin(void)
{
	w = (struct window){ 0 };
}

TEST(an_empty_window_gives_zero)
{
	CHECK_EQ(0, window_share(&w, 0.5, start));
	CHECK_EQ(0, window_share(&w, 1, start));
}

TEST(the_maximum_is_exact)
{
	window_add(&w, 1234567, start);
	window_add(&w, 7654321, start);
	CHECK_EQ(7654321, window_share(&w, 1, start));
}

/* Values around every power of two, from the first bucket to the last. */
TEST(a_percentile_is_at_most_an_eighth_too_high)
{
	struct prng random = { 3 };

	for (unsigned power = WINDOW_FIRST; power < WINDOW_LAST; power++)
		for (unsigned i = 0; i < 100; i++) {
			tspan base = (tspan)1 << power;
			tspan value = base + prng_span(&random, base - 1);
			tspan share;

			w = (struct window){ 0 };
			for (unsigned k = 0; k < 10; k++)
				window_add(&w, value, start);
			window_add(&w, TSPAN_SECONDS(3600), start);
			share = window_share(&w, 0.5, start);
			NEED(share >= value && share <= value + value / 8);
		}
}

TEST(half_of_a_thousand_values_lie_below_the_median)
{
	tspan median;

	for (int i = 1; i <= 1000; i++)
		window_add(&w, TSPAN_MSECONDS(i), start);
	median = window_share(&w, 0.5, start);
	CHECK(median >= TSPAN_MSECONDS(500));
	CHECK(median <= TSPAN_MSECONDS(563));
}

TEST(less_than_a_microsecond_counts_as_one)
{
	window_add(&w, 0, start);
	window_add(&w, 999, start);
	window_add(&w, TSPAN_SECONDS(1), start);
	CHECK(window_share(&w, 0.5, start) <= 1152);
}

TEST(a_year_is_held_too)
{
	window_add(&w, TSPAN_SECONDS(31536000), start);
	CHECK_EQ(TSPAN_SECONDS(31536000), window_share(&w, 0.5, start));
}

TEST(values_are_kept_for_a_minute_and_gone_after_seventy_seconds)
{
	window_add(&w, 5000000, start);
	CHECK_EQ(5000000, window_share(&w, 0.01, start));
	CHECK_EQ(5000000, window_share(&w, 1, start + TSPAN_SECONDS(60)));
	CHECK_EQ(0, window_share(&w, 1, start + TSPAN_SECONDS(70)));
	CHECK_EQ(0, window_share(&w, 0.5, start + TSPAN_SECONDS(70)));
}

TEST(additions_clear_values_older_than_the_window)
{
	for (int i = 0; i < 30; i++)
		window_add(
		    &w, TSPAN_SECONDS(30 - i), start + TSPAN_SECONDS(10 * i));
	/* The last seven values: 7 s … 1 s. */
	CHECK_EQ(
	    TSPAN_SECONDS(7), window_share(&w, 1, start + TSPAN_SECONDS(290)));
}

TEST(a_pause_of_any_length_leaves_nothing_behind)
{
	static const int pauses[] = { 61, 70, 71, 79, 80, 140, 141, 3600,
		86400 };

	for (unsigned i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		tstamp later = start + TSPAN_SECONDS(9 + pauses[i]);

		w = (struct window){ 0 };
		for (int k = 0; k < 9; k++)
			window_add(&w, TSPAN_SECONDS(9), start);
		window_add(&w, 2000, later);
		CHECK_EQ(2000, window_share(&w, 1, later));
		CHECK_EQ(2000, window_share(&w, 0.5, later));
	}
}

TEST(the_rate_is_that_of_the_last_minute)
{
	CHECK_NEAR(0, window_rate(&w, start, start));
	for (int i = 0; i < 3; i++)
		window_add(&w, 1, start);
	CHECK_NEAR(3, window_rate(&w, start, start + TSPAN_MSECONDS(1)));
	CHECK_NEAR(0.5, window_rate(&w, start, start + TSPAN_SECONDS(6)));
	for (int i = 0; i < 65 * 20 - 3; i++)
		window_add(&w, 1, start + TSPAN_MSECONDS(50) * i);
	CHECK_NEAR(20, window_rate(&w, 0, start + TSPAN_SECONDS(65)));
	CHECK_NEAR(0, window_rate(&w, 0, start + TSPAN_SECONDS(140)));
}

TEST(a_share_within_a_length_is_exact_at_the_ends_of_buckets)
{
	CHECK_NEAR(-1, window_within(&w, 0, start));
	for (int i = 0; i < 3; i++)
		window_add(&w, 0, start);
	window_add(&w, TSPAN_SECONDS(1), start);
	CHECK_NEAR(0.75, window_within(&w, TSPAN_MSECONDS(20), start));
	CHECK_NEAR(0.75, window_within(&w, 0, start));
	CHECK_NEAR(1, window_within(&w, TSPAN_SECONDS(1), start));
	CHECK_NEAR(
	    -1, window_within(&w, TSPAN_SECONDS(1), start + TSPAN_SECONDS(75)));
}

TEST(a_share_within_a_bucket_is_that_of_equally_many_lengths)
{
	double share;

	/* The bucket from 2^24 to 9/8 of that, 16.8 to 18.9 ms. */
	for (int i = 0; i < 100; i++)
		window_add(&w, TSPAN_USECONDS(16900), start);
	window_add(&w, TSPAN_SECONDS(1), start);
	share = window_within(&w, TSPAN_USECONDS(17825), start);
	CHECK(share > 0.45 && share < 0.55);
}

/* --- the histogram of all time -------------------------------------------- */

TEST(bounds_rise_from_100_us_to_a_minute)
{
	CHECK_EQ(TSPAN_USECONDS(100), buckets_bounds[0]);
	for (unsigned i = 1; i < BUCKETS_BOUNDS; i++)
		CHECK(buckets_bounds[i] > buckets_bounds[i - 1]);
	CHECK_EQ(TSPAN_SECONDS(60), buckets_bounds[BUCKETS_BOUNDS - 1]);
}

TEST(a_length_is_in_the_first_bucket_whose_bound_it_does_not_exceed)
{
	for (unsigned i = 0; i < BUCKETS_BOUNDS; i++) {
		w = (struct window){ 0 };
		window_add(&w, i == 0 ? 0 : buckets_bounds[i - 1] + 1, start);
		window_add(&w, buckets_bounds[i], start);
		CHECK_EQ(2, w.ever.counts[i]);
	}
	window_add(&w, TSPAN_SECONDS(31536000), start);
	CHECK_EQ(1, w.ever.counts[BUCKETS_BOUNDS]);
}

/* A thousand sessions at a time, for ten years: no integer of 64 bits. */
TEST(the_sum_holds_centuries)
{
	for (int i = 0; i < 1000; i++)
		window_add(&w, TSPAN_SECONDS(315360000), start);
	CHECK_NEAR(3.1536e11, w.ever.sum);
	window_add(&w, TSPAN_MSECONDS(1), start);
	CHECK(w.ever.sum > 3.1536e11);
}

TEST(a_window_keeps_the_histogram_of_what_it_forgot)
{
	window_add(&w, TSPAN_MSECONDS(3), TSPAN_SECONDS(1));
	window_add(&w, TSPAN_MSECONDS(4), start);
	CHECK_EQ(TSPAN_MSECONDS(4), window_share(&w, 1, start));
	CHECK_EQ(2, w.ever.counts[5]);
	CHECK_NEAR(0.007, w.ever.sum);
}

TESTS(begin, NULL)
