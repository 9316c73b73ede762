/* The requests of apppoolctl ping, and its reading of answers. */

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>

#include "check.h"
#include "ctl/ctl.h"

static struct ping_answer answer;
static struct text request;

/* The answer is read in pieces of so many bytes, and then an end, or an error.
 */
static struct {
	const char *data;
	size_t left;
	size_t piece;
	bool fails;
} source;

static ssize_t
read_source(void *cookie, char *buf, size_t size)
{
	size_t n = source.piece < source.left ? source.piece : source.left;

	(void)cookie;
	n = n < size ? n : size;
	memcpy(buf, source.data, n);
	source.data += n;
	source.left -= n;
	errno = ETIMEDOUT;
	return n == 0 && source.fails ? -1 : (ssize_t)n;
}

static bool
take_bytes(
    enum conf_protocol protocol, const char *data, size_t len, size_t piece)
{
	FILE *from = fopencookie(
	    NULL, "r", (cookie_io_functions_t){ .read = read_source });
	bool taken;

	source.data = data;
	source.left = len;
	source.piece = piece;
	memset(&answer, 0, sizeof(answer));
	answer.protocol = protocol;
	taken = ping_read(&answer, from);
	fclose(from);
	return taken;
}

static bool
is_whole(enum conf_protocol protocol, const char *data, size_t len)
{
	bool whole = false;

	for (size_t piece = len < 300 ? len : 300; piece > 0; piece--) {
		CHECK(take_bytes(protocol, data, len, piece));
		CHECK(piece == len || piece == 300 ||
		    whole == (answer.why == NULL));
		whole = answer.why == NULL;
	}
	CHECK_EQ(whole, answer.ended && answer.why == NULL);
	return whole;
}

static bool
take_http(const char *text)
{
	return is_whole(CONF_PROTOCOL_HTTP, text, strlen(text));
}

/* --- HTTP ----------------------------------------------------------------- */

TEST(an_answer_of_http_has_a_status_and_a_reason)
{
	CHECK(take_http("HTTP/1.1 200 All is well\r\nServer: x\r\n\r\nbody"));
	CHECK_EQ(200, answer.status);
	CHECK_STR("All is well", answer.reason);
	CHECK_EQ(4, answer.body);
	CHECK(ping_is_good(&answer));
}

/* The fault of an answer (NULL: none), and its status. */
static const struct {
	const char *text;
	const char *why;
	unsigned status;
	bool good;
} http[] = {
	{ "HTTP/1.0 204\n\n", NULL, 204, true },
	{ "HTTP/1.1 302 Found\r\n\r\n", NULL, 302, true },
	{ "HTTP/1.1 399 x\r\n\r\n", NULL, 399, true },
	{ "HTTP/1.1 404 Not Found\r\n\r\n", NULL, 404, false },
	{ "HTTP/1.1 503 Busy\r\n\r\n", NULL, 503, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
	    "the answer is shorter than it says", 200, false },
	{ "SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP/1", 0, false },
	{ "HTTP/2 200 OK\r\n\r\n", "the answer is not HTTP/1", 0, false },
	{ "\r\n\r\n", "the answer is not HTTP/1", 0, false },
	{ "HTTP/1.1 20x OK\r\n\r\n", "the status is no number", 0, false },
	{ "HTTP/1.1 2000 OK\r\n\r\n", "the status is no number", 0, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
	    "Content-Length is no number", 200, false },
	{ "HTTP/1.1 200 OK\r\nServer: x\r\n", "the answer ends in its head", 0,
	    false },
};

TEST(answers_of_http_are_judged_by_their_status_and_their_end)
{
	for (size_t i = 0; i < sizeof(http) / sizeof(http[0]); i++) {
		CHECK_EQ(http[i].why == NULL, take_http(http[i].text));
		CHECK_STR(http[i].why, answer.why);
		CHECK_EQ(http[i].status, answer.status);
		CHECK_EQ(http[i].good, ping_is_good(&answer));
	}
	CHECK(take_bytes(CONF_PROTOCOL_HTTP, "", 0, 1));
	CHECK_STR("closed without an answer", answer.why);
}

TEST(an_answer_with_a_length_needs_no_end_of_file)
{
	static const char text[] =
	    "HTTP/1.1 200 OK\r\nCONTENT-length:  5 \r\n\r\nhello";

	source.fails = true;
	CHECK(!take_bytes(CONF_PROTOCOL_HTTP, text, sizeof(text) - 2, 100));
	CHECK(take_bytes(CONF_PROTOCOL_HTTP, text, sizeof(text) - 1, 100));
	CHECK(ping_is_good(&answer));
	source.fails = false;
}

