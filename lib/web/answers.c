/* Answers to requests, made of what the daemon has answered. */

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "web/answers.h"
#include "web/metric.h"
#include "web/page.h"

/*
 * Bytes of long bodies that clients are reading, of which each has one of its
 * own: from there on others are asked to come again.
 */
#define SENDING_MAX ((size_t)32 * 1024 * 1024)

enum ask {
	ASK_NOTHING,
	ASK_STATUS,
	ASK_METRICS,
};

struct path {
	const char *path;
	const char *type;
	enum ask ask;
	bool is_long; /* the more apps and processes there are */
	/* The body; its status is *code, 200 unless that is changed. */
	struct MHD_Response *(*answer)(struct answers *, unsigned *code);
};

void
answers_init(struct answers *all, const char *control)
{
	question_init(&all->status, control, "json status\n", "]}\n");
	question_init(&all->metrics, control, "metrics\n", "# EOF\n");
	history_init(&all->history);
	all->sending = 0;
}

void
answers_fini(struct answers *all)
{
	question_fini(&all->status);
	question_fini(&all->metrics);
	history_fini(&all->history);
}

/* --- bodies ------------------------------------------------------------- */

static struct MHD_Response *
copied(const char *text, size_t len)
{
	return MHD_create_response_from_buffer(
	    len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
}

/* A long body. */
struct body {
	struct answers *all;
	char *text;
	size_t len;
};

static void
free_body(void *arg)
{
	struct body *b = arg;

	b->all->sending -= b->len;
	free(b->text);
	free(b);
}

/* A response with this text, which is taken; NULL: there is no memory. */
static struct MHD_Response *
long_body(struct answers *all, char *text, size_t len)
{
	struct body *b = malloc(sizeof(*b));
	struct MHD_Response *r = NULL;

	if (b == NULL || text == NULL) {
		free(b);
		free(text);
		return NULL;
	}
	*b = (struct body){ all, text, len };
	all->sending += len;
	r = MHD_create_response_from_buffer_with_free_callback_cls(
	    len, text, free_body, b);
	if (r == NULL)
		free_body(b);
	return r;
}

static struct MHD_Response *
long_copy(struct answers *all, const struct question *q)
{
	char *text = malloc(q->answer_len);

	if (text != NULL)
		memcpy(text, q->answer, q->answer_len);
	return long_body(all, text, q->answer_len);
}

static struct MHD_Response *
answer_page(struct answers *all, unsigned *code)
{
	(void)all;
	(void)code;
	return MHD_create_response_from_buffer(page_html_len,
	    (void *)(uintptr_t)page_html, MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *
answer_status(struct answers *all, unsigned *code)
{
	(void)code;
	return long_copy(all, &all->status);
}

static struct MHD_Response *
answer_metrics(struct answers *all, unsigned *code)
{
	(void)code;
	return long_copy(all, &all->metrics);
}

static struct MHD_Response *
answer_history(struct answers *all, unsigned *code)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)code;
	if (to == NULL)
		return NULL;
	history_write(&all->history, to);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return long_body(all, text, len);
}

/* The names of the apps that have failed, a line; nothing if none has. */
static void
write_failed(const struct answers *all, FILE *to)
{
	const char *text = all->metrics.answer, *comma = "failed: ";
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
answer_health(struct answers *all, unsigned *code)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return NULL;
	write_failed(all, to);
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
	{ "/", "text/html; charset=utf-8", ASK_NOTHING, false, answer_page },
	{ "/status.json", "application/json", ASK_STATUS, true, answer_status },
	{ "/metrics",
	    "application/openmetrics-text; version=1.0.0; charset=utf-8",
	    ASK_METRICS, true, answer_metrics },
	{ "/history.json", "application/json", ASK_NOTHING, true,
	    answer_history },
	{ "/healthz", plain, ASK_METRICS, false, answer_health },
};

static const struct path *
find_path(const char *url)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(paths[i].path, url) == 0)
			return &paths[i];
	return NULL;
}

/* --- answers ------------------------------------------------------------ */

/* Adds the headers that all answers have, and the type of this one. */
static void
add_headers(struct MHD_Response *r, const char *type)
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

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		(void)MHD_add_response_header(r, headers[i][0], headers[i][1]);
	(void)MHD_add_response_header(r, "Content-Type", type);
}

static struct answer
plain_answer(unsigned code, const char *text)
{
	struct answer a = { copied(text, strlen(text)), code };

	if (a.response != NULL)
		add_headers(a.response, plain);
	return a;
}

/* Why the daemon has not answered. */
static struct answer
excuse(const struct question *q)
{
	char text[sizeof(q->why) + 1];

	(void)snprintf(text, sizeof(text), "%s\n", q->why);
	return plain_answer(MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

struct question *
answers_question(struct answers *all, const char *url)
{
	const struct path *p = find_path(url);

	if (p == NULL || p->ask == ASK_NOTHING)
		return NULL;
	return p->ask == ASK_STATUS ? &all->status : &all->metrics;
}

struct answer
answers_to(struct answers *all, const char *url)
{
	const struct path *p = find_path(url);
	const struct question *q = answers_question(all, url);
	struct answer a = { NULL, MHD_HTTP_OK };

	if (p == NULL)
		return plain_answer(MHD_HTTP_NOT_FOUND,
		    "There are /, /status.json, /metrics, /history.json and "
		    "/healthz.\n");
	if (q != NULL && q->why[0] != '\0')
		return excuse(q);
	if (p->is_long && all->sending >= SENDING_MAX)
		return plain_answer(MHD_HTTP_SERVICE_UNAVAILABLE,
		    "Too many clients read slowly: try again.\n");
	a.response = p->answer(all, &a.code);
	if (a.response != NULL)
		add_headers(a.response, p->type);
	return a;
}

struct answer
answers_to_method(void)
{
	struct answer a =
	    plain_answer(MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD.\n");

	if (a.response != NULL)
		(void)MHD_add_response_header(a.response, "Allow", "GET, HEAD");
	return a;
}
