/* Going to the background, and telling whether it worked. */

#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "sys/background.h"
#include "sys/descriptors.h"
#include "sys/log.h"

#include "check.h"

/* Starts a process that goes to the background and runs daemon() there. */
static pid_t
start(void (*daemon)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		if (background_start() == -1)
			_exit(99);
		daemon();
		_exit(0);
	}
	return pid;
}

/* Returns the exit status that the shell sees. */
static int
status_of(void (*daemon)(void))
{
	pid_t pid = start(daemon);
	int status;

	if (pid == -1 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void
report_0(void)
{
	background_report(0);
}

static void
report_0_and_fail_later(void)
{
	background_report(0);
	_exit(7);
}

static void
report_73(void)
{
	background_report(73);
}

static void
exit_0(void)
{
}

static void
be_killed(void)
{
	raise(SIGKILL);
}

static void
a_report_of_success_is_exit_0(void)
{
	CHECK_EQ(0, status_of(report_0));
	CHECK_EQ(0, status_of(report_0_and_fail_later));
}

static void
a_report_of_failure_is_the_exit_status(void)
{
	CHECK_EQ(73, status_of(report_73));
}

static void
a_silent_end_is_exit_69(void)
{
	CHECK_EQ(69, status_of(exit_0));
	CHECK_EQ(69, status_of(be_killed));
}

/* The daemon writes here, and the test reads. */
static int ends[2];

static void
lead_a_session(void)
{
	bool leads = getsid(0) == getpid();

	(void)!write(ends[1], leads ? "y" : "n", 1);
	background_report(0);
}

static void
the_daemon_leads_a_session_of_its_own(void)
{
	char c = '?';

	NEED(pipe2(ends, O_CLOEXEC) == 0);
	CHECK_EQ(0, status_of(lead_a_session));
	CHECK(read(ends[0], &c, 1) == 1);
	CHECK_EQ('y', c);
}

static void
speak_before_and_after(void)
{
	(void)!write(STDERR_FILENO, "before", 6);
	background_report(0);
	(void)!write(STDERR_FILENO, "after", 5);
}

static void
messages_reach_the_terminal_until_the_report(void)
{
	struct pollfd pfd = { .events = POLLIN };
	char text[64] = "";
	int saved = dup(STDERR_FILENO);

	NEED(pipe2(ends, O_CLOEXEC) == 0);
	NEED(dup2(ends[1], STDERR_FILENO) != -1);
	close(ends[1]);
	CHECK_EQ(0, status_of(speak_before_and_after));
	dup2(saved, STDERR_FILENO);
	CHECK(read(ends[0], text, sizeof(text) - 1) == 6);
	CHECK_STR("before", text);
	/* End of file: the daemon has let go of the terminal. */
	pfd.fd = ends[0];
	CHECK_EQ(1, poll(&pfd, 1, 20000));
	CHECK_EQ(0, read(ends[0], text, sizeof(text)));
}

static void
closed_standard_descriptors_become_dev_null(void)
{
	struct stat null, st;

	NEED(stat("/dev/null", &null) == 0);
	close(STDIN_FILENO);
	close(STDERR_FILENO);
	CHECK_EQ(0, descriptors_fix());
	CHECK_EQ(0, fstat(STDIN_FILENO, &st));
	CHECK_EQ(null.st_rdev, st.st_rdev);
	CHECK_EQ(0, fstat(STDERR_FILENO, &st));
	CHECK_EQ(null.st_rdev, st.st_rdev);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_report_of_success_is_exit_0);
	RUN(a_report_of_failure_is_the_exit_status);
	RUN(a_silent_end_is_exit_69);
	RUN(the_daemon_leads_a_session_of_its_own);
	RUN(messages_reach_the_terminal_until_the_report);
	RUN_ALONE(closed_standard_descriptors_become_dev_null);
	return check_finish();
}
