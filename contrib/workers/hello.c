/*
 * A sample worker: answers every HTTP request with a page about itself.  What
 * of HTTP/1.1 (RFC 9112) a client may rely on is here, so that it can be the
 * start of something real.  With keep_alive = true a connection is parked
 * between requests, else it has one.
 *
 *	cc -D_GNU_SOURCE hello.c $(pkg-config --cflags --libs apppool)
 */

#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <apppool.h>

/* Limits of a request: bytes, and milliseconds. */
#define HEAD_MAX 8192
#define BODY_MAX (1024 * 1024)
#define REQUEST_TIME 10000
#define LINGER_MAX (64 * 1024)
#define LINGER_TIME 2000

/* No status: the client has left. */
#define GONE (-1)

struct request {
	int fd;
	/* By this time it must be read and answered: ms, monotonic clock. */
	int64_t deadline;
	/* Of what is in head. */
	size_t used;
	size_t head_len;
	/* Points into head. */
	const char *method;
	/* HTTP/1.1: there must be a Host. */
	bool modern;
	bool has_host;
	bool has_length;
	bool has_coding;
	bool expects_continue;
	/* Of Connection. */
	bool says_close;
	bool says_keep;
	uint64_t body;
	/* The client may have sent more than was read. */
	bool unread;
	/* The last field: the head as received, and what came behind it. */
	char head[HEAD_MAX + 1];
};

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for an event.  Returns false at the deadline: ETIMEDOUT. */
static bool
await(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left = deadline - now_ms();

	if (left > 0 && poll(&p, 1, (int)left) != 0)
		return true;
	errno = ETIMEDOUT;
	return false;
}

/* As recv(2), but waits no longer than until deadline: ETIMEDOUT. */
static ssize_t
recv_until(int fd, void *buf, size_t size, int64_t deadline)
{
	ssize_t n;

	while ((n = recv(fd, buf, size, MSG_DONTWAIT)) == -1 &&
	    errno == EAGAIN && await(fd, POLLIN, deadline))
		;
	return n;
}

/* Sends all of it.  Returns false if the client does not take it. */
static bool
send_until(int fd, const char *text, size_t len, int64_t deadline)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			text += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN || !await(fd, POLLOUT, deadline)) {
			return false;
		}
	}
	return true;
}

/* The length of the head with its empty line, or 0 if that has not come. */
static size_t
head_end(const char *head, size_t used)
{
	const char *crlf = memmem(head, used, "\n\r\n", 3);
	const char *lf = memmem(head, used, "\n\n", 2);

	if (lf != NULL && (crlf == NULL || lf < crlf))
		return (size_t)(lf + 2 - head);
	return crlf == NULL ? 0 : (size_t)(crlf + 3 - head);
}

/* Reads as far as the end of the head.  Returns 0, a status, or GONE. */
static int
head_read(struct request *r)
{
	while ((r->head_len = head_end(r->head, r->used)) == 0) {
		ssize_t n;

		if (r->used == HEAD_MAX)
			return 431;
		n = recv_until(
		    r->fd, r->head + r->used, HEAD_MAX - r->used, r->deadline);
		if (n == -1 && errno == ETIMEDOUT)
			return r->used > 0 ? 408 : GONE;
		if (n <= 0)
			return GONE;
		r->used += (size_t)n;
	}
	return 0;
}

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

/* METHOD TARGET HTTP/1.x; the target is of no interest here. */
static int
request_line(struct request *r, char *line)
{
	char *target = strchr(line, ' ');
	char *version = target == NULL ? NULL : strchr(target + 1, ' ');

	if (version == NULL || target == line || version == target + 1)
		return 400;
	*target = '\0';
	version++;
	if (strncmp(version, "HTTP/", 5) != 0 || !digit(version[5]) ||
	    version[6] != '.' || !digit(version[7]) || version[8] != '\0')
		return 400;
	if (version[5] != '1')
		return 505;
	r->method = line;
	r->modern = version[7] != '0';
	return 0;
}

