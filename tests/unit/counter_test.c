/*
 * The rules of PoolCounter, in virtual time: requests, replies, and the order
 * of replies.
 */

#include "check.h"

#include "core/counter.h"

#define CLIENTS 64
#define KEYS 64

static struct counter counter;
static void *memory;
static tstamp now;

/* The replies since the last call, as "0:LOCKED 1:DONE". */
static char said[8192];

static void
start_at(const struct counter_limits *limits)
{
	const struct siphash_seed seed = { 1, 2 };

	memory = calloc(1, counter_memory(limits));
	now = TSPAN_SECONDS(1000);
	counter_init(&counter, limits, memory, &seed, now);
	said[0] = '\0';
}

static void
start_with(uint32_t clients, uint32_t keys)
{
	const struct counter_limits limits = { .clients = clients,
		.keys = keys };

	start_at(&limits);
}

static void
start(uint32_t clients)
{
	start_with(CLIENTS, KEYS);
	for (uint32_t n = 0; n < clients; n++)
		if (counter_opened(&counter, now) != n)
			abort();
}

static void
finish(void)
{
	counter_check(&counter);
	free(memory);
}

static void
note(void)
{
	struct counter_reply r;
	size_t len = strlen(said);

	while (counter_next_reply(&counter, &r)) {
		len += (size_t)snprintf(said + len, sizeof(said) - len,
		    "%s%" PRIu32 ":%s", len == 0 ? "" : " ", r.client,
		    counter_word_text((enum counter_word)r.word));
	}
	counter_check(&counter);
}

/* The text is valid until the next call. */
static const char *
heard(void)
{
	static char text[sizeof(said)];

	memcpy(text, said, sizeof(text));
	said[0] = '\0';
	return text;
}

static void
acquire(uint32_t client, bool any, const char *key, uint32_t workers,
    uint32_t maxqueue, tspan timeout)
{
	const struct counter_request r = { .key = key,
		.len = strlen(key),
		.workers = workers,
		.maxqueue = maxqueue,
		.timeout = timeout,
		.any = any };

	counter_acquire(&counter, client, &r, now);
	note();
}

static void
me(uint32_t client, const char *key, uint32_t workers)
{
	acquire(client, false, key, workers, 100, TSPAN_SECONDS(10));
}

static void
any(uint32_t client, const char *key, uint32_t workers)
{
	acquire(client, true, key, workers, 100, TSPAN_SECONDS(10));
}

static void
release_key(uint32_t client, const char *key)
{
	counter_release(&counter, client, key, strlen(key), now);
	note();
}

static void
release(uint32_t client)
{
	counter_release(&counter, client, NULL, 0, now);
	note();
}

static void
leave(uint32_t client)
{
	counter_closed(&counter, client, now);
	note();
}

static void
tick(tspan later)
{
	now += later;
	counter_tick(&counter, now);
	note();
}

/* --- 7: keys and stacks ------------------------------------------------- */

static void
a_key_exists_only_while_it_has_a_holder(void)
{
	start(2);
	me(0, "k", 1);
	me(1, "k", 1);
	CHECK_EQ(1, counter.used_keys);
	release(0);
	CHECK_EQ(1, counter.used_keys);
	release(1);
	CHECK_EQ(0, counter.used_keys);
	finish();
}

static void
keys_are_told_apart_to_the_last_byte(void)
{
	char a[COUNTER_KEY_MAX + 1], b[COUNTER_KEY_MAX + 1];

	start(2);
	memset(a, 'k', COUNTER_KEY_MAX);
	a[COUNTER_KEY_MAX] = '\0';
	memcpy(b, a, sizeof(b));
	b[COUNTER_KEY_MAX - 1] = 'l';
	me(0, a, 1);
	me(1, b, 1);
	CHECK_STR("0:LOCKED 1:LOCKED", heard());
	CHECK_EQ(2, counter.used_keys);
	release_key(1, a);
	CHECK_STR("1:NOT_LOCKED", heard());
	finish();
}

static void
keys_have_upper_and_lower_case(void)
{
	start(2);
	me(0, "k", 1);
	me(1, "K", 1);
	CHECK_STR("0:LOCKED 1:LOCKED", heard());
	finish();
}

