/*
 * The rules of PoolCounter, in virtual time: what clients ask for, in the words
 * of the protocol, and what they are told, in which order.
 */

#include <malloc.h>

#include "../support/counter_check.h"
#include "check.h"

#define CLIENTS 64
#define KEYS 64

static struct counter counter;
static struct counter_figures figures;
static tstamp now;

/* The replies since the last look, as "0:LOCKED 1:DONE". */
static char said[8192];

static void
hear(struct counter *c, uint32_t client, enum counter_word word)
{
	static const char *const words[] = { "LOCKED", "DONE", "QUEUE_FULL",
		"TIMEOUT", "LOCK_HELD", "NOT_LOCKED", "RELEASED", "WAIT",
		"TOO_MANY_KEYS" };
	size_t len = strlen(said);

	(void)c;
	(void)snprintf(said + len, sizeof(said) - len, "%s%" PRIu32 ":%s",
	    len == 0 ? "" : " ", client, words[word]);
}

static void
start_with(uint32_t clients, uint32_t keys)
{
	const struct counter_limits limits = { .clients = clients,
		.keys = keys };

	now = TSPAN_SECONDS(1000);
	memset(&figures, 0, sizeof(figures));
	if (!counter_init(&counter, &limits, &figures, hear, now))
		abort();
	said[0] = '\0';
}

static void
finish(void)
{
	counter_check(&counter);
	counter_fini(&counter);
}

/* A line of a client. ME and ANY are requests for up to 10 s among 100. */
static void
say(uint32_t client, const char *line)
{
	struct language_line parsed;
	char longer[2048];
	int key;

	if (sscanf(line, "%*[MEANY] %n", &key) == 0 &&
	    (line[0] == 'M' || line[1] == 'N')) {
		(void)snprintf(longer, sizeof(longer), "ACQ4%s 100 10", line);
		line = longer;
	}
	language_parse(line, strlen(line), &parsed);
	if (parsed.verb == LANGUAGE_ACQUIRE)
		counter_acquire(&counter, client, &parsed.request, now);
	else if (parsed.verb == LANGUAGE_RELEASE)
		counter_release(&counter, client, parsed.text, parsed.len, now);
	else
		abort();
	counter_check(&counter);
}

static void
wait_for(tspan span)
{
	now += span;
	counter_tick(&counter, now);
	counter_check(&counter);
}

/* --- talks ---------------------------------------------------------------- */

/*
 * Steps, of which each is one of these:
 *	"0 LINE"	client 0 says that
 *	"0 leaves"
 *	"wait 1.5"	seconds
 *	"= REPLIES"	all replies since the last look, in their order
 *	"? COUNTER N"	as STATS tells it
 */
