/* The program behind apppool-accept: its start and its end. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "adapter/accept.h"

#include "check.h"

static int channel[2]; /* the daemon's end, and the adapter's */

/* False: this system cannot report calls, which the daemon has been told. */
static bool
started(struct adapter *a, const char *path, const char *argument)
{
	char *argv[] = { (char *)(uintptr_t)path, (char *)(uintptr_t)argument,
		NULL };
	int probe = fork(), status = -1;
	sigset_t none;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) ==
	    0);
	*a = (struct adapter){ .channel = channel[1], .memory.fd = -1 };
	a->listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sigemptyset(&none);
	/* A process that cannot start it exits. */
	if (probe == 0) {
		a->channel = -1;
		program_start(a, argv, &none, -1);
		(void)kill(a->program.pid, SIGKILL);
		_exit(0);
	}
	CHECK_EQ(probe, waitpid(probe, &status, 0));
	if (status == 0)
		program_start(a, argv, &none, -1);
	close(a->listener.fd);
	return status == 0;
}

TEST(a_program_that_cannot_be_executed_tells_why)
{
	char told[128] = "";
	struct adapter a;
	int status;

	SKIP_IF(!started(&a, "/nonexistent/program", NULL),
	    "no seccomp notifications here");
	CHECK(recv(channel[0], told, sizeof(told) - 1, MSG_DONTWAIT) > 0);
	CHECK_STR("FAIL cannot execute /nonexistent/program: No such file or "
		  "directory",
	    told);
	CHECK_EQ(a.program.pid, waitpid(a.program.pid, &status, 0));
	CHECK(WIFEXITED(status));
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/*
 * Another user's memory is hidden, and a processor may be late in coming to the
 * adapter: the program waits for it.
 */
TEST(a_program_that_changes_its_user_or_group_waits_for_the_adapter)
{
	struct pollfd call;
	struct adapter a;

	SKIP_IF(!started(&a, "/proc/self/exe", "become"),
	    "no seccomp notifications here");
	call = (struct pollfd){ .fd = a.program.notify, .events = POLLIN };
	CHECK_EQ(1, poll(&call, 1, 10000));
	CHECK_EQ(POLLIN, call.revents);
	CHECK_EQ(0, kill(a.program.pid, SIGKILL));
	CHECK_EQ(a.program.pid, waitpid(a.program.pid, NULL, 0));
	close(a.program.notify);
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