static void
the_text_of_keys_is_used_again(void)
{
	char key[512];

	start(1);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "%0*d", 1 + i % 500, i);
		me(0, key, 1);
		release_key(0, key);
	}
	CHECK(counter.nchunks <= 9);
	CHECK_EQ(1, counter.nkeys);
	finish();
}

static void
a_client_has_four_locks_at_most(void)
{
	start(1);
	me(0, "a", 1);
	me(0, "b", 1);
	me(0, "c", 1);
	me(0, "d", 1);
	CHECK_STR("0:LOCKED 0:LOCKED 0:LOCKED 0:LOCKED", heard());
	me(0, "e", 1);
	CHECK_STR("0:LOCK_HELD", heard());
	CHECK_EQ(1, counter.figures.lock_mismatch);
	release(0);
	me(0, "e", 1);
	CHECK_STR("0:RELEASED 0:LOCKED", heard());
	finish();
}

static void
a_full_table_of_keys_is_an_error(void)
{
	start_with(2, 2);
	(void)counter_opened(&counter, now);
	(void)counter_opened(&counter, now);
	me(0, "a", 1);
	me(0, "b", 1);
	me(0, "c", 1);
	CHECK_STR("0:LOCKED 0:LOCKED 0:ERROR TOO_MANY_KEYS", heard());
	/* Keys that are there go on working. */
	me(1, "b", 2);
	CHECK_STR("1:LOCKED", heard());
	release(0);
	release(1);
	me(0, "c", 1);
	CHECK_STR("0:RELEASED 1:RELEASED 0:LOCKED", heard());
	CHECK_EQ(1, counter.figures.full_tables);
	finish();
}

static void
one_client_too_many_has_no_number(void)
{
	start_with(2, 2);
	CHECK_EQ(0, counter_opened(&counter, now));
	CHECK_EQ(1, counter_opened(&counter, now));
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, now));
	leave(0);
	CHECK_EQ(0, counter_opened(&counter, now));
	finish();
}

/* --- clients apart ------------------------------------------------------ */

static void
others_do_not_take_the_places_set_apart(void)
{
	const struct counter_limits limits = {
		.clients = 2, .keys = 2, .apart = 2
	};

	start_at(&limits);
	CHECK_EQ(0, counter_opened(&counter, now));
	CHECK_EQ(1, counter_opened(&counter, now));
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, now));
	CHECK_EQ(2, counter_opened_apart(&counter, now));
	CHECK_EQ(3, counter_opened_apart(&counter, now));
	CHECK_EQ(ILIST_NONE, counter_opened_apart(&counter, now));
	CHECK_EQ(2, counter_clients(&counter));
	leave(2);
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, now));
	CHECK_EQ(2, counter_opened_apart(&counter, now));
	finish();
}

static void
clients_apart_take_no_place_of_others(void)
{
	const struct counter_limits limits = {
		.clients = 2, .keys = 2, .apart = 1
	};

	start_at(&limits);
	CHECK_EQ(0, counter_opened_apart(&counter, now));
	CHECK_EQ(1, counter_opened(&counter, now));
	CHECK_EQ(2, counter_opened(&counter, now));
	finish();
}

static void
others_do_not_take_the_keys_set_apart(void)
{
	const struct counter_limits limits = {
		.clients = 2, .keys = 1, .apart = 1
	};

	start_at(&limits);
	CHECK_EQ(0, counter_opened(&counter, now));
	CHECK_EQ(1, counter_opened(&counter, now));
	CHECK_EQ(2, counter_opened_apart(&counter, now));
	me(0, "a", 1);
	me(1, "b", 1);
	me(2, "c", 1);
	me(1, "d", 1);
	CHECK_STR("0:LOCKED 1:ERROR TOO_MANY_KEYS 2:LOCKED "
		  "1:ERROR TOO_MANY_KEYS",
	    heard());
	finish();
}

/* --- 8: acquiring ------------------------------------------------------- */

static void
a_free_place_is_locked(void)
{
	start(2);
	me(0, "k", 2);
	any(1, "k", 2);
	CHECK_STR("0:LOCKED 1:LOCKED", heard());
	finish();
}

