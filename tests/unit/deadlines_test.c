/* The heap of deadlines. */

#include <stdlib.h>

#include "core/deadlines.h"
#include "core/prng.h"

#include "check.h"

#define NUMBERS 64

static struct deadlines d;
static void *memory;

static void
begin(void)
{
	size_t size = 0;

	d = (struct deadlines){ 0 };
	deadlines_carve(&d, NULL, &size, NUMBERS);
	memory = calloc(1, size);
	size = 0;
	deadlines_carve(&d, memory, &size, NUMBERS);
}

static void
end(void)
{
	free(memory);
}

TEST(no_deadline_is_the_end_of_time)
{
	uint32_t number = 7;

	CHECK_EQ(TSTAMP_NEVER, deadlines_first(&d, &number));
	CHECK_EQ(7, number);
	CHECK_EQ(TSTAMP_NEVER, deadlines_get(&d, 3));
}

/* Compares with a plain array that is searched for the earliest. */
TEST(random_changes_agree_with_a_plain_array)
{
	tstamp plain[NUMBERS];
	struct prng random = { 42 };

	for (unsigned i = 0; i < NUMBERS; i++)
		plain[i] = TSTAMP_NEVER;
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t n = prng_next(&random) % NUMBERS, first = n;
		tstamp at = (tstamp)(prng_next(&random) % 1000);
		tstamp earliest = TSTAMP_NEVER;

		if (prng_next(&random) % 4 == 0)
			at = TSTAMP_NEVER;
		plain[n] = at;
		deadlines_set(&d, n, at);
		for (unsigned k = 0; k < NUMBERS; k++)
			earliest = tstamp_min(earliest, plain[k]);
		NEED(deadlines_first(&d, &first) == earliest);
		NEED(earliest == TSTAMP_NEVER || plain[first] == earliest);
		NEED(deadlines_get(&d, n) == at);
	}
}

TESTS(begin, end)
