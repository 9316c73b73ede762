/* The service manager: the sockets that it gives, and messages to it. */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>

#include "sys/manager.h"

#include "check.h"

static char path[64];

/* --- sockets ------------------------------------------------------------ */

/* Gives descriptors from 3 on, of which 3 to 5 are open; what is taken. */
static int
given(const char *count, const char *names)
{
	char pid[32];

	for (int fd = 3; fd <= 5; fd++) {
		int null = open("/dev/null", O_RDWR);

		if (null != fd)
			CHECK(dup2(null, fd) == fd && close(null) == 0);
	}
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", count, 1);
	if (names != NULL)
		setenv("LISTEN_FDNAMES", names, 1);
	return manager_open(NULL);
}

static bool
is_cloexec(int fd)
{
	return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

TEST_ALONE(descriptors_are_found_by_name_and_go_to_nobody_else)
{
	int fds[3] = { -1, -1, -1 };

	CHECK_EQ(2, given("2", "web:web"));
	CHECK_EQ(2, activation_find("web", 3, fds));
	CHECK_EQ(3, fds[0]);
	CHECK_EQ(4, fds[1]);
	CHECK_EQ(1, activation_find("web", 1, fds));
	CHECK_EQ(0, activation_find("we", 3, fds));
	CHECK(is_cloexec(3) && is_cloexec(4) && !is_cloexec(5));
	CHECK(getenv("LISTEN_PID") == NULL);
	CHECK(getenv("LISTEN_FDS") == NULL);
	CHECK(getenv("LISTEN_FDNAMES") == NULL);
}

TEST_ALONE(descriptors_without_names_are_unknown)
{
	int fds[2] = { -1, -1 };

	CHECK_EQ(2, given("2", ":api"));
	CHECK_EQ(1, activation_find("unknown", 2, fds));
	CHECK_EQ(3, fds[0]);
	CHECK_EQ(1, activation_find("api", 2, fds));
	CHECK_EQ(4, fds[0]);
}

TEST_ALONE(descriptors_for_another_process_are_not_taken)
{
	CHECK_EQ(0, given("0", "a"));
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "3", 1);
	CHECK_EQ(0, manager_open(NULL));
	CHECK(!is_cloexec(3));
	CHECK(getenv("LISTEN_FDS") == NULL);
	CHECK_EQ(0, manager_open(NULL));
}

TEST_ALONE(nonsense_is_refused)
{
	static const struct {
		const char *count;
		int error;
	} cases[] = { { "", EINVAL }, { "-1", EINVAL }, { "3x", EINVAL },
		{ "99999999999999999999", EINVAL }, { "2000000000", EBADF } };
	int fd;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_ERRNO(cases[i].error, given(cases[i].count, "a:b:c"));
		CHECK_EQ(0, activation_find("a", 1, &fd));
	}
}

/* --- messages ----------------------------------------------------------- */

/* Makes a manager that listens at the path; its socket. */
static int
manager(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CHECK_FILE(path, "notify");
	(void)strcpy(addr.sun_path, path);
	CHECK_EQ(0, bind(fd, (void *)&addr, sizeof(addr)));
	setenv("NOTIFY_SOCKET", path, 1);
	(void)manager_open(NULL);
	return fd;
}

static void
end(void)
{
	unsetenv("NOTIFY_SOCKET");
	(void)manager_open(NULL);
	(void)unlink(path);
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

TEST(a_state_is_one_datagram)
{
	int fd = manager();

	CHECK(notify_watchdog() != -1);
	CHECK_EQ(0, notify_send("READY=1\nSTATUS=%d apps", 3));
	CHECK_STR("READY=1\nSTATUS=3 apps", received(fd));
	CHECK_STR(NULL, received(fd));
	close(fd);
}

TEST(the_watchdog_of_this_process_alone_is_ours)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("WATCHDOG_USEC", "30000000", 1);
	setenv("WATCHDOG_PID", number, 1);
	close(manager());
	CHECK_EQ(TSPAN_SECONDS(30), notify_watchdog());
	CHECK(getenv("NOTIFY_SOCKET") == NULL);
	CHECK(getenv("WATCHDOG_USEC") == NULL);
	CHECK(getenv("WATCHDOG_PID") == NULL);
	end();
	CHECK_EQ(-1, notify_watchdog());

	setenv("WATCHDOG_USEC", "30000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	close(manager());
	CHECK_EQ(0, notify_watchdog());
}

TEST_ALONE(a_socket_is_stored_and_given_back_once)
{
	struct cmsghdr *header;
	char text[256], control[64];
	struct iovec part = { text, sizeof(text) - 1 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	int fd = manager(), pair[2];

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK(notify_store(pair[0], STORE_PREFIX "a"));
	text[recvmsg(fd, &message, 0)] = '\0';
	CHECK_STR("FDSTORE=1\nFDPOLL=0\nFDNAME=" STORE_PREFIX "a", text);
	header = CMSG_FIRSTHDR(&message);
	CHECK(header != NULL && header->cmsg_type == SCM_RIGHTS);
	notify_unstore(STORE_PREFIX "a");
	CHECK_STR("FDSTOREREMOVE=1\nFDNAME=" STORE_PREFIX "a", received(fd));
	end();
	CHECK(notify_store(pair[0], STORE_PREFIX "a"));

	CHECK_EQ(3, given("3", "web:" STORE_PREFIX "a:" STORE_PREFIX "b"));
	CHECK_EQ(4, activation_take(STORE_PREFIX "a"));
	CHECK_EQ(-1, activation_take(STORE_PREFIX "a"));
	activation_drop();
	CHECK(fcntl(3, F_GETFD) != -1 && fcntl(4, F_GETFD) != -1);
	CHECK_EQ(-1, fcntl(5, F_GETFD));
}

TEST(without_a_manager_nothing_happens)
{
	unsetenv("NOTIFY_SOCKET");
	(void)manager_open(NULL);
	CHECK_EQ(-1, notify_watchdog());
	CHECK_EQ(0, notify_send("READY=1"));
	/* A manager that is gone is no failure, either. */
	close(manager());
	CHECK_EQ(0, notify_send("READY=1"));
}

TEST(a_manager_that_does_not_read_is_not_waited_for)
{
	int fd = manager(), rc = 0;

	for (int i = 0; i < 10000 && rc == 0; i++)
		rc = notify_send("STATUS=%d", i);
	CHECK_EQ(-1, rc);
	CHECK_EQ(EAGAIN, errno);
	received(fd);
	CHECK_EQ(0, notify_send("READY=1"));
	close(fd);
}

TESTS(NULL, end)