static void
asking_while_waiting_is_an_error_and_the_wait_goes_on(void)
{
	start(2);
	me(0, "k", 1);
	me(1, "k", 1);
	me(1, "other", 1);
	CHECK_STR("0:LOCKED 1:ERROR WAIT_FOR_RESPONSE", heard());
	CHECK_EQ(1, counter.figures.lock_while_waiting);
	release(0);
	CHECK_STR("1:LOCKED 0:RELEASED", heard());
	finish();
}

static void
a_fifth_request_while_waiting_is_told_to_wait(void)
{
	start(2);
	me(1, "d", 1);
	me(0, "a", 1);
	me(0, "b", 1);
	me(0, "c", 1);
	me(0, "d", 1);
	(void)heard();
	me(0, "e", 1);
	CHECK_STR("0:ERROR WAIT_FOR_RESPONSE", heard());
	finish();
}

static void
holders_and_waiters_together_fill_the_queue(void)
{
	start(4);
	acquire(0, false, "k", 1, 2, TSPAN_SECONDS(1));
	acquire(1, false, "k", 1, 2, TSPAN_SECONDS(1));
	acquire(2, false, "k", 1, 2, TSPAN_SECONDS(1));
	acquire(3, true, "k", 1, 2, TSPAN_SECONDS(1));
	CHECK_STR("0:LOCKED 2:QUEUE_FULL 3:QUEUE_FULL", heard());
	CHECK_EQ(2, counter.figures.full_queues);
	finish();
}

static void
a_queue_may_be_full_though_workers_are_free(void)
{
	start(2);
	acquire(0, false, "k", 5, 1, 0);
	acquire(1, false, "k", 5, 1, 0);
	CHECK_STR("0:LOCKED 1:QUEUE_FULL", heard());
	finish();
}

static void
limits_are_those_of_the_request(void)
{
	start(3);
	me(0, "k", 1);
	me(1, "k", 1);
	/* The place passes the waiter with a lower limit. */
	me(2, "k", 2);
	CHECK_STR("0:LOCKED 2:LOCKED", heard());
	release(2);
	CHECK_STR("2:RELEASED", heard());
	release(0);
	CHECK_STR("1:LOCKED 0:RELEASED", heard());
	finish();
}

static void
a_timeout_of_zero_means_no_wait(void)
{
	start(2);
	me(0, "k", 1);
	acquire(1, false, "k", 1, 5, 0);
	acquire(1, true, "k", 1, 5, 0);
	CHECK_STR("0:LOCKED 1:TIMEOUT 1:TIMEOUT", heard());
	CHECK_EQ(0, counter.clients[1].depth);
	finish();
}

static void
a_refusal_leaves_no_trace(void)
{
	start(2);
	me(0, "k", 1);
	acquire(1, false, "k", 1, 1, TSPAN_SECONDS(1));
	acquire(1, false, "k", 1, 5, 0);
	release(1);
	CHECK_STR("0:LOCKED 1:QUEUE_FULL 1:TIMEOUT 1:NOT_LOCKED", heard());
	CHECK_EQ(0, counter.figures.waiting);
	CHECK_EQ(TSTAMP_NEVER, counter_deadline(&counter));
	finish();
}

static void
the_same_key_again_takes_a_second_place(void)
{
	start(2);
	me(0, "k", 3);
	me(0, "k", 3);
	me(1, "k", 3);
	acquire(1, false, "k", 3, 100, 0);
	CHECK_STR("0:LOCKED 0:LOCKED 1:LOCKED 1:TIMEOUT", heard());
	release(0);
	acquire(1, false, "k", 3, 100, 0);
	CHECK_STR("0:RELEASED 1:LOCKED", heard());
	finish();
}

static void
a_waiting_client_is_not_answered(void)
{
	start(3);
	me(0, "k", 1);
	me(1, "k", 1);
	any(2, "k", 1);
	CHECK_STR("0:LOCKED", heard());
	CHECK_EQ(2, counter.figures.waiting);
	finish();
}

/* --- 9: the timer ------------------------------------------------------- */

