/* Processes that hang, and where they are found. */

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "sys/procinfo.h"

#include "check.h"

#define LIMIT_SECONDS 10

static int pipe_ends[2];
static struct hang h; /* the latest look */
static char text[256]; /* what is said of it */

/* Starts a process that hangs in that function for ever. */
static pid_t
start(void (*hang)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		hang();
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

static void
stop(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
}

static void
look(int folder)
{
	hang_read(folder, &h);
	(void)hang_describe(&h, text, sizeof(text));
}

/* Whether a process that does this is seen asleep in this call. */
static bool
sleeps_in(void (*hang)(void), long call)
{
	pid_t pid = start(hang);
	int folder = procinfo_folder(pid, false);

	for (int left = LIMIT_SECONDS * 1000; left > 0; left--) {
		look(folder);
		if (h.call == call && h.state == 'S')
			break;
		usleep(1000);
	}
	close(folder);
	stop(pid);
	return CHECK_EQ(call, h.call) && CHECK_EQ('S', h.state) &&
	    CHECK_EQ(pid, h.pid) && CHECK_EQ(0, h.call_error) &&
	    CHECK_EQ(1, h.threads);
}

static void
sleeps(void)
{
	sleep(1000);
}

static void
reads(void)
{
	char byte;

	(void)!read(pipe_ends[0], &byte, 1);
}

/* --- what is seen ------------------------------------------------------- */

TEST(a_process_is_found_in_its_call_with_its_file)
{
	NEED(sleeps_in(sleeps, SYS_clock_nanosleep));
	CHECK_STR("", h.file);
	CHECK(strstr(text, "sleeping in clock_nanosleep") == text);
	NEED(pipe2(pipe_ends, O_CLOEXEC) == 0);
	NEED(sleeps_in(reads, SYS_read));
	CHECK(strncmp(h.file, "pipe:[", 6) == 0);
	CHECK(strstr(text, "sleeping in read of pipe:[") == text);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

TEST(the_stack_is_seen_by_root_alone)
{
	NEED(sleeps_in(sleeps, SYS_clock_nanosleep));
	if (h.stack_error == 0) {
		CHECK(strstr(h.stack, "nanosleep") != NULL);
		CHECK(strstr(h.stack, " < ") != NULL);
		CHECK(strstr(h.stack, "+0x") == NULL);
		CHECK(strchr(h.stack, '[') == NULL);
	} else {
		CHECK_STR("", h.stack);
	}
	if (geteuid() != 0)
		CHECK(h.stack_error != 0);
}

TEST_ALONE(a_stranger_sees_the_state_alone)
{
	int folder;

	if (geteuid() != 0)
		SKIP("needs root");
	folder = procinfo_folder(getppid(), false);
	NEED(setgid(65534) == 0 && setuid(65534) == 0);
	look(folder);
	CHECK(h.state != 0);
	CHECK_EQ(HANG_NO_CALL, h.call);
	CHECK(h.call_error != 0);
	CHECK(h.stack_error != 0);
	CHECK_STR("", h.where);
	CHECK(strstr(text, "system call") == NULL);
}

TEST(a_folder_outlives_its_process_but_finds_no_other)
{
	pid_t pid = start(sleeps);
	int folder = procinfo_folder(pid, false);

	stop(pid);
	look(folder);
	CHECK_EQ(0, h.state);
	CHECK_STR("gone", text);
	CHECK_ERRNO(ENOENT, procinfo_folder(pid, false));
	close(folder);
}

/* --- what is said ------------------------------------------------------- */

TEST(calls_have_names)
{
	h = (struct hang){ .state = 'S', .threads = 1, .call = SYS_read };
	CHECK_STR("sleeping in read", hang_describe(&h, text, sizeof(text)));
	h.call = SYS_futex;
	CHECK_STR("sleeping in futex", hang_describe(&h, text, sizeof(text)));
	h.call = HANG_NO_CALL;
	CHECK_STR("sleeping", hang_describe(&h, text, sizeof(text)));
}

TESTS(NULL, NULL)
