/* Sockets given to us by the service manager. */

#include <errno.h>
#include <fcntl.h>

#include "sys/manager.h"

#include "check.h"

/* Descriptors 3, 4 and 5, in the order in which they are given. */
static bool
give(const char *count, const char *names)
{
	char pid[32];

	for (int fd = 3; fd <= 5; fd++) {
		int null = open("/dev/null", O_RDWR);

		if (null != fd && (dup2(null, fd) == -1 || close(null) == -1))
			return false;
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", count, 1);
	if (names == NULL)
		unsetenv("LISTEN_FDNAMES");
	else
		setenv("LISTEN_FDNAMES", names, 1);
	return true;
}

static void
descriptors_are_found_by_name(void)
{
	int fds[3] = { -1, -1, -1 };

	NEED(give("3", "web:api:web"));
	CHECK_EQ(3, activation_take());
	CHECK_EQ(1, activation_find("api", 3, fds));
	CHECK_EQ(4, fds[0]);
	CHECK_EQ(2, activation_find("web", 3, fds));
	CHECK_EQ(3, fds[0]);
	CHECK_EQ(5, fds[1]);
	CHECK_EQ(0, activation_find("we", 3, fds));
}

static void
descriptors_are_closed_on_exec_from_then_on(void)
{
	NEED(give("2", "a:b"));
	CHECK_EQ(2, activation_take());
	CHECK((fcntl(3, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK((fcntl(4, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK((fcntl(5, F_GETFD) & FD_CLOEXEC) == 0);
}

static void
the_variables_are_gone_from_the_environment(void)
{
	NEED(give("1", "a"));
	activation_take();
	CHECK(getenv("LISTEN_PID") == NULL);
	CHECK(getenv("LISTEN_FDS") == NULL);
	CHECK(getenv("LISTEN_FDNAMES") == NULL);
}

static void
descriptors_for_another_process_are_not_taken(void)
{
	NEED(give("3", "a:b:c"));
	setenv("LISTEN_PID", "1", 1);
	CHECK_EQ(0, activation_take());
	CHECK((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0);
	CHECK(getenv("LISTEN_FDS") == NULL);
}

static void
without_the_variables_no_descriptor_is_taken(void)
{
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	CHECK_EQ(0, activation_take());
}

static void
descriptors_without_names_are_unknown(void)
{
	int fd = -1;

	NEED(give("1", NULL));
	CHECK_EQ(1, activation_take());
	CHECK_EQ(1, activation_find("unknown", 1, &fd));
	CHECK_EQ(3, fd);
}

static void
check_nonsense(const char *count, int error)
{
	int fd;

	NEED(give(count, "a:b:c"));
	errno = 0;
	CHECK_EQ(-1, activation_take());
	CHECK_EQ(error, errno);
	CHECK_EQ(0, activation_find("a", 1, &fd));
}

static void
a_count_that_is_no_number_is_refused(void)
{
	check_nonsense("", EINVAL);
	check_nonsense("-1", EINVAL);
	check_nonsense("3x", EINVAL);
	check_nonsense("99999999999999999999", EINVAL);
}

static void
a_descriptor_that_is_not_open_is_refused(void)
{
	check_nonsense("2000000000", EBADF);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ALONE(descriptors_are_found_by_name);
	RUN_ALONE(descriptors_are_closed_on_exec_from_then_on);
	RUN_ALONE(the_variables_are_gone_from_the_environment);
	RUN_ALONE(descriptors_for_another_process_are_not_taken);
	RUN_ALONE(without_the_variables_no_descriptor_is_taken);
	RUN_ALONE(descriptors_without_names_are_unknown);
	RUN_ALONE(a_count_that_is_no_number_is_refused);
	RUN_ALONE(a_descriptor_that_is_not_open_is_refused);
	return check_finish();
}
