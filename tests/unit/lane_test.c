/* The slow lane: its threads, its jobs, and jobs that are stuck. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

#include "sys/lane.h"

#include "check.h"
#include "descriptors.h"
#include "tcp.h"

#define MANY 1000
#define LIMIT TSPAN_SECONDS(10)

struct work {
	struct lane_job job; /* first */
	bool stuck; /* until there is a byte for it */
	atomic_bool begun;
	int order;
	pthread_t thread;
	bool term_blocked;
	int dones;
	tstamp done_at;
};

static struct work works[MANY];
static struct loop loop;
static struct lane lane;
static int bytes[2]; /* a pipe */
static int before; /* descriptors */
static atomic_int order;
static int told; /* jobs of which done() was called */
static tstamp virtual; /* the time in the loop */

static tstamp
virtual_now(void *arg)
{
	(void)arg;
	return virtual;
}

static int
virtual_wait(
    void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	(void)arg;
	(void)timeout;
	return epoll_wait(epfd, events, n, 1);
}

static void
work_work(struct lane_job *job)
{
	struct work *w = (struct work *)job;
	sigset_t mask;
	char byte;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	w->term_blocked = sigismember(&mask, SIGTERM) == 1;
	w->thread = pthread_self();
	w->order = atomic_fetch_add(&order, 1);
	atomic_store(&w->begun, true);
	if (w->stuck)
		(void)!read(bytes[0], &byte, 1);
}

static void
work_done(struct lane_job *job, tstamp now)
{
	struct work *w = (struct work *)job;

	told++;
	w->dones++;
	w->done_at = now;
}

static struct work *
submit(int i, bool stuck, bool together)
{
	works[i] = (struct work){ .job.work = work_work,
		.job.done = work_done,
		.job.together = together,
		.stuck = stuck };
	lane_submit(&lane, &works[i].job);
	return &works[i];
}

static void
turn_at(tstamp now)
{
	virtual = now;
	CHECK(loop_turn(&loop, TSTAMP_NEVER) != -1);
}

/* Turns the loop until so many jobs in all have been told. */
static void
collect(int n)
{
	tstamp limit = clock_now() + LIMIT;

	while (told < n && clock_now() < limit)
		turn_at(virtual);
	CHECK_EQ(n, told);
}

static bool
wait_begun(struct work *w)
{
	for (int i = 0; i < 10000 && !atomic_load(&w->begun); i++)
		usleep(1000);
	return atomic_load(&w->begun);
}

static bool
wait_closed(int running)
{
	for (int i = 0; i < 10000 && descriptors() > running; i++)
		usleep(1000);
	return descriptors() == running;
}

static void
begin(void)
{
	static const struct loop_clock clock = {
		.now = virtual_now,
		.wait = virtual_wait,
	};

	before = descriptors();
	told = 0;
	virtual = 0;
	atomic_store(&order, 0);
	CHECK_EQ(0, pipe2(bytes, O_CLOEXEC));
	CHECK_EQ(0, loop_init(&loop, &clock));
	CHECK_EQ(0, lane_start(&lane, &loop, "lane test", NULL));
}

/* The stuck job goes on. */
static void
end(void)
{
	close(bytes[1]);
	CHECK_EQ(0, lane_stop(&lane, clock_now() + LIMIT));
	loop_fini(&loop);
	close(bytes[0]);
	CHECK_EQ(before, descriptors());
}

TEST(work_runs_in_the_lane_without_signals_and_done_in_the_loop)
{
	struct work *w = submit(0, false, false);

	virtual = 42;
	collect(1);
	CHECK_EQ(1, w->dones);
	CHECK_EQ(42, w->done_at);
	CHECK(!pthread_equal(pthread_self(), w->thread));
	CHECK(w->term_blocked);
}

TEST(jobs_begin_in_the_order_submitted)
{
	for (int i = 0; i < MANY; i++)
		(void)submit(i, false, false);
	collect(MANY);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(i, works[i].order);
		CHECK_EQ(1, works[i].dones);
	}
}

TEST(any_number_of_descriptors_is_closed)
{
	int running = descriptors(), fd;

	/* A limit of 1024 has no room for more at a time. */
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 500; i++) {
			fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
			NEED(fd != -1);
			lane_close(&lane, fd);
		}
		CHECK(wait_closed(running));
	}
}

TEST(a_lingering_socket_is_closed_at_once)
{
	tstamp begun = clock_now();
	int running = descriptors(), client,
	    server = tcp_lingering(&client, 20);

	lane_close(&lane, server);
	CHECK(wait_closed(running + 1));
	CHECK(clock_now() - begun < TSPAN_SECONDS(5));
	close(client);
}

/* Of three jobs the last is stuck, and has not woken the loop. */
static struct pollfd
submit_together(void)
{
	struct pollfd pfd = { .fd = lane.io.fd, .events = POLLIN };

	for (int i = 0; i < 3; i++)
		(void)submit(i, i != 1, true);
	CHECK(write(bytes[1], "", 1) == 1);
	CHECK(wait_begun(&works[2]));
	CHECK_EQ(0, poll(&pfd, 1, 0));
	return pfd;
}

TEST(jobs_that_are_together_wake_the_loop_when_all_are_done)
{
	struct pollfd pfd = submit_together();

	NEED(write(bytes[1], "", 1) == 1);
	CHECK_EQ(1, poll(&pfd, 1, 10000));
	collect(3);
}

TEST(jobs_behind_which_one_is_stuck_are_told_after_a_while)
{
	(void)submit_together();
	turn_at(LANE_PATIENCE);
	collect(2);
	CHECK_EQ(1, works[1].dones);
	CHECK_EQ(0, works[2].dones);
}

TEST_ALONE(stop_gives_up_at_its_deadline)
{
	tstamp begun = clock_now();

	(void)submit(0, true, false);
	(void)submit(1, false, false);
	CHECK_ERRNO(ETIMEDOUT, lane_stop(&lane, begun + TSPAN_MSECONDS(50)));
	CHECK_EQ(0, told);
	CHECK(clock_now() - begun < TSPAN_SECONDS(5));
	check.end = NULL;
}

TEST(work_behind_a_stuck_job_gets_a_thread)
{
	struct work *behind;

	NEED(wait_begun(submit(0, true, false)));
	turn_at(10);
	behind = submit(1, false, false);
	turn_at(10 + LANE_PATIENCE - 1);
	CHECK_EQ(1, lane.nthreads);
	CHECK_EQ(10 + LANE_PATIENCE, timers_first(&loop.timers));
	turn_at(10 + LANE_PATIENCE);
	CHECK_EQ(2, lane.nthreads);
	collect(1);
	CHECK_EQ(1, behind->dones);
	NEED(write(bytes[1], "", 1) == 1);
	collect(2);
}

TEST(threads_are_bounded)
{
	for (int i = 0; i < LANE_THREADS + 2; i++)
		(void)submit(i, true, false);
	for (unsigned i = 0; i < 2 * LANE_THREADS; i++) {
		unsigned n = i < LANE_THREADS ? i + 1 : LANE_THREADS;

		turn_at(i * LANE_PATIENCE);
		CHECK_EQ(n, lane.nthreads);
		NEED(wait_begun(&works[n - 1]));
	}
	CHECK_EQ(TSTAMP_NEVER, timers_first(&loop.timers));
	NEED(write(bytes[1], works, LANE_THREADS + 2) == LANE_THREADS + 2);
	collect(LANE_THREADS + 2);
}

TESTS(begin, end)
