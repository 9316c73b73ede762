/* Going to the background, and telling whether it worked. */

#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "sys/background.h"
#include "sys/descriptors.h"

#include "check.h"

/* The work of a process in the background: reports (-1: nothing), and ends. */
struct life {
	int report;
	int status;
	int signal;
	int seen; /* by the shell */
};

/* The exit status that the shell sees; says() is called around the report. */
static int
status_of(const struct life *life, void (*says)(const char *when))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (background_start() == -1)
			_exit(99);
		if (says != NULL)
			says("before");
		if (life->report != -1)
			background_report(life->report);
		if (says != NULL)
			says("after");
		if (life->signal != 0)
			raise(life->signal);
		_exit(life->status);
	}
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(the_exit_status_is_the_report_or_69_without_one)
{
	static const struct life lives[] = {
		{ .report = 0, .seen = 0 },
		{ .report = 0, .status = 7, .seen = 0 },
		{ .report = 73, .seen = 73 },
		{ .report = -1, .seen = 69 },
		{ .report = -1, .status = 7, .seen = 7 },
		{ .report = -1, .signal = SIGKILL, .seen = 69 },
	};

	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		CHECK_EQ(lives[i].seen, status_of(&lives[i], NULL));
}

/* The leader of a session alone says when. */
static void
speak(const char *when)
{
	if (getsid(0) == getpid())
		(void)!write(STDERR_FILENO, when, strlen(when));
}

TEST(the_daemon_leads_a_session_and_writes_to_the_terminal_until_the_report)
{
	struct pollfd pfd = { .events = POLLIN };
	char text[64] = "";
	int ends[2], saved = dup(STDERR_FILENO);

	NEED(pipe2(ends, O_CLOEXEC) == 0);
	NEED(dup2(ends[1], STDERR_FILENO) != -1);
	close(ends[1]);
	CHECK_EQ(0, status_of(&(struct life){ .report = 0 }, speak));
	dup2(saved, STDERR_FILENO);
	CHECK(read(ends[0], text, sizeof(text) - 1) == 6);
	CHECK_STR("before", text);
	/* End of file: the daemon has let go of the terminal. */
	pfd.fd = ends[0];
	CHECK_EQ(1, poll(&pfd, 1, 20000));
	CHECK_EQ(0, read(ends[0], text, sizeof(text)));
}

TEST_ALONE(closed_standard_descriptors_become_dev_null)
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

TESTS(NULL, NULL)
