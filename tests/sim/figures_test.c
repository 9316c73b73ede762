/* Distributions, series, and the heap of events. */

#include "core/prng.h"
#include "sim/simulate.h"

#include "../unit/check.h"

/* --- distributions ------------------------------------------------------ */

static struct histogram h;

TEST(a_share_is_at_most_a_64th_too_high)
{
	struct prng random = { .state = 1 };

	for (unsigned n = 0; n < 10000; n++) {
		tspan value = (tspan)(prng_next(&random) >> (16 + n % 46));

		if (value >= (tspan)1 << HISTOGRAM_LAST)
			continue;
		memset(&h, 0, sizeof(h));
		histogram_add(&h, value);
		histogram_add(&h, INT64_MAX / 2);
		NEED(histogram_share(&h, 0.5) >= value);
		NEED(histogram_share(&h, 0.5) <= value + value / 64);
	}
}

TEST(small_values_are_exact)
{
	memset(&h, 0, sizeof(h));
	for (tspan value = 0; value < 64; value++)
		histogram_add(&h, value);
	for (tspan value = 0; value < 64; value++)
		CHECK_EQ(value, histogram_share(&h, (double)(value + 1) / 64));
}

TEST(a_value_has_the_share_that_does_not_exceed_it)
{
	memset(&h, 0, sizeof(h));
	CHECK_NEAR(1, histogram_within(&h, 0));
	for (unsigned n = 0; n < 3; n++)
		histogram_add(&h, 20);
	histogram_add(&h, INT64_MAX / 2);
	CHECK_NEAR(0, histogram_within(&h, 19));
	CHECK_NEAR(0.75, histogram_within(&h, 20));
	CHECK_NEAR(0.75, histogram_within(&h, TSPAN_SECONDS(1)));
	CHECK_NEAR(1, histogram_within(&h, INT64_MAX));
}

TEST(a_share_counts_from_below)
{
	memset(&h, 0, sizeof(h));
	for (unsigned n = 0; n < 990; n++)
		histogram_add(&h, 0);
	for (unsigned n = 0; n < 10; n++)
		histogram_add(&h, 50);
	CHECK_EQ(0, histogram_share(&h, 0.5));
	CHECK_EQ(0, histogram_share(&h, 0.99));
	CHECK_EQ(50, histogram_share(&h, 0.991));
}

TEST(no_share_is_over_the_maximum)
{
	memset(&h, 0, sizeof(h));
	histogram_add(&h, 1000001);
	histogram_add(&h, INT64_MAX / 4);
	CHECK_EQ(INT64_MAX / 4, histogram_share(&h, 0.9));
	CHECK_EQ(INT64_MAX / 4, histogram_share(&h, 1));
	memset(&h, 0, sizeof(h));
	histogram_add(&h, 1000001);
	CHECK_EQ(1000001, histogram_share(&h, 0.5));
	CHECK_EQ(1000001, histogram_share(&h, 1));
}

TEST(an_empty_distribution_has_shares_of_zero)
{
	memset(&h, 0, sizeof(h));
	CHECK_EQ(0, histogram_share(&h, 0.99));
}

TEST(distributions_can_be_merged)
{
	static struct histogram other;

	memset(&h, 0, sizeof(h));
	histogram_add(&h, 10);
	histogram_add(&other, 20);
	histogram_add(&other, 30);
	histogram_merge(&h, &other);
	CHECK_EQ(3, h.total);
	CHECK_NEAR(60.0, h.sum);
	CHECK_EQ(20, histogram_share(&h, 0.5));
	CHECK_EQ(30, h.max);
}

/* --- series ------------------------------------------------------------- */

TEST(a_long_series_has_few_buckets)
{
	static struct series s = { .width = 10 };
	uint64_t arrived = 0;

	for (tspan at = 0; at < 1000000; at += 7)
		series_at(&s, at)->counts[SERIES_ARRIVED]++;
	for (uint32_t i = 0; i < s.used; i++)
		arrived += s.buckets[i].counts[SERIES_ARRIVED];
	CHECK_EQ(10 * 256, s.width);
	CHECK_EQ((1000000 + s.width - 1) / s.width, s.used);
	CHECK_EQ(142858, arrived);
	CHECK_EQ((s.width + 6) / 7, s.buckets[0].counts[SERIES_ARRIVED]);
}

TEST(merged_buckets_keep_the_larger_maximum)
{
	static struct series s = { .width = 1 };

	series_at(&s, 10)->most_processes = 3;
	series_at(&s, 11)->most_processes = 5;
	series_at(&s, 11)->most_waiting = 7;
	series_at(&s, SERIES_BUCKETS);
	CHECK_EQ(5, s.buckets[5].most_processes);
	CHECK_EQ(7, s.buckets[5].most_waiting);
}

TESTS(NULL, NULL)
