/*
 * What clients are answered that an app refuses, and how long their connections
 * are kept; in virtual time, on real sockets.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "daemon/refusal.h"

#include "check.h"
#include "tcp.h"

#define BEGIN_REQUEST "\1\1\0\7\0\10\0\0"

/* --- the clock and the loop --------------------------------------------- */

static tstamp now;

static tstamp
virtual_now(void *arg)
{
	(void)arg;
	return now;
}

/* Handles what is ready; time stands still. */
static int
virtual_wait(
    void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	(void)arg;
	(void)timeout;
	return epoll_wait(epfd, events, n, 0);
}

static struct loop loop;
static struct refusals all;
static struct conf_app app;
static struct conf conf = { .apps = &app, .apps_len = 1 };

/* Connections that were closed, and those of them that had to be drained. */
static int closed, drained;

static void
close_conn(void *owner, int fd, bool tcp, bool drain)
{
	char bytes[65536];

	CHECK(owner == &app);
	CHECK(!tcp || !drain);
	while (drain && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
	close(fd);
	closed++;
	drained += drain;
}

static void
begin(enum conf_protocol protocol)
{
	static const struct loop_clock clock = {
		.now = virtual_now,
		.wait = virtual_wait,
	};

	now = TSPAN_SECONDS(100);
	closed = 0;
	drained = 0;
	CHECK_EQ(0, loop_init(&loop, &clock));
	CHECK_EQ(0, refusals_init(&all, &loop, close_conn));
	app = (struct conf_app){
		.refusal.on_full = CONF_ON_FULL_REFUSE,
		.refusal.protocol = protocol,
	};
	conf.refs = 1;
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
		int did = loop_turn(&loop, now);

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
	refusals_close(&all);
	CHECK(!refusals_any(&all));
	CHECK_EQ(1, conf.refs);
	refusals_fini(&all);
	loop_fini(&loop);
}

/* --- connections -------------------------------------------------------- */

struct pair {
	int client;
	int server;
	bool tcp;
};

static void
inet_pair(struct pair *p)
{
	int sv[2];

	tcp_pair(sv);
	p->tcp = true;
	p->client = sv[0];
	p->server = sv[1];
}

static void
unix_pair(struct pair *p)
{
	int sv[2];

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	p->tcp = false;
	p->client = sv[0];
	p->server = sv[1];
}

static void (*const pairs[])(struct pair *) = { inet_pair, unix_pair };

#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void
refuse(const struct pair *p)
{
	refusal_begin(&all, &app, &conf, &app, p->server, p->tcp, false, now);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* Reads to the end of the stream, as far as it has come; -1 and errno. */
static ssize_t
read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = -1;

		if (poll(&p, 1, 5000) == 1)
			n = recv(fd, buf + len, size - len, MSG_DONTWAIT);
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* The length of the answer, up to the end of the stream. */
static ssize_t
answered(int fd)
{
	char buf[4096];

	return read_all(fd, buf, sizeof(buf));
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
	struct pair p;
	int unread;

	unix_pair(&p);
	CHECK_EQ((ssize_t)len, send(p.client, bytes, len, 0));
	refusal_answer(&app, p.server, out);
	CHECK_EQ(0, ioctl(p.server, FIONREAD, &unread));
	CHECK_EQ((int)len, unread);
	close(p.client);
	close(p.server);
}

static void
http_is_answered_503(void)
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

	app = (struct conf_app){ .refusal.protocol = CONF_PROTOCOL_HTTP };
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

static void
fastcgi_is_answered_an_end_of_the_request(void)
{
	app = (struct conf_app){ .refusal.protocol = CONF_PROTOCOL_FASTCGI };
	CHECK_EQ(7, request_of(BEGIN_REQUEST, 8));
	CHECK_EQ(7, request_of(BEGIN_REQUEST "\0\1\0\0\0\0\0\0 and more", 25));
	CHECK_EQ(0xff01, request_of("\1\1\xff\1\0\10\3\0", 8));
}

static void
bytes_that_begin_no_fastcgi_request_are_number_1(void)
{
	app = (struct conf_app){ .refusal.protocol = CONF_PROTOCOL_FASTCGI };
	CHECK_EQ(1, request_of("\2\1\0\7\0\10\0\0", 8));
	CHECK_EQ(1, request_of("\1\4\0\7\0\10\0\0", 8));
	CHECK_EQ(1, request_of("\1\1\0\7\0\11\0\0", 8));
	CHECK_EQ(1, request_of("\1\1\0\7\1\10\0\0", 8));
	CHECK_EQ(1, request_of("\1\1\0\0\0\10\0\0", 8));
	CHECK_EQ(1, request_of("GET / HTTP/1.1\r\n", 16));
	CHECK_EQ(1, request_of("\xff\xff\xff\xff\xff\xff\xff\xff", 8));
}

static void
a_reply_file_goes_before_the_protocol(void)
{
	struct refusal_answer a;
	char text[] = "\0x";

	app = (struct conf_app){
		.refusal.on_full = CONF_ON_FULL_REPLY,
		.refusal.reply = text,
		.refusal.reply_len = 2,
		.refusal.protocol = CONF_PROTOCOL_HTTP,
	};
	CHECK(refusal_answers(&app));
	answer_to("", 0, &a);
	CHECK(a.bytes == text);
	CHECK_EQ(2, a.len);
}

/* --- how long ----------------------------------------------------------- */

static void
no_client_is_reset_over_an_unread_request(void)
{
	for (size_t i = 0; i < PAIRS; i++) {
		struct pair p;

		begin(CONF_PROTOCOL_HTTP);
		pairs[i](&p);
		CHECK_EQ(60000, send_zeros(p.client, 60000));
		refuse(&p);
		settle();
		CHECK_EQ(166, answered(p.client));
		CHECK(is_open(p.server));
		close(p.client);
		settle();
		CHECK(!is_open(p.server));
		end();
	}
}

static void
a_client_that_stays_is_closed_after_2_seconds(void)
{
	for (size_t i = 0; i < PAIRS; i++) {
		struct pair p;

		begin(CONF_PROTOCOL_HTTP);
		pairs[i](&p);
		refuse(&p);
		CHECK_EQ(now + TSPAN_SECONDS(2), timers_first(&loop.timers));
		pass(TSPAN_SECONDS(2) - 1);
		CHECK(is_open(p.server));
		pass(1);
		CHECK(!is_open(p.server));
		CHECK(timers_first(&loop.timers) == TSTAMP_NEVER);
		close(p.client);
		end();
	}
}

static void
a_client_that_sends_without_end_wakes_no_loop_and_is_cut(void)
{
	for (size_t i = 0; i < PAIRS; i++) {
		struct pair p;

		begin(CONF_PROTOCOL_HTTP);
		pairs[i](&p);
		refuse(&p);
		settle();
		for (int n = 0; n < 10; n++) {
			(void)send_zeros(p.client, 100000000);
			CHECK_EQ(0, loop_turn(&loop, now));
		}
		pass(TSPAN_SECONDS(2));
		CHECK(!is_open(p.server));
		real_rest();
		(void)send_zeros(p.client, 1);
		CHECK_EQ(0, send_zeros(p.client, 1));
		close(p.client);
		end();
	}
}

/* --- how many ----------------------------------------------------------- */

static void
as_many_as_256_are_kept_open(void)
{
	for (size_t i = 0; i < PAIRS; i++) {
		static struct pair p[REFUSAL_MAX + 1];

		begin(CONF_PROTOCOL_HTTP);
		for (size_t n = 0; n <= REFUSAL_MAX; n++) {
			pairs[i](&p[n]);
			CHECK_EQ(10, send_zeros(p[n].client, 10));
			refuse(&p[n]);
		}
		settle();
		CHECK(is_open(p[0].server));
		CHECK(is_open(p[REFUSAL_MAX - 1].server));
		CHECK(!is_open(p[REFUSAL_MAX].server));
		/* The one beyond them has its answer all the same. */
		CHECK_EQ(166,
		    recv(p[REFUSAL_MAX].client, (char[4096]){ 0 }, 4096, 0));
		pass(TSPAN_SECONDS(2));
		CHECK(!refusals_any(&all));
		for (size_t n = 0; n <= REFUSAL_MAX; n++)
			close(p[n].client);
		/* And there is room again. */
		pairs[i](&p[0]);
		refuse(&p[0]);
		settle();
		CHECK(is_open(p[0].server));
		close(p[0].client);
		end();
	}
}

/* --- long answers ------------------------------------------------------- */

static char long_answer[CONF_REPLY_MAX];

static void
begin_long(struct pair *p, size_t i)
{
	int small = 4096;

	begin(CONF_PROTOCOL_RAW);
	for (size_t n = 0; n < sizeof(long_answer); n++)
		long_answer[n] = (char)(n * 7 + n / 256);
	app.refusal.on_full = CONF_ON_FULL_REPLY;
	app.refusal.reply = long_answer;
	app.refusal.reply_len = sizeof(long_answer);
	pairs[i](p);
	(void)setsockopt(
	    p->server, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	(void)setsockopt(
	    p->client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	refuse(p);
}

static void
a_long_answer_is_written_as_it_is_read(void)
{
	for (size_t i = 0; i < PAIRS; i++) {
		static char got[CONF_REPLY_MAX + 1];
		size_t len = 0;
		struct pair p;
		ssize_t n = 1;

		begin_long(&p, i);
		CHECK_EQ(2, conf.refs);
		for (int t = 0; n > 0 && len < sizeof(got); t++) {
			struct pollfd f = { .fd = p.client, .events = POLLIN };

			(void)loop_turn(&loop, now);
			NEED(t < 1000);
			if (poll(&f, 1, 10) == 0)
				continue;
			n = recv(p.client, got + len, sizeof(got) - len,
			    MSG_DONTWAIT);
			if (n > 0)
				len += (size_t)n;
		}
		CHECK_EQ(0, n);
		CHECK_EQ(sizeof(long_answer), len);
		CHECK_EQ(0, memcmp(long_answer, got, sizeof(long_answer)));
		/* A reload may take the bytes away now. */
		CHECK_EQ(1, conf.refs);
		close(p.client);
		settle();
		CHECK(!refusals_any(&all));
		end();
	}
}

/* --- what lies in a Unix socket ----------------------------------------- */

static void
a_unix_socket_is_not_read_here(void)
{
	struct pair p;
	int unread = 0;

	begin(CONF_PROTOCOL_HTTP);
	unix_pair(&p);
	CHECK_EQ(4, write(p.client, "GET ", 4));
	refuse(&p);
	settle();
	CHECK_EQ(0, ioctl(p.server, FIONREAD, &unread));
	CHECK_EQ(4, unread);
	close(p.client);
	settle();
	CHECK_EQ(1, closed);
	CHECK_EQ(1, drained);
	end();
}

static void
one_that_a_process_was_given_is_not_drained(void)
{
	struct pair p;

	begin(CONF_PROTOCOL_HTTP);
	unix_pair(&p);
	refusal_begin(&all, &app, &conf, &app, p.server, false, true, now);
	close(p.client);
	settle();
	CHECK_EQ(1, closed);
	CHECK_EQ(0, drained);
	end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(http_is_answered_503);
	RUN(fastcgi_is_answered_an_end_of_the_request);
	RUN(bytes_that_begin_no_fastcgi_request_are_number_1);
	RUN(a_reply_file_goes_before_the_protocol);
	RUN(no_client_is_reset_over_an_unread_request);
	RUN(a_client_that_stays_is_closed_after_2_seconds);
	RUN(a_client_that_sends_without_end_wakes_no_loop_and_is_cut);
	RUN(as_many_as_256_are_kept_open);
	RUN(a_long_answer_is_written_as_it_is_read);
	RUN(a_unix_socket_is_not_read_here);
	RUN(one_that_a_process_was_given_is_not_drained);
	return check_finish();
}
