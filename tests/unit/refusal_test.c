/*
 * Answers to clients that an app refuses, and how long their connections
 * are kept; in virtual time, on real sockets.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "daemon/refusal.c"

#include "check.h"
#include "still.h"
#include "tcp.h"

static struct supervisor sup;
static struct conf_app app;
static struct conf conf = { .apps = &app, .apps_len = 1 };
static struct group group = { .sup = &sup, .config = &conf, .conf = &app };

/* Connections that were closed, and those of them that had to be drained. */
static int closed, drained;

void
keeper_close_conn(struct group *g, int fd, bool of_tcp, bool drain)
{
	char bytes[65536];

	CHECK(g == &group);
	CHECK(!of_tcp || !drain);
	while (drain && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
	close(fd);
	closed++;
	drained += drain;
}

/* A client, and its connection that is refused. */
static bool tcp;
static int client, server;

static void
connect_pair(void)
{
	int pair[2];

	if (tcp)
		tcp_pair(pair);
	else
		CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	client = pair[0];
	server = pair[1];
}

void
apps_over(struct supervisor *s, const struct action *a, tstamp at)
{
	(void)s;
	(void)a;
	(void)at;
}

const char *
group_failure(const struct group *g, char buf[GROUP_FAILURE_MAX])
{
	(void)g;
	return strcpy(buf, "exit 1");
}

static void
begin(void)
{

	now = TSPAN_SECONDS(100);
	closed = 0;
	drained = 0;
	CHECK_EQ(0, loop_init(&sup.loop, &still_clock));
	app = (struct conf_app){
		.refusal.on_full = CONF_ON_FULL_REFUSE,
		.refusal.protocol = CONF_PROTOCOL_HTTP,
	};
	conf.refs = 1;
	connect_pair();
}

static void
real_rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = TSPAN_MSECONDS(1) }, NULL);
}

/* Turns until nothing more happens. */
static void
settle(void)
{
	int quiet = 0;

	for (int i = 0; i < 5000 && quiet < 3; i++) {
		int did = loop_turn(&sup.loop, now);

		if (did > 0)
			quiet = 0;
		else
			quiet++;
		real_rest();
	}
}

static void
pass(tspan span)
{
	now += span;
	settle();
}

static void
end(void)
{
	close(client);
	pass(REFUSAL_TIME);
	CHECK_EQ(0, sup.refusals.n);
	CHECK_EQ(1, conf.refs);
	loop_fini(&sup.loop);
}

/* --- connections -------------------------------------------------------- */

