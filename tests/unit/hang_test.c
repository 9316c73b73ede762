/* Processes that hang, and where they are found. */

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "sys/procinfo.h"

#include "check.h"

#define LIMIT_SECONDS 10

static int pipe_ends[2];

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

/* Reads until the process is in this call and state. */
static bool
found(pid_t pid, long call, char state, struct hang *out)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int folder = procinfo_folder(pid, false);

	for (int left = LIMIT_SECONDS * 1000; left > 0; left--) {
		hang_read(folder, out);
		if (out->call == call && out->state == state)
			break;
		nanosleep(&moment, NULL);
	}
	close(folder);
	return CHECK_EQ(call, out->call) && CHECK_EQ(state, out->state);
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

static void
a_sleeping_process_is_found_in_its_call(void)
{
	struct hang h;
	char text[256];
	pid_t pid = start(sleeps);

	if (!found(pid, SYS_clock_nanosleep, 'S', &h)) {
		stop(pid);
		return;
	}
	CHECK_EQ(pid, h.pid);
	CHECK_EQ(0, h.call_error);
	CHECK_EQ(1, h.threads);
	CHECK_STR("", h.file);
	CHECK(strstr(hang_describe(&h, text, sizeof(text)),
		  "sleeping in clock_nanosleep") == text);
	stop(pid);
}

static void
a_reading_process_is_found_with_its_file(void)
{
	struct hang h;
	char text[256];
	pid_t pid;

	NEED(pipe2(pipe_ends, O_CLOEXEC) == 0);
	pid = start(reads);
	if (found(pid, SYS_read, 'S', &h)) {
		CHECK(strncmp(h.file, "pipe:[", 6) == 0);
		CHECK(strstr(hang_describe(&h, text, sizeof(text)),
			  "sleeping in read of pipe:[") == text);
	}
	stop(pid);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void
the_stack_is_seen_by_root_alone(void)
{
	struct hang h;
	pid_t pid = start(sleeps);

	if (found(pid, SYS_clock_nanosleep, 'S', &h)) {
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
	stop(pid);
}

static void
a_stranger_sees_the_state_alone(void)
{
	struct hang h = { 0 };
	char text[256];
	int folder;

	if (geteuid() != 0)
		SKIP("needs root");
	folder = procinfo_folder(getppid(), false);
	NEED(setgid(65534) == 0 && setuid(65534) == 0);
	hang_read(folder, &h);
	CHECK(h.state != 0);
	CHECK_EQ(HANG_NO_CALL, h.call);
	CHECK(h.call_error != 0);
	CHECK(h.stack_error != 0);
	CHECK_STR("", h.where);
	CHECK(strstr(hang_describe(&h, text, sizeof(text)), "system call") ==
	    NULL);
}

static void
a_folder_outlives_its_process_but_finds_no_other(void)
{
	struct hang h;
	char text[256];
	pid_t pid = start(sleeps);
	int folder = procinfo_folder(pid, false);

	stop(pid);
	hang_read(folder, &h);
	CHECK_EQ(0, h.state);
	CHECK_STR("gone", hang_describe(&h, text, sizeof(text)));
	CHECK_ERRNO(ENOENT, procinfo_folder(pid, false));
	close(folder);
}

/* --- what is said ------------------------------------------------------- */

static void
calls_have_names(void)
{
	struct hang h = { .state = 'S', .threads = 1, .call = SYS_read };
	char text[256];

	CHECK_STR("sleeping in read", hang_describe(&h, text, sizeof(text)));
	h.call = SYS_futex;
	CHECK_STR("sleeping in futex", hang_describe(&h, text, sizeof(text)));
	h.call = HANG_NO_CALL;
	CHECK_STR("sleeping", hang_describe(&h, text, sizeof(text)));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_sleeping_process_is_found_in_its_call);
	RUN(a_reading_process_is_found_with_its_file);
	RUN(the_stack_is_seen_by_root_alone);
	RUN_ALONE(a_stranger_sees_the_state_alone);
	RUN(a_folder_outlives_its_process_but_finds_no_other);
	RUN(calls_have_names);
	return check_finish();
}
