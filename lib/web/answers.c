/* Answers to requests, made of what the daemon has answered. */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <microhttpd.h>

#include "web/web.h"

/*
 * Bytes of bodies that clients are reading, of which each has one of its own:
 * from there on requests for long ones are asked to come again.
 */
#define SENDING_MAX ((size_t)32 * 1024 * 1024)

/* The kinds of paths; the last two are long where apps are many. */
enum kind {
	KIND_PAGE,
	KIND_ALIVE,
	KIND_READY,
	KIND_HISTORY,
	KIND_ANSWER, /* the answer to its question, as it is */
};

struct path {
	const char *path;
	const char *type;
	enum kind kind;
	enum answers_question question; /* ANSWERS_QUESTIONS: none */
};

static const char plain[] = "text/plain; charset=utf-8";

static const struct path paths[] = {
	{ "/", "text/html; charset=utf-8", KIND_PAGE, ANSWERS_QUESTIONS },
	{ "/status.json", "application/json", KIND_ANSWER, ANSWERS_STATUS },
	{ "/metrics",
	    "application/openmetrics-text; version=1.0.0; charset=utf-8",
	    KIND_ANSWER, ANSWERS_OPENMETRICS },
	{ "/metrics", "text/plain; version=0.0.4; charset=utf-8", KIND_ANSWER,
	    ANSWERS_METRICS },
	{ "/history.json", "application/json", KIND_HISTORY,
	    ANSWERS_QUESTIONS },
	{ "/healthz", plain, KIND_ALIVE, ANSWERS_METRICS },
	{ "/readyz", plain, KIND_READY, ANSWERS_METRICS },
};

void
answers_init(struct answers *all, const char *control, const char *names)
{
	/* A command, and how the last line of its answer ends. */
	static const char *const commands[ANSWERS_QUESTIONS][2] = {
		[ANSWERS_STATUS] = { "json status\n", "]}\n" },
		[ANSWERS_METRICS] = { "metrics\n", "# EOF\n" },
		[ANSWERS_OPENMETRICS] = { "metrics openmetrics\n", "# EOF\n" },
	};

	*all = (struct answers){ .names = names };
	for (int i = 0; i < ANSWERS_QUESTIONS; i++)
		all->questions[i] = (struct question){ .path = control,
			.line = commands[i][0],
			.end = commands[i][1],
			.fd = -1,
			.answered = -1 };
	TAILQ_INIT(&all->history.apps);
}

void
answers_fini(struct answers *all)
{
	for (int i = 0; i < ANSWERS_QUESTIONS; i++)
		question_fini(&all->questions[i]);
	history_fini(&all->history);
}

/* --- bodies ------------------------------------------------------------- */

/* Text that a client is reading. */
struct body {
	struct answers *all;
	char *text;
	size_t len;
};

static void
body_free(void *arg)
{
	struct body *b = arg;

	b->all->sending -= b->len;
	free(b->text);
	free(b);
}

/* A response with this text, which is taken; NULL: there is no memory. */
static struct MHD_Response *
body_new(struct answers *all, char *text, size_t len)
{
	struct body *b = malloc(sizeof(*b));
	struct MHD_Response *r;

	if (b == NULL || text == NULL) {
		free(b);
		free(text);
		return NULL;
	}
	*b = (struct body){ all, text, len };
	all->sending += len;
	r = MHD_create_response_from_buffer_with_free_callback_cls(
	    len, text, body_free, b);
	if (r == NULL)
		body_free(b);
	return r;
}

/* The answer of a response, which may be NULL, with the headers of all. */
static struct answer
answer_of(struct MHD_Response *r, unsigned code, const char *type)
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

	if (r == NULL)
		return (struct answer){ NULL, code };
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		(void)MHD_add_response_header(r, headers[i][0], headers[i][1]);
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return (struct answer){ r, code };
}

static struct answer
answer_line(struct answers *all, unsigned code, const char *line)
{
	char *text = NULL;
	int len = asprintf(&text, "%s\n", line);

	return answer_of(
	    len == -1 ? NULL : body_new(all, text, (size_t)len), code, plain);
}

