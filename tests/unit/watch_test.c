/* The watch over the turns of the loop. */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <time.h>

#include "sys/loop.h"

#include "check.h"
#include "tcp.h"

/* A call that waits has to end within this, with nobody else on the machine. */
#define SOON TSPAN_MSECONDS(150)

/* So often a figure of time is tried, should the machine be busy. */
#define ATTEMPTS 10

static struct loop loop;
static struct watch watch;

static bool
start(void)
{
	return loop_init(&loop, NULL) == 0 && watch_init(&watch, &loop) == 0;
}

/* Reaps the watch, which is not to outlive its test. */
static void
stop(void)
{
	pid_t pid = watch.pid;

	watch_fini(&watch);
	loop_fini(&loop);
	if (pid != 0)
		CHECK_EQ(pid, waitpid(pid, NULL, 0));
}

struct act {
	struct timer timer;
	void (*run)(void *arg);
	void *arg;
	tspan took;
};

static void
run_act(struct timer *t, tstamp now)
{
	struct act *a = TIMER_OWNER(t, struct act, timer);
	tstamp from = clock_now();

	(void)now;
	turn_for(7);
	a->run(a->arg);
	a->took = clock_now() - from;
}

/* How long this took, done in a turn. */
static tspan
in_a_turn(void (*run)(void *), void *arg)
{
	struct act a = { .run = run, .arg = arg };

	timer_init(&a.timer, run_act);
	timer_set(&loop.timers, &a.timer, loop_now(&loop));
	while (a.timer.at != TSTAMP_NEVER)
		(void)loop_turn(&loop, TSTAMP_NEVER);
	return a.took;
}

static void
accept_nothing(void *arg)
{
	turn_call("accept4");
	CHECK_ERRNO(EINTR, accept4(*(int *)arg, NULL, NULL, SOCK_CLOEXEC));
}

static void
accept_nothing_three_times(void *arg)
{
	for (int i = 0; i < 3; i++)
		accept_nothing(arg);
}

static void
close_it(void *arg)
{
	(void)close(*(int *)arg);
}

TEST(a_turn_that_sits_in_accept_is_interrupted)
{
	struct sockaddr_in addr;
	int fd = tcp_listen(&addr);
	tspan took = TSTAMP_NEVER;

	NEED(start());
	for (int i = 0; i < ATTEMPTS && took >= SOON; i++)
		took = in_a_turn(accept_nothing, &fd);
	CHECK(took >= WATCH_LIMIT / 2);
	CHECK(took < SOON);
	close(fd);
	stop();
}

TEST(a_close_that_lingers_is_interrupted)
{
	tspan took = TSTAMP_NEVER;

	NEED(start());
	for (int i = 0; i < ATTEMPTS && took >= SOON; i++) {
		int peer, fd = tcp_lingering(&peer, 10);

		took = in_a_turn(close_it, &fd);
		CHECK_ERRNO(EBADF, close(fd));
		close(peer);
	}
	CHECK(took >= WATCH_LIMIT / 2);
	CHECK(took < SOON);
	stop();
}

TEST(a_turn_is_interrupted_as_long_as_it_lasts)
{
	struct sockaddr_in addr;
	int fd = tcp_listen(&addr);

	NEED(start());
	CHECK(in_a_turn(accept_nothing_three_times, &fd) >= 2 * WATCH_LIMIT);
	close(fd);
	stop();
}

TEST(what_the_turn_was_at_is_told_once)
{
	struct watch_sight at = { 0 };
	struct sockaddr_in addr;
	int fd = tcp_listen(&addr);

	NEED(start());
	(void)in_a_turn(accept_nothing, &fd);
	CHECK(watch_saw(&watch, &at));
	CHECK_STR("accept4", at.call);
	CHECK_EQ(7, at.app);
	CHECK(!watch_saw(&watch, &at));
	close(fd);
	stop();
}

/* How often the process has gone to sleep; -1: it is not there. */
static long
switches(pid_t pid)
{
	char path[64], line[128];
	long n = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f != NULL && n == -1 && fgets(line, sizeof(line), f) != NULL)
		(void)sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	if (f != NULL)
		fclose(f);
	return n;
}

TEST(the_watch_over_an_idle_loop_sleeps)
{
	const struct timespec nap = { .tv_nsec = TSPAN_MSECONDS(300) };
	struct sockaddr_in addr;
	int fd = tcp_listen(&addr);
	bool sleeps = false;

	NEED(start());
	for (int i = 0; i < 30 && !sleeps; i++) {
		long before = switches(watch.pid);

		nanosleep(&nap, NULL);
		sleeps = before > 0 && switches(watch.pid) == before;
	}
	CHECK(sleeps);
	/* The next turn wakes it. */
	CHECK(in_a_turn(accept_nothing, &fd) < TSPAN_SECONDS(1));
	close(fd);
	stop();
}

TESTS(NULL, NULL)
