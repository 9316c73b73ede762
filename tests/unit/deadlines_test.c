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
	memory = calloc(1, deadlines_memory(NUMBERS));
	deadlines_init(&d, memory, NUMBERS);
}

static void
end(void)
{
	free(memory);
}

static void
no_deadline_is_the_end_of_time(void)
{
	uint32_t number = 7;

	begin();
	CHECK_EQ(TSTAMP_NEVER, deadlines_first(&d, &number));
	CHECK_EQ(7, number);
	CHECK_EQ(TSTAMP_NEVER, deadlines_get(&d, 3));
	end();
}

static void
the_earliest_is_first(void)
{
	uint32_t number;

	begin();
	deadlines_set(&d, 5, 50);
	deadlines_set(&d, 2, 20);
	deadlines_set(&d, 9, 90);
	CHECK_EQ(20, deadlines_first(&d, &number));
	CHECK_EQ(2, number);
	end();
}

static void
a_number_has_one_deadline_the_last_one_set(void)
{
	uint32_t number;

	begin();
	deadlines_set(&d, 5, 50);
	deadlines_set(&d, 6, 60);
	deadlines_set(&d, 5, 70);
	CHECK_EQ(60, deadlines_first(&d, &number));
	CHECK_EQ(70, deadlines_get(&d, 5));
	deadlines_set(&d, 5, 10);
	CHECK_EQ(10, deadlines_first(&d, &number));
	CHECK_EQ(5, number);
	CHECK_EQ(2, d.count);
	end();
}

static void
never_clears_and_clearing_nothing_is_allowed(void)
{
	uint32_t number;

	begin();
	deadlines_set(&d, 5, 50);
	deadlines_set(&d, 5, TSTAMP_NEVER);
	deadlines_set(&d, 5, TSTAMP_NEVER);
	CHECK_EQ(TSTAMP_NEVER, deadlines_get(&d, 5));
	CHECK_EQ(TSTAMP_NEVER, deadlines_first(&d, &number));
	end();
}

/* Compares with a plain array that is searched for the earliest. */
static void
random_changes_agree_with_a_plain_array(void)
{
	tstamp plain[NUMBERS];
	struct prng random = { 42 };

	begin();
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
	end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(no_deadline_is_the_end_of_time);
	RUN(the_earliest_is_first);
	RUN(a_number_has_one_deadline_the_last_one_set);
	RUN(never_clears_and_clearing_nothing_is_allowed);
	RUN(random_changes_agree_with_a_plain_array);
	return check_finish();
}