TEST(a_reason_is_cut_and_cannot_command_a_terminal)
{
	char text[300];

	CHECK(take_http("HTTP/1.1 500 \x1b[2J\xff\r\n\r\n"));
	CHECK_STR(" [2J?", answer.reason);
	(void)snprintf(text, sizeof(text), "HTTP/1.1 500 %0200d\r\n\r\n", 0);
	CHECK(take_http(text));
	CHECK_EQ(sizeof(answer.reason) - 1, strlen(answer.reason));
}

TEST(an_endless_head_is_given_up)
{
	static char line[PING_HEAD_MAX + 1];

	memset(line, 'x', sizeof(line));
	memcpy(line, "HTTP/1.1 200 ", 13);
	CHECK(take_bytes(CONF_PROTOCOL_HTTP, line, sizeof(line), 1000));
	CHECK_STR("the head is too long", answer.why);
}

TEST(an_endless_body_is_read_up_to_a_limit)
{
	static char body[17 << 20];

	memcpy(body, "HTTP/1.1 200 OK\r\n\r\n", 19);
	source.fails = true;
	CHECK(take_bytes(CONF_PROTOCOL_HTTP, body, sizeof(body), 65536));
	CHECK(ping_is_good(&answer));
	source.fails = false;
}

/* --- FastCGI -------------------------------------------------------------- */

static char stream[70000];
static size_t stream_len;

static void
put_record(int type, const char *content, size_t len, size_t padding)
{
	const char header[8] = { 1, (char)type, 0, 1, (char)(len >> 8),
		(char)len, (char)padding };

	memcpy(stream + stream_len, header, 8);
	memcpy(stream + stream_len + 8, content, len);
	memset(stream + stream_len + 8 + len, 0x55, padding);
	stream_len += 8 + len + padding;
}

static void
put_text(int type, const char *text, size_t padding)
{
	put_record(type, text, strlen(text), padding);
}

static void
put_end(unsigned exit_status, int protocol_status)
{
	const char end[8] = { (char)(exit_status >> 24),
		(char)(exit_status >> 16), (char)(exit_status >> 8),
		(char)exit_status, (char)protocol_status };

	put_record(3, end, sizeof(end), 0);
}

static bool
take_stream(void)
{
	bool whole = is_whole(CONF_PROTOCOL_FASTCGI, stream, stream_len);

	stream_len = 0;
	return whole;
}

TEST(an_answer_of_fastcgi_is_that_of_a_cgi_program)
{
	put_text(6, "Content-type: text/html\r\nSta", 3);
	put_text(6, "tus: 404 Not Found\r\n\r\nno su", 0);
	put_text(6, "ch page", 255);
	put_text(6, "", 0);
	put_end(0, 0);
	CHECK(take_stream());
	CHECK_EQ(404, answer.status);
	CHECK_STR("Not Found", answer.reason);
	CHECK_EQ(12, answer.body);
	CHECK(!ping_is_good(&answer));
}

/* An answer whose head is this, and whose program ends with this status. */
static void
take_head(const char *head, unsigned exit_status)
{
	put_text(6, head, 0);
	put_end(exit_status, 0);
	CHECK(take_stream());
}

TEST(a_cgi_head_without_status_is_good_if_the_program_ends_well)
{
	take_head("A: b\n\nbody", 0);
	CHECK_EQ(200, answer.status);
	CHECK(ping_is_good(&answer));
	take_head("Location: /elsewhere\n\n", 0);
	CHECK_EQ(302, answer.status);
	take_head("A: b\n\n", 255);
	CHECK_EQ(255, answer.app_status);
	CHECK(!ping_is_good(&answer));
}

TEST(the_beginning_of_stderr_is_kept)
{
	put_text(7, "PHP message: ", 1);
	put_text(7, "line 1\nline 2", 0);
	take_head("A: b\n\n", 0);
	CHECK_STR("PHP message: line 1 line 2", answer.complaint);
}

/* The bytes put are no whole answer, for this reason. */
static void
check_broken(const char *why)
{
	CHECK(!take_stream());
	CHECK_STR(why, answer.why);
}

