/* Children between clone and exec, and from their death on. */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "check.h"
#include "child_help.h"
#include "descriptors.h"

struct stuck {
	struct child_spec spec;
	struct child_result result;
	int returned;
};

static void *
spawn_stuck(void *arg)
{
	struct stuck *s = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	s->returned = child_spawn(&s->spec, &s->result);
	return NULL;
}

/* Makes a missing page, for which exec waits. Returns -1 where we may not. */
static int
absent_page(char **page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd == -1)
		return -1;
	*page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)*page;
	reg.range.len = 4096;
	if (*page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) == -1 ||
	    ioctl(fd, UFFDIO_REGISTER, &reg) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

static pid_t
wait_pid(struct stuck *s)
{
	for (int i = 0; i < 10000 && atomic_load(&s->result.pid) == 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return atomic_load(&s->result.pid);
}

/* Starts a child that hangs before exec, and then goes on or is killed. */
static void
start_stuck(bool killed)
{
	static char path[4096] = "/bin/true";
	struct stuck s = { .spec = shell(""), .returned = 42 };
	struct uffdio_copy copy = { .src = (uintptr_t)path, .len = 4096 };
	struct reap_death died;
	pthread_t thread;
	char *page;
	int uffd = absent_page(&page);

	SKIP_IF(uffd == -1, "userfaultfd is not for us here");
	s.spec.path = page;
	copy.dst = (uintptr_t)page;
	NEED(pthread_create(&thread, NULL, spawn_stuck, &s) == 0);
	NEED(wait_pid(&s) > 0);
	CHECK_EQ(42, s.returned);
	if (killed)
		CHECK_EQ(0, child_signal(s.result.pid, SIGKILL, false));
	else
		CHECK_EQ(0, ioctl(uffd, UFFDIO_COPY, &copy));
	CHECK_EQ(0, pthread_join(thread, NULL));
	CHECK(killed || s.returned == 0);
	NEED(death(&died));
	CHECK_EQ(s.result.pid, died.pid);
	CHECK_EQ(killed ? SIGKILL : 0, died.signal);
	reap_take(died.pid, true);
	close(uffd);
}

TEST(the_number_is_known_before_the_program_runs)
{
	start_stuck(false);
}

TEST(a_start_that_hangs_can_be_killed)
{
	start_stuck(true);
}

/* Runs the script: it is dead, and not reaped. */
static struct reap_death
run(const char *script)
{
	struct child_spec spec = shell(script);
	struct child_result result;
	struct reap_death died = { 0 };

	CHECK_EQ(0, spawn(&spec, &result));
	CHECK(death(&died));
	CHECK_EQ(result.pid, died.pid);
	return died;
}

TEST(a_dead_child_stays_a_zombie_after_a_look)
{
	struct reap_death died = run("exit 3");
	char text[64];
	pid_t pid = died.pid;

	NEED(reap_peek(0, &died));
	CHECK_EQ(pid, died.pid);
	CHECK_EQ(3, died.status);
	CHECK_STR(
	    "exited with status 3", reap_explain(&died, text, sizeof(text)));
	CHECK_EQ(0, child_signal(pid, 0, false));
	reap_take(pid, true);
	CHECK(!reap_peek(0, &died));
	CHECK_EQ(-1, child_signal(pid, 0, false));
}

TEST(a_death_by_signal_is_explained)
{
	struct reap_death died = run("kill -9 $$");
	char text[64];

	CHECK_STR("killed by signal 9 (SIGKILL)",
	    reap_explain(&died, text, sizeof(text)));
	reap_take(died.pid, true);
	died.dumped = true;
	CHECK_STR("killed by signal 9 (SIGKILL, core dumped)",
	    reap_explain(&died, text, sizeof(text)));
	died.dumped = false;
	died.signal = SIGRTMAX;
	CHECK_STR("killed by signal 64 (real-time)",
	    reap_explain(&died, text, sizeof(text)));
}

TEST(a_dead_leader_takes_its_group_along)
{
	struct reap_death died;
	struct pollfd pfd = { .events = POLLIN };
	int p[2];
	struct child_spec spec = shell("sleep 1000 & exit 0");
	struct child_result result;

	NEED(pipe2(p, O_CLOEXEC) == 0);
	spec.stdio[1] = p[1];
	CHECK_EQ(0, spawn(&spec, &result));
	close(p[1]);
	NEED(death(&died));
	/* The sleep of the shell has our pipe. */
	pfd.fd = p[0];
	CHECK_EQ(0, poll(&pfd, 1, 0));
	reap_take(died.pid, true);
	CHECK_EQ(1, poll(&pfd, 1, 10000));
	CHECK_EQ(POLLHUP, pfd.revents);
	close(p[0]);
}

TEST(one_child_is_looked_at_though_another_is_dead)
{
	struct child_spec spec = shell("sleep 60");
	struct child_result living;
	struct reap_death died;
	pid_t dead;

	CHECK_EQ(0, spawn(&spec, &living));
	dead = run("exit 3").pid;
	CHECK(!reap_peek(living.pid, &died));
	CHECK(reap_peek(dead, &died));
	CHECK_EQ(dead, died.pid);
	CHECK_EQ(3, died.status);
	reap_take(dead, true);
	CHECK(!reap_peek(dead, &died));
	CHECK_EQ(0, child_signal(living.pid, SIGKILL, false));
	NEED(death(&died));
	reap_take(living.pid, true);
}

TESTS(NULL, NULL)
