/* The ring of events, and readers who are overtaken. */

#include "daemon/events.h"

#include "check.h"

static struct events ring;

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

static struct events_place
begin(void)
{
	struct events_place place;

	events_fini(&ring);
	CHECK_EQ(0, events_init(&ring));
	events_oldest(&ring, &place);
	return place;
}

static void
an_event_is_read_as_it_was_put(void)
{
	struct events_place place = begin();
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

static void
a_reader_who_keeps_up_gets_every_event(void)
{
	struct events_place place = begin();
	struct event out;
	unsigned got = 0;

	for (unsigned i = 0; i < 5000; i++) {
		put_many(i, 1);
		if (i % 7 != 0)
			continue;
		while (events_next(&ring, &place, &out))
			CHECK_EQ(got++, (unsigned)atoi(out.text));
	}
	while (events_next(&ring, &place, &out))
		CHECK_EQ(got++, (unsigned)atoi(out.text));
	CHECK_EQ(5000, got);
	CHECK_EQ(0, place.lost);
}

static void
a_reader_who_is_overtaken_learns_how_many_events_are_lost(void)
{
	struct events_place place = begin();
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
read_up_to_the_end_of_the_ring(const char *text, struct events_place *out)
{
	struct events_place place = begin();
	struct event event;
	size_t head;

	do {
		*out = place;
		head = ring.head;
		put("web", "ab12cd34", text);
		NEED(events_next(&ring, &place, &event));
	} while (ring.head > head);
}

static void
a_reader_whose_event_is_the_oldest_gets_it(void)
{
	char first[200], later[200];
	struct events_place place, copy;
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

static void
a_text_is_cut_at_the_bound(void)
{
	struct events_place place = begin();
	char text[2 * EVENTS_TEXT_MAX + 1];
	struct event out;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put("", "", text);
	NEED(events_next(&ring, &place, &out));
	CHECK_EQ(EVENTS_TEXT_MAX, out.len);
	CHECK_EQ(EVENTS_TEXT_MAX, strlen(out.text));
}

static void
a_name_is_cut_at_the_bound(void)
{
	static char name[100000];
	struct events_place place = begin();
	struct event out;

	memset(name, 'n', sizeof(name) - 1);
	put(name, "ab12cd34", "text");
	NEED(events_next(&ring, &place, &out));
	CHECK_EQ(EVENTS_APP_MAX, strlen(out.app));
	CHECK_STR("ab12cd34", out.id);
	CHECK_STR("text", out.text);
}

static void
without_memory_no_event_is_kept(void)
{
	struct events none = { .oldest = 1, .next = 1 };
	struct events_place place;
	struct event in = { .app = "", .id = "", .text = "" }, out;

	events_put(&none, &in);
	events_oldest(&none, &place);
	CHECK(!events_next(&none, &place, &out));
}

static void
every_kind_has_a_word(void)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		CHECK(events_kind_name((enum event_kind)kind) != NULL);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_event_is_read_as_it_was_put);
	RUN(a_reader_who_keeps_up_gets_every_event);
	RUN(a_reader_who_is_overtaken_learns_how_many_events_are_lost);
	RUN(a_reader_whose_event_is_the_oldest_gets_it);
	RUN(a_text_is_cut_at_the_bound);
	RUN(a_name_is_cut_at_the_bound);
	RUN(without_memory_no_event_is_kept);
	RUN(every_kind_has_a_word);
	events_fini(&ring);
	return check_finish();
}
