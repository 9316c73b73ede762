/* The program behind apppool-accept: its start and its end. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "adapter/accept.h"

#include "check.h"

static bool
started(struct program *p, char **argv)
{
	struct program_spec spec = { .argv = argv, .notify = -1 };
	bool runs;

	spec.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sigemptyset(&spec.signals);
	runs = program_start(p, &spec);
	close(spec.listener);
	return runs;
}

/* daemon_fail() kills the program of a number, to leave none behind. */
TEST(a_program_that_did_not_start_leaves_no_number_to_signal)
{
	char *argv[] = { (char *)"/nonexistent/program", NULL };
	struct program p;

	CHECK(!started(&p, argv));
	SKIP_IF(p.stage == PROGRAM_FILTER, "no seccomp notifications here");
	CHECK_EQ(PROGRAM_EXECUTE, p.stage);
	CHECK_EQ(ENOENT, p.error);
	CHECK_EQ(0, p.pid);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

TEST(a_program_that_has_ended_leaves_no_number_to_signal)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	struct program p;
	int status = -1;

	SKIP_IF(!started(&p, argv), "no seccomp notifications here");
	CHECK(p.pid > 1);
	for (int left = 10000; left > 0 && !program_ended(&p, &status); left--)
		usleep(1000);
	CHECK_EQ(0, status);
	CHECK_EQ(0, p.pid);
}

/*
 * Another user's memory is hidden, and a processor may be late in coming to the
 * adapter: the program waits for it.
 */
TEST(a_program_that_changes_its_user_or_group_waits_for_the_adapter)
{
	char *argv[] = { (char *)"/proc/self/exe", (char *)"become", NULL };
	struct pollfd call;
	struct program p;

	SKIP_IF(!started(&p, argv), "no seccomp notifications here");
	call = (struct pollfd){ .fd = p.notify, .events = POLLIN };
	CHECK_EQ(1, poll(&call, 1, 10000));
	CHECK_EQ(POLLIN, call.revents);
	CHECK_EQ(0, kill(p.pid, SIGKILL));
	CHECK_EQ(p.pid, waitpid(p.pid, NULL, 0));
	close(p.notify);
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "become") == 0)
		return setgid(getgid());
	check_start(argc, argv);
	check_all();
	return check_finish();
}