static void
a_wait_ends_with_its_timeout_and_not_before(void)
{
	start(2);
	me(0, "k", 1);
	acquire(1, false, "k", 1, 5, TSPAN_SECONDS(2));
	(void)heard();
	CHECK_EQ(now + TSPAN_SECONDS(2), counter_deadline(&counter));
	tick(TSPAN_SECONDS(2) - 1);
	CHECK_STR("", heard());
	tick(1);
	CHECK_STR("1:TIMEOUT", heard());
	CHECK_EQ(TSTAMP_NEVER, counter_deadline(&counter));
	finish();
}

static void
a_timeout_keeps_the_other_locks(void)
{
	start(2);
	me(0, "k", 1);
	me(1, "mine", 1);
	me(1, "k", 1);
	tick(TSPAN_SECONDS(10));
	CHECK_STR("0:LOCKED 1:LOCKED 1:TIMEOUT", heard());
	release(1);
	CHECK_STR("1:RELEASED", heard());
	finish();
}

static void
an_answer_cancels_the_timer(void)
{
	start(3);
	me(0, "k", 1);
	me(1, "k", 1);
	any(2, "k", 1);
	release(0);
	(void)heard();
	CHECK_EQ(TSTAMP_NEVER, counter_deadline(&counter));
	tick(TSPAN_SECONDS(100));
	CHECK_STR("", heard());
	finish();
}

static void
other_traffic_does_not_stop_the_timer(void)
{
	start(2);
	me(0, "k", 1);
	me(1, "k", 1);
	now += TSPAN_SECONDS(9);
	me(1, "other", 1);
	(void)heard();
	tick(TSPAN_SECONDS(1));
	CHECK_STR("1:TIMEOUT", heard());
	finish();
}

static void
timers_fire_in_their_order(void)
{
	start(4);
	me(0, "k", 1);
	acquire(1, false, "k", 1, 9, TSPAN_SECONDS(3));
	acquire(2, true, "k", 1, 9, TSPAN_SECONDS(1));
	acquire(3, false, "k", 1, 9, TSPAN_SECONDS(2));
	(void)heard();
	tick(TSPAN_SECONDS(5));
	CHECK_STR("2:TIMEOUT 3:TIMEOUT 1:TIMEOUT", heard());
	CHECK_EQ(15, counter.figures.wasted_time / 1000000);
	finish();
}

static void
the_longest_timeout_does_not_overflow(void)
{
	start(2);
	me(0, "k", 1);
	acquire(1, false, "k", 1, 9, TSPAN_SECONDS(INT32_MAX));
	CHECK(counter_deadline(&counter) > now);
	tick(TSPAN_SECONDS(1000000));
	CHECK_STR("0:LOCKED", heard());
	finish();
}

/* --- 10: releasing ------------------------------------------------------ */

static void
without_a_lock_there_is_nothing_to_release(void)
{
	start(1);
	release(0);
	release_key(0, "k");
	CHECK_STR("0:NOT_LOCKED 0:NOT_LOCKED", heard());
	CHECK_EQ(2, counter.figures.release_mismatch);
	CHECK_EQ(0, counter.figures.releases);
	finish();
}

static void
a_release_ends_the_newest_lock(void)
{
	start(2);
	me(0, "a", 1);
	me(0, "b", 1);
	release(0);
	me(1, "b", 1);
	acquire(1, false, "a", 1, 5, 0);
	CHECK_STR("0:LOCKED 0:LOCKED 0:RELEASED 1:LOCKED 1:TIMEOUT", heard());
	finish();
}

static void
a_release_of_a_key_ends_its_lock(void)
{
	start(2);
	me(0, "a", 1);
	me(0, "b", 1);
	release_key(0, "a");
	me(1, "a", 1);
	acquire(1, false, "b", 1, 5, 0);
	CHECK_STR("0:LOCKED 0:LOCKED 0:RELEASED 1:LOCKED 1:TIMEOUT", heard());
	release_key(0, "a");
	release_key(0, "b");
	CHECK_STR("0:NOT_LOCKED 0:RELEASED", heard());
	finish();
}

static void
a_release_of_a_key_ends_its_newest_lock(void)
{
	start(2);
	me(0, "a", 3);
	me(0, "b", 3);
	now += TSPAN_SECONDS(1);
	me(0, "a", 3);
	release_key(0, "a");
	CHECK_EQ(0, counter.figures.processing_time);
	release(0);
	CHECK_EQ(1000000, counter.figures.processing_time);
	release(0);
	CHECK_EQ(2000000, counter.figures.processing_time);
	finish();
}

