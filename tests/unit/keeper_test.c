/* The answers of apppool-keeper about pipes, channels and what is to be closed.
 */

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/keeper_wire.h"

#include "check.h"

#define ONE "aaaaaaaa"
#define TWO "bbbbbbbb"

/* The head of a packet of lines. */
#define OUT(id) "O" id "web\n"
#define ERR(id) "R" id "web\n"

static pid_t pid;
static int sock;
static int channel[2]; /* ours, and the worker's */
static char packet[KEEPER_HEAD_MAX + KEEPER_LINE_MAX + 1];
static struct keeper_page *page;

/* The program is beside the tests. */
static void
run_keeper(int its_end, int memory)
{
	char path[PATH_MAX], program[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	(void)snprintf(program, sizeof(program),
	    "%s/../../libexec/apppool-keeper", dirname(path));
	if ((its_end = fcntl(its_end, F_DUPFD, 10)) != -1 &&
	    dup2(memory, KEEPER_PAGE_FD) != -1 &&
	    dup2(its_end, KEEPER_FD) != -1)
		(void)execl(program, "apppool-keeper", (char *)NULL);
	_exit(127);
}

static void
begin(void)
{
	int memory = memfd_create("page", 0), ends[2];

	NEED(ftruncate(memory, sizeof(*page)) == 0);
	page = mmap(
	    NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	NEED(page != MAP_FAILED);
	/* The daemon watches: it is not told that the keeper is busy. */
	page->watched = 1;
	CHECK_EQ(
	    0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	pid = fork();
	if (pid == 0)
		run_keeper(ends[1], memory);
	close(memory);
	close(ends[1]);
	sock = ends[0];
}

/* The next packet as a string, "\n" for the end of a name; "": the end. */
static const char *
heard(void)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	ssize_t n = poll(&p, 1, 10000) == 1
	    ? recv(sock, packet, sizeof(packet) - 1, 0)
	    : -1;

	CHECK(n >= 0);
	packet[n > 0 ? n : 0] = '\0';
	if (n > KEEPER_HEAD + 3 && packet[KEEPER_HEAD + 3] == '\0')
		packet[KEEPER_HEAD + 3] = '\n';
	return packet;
}

/* Gives the keeper two pipes; the ends to write to. */
static void
hold_both(const char *id, int to[2])
{
	char buf[KEEPER_HEAD + 5];
	int ends[KEEPER_HOLD_FDS], pair[2];

	for (int i = 0; i < KEEPER_HOLD_FDS; i++) {
		CHECK_EQ(0, pipe2(pair, O_CLOEXEC));
		CHECK_EQ(0, fcntl(pair[0], F_SETFL, O_NONBLOCK));
		ends[i] = pair[0];
		to[i] = pair[1];
	}
	(void)snprintf(buf, sizeof(buf), "%c%sweb", KEEPER_HOLD, id);
	CHECK_EQ(KEEPER_HEAD + 4,
	    fdpass_send_many(
		sock, buf, KEEPER_HEAD + 4, ends, KEEPER_HOLD_FDS));
	close(ends[0]);
	close(ends[1]);
	CHECK_STR("D", heard());
}

/* The same; only the end to write to as standard output stays open. */
static int
hold(const char *id)
{
	int to[2];

	hold_both(id, to);
	close(to[1]);
	return to[0];
}

static void
leave(const char *id)
{
	char buf[KEEPER_HEAD + 1];

	(void)snprintf(buf, sizeof(buf), "%c%s", KEEPER_LEAVE, id);
	CHECK_EQ(KEEPER_HEAD, fdpass_send(sock, buf, KEEPER_HEAD, -1));
}

static void
print(int fd, const char *text)
{
	CHECK_EQ((ssize_t)strlen(text), write(fd, text, strlen(text)));
}

/* The keeper says no more and exits. */
static void
end(void)
{
	int status;

	CHECK_EQ(0, shutdown(sock, SHUT_WR));
	CHECK_STR("", heard());
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(0, status);
	close(sock);
}

TEST(what_is_left_at_the_end_is_passed_on)
{
	int fd;

	fd = hold(ONE);
	print(fd, "whole\nbeginning");
	CHECK_EQ(0, shutdown(sock, SHUT_WR));
	CHECK_STR(OUT(ONE) "whole", heard());
	CHECK_STR(OUT(ONE) "beginning", heard());
}

TEST(the_end_of_a_worker_comes_behind_all_that_it_has_printed)
{
	int to[2];

	hold_both(ONE, to);
	CHECK_EQ(0, kill(pid, SIGSTOP));
	print(to[1], "one\ntwo");
	leave(ONE);
	CHECK_EQ(0, kill(pid, SIGCONT));
	/* A line without an end is one now. */
	if (strcmp(heard(), ERR(ONE) "one") == 0)
		CHECK_STR(ERR(ONE) "two", heard());
	else
		CHECK_STR(ERR(ONE) "one\ntwo", packet);
	CHECK_STR("D", heard());
	/* The keeper has closed the pipes. */
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERRNO(EPIPE, (int)write(to[1], "x", 1));
	close(to[0]);
	close(to[1]);
	/* Of a worker that nobody knows there is nothing. */
	leave(TWO);
	CHECK_STR("D", heard());
}

/* A pipe has room for more lines than are passed on of a dead worker. */
TEST(beyond_what_is_passed_on_of_a_dead_worker_its_last_line_comes)
{
	static char lines[8 * KEEPER_LAST_LINES + 8];
	size_t n = 0;
	uint32_t left;
	int to[2];

	hold_both(ONE, to);
	for (size_t i = 0; i + 8 < sizeof(lines); i += 2)
		memcpy(lines + i, "x\n", 2);
	(void)strcat(lines, "\nwhy\n");
	CHECK_EQ(0, kill(pid, SIGSTOP));
	print(to[1], lines);
	leave(ONE);
	CHECK_EQ(0, kill(pid, SIGCONT));
	/* It may have read some before it heard of the end. */
	while (strncmp(heard(), ERR(ONE) "x", 14) == 0)
		n += (strlen(packet) - strlen(ERR(ONE)) + 1) / 2;
	CHECK(n >= KEEPER_LAST_LINES && n < 2 * KEEPER_LAST_LINES);
	CHECK_STR(ERR(ONE) "why", packet);
	CHECK_EQ(KEEPER_LEFT_OUT, heard()[0]);
	memcpy(&left, packet + strlen(ERR(ONE)), sizeof(left));
	CHECK_EQ(8 * KEEPER_LAST_LINES - 2 * n + 1, left);
	CHECK_STR("D", heard());
	close(to[0]);
	close(to[1]);
}

/* --- channels ----------------------------------------------------------- */

/* A channel with so many connections in it. */
static void
open_channel(int connections)
{
	char text[16];
	int len;

	CHECK_EQ(
	    0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel));
	for (int i = 0; i < connections; i++) {
		len = snprintf(text, sizeof(text), "CONN %d 0", i);
		CHECK_EQ(len,
		    fdpass_send(channel[0], text, (size_t)len, channel[0]));
	}
}

static void
close_channel(void)
{
	close(channel[0]);
	close(channel[1]);
}

static void
take(const char *id)
{
	char text[KEEPER_HEAD + 5];

	(void)snprintf(text, sizeof(text), "%c%sweb", KEEPER_TAKE, id);
	CHECK_EQ(KEEPER_HEAD + 4,
	    fdpass_send(sock, text, KEEPER_HEAD + 4, channel[1]));
}

/* The next packet, and whether it has a descriptor, which is closed. */
static const char *
taken(bool *with_fd_out)
{
	int fd;
	ssize_t n = fdpass_recv_one(sock, packet, sizeof(packet) - 1, 0, &fd);

	CHECK(n >= 0);
	packet[n > 0 ? n : 0] = '\0';
	*with_fd_out = fd != -1 && close(fd) == 0;
	return packet;
}

static void
check_taken(int connections)
{
	char wanted[32];
	bool with_fd;

	for (int i = 0; i < connections; i++) {
		(void)snprintf(wanted, sizeof(wanted), "T" ONE "CONN %d 0", i);
		CHECK_STR(wanted, taken(&with_fd));
		CHECK(with_fd);
	}
	CHECK_STR("D", taken(&with_fd));
	CHECK(!with_fd);
}

TEST(what_lies_in_a_channel_comes_in_its_order)
{
	static const int counts[] = { 200, 0 };

	for (int i = 0; i < 2; i++) {
		open_channel(counts[i]);
		take(ONE);
		check_taken(counts[i]);
		close_channel();
	}
}

/* The worker may have shut its end down, or asked for credentials. */
TEST(a_worker_cannot_keep_a_channel_from_being_emptied)
{
	char text[2 * KEEPER_TAKEN_MAX];
	bool with_fd;
	int on = 1;

	open_channel(3);
	CHECK_EQ(0, shutdown(channel[1], SHUT_RDWR));
	take(ONE);
	check_taken(3);
	close_channel();
	open_channel(0);
	CHECK_EQ(0,
	    setsockopt(channel[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	CHECK_EQ(8, fdpass_send(channel[0], "CONN 0 0", 8, channel[0]));
	/* A message longer than any of ours is cut. */
	memset(text, 'x', sizeof(text));
	CHECK_EQ(sizeof(text),
	    fdpass_send(channel[0], text, sizeof(text), channel[0]));
	take(ONE);
	CHECK_STR("T" ONE "CONN 0 0", taken(&with_fd));
	CHECK_EQ(KEEPER_HEAD + KEEPER_TAKEN_MAX, strlen(taken(&with_fd)));
	CHECK(with_fd);
	check_taken(0);
	close_channel();
}

/* --- closing, and whom the keeper waits for ------------------------------- */

/* Whether the other end of the socket is closed everywhere. */
static bool
is_hung_up(int fd, int limit)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, limit) == 1 && (p.revents & POLLHUP) != 0;
}

static void
give_to_close(int fd, char how)
{
	char buf[] = "C\0\0\0\0\0\0\0\0web\0-";

	buf[sizeof(buf) - 2] = how;
	CHECK_EQ(sizeof(buf) - 1, fdpass_send(sock, buf, sizeof(buf) - 1, fd));
}

TEST(descriptors_are_closed_when_the_daemon_has_closed_its_own)
{
	int pair[2], out;

	out = hold(ONE);
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	give_to_close(pair[0], '-');
	CHECK_STR("D", heard());
	close(pair[0]);
	/* Nothing else is done meanwhile. */
	print(out, "line\n");
	CHECK(!is_hung_up(pair[1], 50));
	CHECK_EQ(1, fdpass_send(sock, "C", 1, -1));
	CHECK_STR("D", heard());
	CHECK(is_hung_up(pair[1], 0));
	CHECK_STR(OUT(ONE) "line", heard());
	close(pair[1]);
}

/* So its writer sees no reset. */
TEST(what_lies_in_a_socket_is_read_before_it_is_closed)
{
	int pair[2];
	char byte;

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_EQ(1, write(pair[1], "x", 1));
	give_to_close(pair[0], 'd');
	CHECK_STR("D", heard());
	close(pair[0]);
	CHECK_EQ(1, fdpass_send(sock, "C", 1, -1));
	CHECK_STR("D", heard());
	CHECK_EQ(0, read(pair[1], &byte, 1));
	close(pair[1]);
}

TEST(the_end_of_a_pipe_costs_no_time)
{
	int out;
	uint32_t moves;

	out = hold(ONE);
	print(out, "last\n");
	close(out);
	CHECK_STR(OUT(ONE) "last", heard());
	leave(TWO);
	CHECK_STR("D", heard());
	moves = page->moves;
	(void)poll(NULL, 0, 50);
	CHECK_EQ(moves, page->moves);
}

TEST(a_keeper_nobody_watches_says_that_it_is_busy_and_with_whom)
{
	int out;

	out = hold(ONE);
	page->watched = 0;
	print(out, "line\n");
	CHECK_STR("B", heard());
	CHECK_STR(OUT(ONE) "line", heard());
	CHECK_EQ(1, page->watched);
	print(out, "line\n");
	CHECK_STR(OUT(ONE) "line", heard());
	CHECK_EQ(0, memcmp(page->id, ONE, KEEPER_ID_LEN));
	CHECK_STR("web", page->app);
}

TESTS(begin, end)