TEST(a_broken_answer_of_fastcgi_says_why)
{
	CHECK(take_bytes(CONF_PROTOCOL_FASTCGI, "HTTP/1.1 200 OK", 15, 4));
	CHECK_STR("the answer is not FastCGI", answer.why);
	for (int status = 1; status <= 4; status++) {
		put_end(0, status);
		CHECK(!take_stream());
	}
	put_end(0, 2);
	check_broken("refused: overloaded");
	put_text(6, "A: b\n\nbody", 0);
	check_broken("the answer has no end");
	put_end(0, 0);
	check_broken("the answer ends in its head");
	put_text(5, "x", 0);
	CHECK(!take_stream());
	put_text(6, "A: b\n\n", 0);
	stream[3] = 2;
	check_broken("the answer is about another request");
	put_text(3, "short", 0);
	check_broken("the end of the answer has a wrong length");
}

/* --- what is asked -------------------------------------------------------- */

TEST(the_request_of_http_is_whole)
{
	text_init(&request, 16384);
	ping_put_request(CONF_PROTOCOL_HTTP, "/health?x=1", &request);
	text_put(&request, "", 1);
	CHECK(strncmp(request.data, "GET /health?x=1 HTTP/1.0\r\n", 26) == 0);
	CHECK(strstr(request.data, "\r\nHost: localhost\r\n") != NULL);
	CHECK_STR("\r\n\r\n", request.data + request.len - 5);
	text_fini(&request);
}

/* Finds a parameter, of less than 128 bytes, in the first PARAMS. */
static bool
has_param(const char *name, const char *value)
{
	char pair[256];
	int n = snprintf(pair, sizeof(pair), "%c%c%s%s", (int)strlen(name),
	    (int)strlen(value), name, value);

	return memmem(request.data, request.len, pair, (size_t)n) != NULL;
}

TEST(the_request_of_fastcgi_is_a_stream_of_whole_records)
{
	static const unsigned char types[] = { 1, 4, 4, 5 };
	size_t at = 0, n = 0;

	text_init(&request, 16384);
	ping_put_request(CONF_PROTOCOL_FASTCGI, "/srv/a.php?b=c", &request);
	CHECK(!request.failed);
	for (; at + 8 <= request.len && n < sizeof(types); n++) {
		const unsigned char *h =
		    (const unsigned char *)request.data + at;

		CHECK_EQ(1, h[0]);
		CHECK_EQ(types[n], h[1]);
		CHECK_EQ(1, h[3]);
		at += 8 + (size_t)(h[4] << 8 | h[5]);
	}
	CHECK_EQ(4, n);
	CHECK_EQ(request.len, at);
	CHECK(has_param("SCRIPT_FILENAME", "/srv/a.php"));
	CHECK(has_param("QUERY_STRING", "b=c"));
	CHECK(has_param("REQUEST_URI", "/srv/a.php?b=c"));
	CHECK(has_param("REDIRECT_STATUS", "200"));
	text_fini(&request);
}

TEST(a_long_path_has_a_long_length)
{
	static const char length[] = { '\x80', 0, 2, '\x58' };
	char path[601];

	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[600] = '\0';
	text_init(&request, 16384);
	ping_put_request(CONF_PROTOCOL_FASTCGI, path, &request);
	CHECK(memmem(request.data, request.len, length, 4) != NULL);
	text_fini(&request);
}

/* --- the way there -------------------------------------------------------- */

/* A network of our own, with 127.0.0.1 and no address of IPv6. */
static bool
leave_ipv6_behind(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd, sock;
	bool up, off;

	if (unshare(CLONE_NEWNET) == -1)
		return false;
	fd = open(
	    "/proc/sys/net/ipv6/conf/lo/disable_ipv6", O_WRONLY | O_CLOEXEC);
	off = fd != -1 && write(fd, "1", 1) == 1;
	close(fd);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	up = ioctl(sock, SIOCSIFFLAGS, &lo) == 0;
	close(sock);
	return off && up;
}

TEST_ALONE(any_address_is_reached_without_ipv6)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	socklen_t len = sizeof(any);
	char address[32];
	int listener;

	SKIP_IF(!leave_ipv6_behind(), "no network of our own here");
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	SKIP_IF(listener == -1, "no IPv6 at all here");
	NEED(bind(listener, (struct sockaddr *)&any, len) == 0);
	NEED(listen(listener, 1) == 0);
	NEED(getsockname(listener, (struct sockaddr *)&any, &len) == 0);
	(void)snprintf(
	    address, sizeof(address), "[::]:%u", ntohs(any.sin6_port));
	CHECK(ping_connect(address, TSPAN_SECONDS(10)) != -1);
}

TESTS(NULL, NULL)