static int
content_length(struct request *r, const char *value)
{
	char *end;
	uint64_t length;

	errno = 0;
	length = strtoull(value, &end, 10);
	if (!digit(value[0]) || *end != '\0' || errno != 0 ||
	    (r->has_length && length != r->body))
		return 400;
	r->has_length = true;
	r->body = length;
	return 0;
}

/* A list of words; "close" counts more than "keep-alive". */
static void
connection_words(struct request *r, char *value)
{
	const char *word;

	while ((word = strsep(&value, ", \t")) != NULL) {
		if (strcasecmp(word, "close") == 0)
			r->says_close = true;
		else if (strcasecmp(word, "keep-alive") == 0)
			r->says_keep = true;
	}
}

/* Name: value.  A name with blanks in or before it may hide another. */
static int
field(struct request *r, char *line)
{
	char *value = strchr(line, ':');

	if (value == NULL || value == line)
		return 400;
	*value++ = '\0';
	if (strpbrk(line, " \t") != NULL)
		return 400;
	value += strspn(value, " \t");
	for (size_t n = strlen(value);
	     n > 0 && strchr(" \t", value[n - 1]) != NULL; n--)
		value[n - 1] = '\0';

	if (strcasecmp(line, "Content-Length") == 0)
		return content_length(r, value);
	if (strcasecmp(line, "Transfer-Encoding") == 0)
		r->has_coding = true;
	else if (strcasecmp(line, "Host") == 0)
		r->has_host = true;
	else if (strcasecmp(line, "Connection") == 0)
		connection_words(r, value);
	else if (strcasecmp(line, "Expect") == 0)
		r->expects_continue = strcasecmp(value, "100-continue") == 0;
	return 0;
}

/* Takes the head apart.  Returns 0 or a status. */
static int
head_parse(struct request *r)
{
	char *next = r->head;
	char *line;
	int status = 0;

	if (memchr(r->head, '\0', r->head_len) != NULL)
		return 400;
	r->head[r->head_len - 1] = '\0';
	while (status == 0 && (line = strsep(&next, "\n")) != NULL) {
		size_t len = strlen(line);

		if (len > 0 && line[len - 1] == '\r')
			line[--len] = '\0';
		if (len == 0)
			continue;
		if (strchr(line, '\r') != NULL)
			status = 400;
		else if (r->method == NULL)
			status = request_line(r, line);
		else
			status = field(r, line);
	}
	if (status == 0 && r->method == NULL)
		return 400;
	return status;
}

/* Whether the request is one for us.  Returns 0 or a status. */
static int
head_judge(const struct request *r)
{
	if (r->modern && !r->has_host)
		return 400;
	/* Both: a front end and we might disagree where the body ends. */
	if (r->has_coding)
		return r->has_length ? 400 : 411;
	if (r->body > BODY_MAX)
		return 413;
	if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0 &&
	    strcmp(r->method, "POST") != 0)
		return 405;
	return 0;
}

/* Reads the body and forgets it.  Returns 0, a status, or GONE. */
static int
body_skip(struct request *r)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char buf[8192];
	uint64_t have = r->used - r->head_len;

	if (r->expects_continue && r->modern && r->body > 0 && have == 0)
		(void)send(r->fd, go_on, strlen(go_on), MSG_NOSIGNAL);
	while (have < r->body) {
		uint64_t left = r->body - have;
		ssize_t n = recv_until(r->fd, buf,
		    left < sizeof(buf) ? left : sizeof(buf), r->deadline);

		if (n == -1 && errno == ETIMEDOUT)
			return 408;
		if (n <= 0)
			return GONE;
		have += (uint64_t)n;
	}
	r->unread = have > r->body;
	return 0;
}

/* Returns 200, the status of a refusal, or GONE. */
static int
request_read(struct request *r)
{
	int status;

	r->unread = true;
	if ((status = head_read(r)) == 0 && (status = head_parse(r)) == 0 &&
	    (status = head_judge(r)) == 0)
		status = body_skip(r);
	return status == 0 ? 200 : status;
}

