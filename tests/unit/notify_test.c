/* Messages to the service manager. */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <stddef.h>

#include "sys/manager.h"

#include "check.h"

static char folder[] = "/tmp/apppoold-notify-test.XXXXXX";
static char path[64];

/* Makes a manager that listens at this path or abstract name. */
static int
manager_at(const char *name, size_t len)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(addr.sun_path, name, len);
	if (fd == -1 ||
	    bind(fd, (void *)&addr,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
		-1)
		return -1;
	return fd;
}

static int
manager_at_path(void)
{
	int fd;

	unlink(path);
	fd = manager_at(path, strlen(path) + 1);
	setenv("NOTIFY_SOCKET", path, 1);
	notify_open();
	return fd;
}

static const char *
received(int fd)
{
	static char text[8192];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n == -1)
		return NULL;
	text[n] = '\0';
	return text;
}

static void
a_state_is_one_datagram(void)
{
	int fd = manager_at_path();

	NEED(fd != -1);
	CHECK(notify_wanted());
	CHECK_EQ(0, notify_send("READY=1\nSTATUS=%d apps", 3));
	CHECK_STR("READY=1\nSTATUS=3 apps", received(fd));
	CHECK_STR(NULL, received(fd));
	notify_close();
	close(fd);
}

static void
the_variables_are_gone_from_the_environment(void)
{
	setenv("WATCHDOG_USEC", "1000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	close(manager_at_path());
	CHECK(getenv("NOTIFY_SOCKET") == NULL);
	CHECK(getenv("WATCHDOG_USEC") == NULL);
	CHECK(getenv("WATCHDOG_PID") == NULL);
}

/* The watchdog that these variables mean. */
static tspan
watchdog_of(const char *usec, pid_t pid)
{
	char number[16];
	int fd;

	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	setenv("WATCHDOG_USEC", usec, 1);
	setenv("WATCHDOG_PID", number, 1);
	fd = manager_at_path();
	close(fd);
	return notify_watchdog();
}

static void
the_watchdog_of_this_process_is_known(void)
{
	CHECK_EQ(TSPAN_SECONDS(30), watchdog_of("30000000", getpid()));
	notify_close();
	CHECK_EQ(0, notify_watchdog());
}

static void
the_watchdog_of_another_process_is_not_ours(void)
{
	CHECK_EQ(0, watchdog_of("30000000", getppid()));
}

static void
without_a_manager_nothing_happens(void)
{
	unsetenv("NOTIFY_SOCKET");
	notify_open();
	CHECK(!notify_wanted());
	CHECK_EQ(0, notify_watchdog());
	CHECK_EQ(0, notify_send("READY=1"));
}

static void
a_manager_that_is_gone_is_no_failure(void)
{
	close(manager_at_path());
	CHECK_EQ(0, notify_send("READY=1"));
}

static void
a_manager_that_does_not_read_is_not_waited_for(void)
{
	int fd = manager_at_path();
	int rc = 0;

	NEED(fd != -1);
	for (int i = 0; i < 10000 && rc == 0; i++)
		rc = notify_send("STATUS=%d", i);
	CHECK_EQ(-1, rc);
	CHECK_EQ(EAGAIN, errno);
	received(fd);
	CHECK_EQ(0, notify_send("READY=1"));
	notify_close();
	close(fd);
}

int
main(int argc, char **argv)
{
	if (mkdtemp(folder) == NULL)
		return EXIT_FAILURE;
	snprintf(path, sizeof(path), "%s/notify", folder);

	check_start(argc, argv);
	check.end = notify_close;
	RUN(a_state_is_one_datagram);
	RUN(the_variables_are_gone_from_the_environment);
	RUN(the_watchdog_of_this_process_is_known);
	RUN(the_watchdog_of_another_process_is_not_ours);
	RUN(without_a_manager_nothing_happens);
	RUN(a_manager_that_is_gone_is_no_failure);
	RUN(a_manager_that_does_not_read_is_not_waited_for);

	unlink(path);
	rmdir(folder);
	return check_finish();
}
