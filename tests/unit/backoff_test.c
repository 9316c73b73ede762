/* The delay between failed starts. */

#include "core/prng.h"

#include "check.h"

static const tspan delay = TSPAN_SECONDS(1);
static const tspan delay_max = TSPAN_SECONDS(60);
static struct prng random_;
static struct backoff b;

static void
begin(void)
{
	b = (struct backoff){ 0 };
}

/* A process that was started after the last failure fails at `at`. */
static void
fail(tstamp at)
{
	backoff_failed(&b, b.failed_at, delay, delay_max, &random_, at);
}

TEST(each_failure_doubles_the_delay_up_to_its_maximum)
{
	for (int i = 0; i < 100; i++) {
		fail(TSPAN_SECONDS(100 + 100 * i));
		CHECK_EQ(i < 6 ? delay << i : delay_max, b.delay);
		CHECK(b.until >= TSPAN_SECONDS(100 + 100 * i) + b.delay);
	}
}

TEST(jitter_adds_up_to_a_quarter)
{
	tspan least = delay, most = 0;

	for (int i = 0; i < 1000; i++) {
		tspan jitter;

		b = (struct backoff){ 0 };
		fail(TSPAN_SECONDS(100));
		jitter = b.until - TSPAN_SECONDS(100) - delay;
		least = jitter < least ? jitter : least;
		most = jitter > most ? jitter : most;
	}
	CHECK(least >= 0 && least < delay / 40);
	CHECK(most <= delay / 4 && most > delay / 4 - delay / 40);
}

TEST(processes_that_fail_together_are_one_failure)
{
	for (int i = 0; i < 10; i++)
		backoff_failed(&b, TSPAN_SECONDS(1), delay, delay_max, &random_,
		    TSPAN_SECONDS(100) + i);
	CHECK_EQ(delay, b.delay);
}

TEST(a_delay_of_the_length_of_time_does_not_overflow)
{
	for (int i = 0; i < 3; i++)
		backoff_failed(&b, b.failed_at, INT64_MAX / 2, INT64_MAX / 2,
		    &random_, TSPAN_SECONDS(100 + i));
	CHECK(b.until >= INT64_MAX / 2);
}

TEST(a_reset_forgets_all)
{
	fail(TSPAN_SECONDS(100));
	fail(TSPAN_SECONDS(200));
	b = (struct backoff){ 0 };
	CHECK_EQ(0, b.until);
	fail(TSPAN_SECONDS(300));
	CHECK_EQ(delay, b.delay);
}

TESTS(begin, NULL)