static void
a_release_withdraws_a_wait_without_a_word_to_others(void)
{
	start(4);
	me(0, "k", 1);
	me(1, "k", 1);
	any(2, "k", 1);
	any(3, "k", 1);
	(void)heard();
	release(1);
	CHECK_STR("1:RELEASED", heard());
	release(3);
	CHECK_STR("3:RELEASED", heard());
	CHECK_EQ(1, counter.figures.waiting);
	CHECK_EQ(2, counter.figures.releases);
	CHECK_EQ(0, counter.figures.processed);
	finish();
}

static void
an_older_lock_can_be_released_while_waiting(void)
{
	start(3);
	me(0, "k", 1);
	me(1, "mine", 1);
	me(1, "k", 1);
	me(2, "mine", 1);
	(void)heard();
	release_key(1, "mine");
	CHECK_STR("2:LOCKED 1:RELEASED", heard());
	release(0);
	CHECK_STR("1:LOCKED 0:RELEASED", heard());
	finish();
}

static void
a_release_wakes_all_waiters_for_anyone_in_order(void)
{
	start(4);
	any(0, "k", 1);
	any(3, "k", 1);
	any(1, "k", 1);
	any(2, "k", 1);
	(void)heard();
	release(0);
	CHECK_STR("3:DONE 1:DONE 2:DONE 0:RELEASED", heard());
	/* Clients whose ANY ended with another client hold no lock. */
	release(3);
	CHECK_STR("3:NOT_LOCKED", heard());
	CHECK_EQ(0, counter.used_keys);
	finish();
}

static void
after_a_release_the_place_goes_to_the_first_waiter_for_itself(void)
{
	start(5);
	me(0, "k", 1);
	me(1, "k", 1);
	any(2, "k", 1);
	me(3, "k", 1);
	any(4, "k", 1);
	(void)heard();
	release(0);
	CHECK_STR("2:DONE 4:DONE 1:LOCKED 0:RELEASED", heard());
	release(1);
	CHECK_STR("3:LOCKED 1:RELEASED", heard());
	finish();
}

static void
a_place_that_is_handed_over_is_never_free(void)
{
	start(3);
	me(0, "k", 1);
	me(1, "k", 1);
	release(0);
	acquire(2, false, "k", 1, 9, 0);
	CHECK_STR("0:LOCKED 1:LOCKED 0:RELEASED 2:TIMEOUT", heard());
	finish();
}

static void
a_place_goes_to_the_first_waiter_whose_own_limit_allows_it(void)
{
	start(5);
	me(0, "k", 3);
	me(1, "k", 3);
	me(2, "k", 3);
	me(3, "k", 1);
	me(4, "k", 3);
	(void)heard();
	release(0);
	CHECK_STR("4:LOCKED 0:RELEASED", heard());
	release(1);
	release(2);
	CHECK_STR("1:RELEASED 2:RELEASED", heard());
	release(4);
	CHECK_STR("3:LOCKED 4:RELEASED", heard());
	finish();
}

static void
without_such_a_waiter_the_place_is_free(void)
{
	start(2);
	me(0, "k", 1);
	release(0);
	me(1, "k", 1);
	CHECK_STR("0:LOCKED 0:RELEASED 1:LOCKED", heard());
	finish();
}

/* --- 11: leaving -------------------------------------------------------- */

static void
a_client_that_leaves_waits_no_more(void)
{
	start(3);
	me(0, "k", 1);
	me(1, "k", 1);
	me(2, "k", 1);
	leave(1);
	(void)heard();
	release(0);
	CHECK_STR("2:LOCKED 0:RELEASED", heard());
	CHECK_EQ(TSTAMP_NEVER, counter_deadline(&counter));
	finish();
}

