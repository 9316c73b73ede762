/* The ring of events, and readers who are overtaken. */

#include <sys/mman.h>

#include <unistd.h>

#include "daemon/worker.h"

#include "check.h"

static struct ring ring;

static void
put(const char *app, const char *id, const char *text)
{
	struct event event = {
		.kind = EVENT_WORKER,
		.app = app,
		.id = id,
		.text = text,
		.len = strlen(text),
	};

	events_put(&ring, &event);
}

/* So many events, whose texts are numbers from first on, of any length. */
static void
put_many(unsigned first, unsigned count)
{
	char text[EVENTS_TEXT_MAX + 1];

	for (unsigned i = first; i < first + count; i++) {
		memset(text, '.', sizeof(text));
		text[10 + i * 7919 % (sizeof(text) - 10)] = '\0';
		(void)snprintf(text, 10, "%08u", i);
		text[8] = ' ';
		put("web", "ab12cd34", text);
	}
}

static struct ring_place
begin(void)
{
	struct ring_place place;

	ring_fini(&ring);
	CHECK_EQ(0, ring_init(&ring, EVENTS_SIZE));
	ring_begin(&ring, &place);
	return place;
}

TEST(an_event_is_read_as_it_was_put)
{
	struct ring_place place = begin();
	struct event out,
	    in = {
		    .at = { .tv_sec = 12, .tv_nsec = 34 },
		    .kind = EVENT_EXIT,
		    .level = 2,
		    .reason = "signal",
		    .pid = 4711,
		    .app = "web",
		    .id = "ab12cd34",
		    .text = "one\0two",
		    .len = 7,
	    };

	events_put(&ring, &in);
	NEED(events_next(&ring, &place, &out));
	CHECK_EQ(1, in.number);
	CHECK_EQ(1, out.number);
	CHECK_EQ(12, out.at.tv_sec);
	CHECK_EQ(34, out.at.tv_nsec);
	CHECK_EQ(EVENT_EXIT, out.kind);
	CHECK_EQ(2, out.level);
	CHECK_STR("signal", out.reason);
	CHECK_EQ(4711, out.pid);
	CHECK_STR("web", out.app);
	CHECK_STR("ab12cd34", out.id);
	CHECK_EQ(7, out.len);
	CHECK(memcmp(out.text, "one\0two", 8) == 0);
	CHECK(!events_next(&ring, &place, &out));
}

TEST(a_reader_who_is_overtaken_learns_how_many_events_are_lost)
{
	struct ring_place place = begin();
	struct event out;
	unsigned got = 0;

	put_many(0, 10);
	NEED(events_next(&ring, &place, &out));
	put_many(10, 5000);
	while (events_next(&ring, &place, &out)) {
		CHECK_EQ(1 + place.lost + got, (uint64_t)atoi(out.text));
		got++;
	}
	CHECK_EQ(5010, 1 + place.lost + got);
	/* As many as have room are kept. */
	CHECK(got > EVENTS_SIZE / (EVENTS_TEXT_MAX + 128));
}

/* A reader of all but the event with which the ring begins anew. */
static void
read_up_to_the_end_of_the_ring(const char *text, struct ring_place *out)
{
	struct ring_place place = begin();
	struct event event;
	size_t head;

	do {
		*out = place;
		head = ring.head;
		put("web", "ab12cd34", text);
		NEED(events_next(&ring, &place, &event));
	} while (ring.head > head);
}

TEST(a_reader_whose_event_is_the_oldest_gets_it)
{
	char first[200], later[200];
	struct ring_place place, copy;
	struct event out;

	memset(first, 'a', sizeof(first));
	memset(later, 'b', sizeof(later));
	first[sizeof(first) - 1] = '\0';
	for (size_t len = 0; len < sizeof(later); len += 8) {
		later[len] = '\0';
		read_up_to_the_end_of_the_ring(first, &place);
		while (ring.oldest <= place.number) {
			copy = place;
			NEED(events_next(&ring, &copy, &out));
			CHECK_EQ(place.number, out.number);
			CHECK_STR(first, out.text);
			put("web", "ab12cd34", later);
		}
		later[len] = 'b';
	}
}

TEST(a_text_is_cut_at_the_bound)
{
	struct ring_place place = begin();
	char text[2 * EVENTS_TEXT_MAX + 1];
	struct event out;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put("", "", text);
	NEED(events_next(&ring, &place, &out));
	CHECK_EQ(EVENTS_TEXT_MAX, out.len);
	CHECK_EQ(EVENTS_TEXT_MAX, strlen(out.text));
}

TEST(every_kind_has_a_word)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		CHECK(events_kind_name((enum event_kind)kind) != NULL);
}

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

	NEED(ring_init(&r, EVENTS_SIZE) == 0);
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
			out = ring_read(&r, NULL);
			if (out == NULL)
				break;
			CHECK_EQ(got++, out[0]);
			if (out[1] > 2)
				CHECK_EQ(out[0], out[out[1] - 1]);
			ring_drop(&r);
		}
	}
	while ((out = ring_read(&r, NULL)) != NULL) {
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
	static unsigned char pages[EVENTS_SIZE / 4096];
	size_t n = 0;

	if (mincore(r->mem, EVENTS_SIZE, pages) == -1)
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
	NEED(ring_init(&r, EVENTS_SIZE) == 0);
	while ((record = ring_add(&r, 1000)) != NULL)
		memset(record, 1, 1000);
	CHECK(pages_in_use(&r) > 60);
	while (ring_read(&r, NULL) != NULL)
		ring_drop(&r);
	CHECK(pages_in_use(&r) <= 16);
	ring_fini(&r);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check_all();
	ring_fini(&ring);
	return check_finish();
}