static const struct talk {
	const char *name;
	uint32_t clients;
	const char *steps[16];
} talks[] = {
	/* Keys and stacks. */
	{ "a_key_exists_only_while_it_has_a_holder", 2,
	    { "0 ME k 1", "1 ME k 1", "? hashtable_entries 1", "0 RELEASE",
		"? hashtable_entries 1", "1 RELEASE",
		"? hashtable_entries 0" } },
	{ "keys_have_upper_and_lower_case", 2,
	    { "0 ME k 1", "1 ME K 1", "= 0:LOCKED 1:LOCKED" } },
	{ "a_client_has_four_locks_at_most", 1,
	    { "0 ME a 1", "0 ME b 1", "0 ME c 1", "0 ME d 1",
		"= 0:LOCKED 0:LOCKED 0:LOCKED 0:LOCKED", "0 ME e 1",
		"= 0:LOCK_HELD", "? lock_mismatch 1", "0 RELEASE", "0 ME e 1",
		"= 0:RELEASED 0:LOCKED" } },
	/* Acquiring. */
	{ "a_free_place_is_locked", 2,
	    { "0 ME k 2", "1 ANY k 2", "= 0:LOCKED 1:LOCKED" } },
	{ "a_waiting_client_that_asks_is_told_so_and_the_wait_goes_on", 2,
	    { "0 ME k 1", "1 ME k 1", "1 ME other 1", "= 0:LOCKED 1:WAIT",
		"? lock_while_waiting 1", "0 RELEASE",
		"= 1:LOCKED 0:RELEASED" } },
	{ "a_fifth_request_while_waiting_is_told_to_wait", 2,
	    { "1 ME d 1", "0 ME a 1", "0 ME b 1", "0 ME c 1", "0 ME d 1",
		"= 1:LOCKED 0:LOCKED 0:LOCKED 0:LOCKED", "0 ME e 1",
		"= 0:WAIT" } },
	{ "holders_and_waiters_together_fill_the_queue", 4,
	    { "0 ACQ4ME k 1 2 1", "1 ACQ4ME k 1 2 1", "2 ACQ4ME k 1 2 1",
		"3 ACQ4ANY k 1 2 1", "= 0:LOCKED 2:QUEUE_FULL 3:QUEUE_FULL",
		"? full_queues 2" } },
	{ "a_queue_may_be_full_though_workers_are_free", 2,
	    { "0 ACQ4ME k 5 1", "1 ACQ4ME k 5 1", "= 0:LOCKED 1:QUEUE_FULL" } },
	{ "the_place_passes_a_waiter_with_a_lower_limit", 3,
	    { "0 ME k 1", "1 ME k 1", "2 ME k 2", "= 0:LOCKED 2:LOCKED",
		"2 RELEASE", "= 2:RELEASED", "0 RELEASE",
		"= 1:LOCKED 0:RELEASED" } },
	{ "a_refusal_leaves_no_trace", 2,
	    { "0 ME k 1", "1 ACQ4ME k 1 1 1", "1 ACQ4ME k 1 5",
		"1 ACQ4ANY k 1 5 0", "1 RELEASE",
		"= 0:LOCKED 1:QUEUE_FULL 1:TIMEOUT 1:TIMEOUT 1:NOT_LOCKED",
		"? waiting_workers 0", "wait 100", "=" } },
	{ "the_same_key_again_takes_a_second_place", 2,
	    { "0 ME k 3", "0 ME k 3", "1 ME k 3", "1 ACQ4ME k 3 100 0",
		"= 0:LOCKED 0:LOCKED 1:LOCKED 1:TIMEOUT", "0 RELEASE",
		"1 ACQ4ME k 3 100 0", "= 0:RELEASED 1:LOCKED" } },
	{ "a_waiting_client_is_not_answered", 3,
	    { "0 ME k 1", "1 ME k 1", "2 ANY k 1", "= 0:LOCKED",
		"? waiting_workers 2" } },
	/* The timer. */
	{ "a_wait_ends_with_its_timeout_and_not_before", 2,
	    { "0 ME k 1", "1 ACQ4ME k 1 5 2", "wait 1.999999999", "= 0:LOCKED",
		"wait 0.000000001", "= 1:TIMEOUT" } },
	{ "a_timeout_keeps_the_other_locks", 2,
	    { "0 ME k 1", "1 ME mine 1", "1 ME k 1", "wait 10",
		"= 0:LOCKED 1:LOCKED 1:TIMEOUT", "1 RELEASE",
		"= 1:RELEASED" } },
	{ "an_answer_cancels_the_timer", 3,
	    { "0 ME k 1", "1 ME k 1", "2 ANY k 1", "0 RELEASE",
		"= 0:LOCKED 2:DONE 1:LOCKED 0:RELEASED", "wait 100", "=" } },
	{ "other_traffic_does_not_stop_the_timer", 2,
	    { "0 ME k 1", "1 ME k 1", "wait 9", "1 ME other 1",
		"= 0:LOCKED 1:WAIT", "wait 1", "= 1:TIMEOUT" } },
	{ "timers_fire_in_their_order", 4,
	    { "0 ME k 1", "1 ACQ4ME k 1 9 3", "2 ACQ4ANY k 1 9 1",
		"3 ACQ4ME k 1 9 2", "wait 5",
		"= 0:LOCKED 2:TIMEOUT 3:TIMEOUT 1:TIMEOUT" } },
	{ "the_longest_timeout_does_not_overflow", 2,
	    { "0 ME k 1", "1 ACQ4ME k 1 9 99999999999", "wait 1000000",
		"= 0:LOCKED" } },
	/* Releasing. */
	{ "without_a_lock_there_is_nothing_to_release", 1,
	    { "0 RELEASE", "0 RELEASE k", "= 0:NOT_LOCKED 0:NOT_LOCKED",
		"? release_mismatch 2", "? total_releases 0" } },
	{ "a_release_ends_the_newest_lock", 2,
	    { "0 ME a 1", "0 ME b 1", "0 RELEASE", "1 ME b 1",
		"1 ACQ4ME a 1 5 0",
		"= 0:LOCKED 0:LOCKED 0:RELEASED 1:LOCKED 1:TIMEOUT" } },
	{ "a_release_of_a_key_ends_its_lock", 2,
	    { "0 ME a 1", "0 ME b 1", "0 RELEASE a", "1 ME a 1",
		"1 ACQ4ME b 1 5 0",
		"= 0:LOCKED 0:LOCKED 0:RELEASED 1:LOCKED 1:TIMEOUT",
		"0 RELEASE a", "0 RELEASE b", "= 0:NOT_LOCKED 0:RELEASED" } },
	{ "a_release_withdraws_a_wait_without_a_word_to_others", 4,
	    { "0 ME k 1", "1 ME k 1", "2 ANY k 1", "3 ANY k 1", "1 RELEASE",
		"= 0:LOCKED 1:RELEASED", "3 RELEASE", "= 3:RELEASED",
		"? waiting_workers 1", "? total_releases 2",
		"? processed_count 0" } },
	{ "an_older_lock_can_be_released_while_waiting", 3,
	    { "0 ME k 1", "1 ME mine 1", "1 ME k 1", "2 ME mine 1",
		"1 RELEASE mine", "= 0:LOCKED 1:LOCKED 2:LOCKED 1:RELEASED",
		"0 RELEASE", "= 1:LOCKED 0:RELEASED" } },
	{ "a_release_wakes_all_waiters_for_anyone_in_order", 4,
	    { "0 ANY k 1", "3 ANY k 1", "1 ANY k 1", "2 ANY k 1", "0 RELEASE",
		"= 0:LOCKED 3:DONE 1:DONE 2:DONE 0:RELEASED", "3 RELEASE",
		"= 3:NOT_LOCKED", "? hashtable_entries 0" } },
	{ "a_released_place_goes_to_the_first_waiter_for_itself", 5,
	    { "0 ME k 1", "1 ME k 1", "2 ANY k 1", "3 ME k 1", "4 ANY k 1",
		"0 RELEASE", "= 0:LOCKED 2:DONE 4:DONE 1:LOCKED 0:RELEASED",
		"1 RELEASE", "= 3:LOCKED 1:RELEASED" } },
	{ "a_place_that_is_handed_over_is_never_free", 3,
	    { "0 ME k 1", "1 ME k 1", "0 RELEASE", "2 ACQ4ME k 1 9 0",
		"= 0:LOCKED 1:LOCKED 0:RELEASED 2:TIMEOUT" } },
	{ "a_place_goes_to_the_first_waiter_whose_limit_allows_it", 5,
	    { "0 ME k 3", "1 ME k 3", "2 ME k 3", "3 ME k 1", "4 ME k 3",
		"= 0:LOCKED 1:LOCKED 2:LOCKED", "0 RELEASE",
		"= 4:LOCKED 0:RELEASED", "1 RELEASE", "2 RELEASE",
		"= 1:RELEASED 2:RELEASED", "4 RELEASE",
		"= 3:LOCKED 4:RELEASED" } },
	{ "without_a_waiter_the_released_place_is_free", 2,
	    { "0 ME k 1", "0 RELEASE", "1 ME k 1",
		"= 0:LOCKED 0:RELEASED 1:LOCKED" } },
	/* Leaving. */
	{ "a_client_that_leaves_waits_no_more", 3,
	    { "0 ME k 1", "1 ME k 1", "2 ME k 1", "1 leaves", "0 RELEASE",
		"= 0:LOCKED 2:LOCKED 0:RELEASED", "wait 100", "=" } },
	{ "the_locks_of_a_client_that_leaves_end_newest_first", 4,
	    { "0 ME a 1", "0 ME b 1", "0 ME c 1", "1 ME a 1", "2 ME b 1",
		"3 ME c 1", "= 0:LOCKED 0:LOCKED 0:LOCKED", "0 leaves",
		"= 3:LOCKED 2:LOCKED 1:LOCKED", "? processed_count 3",
		"? total_releases 0", "? total_acquired 6" } },
	{ "a_client_that_leaves_gives_no_result_to_waiters_for_anyone", 3,
	    { "0 ANY k 1", "1 ANY k 1", "2 ANY k 1", "0 leaves",
		"= 0:LOCKED 1:LOCKED", "1 leaves", "= 2:LOCKED" } },
	{ "waiters_for_themselves_come_first_whatever_their_age", 3,
	    { "0 ME k 1", "1 ANY k 1", "2 ME k 1", "0 leaves",
		"= 0:LOCKED 2:LOCKED", "2 leaves", "= 1:LOCKED" } },
	{ "a_client_that_has_left_gets_no_place", 2,
	    { "0 ME k 1", "1 ME k 1", "1 leaves", "0 leaves", "= 0:LOCKED",
		"? hashtable_entries 0" } },
	{ "a_second_place_goes_to_a_second_waiter", 3,
	    { "0 ME k 2", "0 ME k 2", "1 ME k 2", "2 ME k 2", "0 leaves",
		"= 0:LOCKED 0:LOCKED 1:LOCKED 2:LOCKED" } },
};

