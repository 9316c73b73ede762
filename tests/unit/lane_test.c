/* The slow lane: its threads, its jobs, and jobs that are stuck. */

#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "sys/lane.h"

#include "check.h"
#include "descriptors.h"
#include "tcp.h"

#define MANY 1000

struct work {
	struct lane_job job; /* first */
	atomic_bool begun;
	atomic_int order;
	pthread_t thread;
	bool term_blocked;
	int wait_for; /* a descriptor to read a byte of, if not 0 */
	int dones;
	tstamp done_at;
};

static struct loop loop;
static struct lane lane;
static atomic_int order;
static int told; /* jobs of which done() was called */
static tstamp virtual; /* the time in the loop */

static tstamp
monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

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
rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = TSPAN_MSECONDS(1) }, NULL);
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
	atomic_store(&w->order, atomic_fetch_add(&order, 1));
	atomic_store(&w->begun, true);
	if (w->wait_for != 0)
		(void)!read(w->wait_for, &byte, 1);
}

static void
work_done(struct lane_job *job, tstamp now)
{
	struct work *w = (struct work *)job;

	told++;
	w->dones++;
	w->done_at = now;
}

static void
submit(struct work *w, int wait_for)
{
	memset(w, 0, sizeof(*w));
	w->job.work = work_work;
	w->job.done = work_done;
	w->wait_for = wait_for;
	lane_submit(&lane, &w->job);
}

/* Three of them, of which the first and the last wait for a byte. */
static void
submit_together(struct work w[3], int wait_for)
{
	struct lane_jobs jobs = STAILQ_HEAD_INITIALIZER(jobs);

	memset(w, 0, 3 * sizeof(w[0]));
	for (int i = 0; i < 3; i++) {
		w[i].job.work = work_work;
		w[i].job.done = work_done;
		w[i].wait_for = i == 1 ? 0 : wait_for;
		STAILQ_INSERT_TAIL(&jobs, &w[i].job, next);
	}
	lane_submit_together(&lane, &jobs);
}

static void
turn_at(tstamp now)
{
	virtual = now;
	CHECK(loop_turn(&loop, TSTAMP_NEVER) != -1);
}

/* Turns the loop until so many more were done; gives up after 10 s. */
static int
collect(int n)
{
	tstamp limit = monotonic() + TSPAN_SECONDS(10);
	int before = told;

	while (told - before < n && monotonic() < limit)
		turn_at(virtual);
	return told - before;
}

static bool
wait_begun(struct work *w)
{
	for (int i = 0; i < 10000 && !atomic_load(&w->begun); i++)
		rest();
	return atomic_load(&w->begun);
}

static void
start(void)
{
	static const struct loop_clock clock = {
		.now = virtual_now,
		.wait = virtual_wait,
	};

	atomic_store(&order, 0);
	virtual = 0;
	CHECK_EQ(0, loop_init(&loop, &clock));
	CHECK_EQ(0, lane_start(&lane, &loop, "lane test", NULL));
}

static void
stop(void)
{
	CHECK_EQ(0, lane_stop(&lane, monotonic() + TSPAN_SECONDS(10)));
	loop_fini(&loop);
}

static void
work_runs_in_the_lane_and_done_in_the_loop(void)
{
	struct work w;

	start();
	submit(&w, 0);
	virtual = 42;
	CHECK_EQ(1, collect(1));
	CHECK_EQ(1, w.dones);
	CHECK_EQ(42, w.done_at);
	CHECK(!pthread_equal(pthread_self(), w.thread));
	stop();
}

static void
jobs_begin_in_the_order_submitted(void)
{
	static struct work works[MANY];

	start();
	for (int i = 0; i < MANY; i++)
		submit(&works[i], 0);
	CHECK_EQ(MANY, collect(MANY));
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(i, atomic_load(&works[i].order));
		CHECK_EQ(1, works[i].dones);
	}
	stop();
}

static void
any_number_of_descriptors_is_closed(void)
{
	int before = descriptors(), running, fd;

	start();
	running = descriptors();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 500; i++) {
			fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
			NEED(fd != -1);
			lane_close(&lane, fd);
		}
		/* A limit of 1024 has no room for more. */
		for (int i = 0; i < 10000 && descriptors() > running; i++)
			rest();
	}
	stop();
	CHECK_EQ(before, descriptors());
}