/* --- refusals ----------------------------------------------------------- */

/* An address of either family, one of IPv4 as one of IPv6. */
static bool
parse_ip(const char *text, struct in6_addr *out)
{
	char mapped[sizeof("::ffff:") + INET6_ADDRSTRLEN];

	(void)snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
	return inet_pton(AF_INET6, mapped, out) == 1 ||
	    inet_pton(AF_INET6, text, out) == 1;
}

/* Whether the host is an address of loopback, or that of our end. */
static bool
is_our_address(const char *host, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage addr = { 0 };
	const struct sockaddr_in *in = (const struct sockaddr_in *)&addr;
	struct in6_addr asked, ours;
	socklen_t len = sizeof(addr);
	char text[INET_ADDRSTRLEN];

	if (!parse_ip(host, &asked))
		return false;
	if (IN6_IS_ADDR_LOOPBACK(&asked) ||
	    (IN6_IS_ADDR_V4MAPPED(&asked) && asked.s6_addr[12] == 127))
		return true;
	if (getsockname(info->connect_fd, (struct sockaddr *)&addr, &len) == -1)
		return false;
	if (addr.ss_family == AF_INET6)
		ours = ((const struct sockaddr_in6 *)&addr)->sin6_addr;
	else if (addr.ss_family != AF_INET ||
	    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)) == NULL ||
	    !parse_ip(text, &ours))
		return false;
	return memcmp(&asked, &ours, sizeof(ours)) == 0;
}

/*
 * Whether a request is for this page. A page of another site can have a browser
 * behind our door ask us by a name of its own that leads here (DNS rebinding),
 * and could then read the answer: so names that nobody has told us are none.
 * Programs that are no browsers may leave the name out, in HTTP/1.0.
 */
