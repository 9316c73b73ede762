/* A health check by a request of its own. */

#include <sys/socket.h>
#include <sys/time.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "ctl/ping.h"
#include "ctl/ping_answer.h"
#include "ctl/ping_connect.h"
#include "ctl/ping_request.h"
#include "sys/json.h"

#define PATH_LENGTH_MAX 1024
#define TIMEOUT TSPAN_SECONDS(5)
#define REQUEST_MAX 16384

struct ping {
	const char *app;
	const char *path;
	tspan timeout;
	enum conf_protocol protocol;
	char *where; /* the lines of the daemon, owned; both lie in it */
	const char *address;
	const char *failed; /* "failed: REASON"; NULL: the app has not */
	tstamp began;
	tstamp ended;
	bool connected;
	char error[200]; /* why there is no answer; "": there is one */
	struct ping_answer answer;
};

/* --- what to do ----------------------------------------------------------- */

/* The path goes into a request as it is. */
static bool
is_path(const char *path)
{
	if (path[0] != '/' || strlen(path) > PATH_LENGTH_MAX)
		return false;
	for (; *path != '\0'; path++)
		if (*path <= ' ' || *path > '~')
			return false;
	return true;
}

static bool
take_path(struct ping *p, const char *path)
{
	p->path = path == NULL ? "/" : path;
	if (is_path(p->path))
		return true;
	(void)fputs("apppoolctl: --path: a path begins with /, is printable "
		    "and without spaces\n",
	    stderr);
	return false;
}

/* Reads the answer "http 127.0.0.1:80", and "failed: REASON" if that follows.
 */
static bool
read_where(struct ping *p)
{
	char *end = strchr(p->where, '\n'), *space = strchr(p->where, ' ');

	if (end == NULL || space == NULL || space > end)
		return false;
	*end = *space = '\0';
	p->address = space + 1;
	if (end[1] != '\0') {
		p->failed = end + 1;
		end[1 + strcspn(end + 1, "\n")] = '\0';
	}
	return conf_protocol_find(p->where, &p->protocol);
}

/* Asks the daemon for protocol and address. 0, or an exit status. */
static int
ask_where(struct ping *p, const struct ask *daemon, char *const *words)
{
	const struct ask plain = {
		.file = daemon->file,
		.socket = daemon->socket,
	};
	int status = ask_text(&plain, words, &p->where);

	/* An app that does not exist is no result of a health check. */
	if (status == ASK_REFUSED)
		return EX_UNAVAILABLE;
	if (status == EX_OK && !read_where(p)) {
		(void)fputs("apppoolctl: the daemon does not know ping as we "
			    "do: another version?\n",
		    stderr);
		return EX_UNAVAILABLE;
	}
	return status;
}

/* --- doing it ------------------------------------------------------------- */

static void
set_error(struct ping *p, const char *what)
{
	if (errno == ETIMEDOUT)
		(void)snprintf(p->error, sizeof(p->error), "%s within %g s",
		    p->connected ? "no whole answer" : "not connected",
		    tspan_to_seconds(p->timeout));
	else
		(void)snprintf(p->error, sizeof(p->error), "%s: %s", what,
		    strerror(errno));
}

/* A server may refuse without reading all: its answer is read all the same. */
static void
send_request(const struct ping *p, int fd)
{
	struct text request;
	size_t sent = 0;

	text_init(&request, REQUEST_MAX);
	ping_request(p->protocol, p->path, &request);
	while (sent < request.len) {
		ssize_t n = send(
		    fd, request.data + sent, request.len - sent, MSG_NOSIGNAL);

		if (n == -1 && errno != EINTR)
			break;
		if (n > 0)
			sent += (size_t)n;
	}
	text_fini(&request);
}

/* As recv(2), until the timeout, with ETIMEDOUT then. */
static ssize_t
receive(const struct ping *p, int fd, char *buf, size_t size)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	tspan left = p->began + p->timeout - ask_clock();
	struct timespec t = { left / TSPAN_SECONDS(1),
		left % TSPAN_SECONDS(1) };
	int n = left > 0 ? ppoll(&pfd, 1, &t, NULL) : 0;

	if (n > 0)
		return recv(fd, buf, size, 0);
	if (n == 0)
		errno = ETIMEDOUT;
	return -1;
}

