/* apppool-web(8), the status page: its connections, by libmicrohttpd. */

#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

#include "web/web.h"
#include "worker/apppool.h"

/* Where the control socket is, unless -s says otherwise; as in pool.conf(5). */
#define CONTROL "/run/apppoold/control.sock"

/* An answer is good for requests that come so much later. */
#define FRESH 300

/* Between two looks for the history. */
#define SAMPLE_EVERY 2000

/*
 * All that a client may take: until its first request has come, until the next
 * one has, and until an answer has been read. The whole counts, not the time
 * since something came: a client that sends a byte now and then would stay.
 */
#define HEAD_TIME 10000
#define IDLE_TIME 30000
#define ANSWER_TIME 60000

/*
 * Connections that may wait for a request. With one more, that which has waited
 * longest ends: otherwise a hundred half heads would keep /healthz waiting.
 */
#define IDLE_MAX 50

/* Bytes for the head of a request. */
#define HEAD_MAX 16384

/* A connection and its request. libmicrohttpd has a copy, which is its own. */
struct session {
	TAILQ_ENTRY(session) next;
	struct MHD_Connection *connection; /* NULL: not yet known */
	int fd;
	int copy;
	int64_t until; /* it is cut off then */
	bool busy; /* a request is under way: */
	int64_t since; /* an answer of that time or later will do */
	struct question *question; /* that it waits for, suspended; or NULL */
};

/* The connections, and their requests, which wait for the daemon together. */
struct site {
	struct MHD_Daemon *http;
	int http_fd; /* readable when site_turn() has something to do */
	struct answers answers;
	int64_t sample_at; /* metrics are to be added to the history */
	bool sampling; /* the daemon is being asked for them */
	bool closing; /* each session ends after the request under way */
	/* Of those without a request the first has waited longest for one. */
	TAILQ_HEAD(session_list, session) sessions;
};

static int64_t
site_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- requests ----------------------------------------------------------- */

static enum MHD_Result
respond(const struct site *s, struct session *x, const struct answer *a)
{
	enum MHD_Result result;

	if (a->response == NULL)
		return MHD_NO;
	if (s->closing)
		(void)MHD_add_response_header(
		    a->response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(x->connection, a->code, a->response);
	MHD_destroy_response(a->response);
	return result;
}

/*
 * A request: called when its head has come, once more when there is no body to
 * come, and again when it has been resumed.
 */
static enum MHD_Result
request_handle(void *arg, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *size,
    void **context)
{
	const int64_t now = site_now();
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct session *x = info == NULL ? NULL : info->socket_context;
	struct site *s = arg;
	struct answer a;

	(void)version;
	(void)data;
	if (x == NULL)
		return MHD_NO;
	if (*context == NULL) {
		*context = x;
		x->busy = true;
		x->since = now - FRESH;
		x->until = now + ANSWER_TIME;
		if (answers_refuse(&s->answers, connection, method, &a))
			return respond(s, x, &a);
		return MHD_YES;
	}
	*size = 0;
	x->question =
	    answers_to(&s->answers, connection, url, x->since, now, &a);
	if (x->question == NULL)
		return respond(s, x, &a);
	MHD_suspend_connection(connection);
	return MHD_YES;
}

/* The answer has been read, or the client has left. */
static void
request_over(void *arg, struct MHD_Connection *connection, void **context,
    enum MHD_RequestTerminationCode why)
{
	struct site *s = arg;
	struct session *x = *context;

	(void)connection;
	(void)why;
	if (x == NULL)
		return;
	x->busy = false;
	x->question = NULL;
	x->until = site_now() + IDLE_TIME;
	TAILQ_REMOVE(&s->sessions, x, next);
	TAILQ_INSERT_TAIL(&s->sessions, x, next);
	*context = NULL;
}

/* --- connections -------------------------------------------------------- */

static void
session_end(struct site *s, struct session *x)
{
	TAILQ_REMOVE(&s->sessions, x, next);
	(void)apppool_done(x->fd);
	free(x);
}

/* libmicrohttpd sees the end, and has the session end. */
static void
session_cut(struct session *x)
{
	x->until = INT64_MAX;
	(void)shutdown(x->fd, SHUT_RDWR);
}

/* A connection of libmicrohttpd begins or ends. */
static void
session_changed(void *arg, struct MHD_Connection *connection, void **context,
    enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct site *s = arg;
	struct session *x;

	if (what != MHD_CONNECTION_NOTIFY_STARTED) {
		if (*context != NULL)
			session_end(s, *context);
		return;
	}
	TAILQ_FOREACH(x, &s->sessions, next) {
		if (info == NULL || x->copy != info->connect_fd)
			continue;
		x->connection = connection;
		*context = x;
	}
}

static void
site_accept(struct site *s, int fd)
{
	struct session *x = calloc(1, sizeof(*x)), *first = NULL;
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);
	unsigned idle = 0;

	if (x == NULL) {
		(void)apppool_done(fd);
		return;
	}
	x->fd = fd;
	x->until = site_now() + HEAD_TIME;
	x->copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	TAILQ_INSERT_TAIL(&s->sessions, x, next);
	(void)getpeername(fd, (struct sockaddr *)&addr, &len);
	if (x->copy == -1 ||
	    MHD_add_connection(
		s->http, x->copy, (struct sockaddr *)&addr, len) != MHD_YES) {
		/* The library may have told of its end already. */
		if (TAILQ_LAST(&s->sessions, session_list) == x)
			session_end(s, x);
		return;
	}
	TAILQ_FOREACH(x, &s->sessions, next)
		if (!x->busy && x->until != INT64_MAX && idle++ == 0)
			first = x;
	if (idle > IDLE_MAX)
		session_cut(first);
}