static void
refuse(void)
{
	refusal_begin(&group, server, tcp, false, now);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* The length of the answer, up to the end of the stream; -1 and errno. */
static ssize_t
answered(void)
{
	struct pollfd p = { .fd = client, .events = POLLIN };
	char buf[4096];
	ssize_t len = 0, n;

	do {
		n = poll(&p, 1, 5000) == 1
		    ? recv(client, buf, sizeof(buf), MSG_DONTWAIT)
		    : -1;
		len += n;
	} while (n > 0);
	return n == -1 ? -1 : len;
}

static ssize_t
send_zeros(int fd, size_t len)
{
	static char zeros[65536];
	size_t sent = 0;

	while (sent < len) {
		size_t part =
		    len - sent < sizeof(zeros) ? len - sent : sizeof(zeros);
		ssize_t n = send(fd, zeros, part, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n == -1)
			break;
		sent += (size_t)n;
	}
	return (ssize_t)sent;
}

/* --- answers ------------------------------------------------------------ */

/* The answer to a client that has sent these bytes. */
static void
answer_to(const void *bytes, size_t len, struct refusal_answer *out)
{
	int unread;

	CHECK_EQ((ssize_t)len, send(client, bytes, len, 0));
	refusal_answer(&group, server, out);
	CHECK_EQ(0, ioctl(server, FIONREAD, &unread));
	CHECK_EQ((int)len, unread);
	(void)recv(server, (char[64]){ 0 }, 64, MSG_DONTWAIT);
}

TEST(http_is_answered_503)
{
	static const char expected[] =
	    "HTTP/1.1 503 Service Unavailable\r\n"
	    "Content-Type: text/plain\r\n"
	    "Content-Length: 49\r\n"
	    "Retry-After: 5\r\n"
	    "Connection: close\r\n"
	    "\r\n"
	    "The service is too busy. Please try again later.\n";
	struct refusal_answer a;

	answer_to("GET / HTTP/1.1\r\n", 16, &a);
	NEED(a.bytes != NULL && a.len == strlen(expected));
	CHECK_EQ(0, memcmp(expected, a.bytes, a.len));
	CHECK_EQ(49, strlen(strstr(expected, "\r\n\r\n") + 4));
}

/* The request in the answer to a client that has sent these bytes. */
static unsigned
request_of(const void *bytes, size_t len)
{
	static const unsigned char expected[REFUSAL_FASTCGI] = { 1, 3, 0, 0, 0,
		8, 0, 0, 0, 0, 0, 0, 2 };
	unsigned char record[REFUSAL_FASTCGI];
	struct refusal_answer a;
	unsigned id;

	answer_to(bytes, len, &a);
	if (!CHECK_EQ(REFUSAL_FASTCGI, a.len))
		return 0;
	memcpy(record, a.bytes, sizeof(record));
	id = (unsigned)record[2] << 8 | record[3];
	record[2] = record[3] = 0;
	CHECK_EQ(0, memcmp(expected, record, sizeof(record)));
	return id;
}

TEST(fastcgi_is_answered_an_end_of_the_request)
{
	static const struct {
		unsigned id;
		const char *bytes; /* 8 of them */
	} cases[] = {
		{ 7, "\1\1\0\7\0\10\0\0" },
		{ 0xff01, "\1\1\xff\1\0\10\3\0" },
		/* Bytes that begin no request are of number 1. */
		{ 1, "\2\1\0\7\0\10\0\0" },
		{ 1, "\1\4\0\7\0\10\0\0" },
		{ 1, "\1\1\0\7\0\11\0\0" },
		{ 1, "\1\1\0\7\1\10\0\0" },
		{ 1, "\1\1\0\0\0\10\0\0" },
		{ 1, "GET / HTTP/1.1\r\n" },
		{ 1, "\xff\xff\xff\xff\xff\xff\xff\xff" },
	};

	app.refusal.protocol = CONF_PROTOCOL_FASTCGI;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(cases[i].id, request_of(cases[i].bytes, 8));
	CHECK_EQ(7, request_of("\1\1\0\7\0\10\0\0\0\1 and more", 19));
}

TEST(a_reply_file_goes_before_the_protocol)
{
	struct refusal_answer a;
	char text[] = "\0x";

	app.refusal.on_full = CONF_ON_FULL_REPLY;
	app.refusal.reply = text;
	app.refusal.reply_len = 2;
	CHECK(refusal_answers(&app));
	answer_to("", 0, &a);
	CHECK(a.bytes == text);
	CHECK_EQ(2, a.len);
}

/* --- how long ----------------------------------------------------------- */

static void
no_client_is_reset_over_an_unread_request(void)
{
	CHECK_EQ(60000, send_zeros(client, 60000));
	refuse();
	settle();
	CHECK_EQ(166, answered());
	CHECK(is_open(server));
	close(client);
	settle();
	CHECK(!is_open(server));
}

static void
a_client_that_stays_is_closed_after_2_seconds(void)
{
	refuse();
	CHECK_EQ(now + TSPAN_SECONDS(2), timers_first(&sup.loop.timers));
	pass(TSPAN_SECONDS(2) - 1);
	CHECK(is_open(server));
	pass(1);
	CHECK(!is_open(server));
	CHECK(timers_first(&sup.loop.timers) == TSTAMP_NEVER);
}

static void
a_client_that_sends_without_end_wakes_no_loop_and_is_cut(void)
{
	refuse();
	settle();
	for (int n = 0; n < 10; n++) {
		(void)send_zeros(client, 100000000);
		CHECK_EQ(0, loop_turn(&sup.loop, now));
	}
	pass(TSPAN_SECONDS(2));
	CHECK(!is_open(server));
	real_rest();
	(void)send_zeros(client, 1);
	CHECK_EQ(0, send_zeros(client, 1));
}

/* --- how many ----------------------------------------------------------- */

static void
as_many_as_256_are_kept_open(void)
{
	static int clients[REFUSAL_MAX + 1], servers[REFUSAL_MAX + 1];

	for (size_t n = 0; n <= REFUSAL_MAX; n++) {
		connect_pair();
		clients[n] = client;
		servers[n] = server;
		CHECK_EQ(10, send_zeros(client, 10));
		refuse();
	}
	settle();
	CHECK(is_open(servers[0]));
	CHECK(is_open(servers[REFUSAL_MAX - 1]));
	CHECK(!is_open(servers[REFUSAL_MAX]));
	/* The one beyond them has its answer all the same. */
	CHECK_EQ(166, recv(client, (char[4096]){ 0 }, 4096, 0));
	pass(TSPAN_SECONDS(2));
	CHECK_EQ(0, sup.refusals.n);
	for (size_t n = 0; n <= REFUSAL_MAX; n++)
		close(clients[n]);
	/* And there is room again. */
	connect_pair();
	refuse();
	settle();
	CHECK(is_open(server));
}

/* --- long answers ------------------------------------------------------- */

static char long_answer[CONF_REPLY_MAX];

static void
a_long_answer_is_written_as_it_is_read(void)
{
	static char got[CONF_REPLY_MAX + 1];
	const int small = 4096;
	size_t len = 0;
	ssize_t n = 1;

	for (size_t i = 0; i < sizeof(long_answer); i++)
		long_answer[i] = (char)(i * 7 + i / 256);
	app.refusal.protocol = CONF_PROTOCOL_RAW;
	app.refusal.on_full = CONF_ON_FULL_REPLY;
	app.refusal.reply = long_answer;
	app.refusal.reply_len = sizeof(long_answer);
	(void)setsockopt(server, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	(void)setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	refuse();
	CHECK_EQ(2, conf.refs);
	for (int t = 0; n > 0 && len < sizeof(got); t++) {
		struct pollfd f = { .fd = client, .events = POLLIN };

		(void)loop_turn(&sup.loop, now);
		NEED(t < 1000);
		if (poll(&f, 1, 10) == 0)
			continue;
		n = recv(client, got + len, sizeof(got) - len, MSG_DONTWAIT);
		if (n > 0)
			len += (size_t)n;
	}
	CHECK_EQ(0, n);
	CHECK_EQ(sizeof(long_answer), len);
	CHECK_EQ(0, memcmp(long_answer, got, sizeof(long_answer)));
	/* A reload may take the bytes away now. */
	CHECK_EQ(1, conf.refs);
	close(client);
	settle();
	CHECK_EQ(0, sup.refusals.n);
}

/* --- what lies in a Unix socket ----------------------------------------- */

TEST(a_unix_socket_is_not_read_here)
{
	int unread = 0;

	CHECK_EQ(4, write(client, "GET ", 4));
	refuse();
	settle();
	CHECK_EQ(0, ioctl(server, FIONREAD, &unread));
	CHECK_EQ(4, unread);
	close(client);
	settle();
	CHECK_EQ(1, closed);
	CHECK_EQ(1, drained);
}

TEST(one_that_a_process_was_given_is_not_drained)
{
	refusal_begin(&group, server, false, true, now);
	close(client);
	settle();
	CHECK_EQ(1, closed);
	CHECK_EQ(0, drained);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check.begin = begin;
	check.end = end;
	check_all();
	for (int i = 0; i < 2; i++) {
		tcp = i == 1;
		RUN(no_client_is_reset_over_an_unread_request);
		RUN(a_client_that_stays_is_closed_after_2_seconds);
		RUN(a_client_that_sends_without_end_wakes_no_loop_and_is_cut);
		RUN(as_many_as_256_are_kept_open);
		RUN(a_long_answer_is_written_as_it_is_read);
	}
	return check_finish();
}
