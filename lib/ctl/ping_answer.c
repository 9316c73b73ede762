/*
 * An answer to a health check, of HTTP (RFC 9112) or of a FastCGI program: a
 * stream of records about request 1, whose head is that of RFC 3875.
 */

#include <string.h>
#include <strings.h>

#include "ctl/ping_answer.h"
#include "sys/number.h"

/* The answer is wrong, for this reason, which is a constant. */
static void
broken(struct ping_answer *a, const char *why)
{
	a->state = PING_BROKEN;
	a->why = why;
}

/* Appends to text, an array of size bytes, in ASCII that no terminal obeys. */
static void
note(char *text, size_t size, const char *data, size_t len)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < len && at + 1 < size; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c < ' ')
			text[at++] = ' ';
		else
			text[at++] = c < 0x7f ? (char)c : '?';
	}
	text[at] = '\0';
}

/* --- heads --------------------------------------------------------------- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "404 Not Found" */
static void
read_status(struct ping_answer *a, const char *text)
{
	if (!is_digit(text[0]) || !is_digit(text[1]) || !is_digit(text[2]) ||
	    (text[3] != '\0' && text[3] != ' ') || text[0] == '0') {
		broken(a, "the status is no number");
		return;
	}
	a->status = (unsigned)(text[0] - '0') * 100 +
	    (unsigned)(text[1] - '0') * 10 + (unsigned)(text[2] - '0');
	a->reason[0] = '\0';
	if (text[3] == ' ')
		note(a->reason, sizeof(a->reason), text + 4, strlen(text + 4));
}

/* "HTTP/1.1 404 Not Found" */
static void
read_status_line(struct ping_answer *a, const char *line)
{
	if (strncmp(line, "HTTP/1.", 7) != 0 || !is_digit(line[7]) ||
	    line[8] != ' ')
		broken(a, "the answer is not HTTP/1");
	else
		read_status(a, line + 9);
}

static void
read_length(struct ping_answer *a, const char *value)
{
	uint64_t n;

	if (!number_parse(value, strlen(value), &n)) {
		broken(a, "Content-Length is no number");
		return;
	}
	a->has_length = true;
	a->length = n;
}

static void
read_field(struct ping_answer *a, char *line, bool first)
{
	char *value = strchr(line, ':');

	if (value == NULL || value == line) {
		broken(a, "a line of the head has no name");
		return;
	}
	*value++ = '\0';
	value += strspn(value, " \t");
	if (first && strcasecmp(line, "Content-Length") == 0)
		read_length(a, value);
	else if (!first && strcasecmp(line, "Status") == 0)
		read_status(a, value);
	else if (!first && strcasecmp(line, "Location") == 0 && a->status == 0)
		read_status(a, "302 Found");
}

/* The empty line ends the head; the real answer follows an interim one. */
static void
end_head(struct ping_answer *a, bool first)
{
	if (first && a->status < 200) {
		a->status = 0;
		a->has_length = false;
		return;
	}
	/* A CGI program without a status means this one. */
	if (a->status == 0)
		read_status(a, "200 OK");
	a->head_done = true;
}

/* Takes the whole line in head, with its newline. */
static void
read_line(struct ping_answer *a, bool first)
{
	char *line = a->head;
	size_t len = a->head_len - 1;

	a->head_len = 0;
	if (memchr(line, '\0', len) != NULL) {
		broken(a, "the head has a NUL");
		return;
	}
	line[len] = '\0';
	while (len > 0 && strchr("\r \t", line[len - 1]) != NULL)
		line[--len] = '\0';
	if (first && a->status == 0)
		read_status_line(a, line);
	else if (len == 0)
		end_head(a, first);
	else if (line[0] != ' ' && line[0] != '\t')
		read_field(a, line, first);
}

static void
put_head(struct ping_answer *a, const char *data, size_t len, bool first)
{
	size_t i = 0;

	for (; i < len && !a->head_done && a->state == PING_MORE; i++) {
		if (a->head_len == sizeof(a->head)) {
			broken(a, "a line of the head is too long");
			return;
		}
		a->head[a->head_len++] = data[i];
		if (data[i] == '\n')
			read_line(a, first);
	}
	a->body += len - i;
}

/* --- FastCGI ------------------------------------------------------------- */

/* The FastCGI specification's names and numbers. */
enum {
	FCGI_VERSION_1 = 1,
	FCGI_END_REQUEST = 3,
	FCGI_STDOUT = 6,
	FCGI_STDERR = 7,
};

enum {
	FCGI_REQUEST_COMPLETE,
	FCGI_CANT_MPX_CONN,
	FCGI_OVERLOADED,
	FCGI_UNKNOWN_ROLE,
};

#define FCGI_END_LEN 8

static unsigned
record_type(const struct ping_record *r)
{
	return r->header[1];
}