/* --- turns -------------------------------------------------------------- */

static int
site_timeout(const struct site *s)
{
	const int64_t now = site_now();
	const struct session *x;
	int64_t at = s->sampling ? INT64_MAX : s->sample_at;
	MHD_UNSIGNED_LONG_LONG wait;

	for (int i = 0; i < ANSWERS_QUESTIONS; i++) {
		const struct question *q = &s->answers.questions[i];

		if (q->fd != -1 && q->deadline < at)
			at = q->deadline;
	}
	TAILQ_FOREACH(x, &s->sessions, next)
		if (x->until < at)
			at = x->until;
	if (MHD_get_timeout(s->http, &wait) == MHD_YES && wait < SAMPLE_EVERY &&
	    now + (int64_t)wait < at)
		at = now + (int64_t)wait;
	/* There is a sample to come, or the deadline of the one under way. */
	return at > now ? (int)(at - now) : 0;
}

static void
site_turn(struct site *s)
{
	const int64_t now = site_now();
	struct question *metrics = &s->answers.questions[ANSWERS_METRICS];
	struct session *x;

	for (int i = 0; i < ANSWERS_QUESTIONS; i++)
		question_go_on(&s->answers.questions[i], now);
	if (s->sampling && metrics->fd == -1) {
		s->sampling = false;
		if (metrics->why[0] == '\0')
			history_add(&s->answers.history, metrics->answer, now);
	}
	if (now >= s->sample_at && !s->sampling) {
		s->sampling = true;
		s->sample_at = now + SAMPLE_EVERY;
		question_ask(metrics, now);
	}
	TAILQ_FOREACH(x, &s->sessions, next) {
		if (x->question != NULL &&
		    question_is_answered(x->question, x->since)) {
			x->question = NULL;
			MHD_resume_connection(x->connection);
		}
		if (now >= x->until)
			session_cut(x);
	}
	(void)MHD_run(s->http);
}

/* Until the daemon wants no more, and no connection is left. */
static void
site_serve(struct site *s)
{
	struct session *x;
	bool open = true;
	int fd;

	while (open || !TAILQ_EMPTY(&s->sessions)) {
		/* poll(2) passes over what is -1. */
		struct pollfd fds[2 + ANSWERS_QUESTIONS] = {
			{ .fd = open ? apppool_fd() : -1, .events = POLLIN },
			{ .fd = s->http_fd, .events = POLLIN },
		};

		for (int i = 0; i < ANSWERS_QUESTIONS; i++)
			fds[2 + i] = (struct pollfd){
				.fd = s->answers.questions[i].fd,
				.events = POLLIN,
			};
		if (poll(fds, 2 + ANSWERS_QUESTIONS, site_timeout(s)) == -1 &&
		    errno != EINTR)
			err(EX_OSERR, "poll");
		while (fds[0].revents != 0 && (fd = apppool_accept()) != -1)
			site_accept(s, fd);
		if (fds[0].revents != 0 && errno == ESHUTDOWN) {
			open = false;
			/* Requests that have come are answered. */
			site_turn(s);
			s->closing = true;
			TAILQ_FOREACH(x, &s->sessions, next)
				if (!x->busy)
					session_cut(x);
		} else if (fds[0].revents != 0 && errno != EAGAIN &&
		    errno != EINTR && errno != ENOMEM) {
			err(EX_OSERR, "apppool_accept");
		}
		site_turn(s);
	}
}

/* --- the program --------------------------------------------------------- */

_Noreturn static void
web_usage(bool asked)
{
	(void)fputs("usage: apppool-web [-hV] [-H NAMES] [-s SOCKET]\n",
	    asked ? stdout : stderr);
	exit(asked ? EX_OK : EX_USAGE);
}

int
main(int argc, char **argv)
{
	const char *control = CONTROL, *names = "";
	struct site site;
	int option;

	while ((option = getopt(argc, argv, "hH:s:V")) != -1) {
		switch (option) {
		case 'H':
			names = optarg;
			break;
		case 's':
			control = optarg;
			break;
		case 'V':
			(void)puts("apppool-web " APPPOOL_VERSION);
			return EX_OK;
		default:
			web_usage(option == 'h');
		}
	}
	if (optind != argc)
		web_usage(false);
	if (apppool_open() == -1) {
		if (errno == ENOENT)
			errx(EX_USAGE,
			    "this is a worker: apppoold starts it, see "
			    "apppool-web(8)");
		err(EX_OSERR, "apppool_open");
	}
	site = (struct site){ .sample_at = site_now() };
	TAILQ_INIT(&site.sessions);
	answers_init(&site.answers, control, names);
	site.http = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME,
	    0, NULL, NULL, request_handle, &site, MHD_OPTION_NOTIFY_COMPLETED,
	    request_over, &site, MHD_OPTION_NOTIFY_CONNECTION, session_changed,
	    &site, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX,
	    MHD_OPTION_END);
	if (site.http == NULL)
		errx(EX_OSERR, "libmicrohttpd cannot start");
	site.http_fd =
	    MHD_get_daemon_info(site.http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	/* With none left, apppool_accept() returns. */
	if (fcntl(apppool_fd(), F_SETFL, O_NONBLOCK) == -1)
		err(EX_OSERR, "fcntl");
	if (apppool_ready() == -1)
		err(EX_OSERR, "apppool_ready");
	site_serve(&site);
	MHD_stop_daemon(site.http);
	answers_fini(&site.answers);
	return EX_OK;
}
