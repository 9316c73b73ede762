/* Records of any length on their way through a memory of fixed size. */

#include "sys/log.c"

#include "check.h"

/*
 * Records of many sizes go in faster and slower than they are taken out: each
 * comes out once, in order and whole, or was refused.
 */
TEST(the_ring_keeps_order_and_loses_only_refused_records)
{
	unsigned put = 0, got = 0, refused = 0, random = 1;
	struct ring r;
	const unsigned *out;
	unsigned *in;

	NEED(ring_init(&r) == 0);
	for (unsigned i = 0; i < 20000; i++) {
		size_t n;

		random = random * 1103515245U + 12345U;
		n = 2 + (random >> 8) % (i % 7 == 0 ? 10000 : 70);
		in = ring_add(&r, n * sizeof(*in));
		if (in == NULL) {
			refused++;
		} else {
			in[0] = put++;
			in[1] = (unsigned)n;
			in[n - 1] = n == 2 ? in[1] : in[0];
		}
		random = random * 1103515245U + 12345U;
		for (n = (random >> 16) % 3; n > 0; n--) {
			out = ring_oldest(&r);
			if (out == NULL)
				break;
			CHECK_EQ(got++, out[0]);
			if (out[1] > 2)
				CHECK_EQ(out[0], out[out[1] - 1]);
			ring_drop(&r);
		}
	}
	while ((out = ring_oldest(&r)) != NULL) {
		CHECK_EQ(got++, out[0]);
		ring_drop(&r);
	}
	CHECK(refused > 0);
	CHECK_EQ(put, got);
	ring_fini(&r);
}

static size_t
pages_in_use(const struct ring *r)
{
	static unsigned char pages[RING_SIZE / 4096];
	size_t n = 0;

	if (mincore(r->mem, RING_SIZE, pages) == -1)
		return SIZE_MAX;
	for (size_t i = 0; i < sizeof(pages); i++)
		n += pages[i] & 1;
	return n;
}

TEST(the_ring_gives_the_memory_of_a_flood_back)
{
	struct ring r;
	void *record;

	SKIP_IF(
	    sysconf(_SC_PAGESIZE) != 4096, "pages are of another size here");
	NEED(ring_init(&r) == 0);
	while ((record = ring_add(&r, 1000)) != NULL)
		memset(record, 1, 1000);
	CHECK(pages_in_use(&r) > 120);
	while (ring_oldest(&r) != NULL)
		ring_drop(&r);
	CHECK(pages_in_use(&r) <= 16);
	ring_fini(&r);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check_all();
	return check_finish();
}