static const struct talk *talk;

static void
ask_for_counter(const char *name, const char *value)
{
	char expected[160];
	struct text text;

	(void)snprintf(expected, sizeof(expected), "%s: %s\n", name, value);
	text_init(&text, 1024);
	CHECK(language_stats(&text, &figures, 0, name, strlen(name)));
	text_put(&text, "", 1);
	CHECK_STR(expected, text.data);
	text_fini(&text);
}

static void
talk_through(void)
{
	char name[64], value[64];
	unsigned client;
	double seconds;
	int at;

	start_with(CLIENTS, KEYS);
	for (uint32_t n = 0; n < talk->clients; n++)
		NEED(counter_opened(&counter, false, now) == n);
	for (size_t i = 0; i < 16 && talk->steps[i] != NULL; i++) {
		const char *step = talk->steps[i];

		if (step[0] == '=') {
			CHECK_STR(step[1] == ' ' ? step + 2 : "", said);
			said[0] = '\0';
		} else if (sscanf(step, "? %63s %63s", name, value) == 2) {
			ask_for_counter(name, value);
		} else if (sscanf(step, "wait %lf", &seconds) == 1) {
			wait_for((tspan)(seconds * 1e9 + 0.5));
		} else if (sscanf(step, "%u %n", &client, &at) == 1 &&
		    strcmp(step + at, "leaves") == 0) {
			counter_closed(&counter, client, now);
			counter_check(&counter);
		} else {
			say(client, step + at);
		}
	}
}

