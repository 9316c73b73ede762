/* max_processes = auto, by numbers. */

#include "core/autosize.h"

#include "check.h"

#define MIB ((uint64_t)1 << 20)

static struct autosize_box box;
static struct autosize all, a, b;

/* 512 MiB, of which 64 are left free and 30 are used by others. */
static void
begin(void)
{
	box = (struct autosize_box){ 512 * MIB, 30 * MIB, 2 };
	all = (struct autosize){ .least = 1, .bound = 256 };
	a = b = (struct autosize){
		.set = true, .least = 1, .bound = 64, .processes = 1
	};
}

/* So many processes of that size exist, and use all of it. */
static void
measured(struct autosize *of, uint32_t n, uint64_t size)
{
	box.used += n * size - of->own;
	of->processes = n;
	of->own = n * size;
	of->size = size;
}

static void
steps(int n)
{
	while (n-- > 0)
		autosize_step(&box, &a, &all);
}

TEST(an_app_that_nothing_is_known_of_has_its_minimum)
{
	a.least = 3;
	steps(10);
	CHECK_EQ(3, a.ceiling);
}

TEST(the_memory_less_reserve_and_others_is_divided_by_the_size)
{
	measured(&a, 4, 33 * MIB);
	steps(1);
	CHECK_EQ((512 - 64 - 30) / 33, a.goal);
	CHECK_EQ(a.goal, a.by_memory);
	CHECK_EQ(30 * MIB, a.others);
}

TEST(a_process_that_has_yet_to_grow_counts_with_its_size)
{
	measured(&a, 4, 33 * MIB);
	box.used -= a.own - 4 * MIB;
	a.own = 4 * MIB;
	steps(1);
	CHECK_EQ((512 - 64 - 30) / 33, a.goal);
}

TEST(at_most_a_gibibyte_is_left_free)
{
	box.memory = 1024 * 1024 * MIB;
	CHECK_EQ(1024 * MIB, autosize_reserve(&box));
}

TEST(a_ceiling_rises_by_one_or_by_an_eighth_in_each_step)
{
	uint32_t before = 1;

	measured(&a, 1, MIB);
	for (steps(1); a.ceiling < 64; steps(1)) {
		NEED(a.ceiling > before);
		NEED(a.ceiling <= before + 1 || a.ceiling <= before * 9 / 8);
		before = a.ceiling;
	}
	CHECK_EQ(64, a.ceiling);
}

TEST(a_ceiling_falls_at_once)
{
	measured(&a, 1, MIB);
	steps(100);
	measured(&a, 64, 10 * MIB);
	steps(1);
	CHECK_EQ((512 - 64 - 30) / 10, a.ceiling);
}

TEST(no_ceiling_is_under_the_minimum_or_over_the_bound)
{
	a.least = 5;
	measured(&a, 5, 200 * MIB);
	steps(10);
	CHECK_EQ(5, a.ceiling);
	measured(&a, 5, 1);
	steps(100);
	CHECK_EQ(64, a.ceiling);
}

/* What others use goes up and down by less than a process. */
TEST(a_ceiling_does_not_waver)
{
	uint32_t ceiling;

	measured(&a, 4, 33 * MIB);
	steps(100);
	box.used += 13 * MIB;
	steps(1);
	ceiling = a.ceiling;
	for (int i = 0; i < 10; i++) {
		if (i % 2 == 0)
			box.used += 5 * MIB;
		else
			box.used -= 5 * MIB;
		steps(1);
		NEED(a.ceiling == ceiling);
	}
}

TEST(processors_limit_an_app_that_computes_and_no_other)
{
	measured(&a, 1, MIB);
	a.share = 1;
	steps(100);
	CHECK_EQ(3, a.goal);
	CHECK_EQ(3, a.by_processors);
	a.share = 0.25;
	steps(100);
	CHECK_EQ(12, a.goal);
	a.share = 0;
	steps(100);
	CHECK_EQ(64, a.goal);
}

TEST(half_a_processor_is_enough_for_one_process)
{
	measured(&a, 1, MIB);
	box.processors = 0.5;
	a.share = 1;
	steps(100);
	CHECK_EQ(1, a.by_processors);
}

TEST(memory_for_an_app_with_a_number_is_kept)
{
	a.next = &b;
	b.set = false;
	b.bound = 8;
	measured(&a, 1, 10 * MIB);
	measured(&b, 2, 20 * MIB);
	steps(1);
	CHECK_EQ((512 - 64 - 30 - 8 * 20) / 10, a.goal);
}

/* Each step as many start as may: the sum must fit at any time. */
TEST(two_apps_that_grow_together_fit_into_the_box)
{
	a.next = &b;
	measured(&a, 1, 10 * MIB);
	measured(&b, 1, 40 * MIB);
	for (int i = 0; i < 100; i++) {
		steps(1);
		measured(&a, a.ceiling, 10 * MIB);
		measured(&b, b.ceiling, 40 * MIB);
		NEED(box.used <= (512 - 64) * MIB);
	}
	CHECK(box.used > (512 - 64 - 100) * MIB);
}

TEST(an_app_that_has_nearly_all_gives_to_one_that_waits)
{
	a.next = &b;
	measured(&a, 1, 10 * MIB);
	measured(&b, 1, 10 * MIB);
	for (int i = 0; i < 100; i++) {
		steps(1);
		measured(&a, a.ceiling, 10 * MIB);
	}
	CHECK(a.ceiling > 30);
	b.starves = true;
	for (int i = 0; i < 100; i++) {
		steps(1);
		measured(&a, a.ceiling, 10 * MIB);
		measured(&b, b.ceiling, 10 * MIB);
		b.starves = b.ceiling < 15;
		NEED(box.used <= (512 - 64) * MIB);
	}
	CHECK(b.ceiling >= 15);
	CHECK(a.ceiling >= 15);
}

TEST(the_ceiling_over_all_leaves_room_for_one_more_of_the_largest)
{
	all.set = true;
	a.set = b.set = false;
	a.next = &b;
	measured(&a, 10, 10 * MIB);
	measured(&b, 2, 100 * MIB);
	steps(20);
	CHECK_EQ(12 + (512 - 64 - 30 - 100 - 200) / 100, all.goal);
	/* All of the large ones that may be are there. */
	b.bound = 2;
	steps(20);
	CHECK_EQ(12 + (512 - 64 - 30 - 100 - 200) / 10, all.goal);
	CHECK_EQ(12 + (512 - 64 - 30 - 100 - 200 - 16) / 10, all.ceiling);
}

TESTS(begin, NULL)
