/* Connections and requests, by libmicrohttpd. */

#include <sys/socket.h>
#include <sys/types.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

#include "web/site.h"
#include "worker/apppool.h"

/* An answer is good for requests that come so much later, in milliseconds. */
#define FRESH 300

/* Between two looks for the history, in milliseconds. */
#define SAMPLE_EVERY 2000

/* Seconds for a request, and between two. */
#define CONNECTION_TIME 30

/* Bytes for the head of a request. */
#define HEAD_MAX 16384

/* A connection. libmicrohttpd has a copy, which is its own. */
struct session {
	LIST_ENTRY(session) next;
	int fd;
	int copy;
	bool busy; /* a request is under way */
};

struct request {
	LIST_ENTRY(request) next; /* while it waits */
	struct MHD_Connection *connection;
	struct question *question; /* that it waits for; NULL: it does not */
	int64_t since; /* an answer of that time or later will do */
};

int64_t
site_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- requests ----------------------------------------------------------- */

static struct session *
session_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info == NULL ? NULL : info->socket_context;
}

/* Sends an answer, of which the reference is taken. */
static enum MHD_Result
respond(const struct site *s, struct MHD_Connection *connection,
    const struct answer *a)
{
	enum MHD_Result result;

	if (a->response == NULL)
		return MHD_NO;
	if (s->closing)
		(void)MHD_add_response_header(
		    a->response, "Connection", "close");
	result = MHD_queue_response(connection, a->code, a->response);
	MHD_destroy_response(a->response);
	return result;
}

/* The request waits until the daemon has answered. */
static void
suspend(struct site *s, struct request *r, struct question *q)
{
	r->question = q;
	LIST_INSERT_HEAD(&s->waiting, r, next);
	MHD_suspend_connection(r->connection);
}

/* The head of a request has come. NULL: there is no memory. */
static struct request *
begin(struct MHD_Connection *connection)
{
	struct request *r = calloc(1, sizeof(*r));
	struct session *x = session_of(connection);

	if (x != NULL)
		x->busy = true;
	if (r == NULL)
		return NULL;
	r->connection = connection;
	r->since = site_now() - FRESH;
	return r;
}

static enum MHD_Result
answer(struct site *s, struct request *r, const char *url)
{
	struct question *q = answers_question(&s->answers, url);
	struct answer a;

	if (q != NULL && !question_is_answered(q, r->since))
		question_ask(q, site_now());
	if (q != NULL && !question_is_answered(q, r->since)) {
		suspend(s, r, q);
		return MHD_YES;
	}
	a = answers_to(&s->answers, url);
	return respond(s, r->connection, &a);
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *size,
    void **context)
{
	struct site *s = arg;
	struct request *r = *context;
	struct answer a;

	(void)version;
	(void)data;
	if (r == NULL) {
		*context = r = begin(connection);
		if (r == NULL)
			return MHD_NO;
		/* Before any body has come. */
		if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
		    strcmp(method, MHD_HTTP_METHOD_HEAD) == 0)
			return MHD_YES;
		a = answers_to_method();
		return respond(s, connection, &a);
	}
	*size = 0;
	return answer(s, r, url);
}

static void
completed(void *arg, struct MHD_Connection *connection, void **context,
    enum MHD_RequestTerminationCode why)
{
	struct session *x = session_of(connection);
	struct request *r = *context;

	(void)arg;
	(void)why;
	if (x != NULL)
		x->busy = false;
	if (r != NULL && r->question != NULL)
		LIST_REMOVE(r, next);
	free(r);
	*context = NULL;
}

/* Resumes the requests whose question is answered now. */
static void
wake(struct site *s)
{
	struct request *r, *next;

	LIST_FOREACH_SAFE(r, &s->waiting, next, next)
	{
		if (!question_is_answered(r->question, r->since))
			continue;
		LIST_REMOVE(r, next);
		r->question = NULL;
		MHD_resume_connection(r->connection);
	}
}

/* --- connections -------------------------------------------------------- */

