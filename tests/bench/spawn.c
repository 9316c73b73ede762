/*
 * What starting a program costs the thread that does it: child_spawn() beside
 * posix_spawn() with the same wishes, and fork(), from a process of 10 MiB
 * and of 500 MiB, all of it touched, and from one with many descriptors. The
 * aim is 1.2 times posix_spawn() at most, whatever the size.
 */

#include <sys/mman.h>
#include <sys/wait.h>

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/tstamp.h"
#include "sys/child.h"

#define PROGRAM "/bin/true"
#define ROUNDS 201
#define DESCRIPTORS 5000
#define MEBIBYTE (1L << 20)

static char *argv_true[] = { (char *)PROGRAM, NULL };
static char *envp_none[] = { NULL };
static int channel;

static tstamp
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

static pid_t
by_child_spawn(void)
{
	struct child_spec spec = {
		.path = PROGRAM,
		.argv = argv_true,
		.stdio = { -1, STDOUT_FILENO, STDERR_FILENO },
		.fds = &channel,
		.nfds = 1,
	};
	struct child_result result;

	child_result_init(&result);
	return child_spawn(&spec, &result) == 0 ? result.pid : -1;
}

/* The wishes that posix_spawn() can fulfil: it keeps our other descriptors. */
static pid_t
by_posix_spawn(void)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	pid_t pid;
	int error;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
		POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, 1);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, 2);
	posix_spawn_file_actions_adddup2(&actions, channel, 3);
	posix_spawn_file_actions_addclosefrom_np(&actions, 4);
	error =
	    posix_spawn(&pid, PROGRAM, &actions, &attr, argv_true, envp_none);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return error == 0 ? pid : -1;
}

/* The time until fork() returns in the parent. */
static pid_t
by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(PROGRAM, argv_true, envp_none);
		_exit(127);
	}
	return pid;
}

static double
measure(pid_t (*spawn)(void))
{
	tstamp begun = now();
	pid_t pid = spawn();
	tspan took = now() - begun;

	if (pid == -1)
		err(EXIT_FAILURE, "spawn");
	if (waitpid(pid, NULL, 0) != pid)
		err(EXIT_FAILURE, "waitpid");
	return (double)took / (double)TSPAN_USECONDS(1);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

/* Each round starts programs in all three ways. */
static void
row(const char *what)
{
	static double ours[ROUNDS], posix[ROUNDS], forks[ROUNDS],
	    ratios[ROUNDS];

	for (int i = -5; i < ROUNDS; i++) {
		int at = i < 0 ? 0 : i;

		ours[at] = measure(by_child_spawn);
		posix[at] = measure(by_posix_spawn);
		forks[at] = measure(by_fork);
		ratios[at] = ours[at] / posix[at];
	}
	printf("%-28s %8.0f %12.0f %8.0f %8.2f\n", what, median(ours),
	    median(posix), median(forks), median(ratios));
	fflush(stdout);
}

static void
touch(long bytes)
{
	if (mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
		0) == MAP_FAILED)
		err(EXIT_FAILURE, "mmap");
}

int
main(void)
{
	sigset_t all;

	channel = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (channel == -1)
		err(EXIT_FAILURE, "/dev/null");
	/* As in the slow lane. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);

	printf("spawn: microseconds, medians of %d\n", ROUNDS);
	printf("%-28s %8s %12s %8s %8s\n", "", "child", "posix_spawn", "fork",
	    "ratio");
	touch(10 * MEBIBYTE);
	row("10 MiB");
	for (int i = 0; i < DESCRIPTORS; i++) {
		if (fcntl(channel, F_DUPFD_CLOEXEC, 0) == -1)
			break;
	}
	row("10 MiB, many descriptors");
	touch(490 * MEBIBYTE);
	row("500 MiB, many descriptors");
	return EXIT_SUCCESS;
}