static bool
is_named_well(const struct answers *all, struct MHD_Connection *connection)
{
	const char *value = MHD_lookup_connection_value(
	    connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	char host[256];
	size_t len;
	bool bracket;

	if (value == NULL || strcmp(all->names, "*") == 0)
		return true;
	bracket = value[0] == '[';
	value += bracket;
	(void)snprintf(host, sizeof(host), "%.*s",
	    (int)strcspn(value, bracket ? "]" : ":"), value);
	len = strlen(host);
	if (len > 1 && host[len - 1] == '.')
		host[--len] = '\0';
	if (strcasecmp(host, "localhost") == 0 ||
	    is_our_address(host, connection))
		return true;
	for (const char *name = all->names; *name != '\0';) {
		const size_t n = strcspn(name, ",");

		if (n == len && len > 0 && strncasecmp(name, host, n) == 0)
			return true;
		name += n + (name[n] == ',');
	}
	return false;
}

bool
answers_refuse(struct answers *all, struct MHD_Connection *connection,
    const char *method, struct answer *out)
{
	const char *length = MHD_lookup_connection_value(
	    connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	struct answer a;

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		a = answer_line(
		    all, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD.");
		if (a.response != NULL)
			(void)MHD_add_response_header(
			    a.response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	} else if ((length != NULL && strcmp(length, "0") != 0) ||
	    MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
		MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL) {
		a = answer_line(all, MHD_HTTP_CONTENT_TOO_LARGE,
		    "A request has no body here.");
	} else if (!is_named_well(all, connection)) {
		a = answer_line(all, MHD_HTTP_MISDIRECTED_REQUEST,
		    "This page does not answer to that name; apppool-web -H "
		    "NAME adds it.");
	} else {
		return false;
	}
	/* The connection ends: a body that comes is not taken for a request. */
	if (a.response != NULL)
		(void)MHD_add_response_header(
		    a.response, MHD_HTTP_HEADER_CONNECTION, "close");
	*out = a;
	return true;
}

/* --- answers ------------------------------------------------------------ */

/*
 * Whether a client would rather have OpenMetrics than Prometheus' text format:
 * it names that type, and text not with a higher weight. What takes anything,
 * as browsers and curl do, is given text.
 */
static bool
prefers_openmetrics(const char *accept)
{
	double open = 0, text = 0;

	while (accept != NULL && *accept != '\0') {
		const size_t len = strcspn(accept, ",");
		char range[256], *rest = range, *name, *part;
		double weight = 1;
		bool known = true;

		(void)snprintf(range, sizeof(range), "%.*s", (int)len, accept);
		accept += len + (accept[len] == ',');
		name = strsep(&rest, ";");
		name += strspn(name, " \t");
		name[strcspn(name, " \t")] = '\0';
		while ((part = strsep(&rest, ";")) != NULL) {
			part += strspn(part, " \t");
			if (strncasecmp(part, "q=", 2) == 0)
				weight = strtod(part + 2, NULL);
			else if (strncasecmp(part, "version=", 8) == 0)
				known = strncmp(part + 8, "1.0.0", 5) == 0 ||
				    strncmp(part + 8, "0.0.1", 5) == 0;
		}
		if (strcasecmp(name, "application/openmetrics-text") == 0 &&
		    known && weight > open)
			open = weight;
		else if (strcasecmp(name, "text/plain") == 0 && weight > text)
			text = weight;
	}
	return open > 0 && open >= text;
}

/*
 * The answer for a path, for this app (NULL: all); its question q, which may be
 * NULL, is answered.
 */
static struct answer
answer_path(struct answers *all, const struct path *p, const char *app,
    const struct question *q)
{
	unsigned code = MHD_HTTP_OK;
	char *text = NULL;
	size_t len = 0;
	FILE *to;

	if (q != NULL && q->why[0] != '\0')
		return answer_line(all, MHD_HTTP_SERVICE_UNAVAILABLE, q->why);
	if (p->kind >= KIND_HISTORY && all->sending >= SENDING_MAX)
		return answer_line(all, MHD_HTTP_SERVICE_UNAVAILABLE,
		    "Too many clients read slowly: try again.");
	if (p->kind == KIND_PAGE)
		return answer_of(
		    MHD_create_response_from_buffer(page_html_len,
			(void *)(uintptr_t)page_html, MHD_RESPMEM_PERSISTENT),
		    code, p->type);
	to = open_memstream(&text, &len);
	if (to == NULL)
		return (struct answer){ NULL, code };
	if (p->kind == KIND_HISTORY)
		history_write(&all->history, to);
	else if (p->kind == KIND_ANSWER)
		(void)fwrite(q->answer, 1, q->answer_len, to);
	else
		code = history_write_health(
		    q->answer, app, p->kind == KIND_READY, to);
	if (fclose(to) != 0) {
		free(text);
		text = NULL;
	}
	return answer_of(body_new(all, text, len), code, p->type);
}

struct question *
answers_to(struct answers *all, struct MHD_Connection *connection,
    const char *url, int64_t since, int64_t now, struct answer *out)
{
	const char *accept = MHD_lookup_connection_value(
	    connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	const size_t len = sizeof(paths) / sizeof(paths[0]);
	const struct path *p = paths;
	struct question *q = NULL;

	while (p < paths + len &&
	    (strcmp(p->path, url) != 0 ||
		(p->question == ANSWERS_OPENMETRICS &&
		    !prefers_openmetrics(accept))))
		p++;
	if (p == paths + len) {
		*out = answer_line(all, MHD_HTTP_NOT_FOUND,
		    "There are /, /status.json, /metrics, /history.json, "
		    "/healthz and /readyz.");
		return NULL;
	}
	if (p->question != ANSWERS_QUESTIONS) {
		q = &all->questions[p->question];
		if (!question_is_answered(q, since))
			question_ask(q, now);
		if (!question_is_answered(q, since))
			return q;
	}
	*out = answer_path(all, p,
	    MHD_lookup_connection_value(
		connection, MHD_GET_ARGUMENT_KIND, "app"),
	    q);
	return NULL;
}