static void
the_locks_of_a_client_that_leaves_end_newest_first(void)
{
	start(4);
	me(0, "a", 1);
	me(0, "b", 1);
	me(0, "c", 1);
	me(1, "a", 1);
	me(2, "b", 1);
	me(3, "c", 1);
	(void)heard();
	leave(0);
	CHECK_STR("3:LOCKED 2:LOCKED 1:LOCKED", heard());
	CHECK_EQ(3, counter.figures.processed);
	CHECK_EQ(0, counter.figures.releases);
	CHECK_EQ(6, counter.figures.acquired);
	finish();
}

static void
a_client_that_leaves_gives_no_result_to_waiters_for_anyone(void)
{
	start(4);
	any(0, "k", 1);
	any(1, "k", 1);
	any(2, "k", 1);
	(void)heard();
	leave(0);
	CHECK_STR("1:LOCKED", heard());
	leave(1);
	CHECK_STR("2:LOCKED", heard());
	finish();
}

static void
waiters_for_themselves_come_first_whatever_their_age(void)
{
	start(3);
	me(0, "k", 1);
	any(1, "k", 1);
	me(2, "k", 1);
	(void)heard();
	leave(0);
	CHECK_STR("2:LOCKED", heard());
	leave(2);
	CHECK_STR("1:LOCKED", heard());
	finish();
}

static void
a_client_that_leaves_does_not_get_its_own_place(void)
{
	start(2);
	me(0, "k", 1);
	me(1, "k", 1);
	leave(1);
	leave(0);
	CHECK_STR("0:LOCKED", heard());
	CHECK_EQ(0, counter.used_keys);
	finish();
}

static void
a_second_place_goes_to_a_second_waiter(void)
{
	start(3);
	me(0, "k", 2);
	me(0, "k", 2);
	me(1, "k", 2);
	me(2, "k", 2);
	(void)heard();
	leave(0);
	CHECK_STR("1:LOCKED 2:LOCKED", heard());
	finish();
}

/* --- 13: figures -------------------------------------------------------- */

static void
times_are_from_lock_to_end(void)
{
	start(4);
	any(0, "k", 1);
	now += TSPAN_SECONDS(1);
	any(1, "k", 1);
	any(2, "k", 1);
	me(3, "k", 1);
	now += TSPAN_SECONDS(2);
	release(0);
	CHECK_EQ(3000000, counter.figures.processing_time);
	CHECK_EQ(6000000, counter.figures.gained_time);
	CHECK_EQ(4000000, counter.figures.good_time);
	CHECK_EQ(2000000, counter.figures.me_time);
	now += TSPAN_SECONDS(1);
	release(3);
	CHECK_EQ(4000000, counter.figures.processing_time);
	CHECK_EQ(2, counter.figures.acquired);
	CHECK_EQ(2, counter.figures.releases);
	CHECK_EQ(2, counter.figures.processed);
	finish();
}

static void
a_place_from_a_client_that_left_counts_as_any_time(void)
{
	start(2);
	any(0, "k", 1);
	any(1, "k", 1);
	now += TSPAN_SECONDS(5);
	leave(0);
	CHECK_EQ(5000000, counter.figures.any_time);
	CHECK_EQ(0, counter.figures.good_time);
	CHECK_EQ(0, counter.figures.gained_time);
	finish();
}

/* --- tables ------------------------------------------------------------- */

static void
clients_and_keys_stay_when_the_tables_grow(void)
{
	const struct counter_limits larger = {
		.clients = 1000, .keys = 500, .apart = 1
	};
	void *former;
	char key[16];

	start(8);
	for (uint32_t n = 0; n < 8; n++) {
		(void)snprintf(key, sizeof(key), "%u", (unsigned)n % 3);
		me(n, key, 2);
	}
	(void)heard();
	former = memory;
	memory = calloc(1, counter_memory(&larger));
	counter_move(&counter, &larger, memory);
	counter_resize(&counter, &larger);
	free(former);
	counter_check(&counter);
	for (uint32_t n = 8; n < 1000; n++)
		CHECK_EQ(n, counter_opened(&counter, now));
	CHECK_EQ(1000, counter_opened_apart(&counter, now));
	release_key(0, "0");
	CHECK_STR("6:LOCKED 0:RELEASED", heard());
	tick(TSPAN_SECONDS(10));
	CHECK_STR("7:TIMEOUT", heard());
	finish();
}