static const char *
reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 411:
		return "Length Required";
	case 413:
		return "Content Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

/* Whether the connection may be parked when the request is answered. */
static bool
keeps(const struct request *r, int status)
{
	return apppool_keep_alive() == 1 && status == 200 && !r->says_close &&
	    (r->modern || r->says_keep);
}

/* Returns false if the client does not take it. */
static bool
answer(const struct request *r, int status, unsigned long long served)
{
	char page[1024];
	char text[2048];
	char date[64];
	bool bare = r->method != NULL && strcmp(r->method, "HEAD") == 0;
	time_t now = time(NULL);
	struct tm tm;
	int len;

	if (status == 200)
		len = snprintf(page, sizeof(page),
		    "Hello from %s\nslot %d\nid %s\npid %ld\n"
		    "requests served %llu\nwaited %lld us\n",
		    apppool_app(), apppool_slot(), apppool_id(), (long)getpid(),
		    served, apppool_waited(r->fd));
	else
		len = snprintf(
		    page, sizeof(page), "%d %s\n", status, reason(status));

	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT",
	    gmtime_r(&now, &tm));
	len = snprintf(text, sizeof(text),
	    "HTTP/1.1 %d %s\r\nDate: %s\r\n%s"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Length: %d\r\nConnection: %s\r\n\r\n%s",
	    status, reason(status), date,
	    status == 405 ? "Allow: GET, HEAD, POST\r\n" : "", len,
	    keeps(r, status) ? "keep-alive" : "close", bare ? "" : page);
	return send_until(r->fd, text, (size_t)len, r->deadline);
}

/*
 * Closing a TCP socket with input unread resets the connection, which can
 * take the answer from the client before that has read it.
 */
static void
linger(int fd)
{
	int64_t deadline = now_ms() + LINGER_TIME;
	char buf[8192];
	size_t total = 0;
	ssize_t n;

	(void)shutdown(fd, SHUT_WR);
	while (total < LINGER_MAX &&
	    (n = recv_until(fd, buf, sizeof(buf), deadline)) > 0)
		total += (size_t)n;
}

static void
request_begin(struct request *r, int fd, size_t used)
{
	memset(r, 0, offsetof(struct request, head));
	r->fd = fd;
	r->used = used;
	r->deadline = now_ms() + REQUEST_TIME;
}

/* Begins the next one if something of it was read together with this one. */
static bool
request_next(struct request *r)
{
	size_t rest = r->used - r->head_len;
	const char *at;

	rest = rest > r->body ? rest - (size_t)r->body : 0;
	at = r->head + r->used - rest;
	/* Some clients send an empty line behind a body, RFC 9112, 2.2. */
	for (; rest > 0 && (*at == '\r' || *at == '\n'); rest--)
		at++;
	memmove(r->head, at, rest);
	request_begin(r, r->fd, rest);
	return rest > 0;
}

/* Returns whether the connection is to be parked. */
static bool
serve(int fd, unsigned long long *served)
{
	static struct request r;
	int status;

	request_begin(&r, fd, 0);
	do {
		status = request_read(&r);
		if (status == GONE || !answer(&r, status, ++*served))
			return false;
		if (!keeps(&r, status)) {
			if (r.unread)
				linger(fd);
			return false;
		}
	} while (request_next(&r));
	return true;
}

int
main(void)
{
	unsigned long long served = 0;
	int fd;

	if (apppool_open() == -1) {
		if (errno == ENOENT)
			errx(64, "to be started by apppoold");
		err(71, "apppool_open");
	}
	if (apppool_ready() == -1)
		err(71, "apppool_ready");
	while ((fd = apppool_accept()) != -1) {
		if (serve(fd, &served))
			apppool_park(fd);
		else
			apppool_done(fd);
	}
	if (errno != ESHUTDOWN)
		err(71, "apppool_accept");
	return 0;
}