/* Checks the header of a record, which is whole. */
static void
begin_record(struct ping_answer *a)
{
	struct ping_record *r = &a->record;
	const unsigned char *h = r->header;

	r->content = (size_t)h[4] << 8 | h[5];
	r->padding = h[6];
	r->end_len = 0;
	if (h[0] != FCGI_VERSION_1)
		broken(a, "the answer is not FastCGI");
	else if (h[2] != 0 || h[3] != 1)
		broken(a, "the answer is about another request");
	else if (h[1] == FCGI_END_REQUEST && r->content != FCGI_END_LEN)
		broken(a, "the end of the answer has a wrong length");
	else if (h[1] != FCGI_END_REQUEST && h[1] != FCGI_STDOUT &&
	    h[1] != FCGI_STDERR)
		broken(a, "a record belongs to no answer");
}

static void
end_request(struct ping_answer *a)
{
	const unsigned char *end = a->record.end;

	a->app_status = (uint32_t)end[0] << 24 | (uint32_t)end[1] << 16 |
	    (uint32_t)end[2] << 8 | end[3];
	switch (end[4]) {
	case FCGI_REQUEST_COMPLETE:
		if (a->head_done)
			a->state = PING_DONE;
		else
			broken(a, "the answer ends in its head");
		break;
	case FCGI_CANT_MPX_CONN:
		broken(a, "refused: a request at a time");
		break;
	case FCGI_OVERLOADED:
		broken(a, "refused: overloaded");
		break;
	case FCGI_UNKNOWN_ROLE:
		broken(a, "refused: it is no responder");
		break;
	default:
		broken(a, "refused for an unknown reason");
		break;
	}
}

static void
put_content(struct ping_answer *a, const char *data, size_t len)
{
	struct ping_record *r = &a->record;

	switch (record_type(r)) {
	case FCGI_STDOUT:
		put_head(a, data, len, false);
		break;
	case FCGI_STDERR:
		note(a->complaint, sizeof(a->complaint), data, len);
		break;
	default:
		memcpy(r->end + r->end_len, data, len);
		r->end_len += len;
		if (r->end_len == FCGI_END_LEN)
			end_request(a);
		break;
	}
}

/* Takes what of data belongs to one part of a record; gives its length. */
static size_t
put_record(struct ping_answer *a, const char *data, size_t len)
{
	struct ping_record *r = &a->record;
	size_t n;

	if (r->header_len < sizeof(r->header)) {
		r->header[r->header_len++] = (unsigned char)*data;
		if (r->header_len == sizeof(r->header))
			begin_record(a);
		n = 1;
	} else if (r->content > 0) {
		n = len < r->content ? len : r->content;
		r->content -= n;
		put_content(a, data, n);
	} else {
		n = len < r->padding ? len : r->padding;
		r->padding -= n;
	}
	if (r->header_len == sizeof(r->header) && r->content + r->padding == 0)
		r->header_len = 0;
	return n;
}

static void
put_fastcgi(struct ping_answer *a, const char *data, size_t len)
{
	while (len > 0 && a->state == PING_MORE) {
		size_t n = put_record(a, data, len);

		data += n;
		len -= n;
	}
}

/* --- answers ------------------------------------------------------------- */

void
ping_answer_init(struct ping_answer *a, enum conf_protocol protocol)
{
	memset(a, 0, sizeof(*a));
	a->protocol = protocol;
}

/* Whether the body of HTTP has its announced length. */
static bool
answer_whole(const struct ping_answer *a)
{
	if (!a->head_done)
		return false;
	if (a->status == 204 || a->status == 304)
		return true;
	return a->has_length && a->body >= a->length;
}

enum ping_state
ping_answer_put(struct ping_answer *a, const char *data, size_t len)
{
	if (a->state != PING_MORE)
		return a->state;
	a->total += len;
	switch (a->protocol) {
	case CONF_PROTOCOL_FASTCGI:
		put_fastcgi(a, data, len);
		break;
	case CONF_PROTOCOL_HTTP:
		put_head(a, data, len, true);
		if (a->state == PING_MORE && answer_whole(a))
			a->state = PING_DONE;
		break;
	default:
		break;
	}
	if (a->state == PING_MORE && a->total > PING_ANSWER_MAX) {
		if (a->head_done)
			a->state = PING_DONE;
		else
			broken(a, "the answer goes on for ever");
	}
	return a->state;
}

enum ping_state
ping_answer_end(struct ping_answer *a)
{
	if (a->state != PING_MORE)
		return a->state;
	if (a->total == 0)
		broken(a, "closed without an answer");
	else if (!a->head_done)
		broken(a, "the answer ends in its head");
	else if (a->protocol == CONF_PROTOCOL_FASTCGI)
		broken(a, "the answer has no end");
	else if (a->has_length && a->body < a->length)
		broken(a, "the answer is shorter than it says");
	else
		a->state = PING_DONE;
	return a->state;
}

bool
ping_answer_good(const struct ping_answer *a)
{
	return a->state == PING_DONE && a->status >= 200 && a->status < 400 &&
	    a->app_status == 0;
}