static void
read_answer(struct ping *p, int fd)
{
	static char buf[65536];
	struct ping_answer *a = &p->answer;

	while (a->state == PING_MORE) {
		ssize_t n = receive(p, fd, buf, sizeof(buf));

		if (n > 0)
			(void)ping_answer_put(a, buf, (size_t)n);
		else if (n == 0 || (errno == ECONNRESET && a->head_done))
			/* A server that has not read all of a request resets.
			 */
			(void)ping_answer_end(a);
		else if (errno != EINTR)
			break;
	}
	if (a->state == PING_MORE)
		set_error(p, "no whole answer");
}

static void
try_app(struct ping *p)
{
	int fd;

	ping_answer_init(&p->answer, p->protocol);
	p->began = ask_clock();
	fd = ping_connect(p->address, p->timeout);
	p->connected = fd != -1;
	if (fd == -1) {
		set_error(p, "cannot connect");
	} else {
		if (p->protocol != CONF_PROTOCOL_RAW) {
			send_request(p, fd);
			read_answer(p, fd);
		}
		(void)close(fd);
	}
	p->ended = ask_clock();
}

/* --- telling -------------------------------------------------------------- */

static bool
is_good(const struct ping *p)
{
	if (p->protocol == CONF_PROTOCOL_RAW)
		return p->connected && p->failed == NULL;
	return p->connected && ping_answer_good(&p->answer);
}

/* The result in words, with the exit status of the program if it gave one. */
static void
explain(const struct ping *p, struct text *t)
{
	const struct ping_answer *a = &p->answer;

	if (p->error[0] != '\0')
		text_puts(t, p->error);
	else if (p->protocol == CONF_PROTOCOL_RAW)
		/* A connection alone shows no failure of the app. */
		text_puts(t, p->failed == NULL ? "connected" : p->failed);
	else if (a->state == PING_BROKEN)
		text_puts(t, a->why);
	else
		text_printf(t, "%u%s%s", a->status,
		    a->reason[0] == '\0' ? "" : " ", a->reason);
	if (a->app_status != 0)
		text_printf(
		    t, ", exit status %lu", (unsigned long)a->app_status);
}

static void
tell(const struct ping *p, struct text *t)
{
	text_printf(t, "%s: ", p->app);
	explain(p, t);
	text_printf(t, ", %.1f ms (%s)\n", (double)(p->ended - p->began) / 1e6,
	    p->address);
	if (p->answer.complaint[0] != '\0')
		text_printf(t, "%s: stderr: %s\n", p->app, p->answer.complaint);
}

static void
tell_json(const struct ping *p, struct text *t)
{
	const struct ping_answer *a = &p->answer;
	struct text why;
	struct json j;

	text_init(&why, 1024);
	explain(p, &why);
	text_put(&why, "", 1);
	json_init(&j, t);
	json_object(&j);
	json_put_string(&j, "app", p->app);
	json_put_string(&j, "address", p->address);
	json_put_string(&j, "protocol", conf_protocol_name(p->protocol));
	json_put_bool(&j, "good", is_good(p));
	json_key(&j, "status");
	if (a->status == 0)
		json_null(&j);
	else
		json_uint(&j, a->status);
	json_put_span(&j, "time", p->ended - p->began);
	json_put_string(&j, "text", why.data);
	json_put_string(
	    &j, "stderr", a->complaint[0] == '\0' ? NULL : a->complaint);
	json_object_end(&j);
	text_puts(t, "\n");
	text_fini(&why);
}

int
ping_run(const struct ask *daemon, const char *path, char *const *words)
{
	static struct ping p;
	struct text t;
	int status;

	if (!take_path(&p, path))
		return EX_USAGE;
	p.timeout = daemon->timeout == 0 ? TIMEOUT : daemon->timeout;
	p.app = words[1];
	status = ask_where(&p, daemon, words);
	if (status == EX_OK) {
		try_app(&p);
		status = is_good(&p) ? EX_OK : ASK_REFUSED;
		text_init(&t, 65536);
		if (daemon->json)
			tell_json(&p, &t);
		else
			tell(&p, &t);
		(void)fwrite(t.data, 1, t.len, stdout);
		if (fflush(stdout) == EOF) {
			perror("apppoolctl: stdout");
			status = EX_IOERR;
		}
		text_fini(&t);
	}
	free(p.where);
	return status;
}