static void
end_session(struct session *x)
{
	LIST_REMOVE(x, next);
	(void)apppool_done(x->fd);
	free(x);
}

/* Of a connection that begins: its session, by the copy. */
static struct session *
find_session(struct site *s, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct session *x;

	LIST_FOREACH(x, &s->sessions, next)
		if (info != NULL && x->copy == info->connect_fd)
			return x;
	return NULL;
}

static void
changed(void *arg, struct MHD_Connection *connection, void **context,
    enum MHD_ConnectionNotificationCode what)
{
	struct site *s = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*context = find_session(s, connection);
	else if (*context != NULL)
		end_session(*context);
}

void
site_accept(struct site *s, int fd)
{
	struct session *x = calloc(1, sizeof(*x));
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);

	if (x == NULL) {
		(void)apppool_done(fd);
		return;
	}
	x->fd = fd;
	x->copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	LIST_INSERT_HEAD(&s->sessions, x, next);
	(void)getpeername(fd, (struct sockaddr *)&addr, &len);
	if (x->copy == -1 ||
	    MHD_add_connection(
		s->http, x->copy, (struct sockaddr *)&addr, len) != MHD_YES)
		end_session(x);
}

bool
site_has_sessions(const struct site *s)
{
	return !LIST_EMPTY(&s->sessions);
}

void
site_close(struct site *s)
{
	struct session *x;

	s->closing = true;
	/* libmicrohttpd sees the end, and ends the session. */
	LIST_FOREACH(x, &s->sessions, next)
		if (!x->busy)
			(void)shutdown(x->fd, SHUT_RDWR);
}

/* --- beginning and end -------------------------------------------------- */

bool
site_init(struct site *s, const char *control)
{
	const union MHD_DaemonInfo *info;

	*s = (struct site){ .sample_at = site_now() };
	LIST_INIT(&s->sessions);
	LIST_INIT(&s->waiting);
	answers_init(&s->answers, control);
	s->http = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME,
	    0, NULL, NULL, handle, s, MHD_OPTION_NOTIFY_COMPLETED, completed, s,
	    MHD_OPTION_NOTIFY_CONNECTION, changed, s,
	    MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_TIME,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX,
	    MHD_OPTION_END);
	if (s->http == NULL)
		return false;
	info = MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_EPOLL_FD);
	s->http_fd = info->epoll_fd;
	return true;
}

void
site_fini(struct site *s)
{
	MHD_stop_daemon(s->http);
	answers_fini(&s->answers);
}

/* --- turns -------------------------------------------------------------- */

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int
site_timeout(struct site *s)
{
	const int64_t now = site_now();
	int64_t at = s->sample_at;
	MHD_UNSIGNED_LONG_LONG wait;

	if (s->answers.status.fd != -1)
		at = earlier(at, s->answers.status.deadline);
	if (s->answers.metrics.fd != -1)
		at = earlier(at, s->answers.metrics.deadline);
	if (MHD_get_timeout(s->http, &wait) == MHD_YES && wait < SAMPLE_EVERY)
		at = earlier(at, now + (int64_t)wait);
	return at > now ? (int)(at - now) : 0;
}

/* Adds the metrics to the history, every two seconds. */
static void
sample(struct site *s, int64_t now)
{
	if (s->sampling && s->answers.metrics.fd == -1) {
		s->sampling = false;
		if (s->answers.metrics.why[0] == '\0')
			history_add(&s->answers.history,
			    s->answers.metrics.answer, now / 1000);
	}
	if (now >= s->sample_at && !s->sampling) {
		s->sampling = true;
		s->sample_at = now + SAMPLE_EVERY;
		question_ask(&s->answers.metrics, now);
	}
}

void
site_turn(struct site *s)
{
	const int64_t now = site_now();

	question_go_on(&s->answers.status, now);
	question_go_on(&s->answers.metrics, now);
	sample(s, now);
	wake(s);
	(void)MHD_run(s->http);
}
