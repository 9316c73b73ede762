/* Processes as /proc tells of them, and our limit of descriptors. */

#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "sys/cgroup.h"
#include "sys/descriptors.h"
#include "sys/procinfo.h"

#include "check.h"

#define MEGABYTE (1 << 20)

TEST(memory_is_read_again_from_the_same_descriptor)
{
	struct procinfo info;
	uint64_t before = 0, after = 0, freed = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	void *memory;

	NEED(fd != -1);
	CHECK_EQ(0, procinfo_memory(fd, &before));
	CHECK_EQ(0, procinfo_read(getpid(), false, &info));
	CHECK(before > 100 * 1024);
	CHECK((uint64_t)info.rss <= before + MEGABYTE);
	CHECK(before <= (uint64_t)info.rss + MEGABYTE);
	memory = mmap(NULL, 32 * MEGABYTE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(memory != MAP_FAILED);
	CHECK_EQ(0, procinfo_memory(fd, &after));
	CHECK(after >= before + 30 * MEGABYTE);
	munmap(memory, 32 * MEGABYTE);
	CHECK_EQ(0, procinfo_memory(fd, &freed));
	CHECK(freed + 30 * MEGABYTE <= after);
	close(fd);
}

/*
 * Starts a process and its child. Both end with the test, for they wait for
 * the end of a pipe whose other end is the test's alone.
 */
static pid_t
start_family(const int until[2])
{
	char byte;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)close(until[1]);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	}
	(void)!read(until[0], &byte, 1);
	_exit(0);
}

TEST_ALONE(the_child_of_a_process_is_found)
{
	int folder = -1, until[2];
	struct procinfo info = { 0 };
	pid_t pid;

	NEED(pipe2(until, O_CLOEXEC) == 0);
	pid = start_family(until);
	for (int left = 10000; folder == -1 && left > 0; left--) {
		folder = procinfo_folder(pid, true);
		SKIP_IF(folder == -1 && errno == ENOENT,
		    "the kernel does not tell of children");
		usleep(1000);
	}
	CHECK(folder != -1);
	CHECK(procinfo_folder(getpid(), true) != -1);
	/*
	 * Each processor counts pages, and adds them to the sum by dozens: the
	 * sum of a child just forked may be 0.
	 */
	for (int left = 10000; info.rss <= 0 && left > 0; left--) {
		NEED(procinfo_read(pid, true, &info) == 0);
		usleep(1000);
	}
	CHECK_EQ(pid, info.parent);
	CHECK(info.rss > 0);
	kill(pid, SIGKILL);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
	CHECK_EQ(-1, procinfo_folder(pid, true));
}

TEST_ALONE(a_process_runs_and_has_memory_behind_a_hostile_name)
{
	struct procinfo info = { 0 };

	NEED(prctl(PR_SET_NAME, "x) Z 1 (2 3") == 0);
	CHECK_EQ(0, procinfo_read(getpid(), false, &info));
	CHECK_EQ('R', info.state);
	CHECK(info.rss > 100 * 1024);
}

TEST(nothing_is_told_of_a_reaped_process)
{
	struct procinfo info = { .rss = 42 };
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	NEED(waitpid(pid, NULL, 0) == pid);
	CHECK_EQ(-1, procinfo_read(pid, false, &info));
	CHECK_EQ(42, info.rss);
}

TEST_ALONE(the_limit_of_descriptors_is_raised_to_the_hard_one)
{
	struct rlimit before, low, original;

	NEED(getrlimit(RLIMIT_NOFILE, &before) == 0);
	low = before;
	low.rlim_cur = 100;
	NEED(setrlimit(RLIMIT_NOFILE, &low) == 0);
	CHECK_EQ(100, getdtablesize());
	CHECK_EQ(0, descriptors_raise_limit(&original));
	CHECK_EQ(100, (intmax_t)original.rlim_cur);
	CHECK_EQ((intmax_t)before.rlim_max, (intmax_t)original.rlim_max);
	CHECK_EQ((intmax_t)before.rlim_max, getdtablesize());
}

