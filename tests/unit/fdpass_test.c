/* Packets, descriptors, and what the kernel does to them. */

#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"

#include "check.h"
#include "descriptors.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

/* More than the queue of any socket holds. */
#define MANY 100000

static int pair[2];
static char buf[64];
static struct fdpass_got got;

static void
open_pair(void)
{
	CHECK_EQ(
	    0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
}

static void
close_pair(void)
{
	close(pair[0]);
	close(pair[1]);
}

/* A descriptor by which its description can be told from others. */
static int
open_marked(const char *mark)
{
	int p[2];

	CHECK_EQ(0, pipe2(p, O_CLOEXEC));
	CHECK_EQ((ssize_t)strlen(mark), write(p[1], mark, strlen(mark)));
	close(p[1]);
	return p[0];
}

static void
check_marked(const char *mark, int fd)
{
	char text[16] = "";

	CHECK(read(fd, text, sizeof(text) - 1) >= 0);
	CHECK_STR(mark, text);
	close(fd);
}

TEST(a_packet_arrives_whole_and_alone)
{
	CHECK_EQ(3, fdpass_send(pair[0], "one", 3, -1));
	CHECK_EQ(4, fdpass_send(pair[0], "four", 4, -1));
	CHECK_EQ(3, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	CHECK_EQ(0, memcmp(buf, "one", 3));
	CHECK_EQ(0, got.nfds);
	CHECK(!got.truncated);
	CHECK(!got.lost_fds);
	CHECK_EQ(4, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
}

TEST(a_descriptor_arrives_cloexec)
{
	int fd = open_marked("me");

	CHECK_EQ(1, fdpass_send(pair[0], "x", 1, fd));
	close(fd);
	CHECK_EQ(1, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	NEED(got.nfds == 1);
	CHECK_EQ(FD_CLOEXEC, fcntl(got.fds[0], F_GETFD));
	check_marked("me", got.fds[0]);
}

TEST(sending_to_a_full_queue_is_EAGAIN)
{
	int sent = 0;

	while (sent < MANY && fdpass_send(pair[0], "x", 1, -1) == 1)
		sent++;
	CHECK_EQ(EAGAIN, errno);
	CHECK(sent > 100);
	CHECK_EQ(1, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	CHECK_EQ(1, fdpass_send(pair[0], "x", 1, -1));
}

/* With packets unread in it, or without. */
TEST(sending_to_a_closed_end_fails_without_a_signal)
{
	int other[2];

	CHECK_EQ(
	    0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, other));
	CHECK_EQ(1, fdpass_send(pair[0], "x", 1, -1));
	close(pair[1]);
	CHECK_ERRNO(ECONNRESET, fdpass_send(pair[0], "x", 1, -1));
	close(other[1]);
	CHECK_ERRNO(EPIPE, fdpass_send(other[0], "x", 1, -1));
	close(other[0]);
}

/*
 * The count is per user and its limit that of the sender.  Root is exempt, so
 * another user sends; no other process may use that user's number meanwhile.
 */
TEST_ALONE(too_many_descriptors_on_their_way_are_ETOOMANYREFS)
{
	struct rlimit few = { .rlim_cur = 20, .rlim_max = 20 };
	int sent = 0;

	SKIP_IF(geteuid() != 0,
	    "needs root, to become a user with nothing on its way");
	NEED(setrlimit(RLIMIT_NOFILE, &few) == 0);
	NEED(setresuid(64123, 64123, 64123) == 0);
	while (sent < MANY && fdpass_send(pair[0], "x", 1, pair[0]) == 1)
		sent++;
	CHECK_EQ(ETOOMANYREFS, errno);
	CHECK(sent < 50);
}

TEST(as_many_descriptors_as_fit_in_a_message_are_all_received)
{
	int fds[FDPASS_MAX];

	for (size_t i = 0; i < FDPASS_MAX; i++)
		fds[i] = pair[0];
	CHECK_EQ(4, fdpass_send_many(pair[0], "many", 4, fds, FDPASS_MAX));
	CHECK_EQ(4, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	CHECK_EQ(FDPASS_MAX, got.nfds);
	CHECK(!got.lost_fds);
	for (size_t i = 0; i < got.nfds; i++)
		CHECK_EQ(0, close(got.fds[i]));
}

static void
limit_descriptors(rlim_t most)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = most;
	CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
}

/* Looked at as a whole, a packet waits for a number of its descriptor. */
TEST_ALONE(a_descriptor_beyond_the_limit_waits_or_is_marked_lost)
{
	const int whole = MSG_PEEK | MSG_DONTWAIT;
	int fd;

	CHECK_EQ(1, fdpass_send(pair[0], "x", 1, pair[0]));
	CHECK_EQ(1, fdpass_send(pair[0], "x", 1, pair[0]));
	limit_descriptors(3);
	for (int i = 0; i < 2; i++)
		CHECK_ERRNO(EMFILE,
		    fdpass_recv_one(pair[1], buf, sizeof(buf), whole, &fd));
	CHECK_EQ(2, fdpass_unread(pair[1]));
	CHECK_EQ(1, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	CHECK_EQ(0, got.nfds);
	CHECK(got.lost_fds);
	limit_descriptors(64);
	CHECK_EQ(1, fdpass_recv_one(pair[1], buf, sizeof(buf), whole, &fd));
	CHECK(fd != -1);
	CHECK_EQ(0, fdpass_unread(pair[1]));
	CHECK_ERRNO(
	    EAGAIN, fdpass_recv_one(pair[1], buf, sizeof(buf), whole, &fd));
}

/* A process that shares an end can ask for these, beside our descriptors. */
TEST(credentials_and_pidfds_do_no_harm)
{
	int yes = 1;
	int fd = open_marked("me");
	int next = dup(fd);

	close(next);
	CHECK_EQ(
	    0, setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)));
	CHECK_EQ(0,
	    setsockopt(pair[1], SOL_SOCKET, SO_TIMESTAMP, &yes, sizeof(yes)));
	(void)setsockopt(pair[1], SOL_SOCKET, SO_PASSPIDFD, &yes, sizeof(yes));
	CHECK_EQ(1, fdpass_send(pair[0], "x", 1, fd));
	CHECK_EQ(1, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	CHECK(!got.lost_fds);
	NEED(got.nfds == 1);
	check_marked("me", got.fds[0]);
	close(fd);
	fd = dup(STDERR_FILENO);
	CHECK_EQ(next - 1, fd);
	close(fd);
}

TEST(a_packet_too_long_for_recv_one_is_EMSGSIZE)
{
	int fd = -2;

	CHECK_EQ(10, fdpass_send(pair[0], "0123456789", 10, pair[0]));
	CHECK_ERRNO(EMSGSIZE, fdpass_recv_one(pair[1], buf, 4, 0, &fd));
	CHECK_EQ(-2, fd);
}

TEST(refused_descriptors_are_EPERM_where_the_kernel_knows_how)
{
	(void)fdpass_refuse(pair[1]);
	if (fdpass_send(pair[0], "x", 1, pair[0]) == -1)
		CHECK_EQ(EPERM, errno);
	else
		CHECK_EQ(1, fdpass_recv(pair[1], buf, sizeof(buf), 0, &got));
	CHECK_EQ(1, fdpass_send(pair[0], "y", 1, -1));
	CHECK_EQ(1, fdpass_send(pair[1], "z", 1, pair[0]));
}

TEST(the_sender_of_the_next_packet_is_known_and_that_stays)
{
	struct ucred who = { 0 };
	const int on = 1;
	int fd = open_marked("mark");

	CHECK_ERRNO(EAGAIN, fdpass_next_sender(pair[0], &who));
	CHECK_EQ(
	    0, setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	CHECK_EQ(5, fdpass_send(pair[1], "READY", 5, fd));
	int open = descriptors();

	CHECK_EQ(1, fdpass_next_sender(pair[0], &who));
	CHECK_EQ(getpid(), who.pid);
	CHECK_EQ(getuid(), who.uid);
	CHECK_EQ(open, descriptors());
	CHECK_EQ(5, fdpass_recv(pair[0], buf, sizeof(buf), 0, &got));
	CHECK_EQ(1, got.nfds);
	close(got.fds[0]);
	close(fd);
	close(pair[1]);
	CHECK_EQ(0, fdpass_next_sender(pair[0], &who));
	close(pair[0]);
}

TESTS(open_pair, close_pair)
