/* What happened and what was printed, in shares of a memory; and its readers.
 */

#include "daemon/worker.h"

#include "check.h"

static struct events events;

static void
put_kind(enum event_kind kind, const char *app, const char *text)
{
	struct event event = {
		.kind = kind,
		.app = app,
		.id = "ab12cd34",
		.text = text,
		.len = strlen(text),
	};

	events_put(&events, &event);
}

/* So many lines of an app, whose texts are numbers from first on. */
static void
print_many(const char *app, unsigned first, unsigned count)
{
	char text[16];

	for (unsigned i = first; i < first + count; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		put_kind(EVENT_STDOUT, app, text);
	}
}

/* A reader of events, or of lines. */
static struct events_place
begin(bool output)
{
	free(events.mem);
	events = (struct events){ .mem = malloc(EVENTS_SIZE) };
	if (events.mem == NULL)
		abort();
	return (struct events_place){ .output = output };
}

/* The number of the lines of this app; the text of the first. */
static unsigned
count_lines(const char *app, unsigned *first_out)
{
	struct events_place place = { .output = true };
	struct event event;
	unsigned n = 0;

	while (events_next(&events, &place, &event)) {
		if (strcmp(event.app, app) != 0)
			continue;
		if (n++ == 0)
			*first_out = (unsigned)atoi(event.text);
	}
	return n;
}

TEST(an_event_is_read_as_it_was_put)
{
	struct events_place place = begin(false);
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

	events_put(&events, &in);
	NEED(events_next(&events, &place, &out));
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
	CHECK(!events_next(&events, &place, &out));
}

TEST(events_and_lines_are_numbered_and_read_apart)
{
	struct events_place place = begin(false), lines = { .output = true };
	struct event out;

	put_kind(EVENT_STDOUT, "web", "one");
	put_kind(EVENT_READY, "web", "ready");
	put_kind(EVENT_STDERR, "web", "two");
	NEED(events_next(&events, &place, &out));
	CHECK_STR("ready", out.text);
	CHECK_EQ(1, out.number);
	CHECK(!events_next(&events, &place, &out));
	NEED(events_next(&events, &lines, &out));
	NEED(events_next(&events, &lines, &out));
	CHECK_STR("two", out.text);
	CHECK_EQ(2, out.number);
	CHECK_EQ(EVENT_STDERR, out.kind);
	CHECK(!events_next(&events, &lines, &out));
}

TEST(an_app_that_prints_without_end_keeps_its_newest_lines_and_no_others_go)
{
	unsigned first = 0, n;

	(void)begin(true);
	put_kind(EVENT_FAILURE, "web", "failed");
	print_many("quiet", 0, 20);
	print_many("web", 0, 100000);
	CHECK_EQ(20, count_lines("quiet", &first));
	CHECK_EQ(0, first);
	n = count_lines("web", &first);
	CHECK(n > 2000);
	/* They are the newest, without a gap. */
	CHECK_EQ(100000, first + n);
	/* What happened to the same app has a share of its own. */
	CHECK_EQ(1, events.last[false]);
	CHECK(memmem(events.mem, events.len, "failed", 7) != NULL);
}

TEST(apps_that_print_without_end_have_the_same_share)
{
	unsigned first = 0, of_web, of_shop;

	(void)begin(true);
	for (unsigned i = 0; i < 1000; i++) {
		print_many("web", 0, 100);
		print_many("shop", 0, 10);
	}
	of_web = count_lines("web", &first);
	of_shop = count_lines("shop", &first);
	/* Since the last time some were forgotten web has printed more. */
	CHECK(of_shop > 1000 && of_web > 1000 && of_web < 6 * of_shop);
}

TEST(more_apps_than_have_room_keep_what_was_printed_last)
{
	char app[EVENTS_APP_MAX + 2], text[EVENTS_TEXT_MAX + 1];
	unsigned first = 0;

	(void)begin(true);
	memset(text, 'x', sizeof(text));
	text[EVENTS_TEXT_MAX] = '\0';
	memset(app, 'a', sizeof(app));
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(app + 8, sizeof(app) - 8, "%u", i);
		put_kind(EVENT_STDERR, app, text);
		CHECK_EQ(1, count_lines(app, &first));
	}
	CHECK(events.len <= EVENTS_SIZE);
}

TEST(a_reader_goes_on_where_it_was_when_others_are_forgotten)
{
	struct events_place place = begin(true);
	struct event out;
	unsigned next = 0;

	for (unsigned i = 0; i < 100000; i += 10) {
		print_many("web", i, 10);
		for (unsigned n = 0; n < 10; n++) {
			NEED(events_next(&events, &place, &out));
			CHECK_EQ(next++, (unsigned)atoi(out.text));
			CHECK_EQ(next, out.number);
		}
		CHECK(!events_next(&events, &place, &out));
	}
	CHECK(events.moves > 2);
}

TEST(a_text_is_cut_at_the_bound)
{
	struct events_place place = begin(false);
	char text[2 * EVENTS_TEXT_MAX + 1];
	struct event out;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put_kind(EVENT_WORKER, "", text);
	NEED(events_next(&events, &place, &out));
	CHECK_EQ(EVENTS_TEXT_MAX, out.len);
	CHECK_EQ(EVENTS_TEXT_MAX, strlen(out.text));
}

TEST(every_kind_has_a_word)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		CHECK(event_kind_names[kind] != NULL);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check_all();
	free(events.mem);
	return check_finish();
}