static void
lower_limits_end_no_client_and_no_key(void)
{
	const struct counter_limits less = { .clients = 1, .keys = 1 };

	start(3);
	me(0, "a", 1);
	me(1, "b", 1);
	counter_resize(&counter, &less);
	CHECK_EQ(ILIST_NONE, counter_opened(&counter, now));
	me(2, "b", 1);
	release(0);
	me(0, "c", 1);
	CHECK_STR(
	    "0:LOCKED 1:LOCKED 0:RELEASED 0:ERROR TOO_MANY_KEYS", heard());
	release(1);
	CHECK_STR("2:LOCKED 1:RELEASED", heard());
	finish();
}

/* Reference values for the key 00 01 … 0f. */
static void
the_hash_is_siphash_1_3(void)
{
	const struct siphash_seed seed = { 0x0706050403020100,
		0x0f0e0d0c0b0a0908 };
	unsigned char data[64];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)i;
	CHECK(siphash(&seed, data, 0) == 0xabac0158050fc4dc);
	CHECK(siphash(&seed, data, 1) == 0xc9f49bf37d57ca93);
	for (size_t len = 1; len < sizeof(data); len++)
		CHECK(
		    siphash(&seed, data, len) != siphash(&seed, data, len - 1));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_key_exists_only_while_it_has_a_holder);
	RUN(keys_are_told_apart_to_the_last_byte);
	RUN(keys_have_upper_and_lower_case);
	RUN(the_text_of_keys_is_used_again);
	RUN(a_client_has_four_locks_at_most);
	RUN(a_full_table_of_keys_is_an_error);
	RUN(one_client_too_many_has_no_number);
	RUN(others_do_not_take_the_places_set_apart);
	RUN(clients_apart_take_no_place_of_others);
	RUN(others_do_not_take_the_keys_set_apart);
	RUN(a_free_place_is_locked);
	RUN(asking_while_waiting_is_an_error_and_the_wait_goes_on);
	RUN(a_fifth_request_while_waiting_is_told_to_wait);
	RUN(holders_and_waiters_together_fill_the_queue);
	RUN(a_queue_may_be_full_though_workers_are_free);
	RUN(limits_are_those_of_the_request);
	RUN(a_timeout_of_zero_means_no_wait);
	RUN(a_refusal_leaves_no_trace);
	RUN(the_same_key_again_takes_a_second_place);
	RUN(a_waiting_client_is_not_answered);
	RUN(a_wait_ends_with_its_timeout_and_not_before);
	RUN(a_timeout_keeps_the_other_locks);
	RUN(an_answer_cancels_the_timer);
	RUN(other_traffic_does_not_stop_the_timer);
	RUN(timers_fire_in_their_order);
	RUN(the_longest_timeout_does_not_overflow);
	RUN(without_a_lock_there_is_nothing_to_release);
	RUN(a_release_ends_the_newest_lock);
	RUN(a_release_of_a_key_ends_its_lock);
	RUN(a_release_of_a_key_ends_its_newest_lock);
	RUN(a_release_withdraws_a_wait_without_a_word_to_others);
	RUN(an_older_lock_can_be_released_while_waiting);
	RUN(a_release_wakes_all_waiters_for_anyone_in_order);
	RUN(after_a_release_the_place_goes_to_the_first_waiter_for_itself);
	RUN(a_place_that_is_handed_over_is_never_free);
	RUN(a_place_goes_to_the_first_waiter_whose_own_limit_allows_it);
	RUN(without_such_a_waiter_the_place_is_free);
	RUN(a_client_that_leaves_waits_no_more);
	RUN(the_locks_of_a_client_that_leaves_end_newest_first);
	RUN(a_client_that_leaves_gives_no_result_to_waiters_for_anyone);
	RUN(waiters_for_themselves_come_first_whatever_their_age);
	RUN(a_client_that_leaves_does_not_get_its_own_place);
	RUN(a_second_place_goes_to_a_second_waiter);
	RUN(times_are_from_lock_to_end);
	RUN(a_place_from_a_client_that_left_counts_as_any_time);
	RUN(clients_and_keys_stay_when_the_tables_grow);
	RUN(lower_limits_end_no_client_and_no_key);
	RUN(the_hash_is_siphash_1_3);
	return check_finish();
}
