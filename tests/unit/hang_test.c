/* Processes that hang, and where they are found. */

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "sys/procinfo.h"

#include "check.h"

#define LIMIT_SECONDS 10

static int pipe_ends[2];
static struct hang h; /* the latest look */

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

static bool
begins_with(const char *text)
{
	return strncmp(h.text, text, strlen(text)) == 0;
}

/* Whether a process that does this is seen so. */
static bool
is_seen(void (*hang)(void), const char *text)
{
	pid_t pid = start(hang);
	int folder = procinfo_folder(pid, false);

	for (int left = LIMIT_SECONDS * 1000; left > 0; left--) {
		hang_read(folder, &h);
		if (begins_with(text))
			break;
		usleep(1000);
	}
	close(folder);
	stop(pid);
	return CHECK(begins_with(text)) && CHECK_EQ(pid, h.pid) &&
	    CHECK_EQ(0, h.call_error) &&
	    CHECK(strstr(h.text, "thread") == NULL);
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
	NEED(is_seen(sleeps, "sleeping in clock_nanosleep"));
	CHECK(strstr(h.text, " of ") == NULL);
	NEED(pipe2(pipe_ends, O_CLOEXEC) == 0);
	NEED(is_seen(reads, "sleeping in read of pipe:["));
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

TEST(the_stack_is_seen_by_root_alone)
{
	NEED(is_seen(sleeps, "sleeping in clock_nanosleep"));
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

	SKIP_IF(geteuid() != 0, "needs root");
	folder = procinfo_folder(getppid(), false);
	NEED(setgid(65534) == 0 && setuid(65534) == 0);
	hang_read(folder, &h);
	CHECK(h.pid != 0);
	CHECK(h.call_error != 0);
	CHECK(h.stack_error != 0);
	CHECK(strstr(h.text, " in ") == NULL);
	CHECK(strstr(h.text, ", at ") == NULL);
}

TEST(a_folder_outlives_its_process_but_finds_no_other)
{
	pid_t pid = start(sleeps);
	int folder = procinfo_folder(pid, false);

	stop(pid);
	hang_read(folder, &h);
	CHECK_EQ(0, h.pid);
	CHECK_ERRNO(ENOENT, procinfo_folder(pid, false));
	close(folder);
}

TESTS(NULL, NULL)
