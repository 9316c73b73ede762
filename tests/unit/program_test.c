/* The program behind apppool-accept: its start and its end. */

#include <sys/socket.h>

#include <errno.h>
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
static void
a_program_that_did_not_start_leaves_no_number_to_signal(void)
{
	char *argv[] = { (char *)"/nonexistent/program", NULL };
	struct program p;

	CHECK(!started(&p, argv));
	if (p.stage == PROGRAM_FILTER)
		SKIP("no seccomp notifications here");
	CHECK_EQ(PROGRAM_EXECUTE, p.stage);
	CHECK_EQ(ENOENT, p.error);
	CHECK_EQ(0, p.pid);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void
a_program_that_has_ended_leaves_no_number_to_signal(void)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	struct program p;
	int status = -1;

	if (!started(&p, argv))
		SKIP("no seccomp notifications here");
	CHECK(p.pid > 1);
	for (int left = 10000; left > 0 && !program_ended(&p, &status); left--)
		usleep(1000);
	CHECK_EQ(0, status);
	CHECK_EQ(0, p.pid);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_program_that_did_not_start_leaves_no_number_to_signal);
	RUN(a_program_that_has_ended_leaves_no_number_to_signal);
	return check_finish();
}