TEST_ALONE(a_process_of_a_new_session_has_no_terminal)
{
	struct procinfo info = { .terminal = 1 };

	(void)setsid();
	CHECK_EQ(0, procinfo_read(getpid(), false, &info));
	CHECK_EQ(0, info.terminal);
}

TEST(children_are_found_with_theirs_and_the_time_of_those_that_ended)
{
	struct procinfo info;
	pid_t child = fork(), found[4] = { 0 };

	if (child == 0) {
		pid_t burns = fork();

		while (burns == 0)
			if (clock() > CLOCKS_PER_SEC / 20)
				_exit(0);
		(void)waitpid(burns, NULL, 0);
		if (fork() == 0)
			pause();
		pause();
	}
	for (int left = 10000; left > 0; left--) {
		NEED(procinfo_read(child, false, &info) == 0);
		if (info.cpu_ended > 0 &&
		    procinfo_children(getpid(), found, 4) == 2)
			break;
		usleep(1000);
	}
	NEED(found[1] > 0);
	CHECK(info.cpu_ended >= TSPAN_MSECONDS(30));
	CHECK_EQ(child, found[0]);
	CHECK_EQ(1, procinfo_children(getpid(), found, 1));
	kill(found[1], SIGKILL);
	kill(child, SIGKILL);
	CHECK_EQ(child, waitpid(child, NULL, 0));
}

#define MIB ((size_t)1 << 20)

/* Memory that the caller alone has; to be freed by munmap(). */
static void *
fresh_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	return memset(memory, 1, size);
}

TEST_ALONE(memory_at_its_most_counts_when_it_is_free_again)
{
	struct procinfo_usage before, during, after;
	void *memory;

	NEED(procinfo_usage(getpid(), &before) == 0);
	memory = fresh_memory(32 * MIB);
	NEED(memory != NULL && procinfo_usage(getpid(), &during) == 0);
	CHECK(during.own >= before.own + 31 * MIB);
	CHECK(during.most >= during.own);
	NEED(munmap(memory, 32 * MIB) == 0);
	CHECK_EQ(0, procinfo_usage(getpid(), &after));
	CHECK(after.own <= before.own + 2 * MIB);
	CHECK(after.most >= before.most + 30 * MIB);
}

/* A worker that was forked from a template. */
TEST_ALONE(memory_shared_with_the_parent_is_no_processs_own)
{
	void *memory = fresh_memory(32 * MIB);
	struct procinfo_usage shared, own;
	int told[2], go[2];
	pid_t child;
	char byte = 0;

	NEED(memory != NULL && pipe(told) == 0 && pipe(go) == 0);
	child = fork();
	if (child == 0) {
		memset(memory, 2, read(go[0], &byte, 1) == 1 ? 8 * MIB : 0);
		(void)!write(told[1], &byte, 1);
		for (;;)
			pause();
	}
	CHECK_EQ(0, procinfo_usage(child, &shared));
	CHECK(shared.own < 4 * MIB);
	NEED(write(go[1], &byte, 1) == 1 && read(told[0], &byte, 1) == 1);
	CHECK_EQ(0, procinfo_usage(child, &own));
	CHECK(own.own >= shared.own + 8 * MIB);
	CHECK(own.own < 16 * MIB);
	kill(child, SIGKILL);
	CHECK_EQ(child, waitpid(child, NULL, 0));
	CHECK_EQ(-1, procinfo_usage(child, &own));
}

TEST(the_machine_has_memory_and_processors)
{
	struct machine m;

	machine_read(&m);
	CHECK(m.memory > 16 * MIB);
	CHECK(m.used > 0 && m.used < m.memory);
	CHECK(m.processors > 0);
	CHECK(m.processors <= (double)sysconf(_SC_NPROCESSORS_CONF));
}

TESTS(NULL, NULL)
