/* Requests and answers, by libmicrohttpd. */

#include <sys/socket.h>
#include <sys/types.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

#include "web/metric.h"
#include "web/page.h"
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

struct path {
	const char *path;
	const char *type;
	size_t question; /* at this offset of the site; 0: none */
	/* The answer, which is then the caller's; its status is *code. */
	struct MHD_Response *(*answer)(struct site *, unsigned *code);
};

int64_t
site_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- answers ------------------------------------------------------------ */

static struct MHD_Response *
copied(const char *text, size_t len)
{
	return MHD_create_response_from_buffer(
	    len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *
answer_page(struct site *s, unsigned *code)
{
	(void)s;
	(void)code;
	return MHD_create_response_from_buffer(page_html_len,
	    (void *)(uintptr_t)page_html, MHD_RESPMEM_PERSISTENT);
}

/* Why the daemon has not answered. */
static struct MHD_Response *
excuse(const struct question *q, unsigned *code)
{
	char text[sizeof(q->why) + 1];

	*code = MHD_HTTP_SERVICE_UNAVAILABLE;
	(void)snprintf(text, sizeof(text), "%s\n", q->why);
	return copied(text, strlen(text));
}

static struct MHD_Response *
answer_status(struct site *s, unsigned *code)
{
	(void)code;
	return copied(s->status.answer, s->status.answer_len);
}

static struct MHD_Response *
answer_metrics(struct site *s, unsigned *code)
{
	(void)code;
	return copied(s->metrics.answer, s->metrics.answer_len);
}

static struct MHD_Response *
answer_history(struct site *s, unsigned *code)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)code;
	if (to == NULL)
		return NULL;
	history_write(&s->history, to);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return MHD_create_response_from_buffer(
	    len, text, MHD_RESPMEM_MUST_FREE);
}

/* The names of the apps that have failed, a line; nothing if none has. */
static void
write_failed(const struct site *s, FILE *to)
{
	const char *text = s->metrics.answer, *comma = "failed: ";
	struct metric m;
	char app[256];

	while (metric_next(&text, &m)) {
		if (!metric_is(&m, "state") || m.value == 0 ||
		    !metric_has(&m, "state", "failed") ||
		    !metric_app(&m, app, sizeof(app)))
			continue;
		(void)fprintf(to, "%s%s", comma, app);
		comma = ", ";
	}
	if (comma[0] == ',')
		(void)fputs("\n", to);
}

static struct MHD_Response *
answer_health(struct site *s, unsigned *code)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return NULL;
	write_failed(s, to);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	if (len == 0) {
		free(text);
		return copied("ok\n", 3);
	}
	*code = MHD_HTTP_SERVICE_UNAVAILABLE;
	return MHD_create_response_from_buffer(
	    len, text, MHD_RESPMEM_MUST_FREE);
}

static const char plain[] = "text/plain; charset=utf-8";

static const struct path paths[] = {
	{ "/", "text/html; charset=utf-8", 0, answer_page },
	{ "/status.json", "application/json", offsetof(struct site, status),
	    answer_status },
	{ "/metrics",
	    "application/openmetrics-text; version=1.0.0; charset=utf-8",
	    offsetof(struct site, metrics), answer_metrics },
	{ "/history.json", "application/json", 0, answer_history },
	{ "/healthz", plain, offsetof(struct site, metrics), answer_health },
};

static const struct path *
find_path(const char *url)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(paths[i].path, url) == 0)
			return &paths[i];
	return NULL;
}

/* Sends the answer, of which the reference is taken. */
static enum MHD_Result
respond(const struct site *s, struct MHD_Connection *connection, unsigned code,
    const char *type, struct MHD_Response *r)
{
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		/* The page has all it needs in itself. */
		{ "Content-Security-Policy",
		    "default-src 'none'; style-src 'unsafe-inline'; "
		    "script-src 'unsafe-inline'; img-src data:; "
		    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
		    "frame-ancestors 'self'" },
	};
	enum MHD_Result result;

	if (r == NULL)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		(void)MHD_add_response_header(r, headers[i][0], headers[i][1]);
	(void)MHD_add_response_header(r, "Content-Type", type);
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (s->closing)
		(void)MHD_add_response_header(r, "Connection", "close");
	result = MHD_queue_response(connection, code, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result
refuse(const struct site *s, struct MHD_Connection *connection, unsigned code,
    const char *text)
{
	return respond(s, connection, code, plain, copied(text, strlen(text)));
}

/* --- requests ----------------------------------------------------------- */

static struct session *
session_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info == NULL ? NULL : info->socket_context;
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
	const struct path *p = find_path(url);
	unsigned code = MHD_HTTP_OK;
	struct MHD_Response *response;
	struct question *q;

	if (p == NULL)
		return refuse(s, r->connection, MHD_HTTP_NOT_FOUND,
		    "There are /, /status.json, /metrics, /history.json and "
		    "/healthz.\n");
	if (p->question != 0) {
		q = (struct question *)(void *)((char *)s + p->question);
		if (!question_is_answered(q, r->since))
			question_ask(q, site_now());
		if (!question_is_answered(q, r->since)) {
			suspend(s, r, q);
			return MHD_YES;
		}
		if (q->why[0] != '\0') {
			response = excuse(q, &code);
			return respond(s, r->connection, code, plain, response);
		}
	}
	response = p->answer(s, &code);
	return respond(s, r->connection, code, p->type, response);
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *size,
    void **context)
{
	struct site *s = arg;
	struct request *r = *context;

	(void)version;
	(void)data;
	if (r == NULL) {
		*context = r = begin(connection);
		if (r == NULL)
			return MHD_NO;
		/* Before any body has come. */
		if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
		    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
			return refuse(s, connection,
			    MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD.\n");
		return MHD_YES;
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
	question_init(&s->status, control, "json status\n", "]}\n");
	question_init(&s->metrics, control, "metrics\n", "# EOF\n");
	history_init(&s->history);
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
	question_fini(&s->status);
	question_fini(&s->metrics);
	history_fini(&s->history);
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

	if (s->status.fd != -1)
		at = earlier(at, s->status.deadline);
	if (s->metrics.fd != -1)
		at = earlier(at, s->metrics.deadline);
	if (MHD_get_timeout(s->http, &wait) == MHD_YES && wait < SAMPLE_EVERY)
		at = earlier(at, now + (int64_t)wait);
	return at > now ? (int)(at - now) : 0;
}

/* Adds the metrics to the history, every two seconds. */
static void
sample(struct site *s, int64_t now)
{
	if (s->sampling && s->metrics.fd == -1) {
		s->sampling = false;
		if (s->metrics.why[0] == '\0')
			history_add(&s->history, s->metrics.answer, now / 1000);
	}
	if (now >= s->sample_at && !s->sampling) {
		s->sampling = true;
		s->sample_at = now + SAMPLE_EVERY;
		question_ask(&s->metrics, now);
	}
}

void
site_turn(struct site *s)
{
	const int64_t now = site_now();

	question_go_on(&s->status, now);
	question_go_on(&s->metrics, now);
	sample(s, now);
	wake(s);
	(void)MHD_run(s->http);
}