static void
a_lingering_socket_is_closed_at_once(void)
{
	struct work w;
	tstamp begun = monotonic();
	int client, server = tcp_lingering(&client, 20);

	start();
	lane_close(&lane, server);
	submit(&w, 0);
	CHECK_EQ(1, collect(1));
	stop();
	CHECK(monotonic() - begun < TSPAN_SECONDS(5));
	close(client);
}

static void
jobs_that_are_together_wake_the_loop_when_all_are_done(void)
{
	struct pollfd pfd;
	struct work w[3];
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	start();
	pfd = (struct pollfd){ .fd = lane.io.fd, .events = POLLIN };
	submit_together(w, p[0]);
	NEED(write(p[1], "", 1) == 1);
	CHECK(wait_begun(&w[2]));
	CHECK_EQ(0, poll(&pfd, 1, 0));
	NEED(write(p[1], "", 1) == 1);
	CHECK_EQ(1, poll(&pfd, 1, 10000));
	CHECK_EQ(3, collect(3));
	stop();
	close(p[0]);
	close(p[1]);
}

static void
jobs_behind_which_one_is_stuck_are_told_after_a_while(void)
{
	struct work w[3];
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	start();
	submit_together(w, p[0]);
	NEED(write(p[1], "", 1) == 1);
	CHECK(wait_begun(&w[2]));
	turn_at(LANE_PATIENCE);
	CHECK_EQ(1, w[1].dones);
	CHECK_EQ(0, w[2].dones);
	NEED(write(p[1], "", 1) == 1);
	stop();
	close(p[0]);
	close(p[1]);
}

static void
stop_gives_up_at_its_deadline(void)
{
	static struct work stuck, behind;
	tstamp begun = monotonic();
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	start();
	submit(&stuck, p[0]);
	submit(&behind, 0);
	CHECK_ERRNO(ETIMEDOUT, lane_stop(&lane, begun + TSPAN_MSECONDS(50)));
	CHECK_EQ(0, stuck.dones + behind.dones);
	CHECK(monotonic() - begun < TSPAN_SECONDS(5));
}

static void
work_behind_a_stuck_job_gets_a_thread(void)
{
	struct work stuck, behind;
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	start();
	submit(&stuck, p[0]);
	NEED(wait_begun(&stuck));
	turn_at(10);
	submit(&behind, 0);
	turn_at(10 + LANE_PATIENCE - 1);
	CHECK_EQ(1, lane.nthreads);
	CHECK_EQ(10 + LANE_PATIENCE, timers_first(&loop.timers));
	turn_at(10 + LANE_PATIENCE);
	CHECK_EQ(2, lane.nthreads);
	CHECK_EQ(1, collect(1));
	CHECK_EQ(1, behind.dones);
	CHECK_EQ(0, stuck.dones);

	close(p[1]);
	CHECK_EQ(1, collect(1));
	CHECK_EQ(1, stuck.dones);
	close(p[0]);
	stop();
}

static void
threads_are_bounded(void)
{
	static struct work stuck[LANE_THREADS + 2];
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	start();
	for (int i = 0; i < LANE_THREADS + 2; i++)
		submit(&stuck[i], p[0]);
	for (unsigned i = 0; i < 2 * LANE_THREADS; i++) {
		unsigned n = i < LANE_THREADS ? i + 1 : LANE_THREADS;

		turn_at(i * LANE_PATIENCE);
		CHECK_EQ(n, lane.nthreads);
		NEED(wait_begun(&stuck[n - 1]));
	}
	CHECK_EQ(TSTAMP_NEVER, timers_first(&loop.timers));
	close(p[1]);
	CHECK_EQ(LANE_THREADS + 2, collect(LANE_THREADS + 2));
	close(p[0]);
	stop();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(work_runs_in_the_lane_and_done_in_the_loop);
	RUN(jobs_begin_in_the_order_submitted);
	RUN(any_number_of_descriptors_is_closed);
	RUN(a_lingering_socket_is_closed_at_once);
	RUN(jobs_that_are_together_wake_the_loop_when_all_are_done);
	RUN(jobs_behind_which_one_is_stuck_are_told_after_a_while);
	RUN_ALONE(stop_gives_up_at_its_deadline);
	RUN(work_behind_a_stuck_job_gets_a_thread);
	RUN(threads_are_bounded);
	return check_finish();
}
