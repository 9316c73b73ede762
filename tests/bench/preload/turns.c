/*
 * turns: preloaded into the daemon, writes down how long each turn of its loop
 * takes. A page is touched for the first time after the clocks were read.
 */

#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "turns.h"

static struct turn_times *times;
static uint64_t wall, cpu; /* at the beginning of the turn; 0: not yet */

static void __attribute__((constructor)) turns_open(void)
{
	const char *path = getenv("TURNS");
	int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void *mem;

	/* Children of the loop are no loops. */
	(void)unsetenv("TURNS");
	(void)unsetenv("LD_PRELOAD");
	if (fd == -1)
		return;
	mem = mmap(
	    NULL, sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	times = mem == MAP_FAILED ? NULL : mem;
}

static uint64_t
turns_clock(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
turns_end(void)
{
	uint64_t cpu_now = turns_clock(CLOCK_THREAD_CPUTIME_ID);
	uint64_t wall_now = turns_clock(CLOCK_MONOTONIC);
	uint32_t n = atomic_load(&times->count);

	if (wall == 0 || n == TURNS_MAX)
		return;
	times->of[n].wall = (uint32_t)(wall_now - wall);
	times->of[n].cpu = (uint32_t)(cpu_now - cpu);
	atomic_store(&times->count, n + 1);
}

int
epoll_pwait2(int epfd, struct epoll_event *events, int n,
    const struct timespec *timeout, const sigset_t *mask)
{
	int got;

	if (times != NULL)
		turns_end();
	got = (int)syscall(
	    SYS_epoll_pwait2, epfd, events, n, timeout, mask, _NSIG / 8);
	if (times != NULL) {
		wall = turns_clock(CLOCK_MONOTONIC);
		cpu = turns_clock(CLOCK_THREAD_CPUTIME_ID);
	}
	return got;
}
