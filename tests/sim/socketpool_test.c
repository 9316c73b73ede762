/*
 * The pool of sockets of A. Jesse Jiryu Davis, "A Curious Concurrency Case".
 *
 * Threads use one of ten sockets for 1 to 20 seconds, sleep for one and ask
 * again.  A thread is bound to one socket for life, and waits for it in one
 * queue with all others.  A socket that comes back wakes the first of them
 * (signal), who may want another one and goes to the end of the queue; or all
 * (broadcast).  That ours wastes nothing with such clients, clients_test shows.
 */

#include "core/prng.h"

#include "../unit/check.h"

#define SOCKETS 10
#define THREADS_MAX 60
#define SECONDS 3000
#define SEEDS 10

static struct {
	int until; /* the second of its next step; -1: waits for its socket */
	uint32_t socket;
	bool asked; /* for it, and has not given it back */
} threads[THREADS_MAX];

static bool in_use[SOCKETS];
static uint32_t queue[THREADS_MAX], waiting;
static struct prng random_numbers;
static int now;

static void
ask(uint32_t thread)
{
	bool *socket = &in_use[threads[thread].socket];

	threads[thread].until =
	    *socket ? -1 : now + 1 + (int)(prng_next(&random_numbers) % 20);
	if (*socket)
		queue[waiting++] = thread;
	*socket = true;
}

static void
give_back(uint32_t thread, bool broadcast)
{
	in_use[threads[thread].socket] = false;
	threads[thread].until = now + 1;
	for (uint32_t n = broadcast ? waiting : waiting > 0; n > 0; n--) {
		uint32_t first = queue[0];

		waiting--;
		memmove(queue, queue + 1, waiting * sizeof(queue[0]));
		ask(first);
	}
}

/* Percent of the sockets' time in which they lie idle while a thread waits. */
static double
wasted(uint32_t nthreads, bool broadcast)
{
	uint64_t seconds = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		random_numbers.state = seed;
		memset(in_use, 0, sizeof(in_use));
		waiting = 0;
		for (uint32_t i = 0; i < nthreads; i++) {
			threads[i].until = 0;
			threads[i].asked = false;
			threads[i].socket = i < SOCKETS
			    ? i
			    : (uint32_t)(prng_next(&random_numbers) % SOCKETS);
		}
		for (now = 0; now < SECONDS; now++) {
			uint32_t idle = 0;

			for (uint32_t i = 0; i < nthreads; i++) {
				if (threads[i].until != now)
					continue;
				if (threads[i].asked)
					give_back(i, broadcast);
				else
					ask(i);
				threads[i].asked = !threads[i].asked;
			}
			for (uint32_t i = 0; i < SOCKETS; i++)
				idle += !in_use[i];
			seconds += idle < waiting ? idle : waiting;
		}
	}
	return 100.0 * (double)seconds / (SOCKETS * SECONDS * SEEDS);
}

TEST(signal_wastes_about_eight_percent_whatever_the_number_of_threads)
{
	for (uint32_t n = 12; n <= THREADS_MAX; n += 12)
		CHECK(wasted(n, false) > 6.5 && wasted(n, false) < 9);
}

TEST(broadcast_needs_more_than_thirty_threads_to_keep_all_sockets_busy)
{
	CHECK(wasted(15, true) > 4);
	CHECK(wasted(30, true) > 0.5);
	CHECK(wasted(40, true) < 0.5);
	for (uint32_t n = 12; n <= THREADS_MAX; n += 12)
		CHECK(wasted(n, true) < wasted(n, false));
}

TEST(with_a_socket_for_each_thread_nothing_is_wasted)
{
	CHECK(wasted(SOCKETS, false) == 0);
	CHECK(wasted(SOCKETS, true) == 0);
}

TESTS(NULL, NULL)