/* --- tables --------------------------------------------------------------- */

TEST(keys_are_told_apart_to_the_last_byte)
{
	char a[LANGUAGE_LINE_MAX], b[LANGUAGE_LINE_MAX];

	start_with(2, 2);
	(void)counter_opened(&counter, false, now);
	(void)snprintf(a, sizeof(a), "ME %0900d 1", 1);
	(void)snprintf(b, sizeof(b), "ME %0900d 1", 2);
	say(0, a);
	say(0, b);
	CHECK_STR("0:LOCKED 0:LOCKED", said);
	CHECK_EQ(2, figures.keys);
}

TEST(the_text_of_a_key_is_freed_with_it)
{
	char line[600];
	size_t before = 0;

	start_with(1, 4);
	(void)counter_opened(&counter, false, now);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(line, sizeof(line), "ME %0*d 1", 1 + i % 500, i);
		say(0, line);
		say(0, "RELEASE");
		said[0] = '\0';
		/* The allocator keeps one of each size for itself. */
		if (i == 499)
			before = mallinfo2().uordblks;
	}
	CHECK_EQ(before, mallinfo2().uordblks);
}

TEST(one_client_too_many_has_no_number)
{
	start_with(2, 2);
	CHECK_EQ(0, counter_opened(&counter, false, now));
	CHECK_EQ(1, counter_opened(&counter, false, now));
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, false, now));
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, true, now));
	counter_closed(&counter, 0, now);
	CHECK_EQ(0, counter_opened(&counter, false, now));
}

/* Keys that are there go on working. */
TEST(a_full_table_of_keys_is_an_error)
{
	start_with(2, 2);
	(void)counter_opened(&counter, false, now);
	(void)counter_opened(&counter, false, now);
	say(0, "ME a 1");
	say(0, "ME b 1");
	say(0, "ME c 1");
	say(1, "ME b 2");
	CHECK_STR("0:LOCKED 0:LOCKED 0:TOO_MANY_KEYS 1:LOCKED", said);
	CHECK_EQ(1, figures.full_tables);
}

TEST(lower_ceilings_end_no_client_and_no_key_and_are_not_for_our_own)
{
	const struct counter_limits less = { .clients = 1, .keys = 1 };

	start_with(4, 4);
	for (int i = 0; i < 3; i++)
		(void)counter_opened(&counter, false, now);
	say(0, "ME a 1");
	say(1, "ME b 1");
	counter_limit(&counter, &less);
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, false, now));
	CHECK_EQ(3, counter_opened(&counter, true, now));
	CHECK_EQ(3, figures.clients);
	say(2, "ME b 1");
	say(0, "RELEASE");
	say(0, "ME c 1");
	say(3, "ME c 1");
	say(1, "RELEASE");
	CHECK_STR("0:LOCKED 1:LOCKED 0:RELEASED 0:TOO_MANY_KEYS 3:LOCKED "
		  "2:LOCKED 1:RELEASED",
	    said);
}

/* --- figures -------------------------------------------------------------- */

TEST(times_are_from_lock_to_end)
{
	start_with(4, 1);
	for (int i = 0; i < 4; i++)
		(void)counter_opened(&counter, false, now);
	say(0, "ANY k 1");
	wait_for(TSPAN_SECONDS(1));
	say(1, "ANY k 1");
	say(2, "ANY k 1");
	say(3, "ME k 1");
	wait_for(TSPAN_SECONDS(2));
	say(0, "RELEASE");
	CHECK_EQ(3000000, figures.processing_time);
	CHECK_EQ(6000000, figures.gained_time);
	CHECK_EQ(4000000, figures.good_time);
	CHECK_EQ(2000000, figures.me_time);
	say(1, "ANY k 1");
	wait_for(TSPAN_SECONDS(1));
	counter_closed(&counter, 3, now);
	counter_check(&counter);
	CHECK_EQ(4000000, figures.processing_time);
	CHECK_EQ(1000000, figures.any_time);
	say(2, "ME k 1");
	wait_for(TSPAN_SECONDS(10));
	CHECK_EQ(10000000, figures.wasted_time);
	CHECK_EQ(4000000, figures.good_time);
	CHECK_EQ(3, figures.acquired);
	CHECK_EQ(1, figures.releases);
	CHECK_EQ(2, figures.processed);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check.end = finish;
	RUN_ROWS(talks, talk, name, talk_through);
	check_all();
	return check_finish();
}
