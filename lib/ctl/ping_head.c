/* The head of an answer: RFC 9112, and RFC 3875 for CGI programs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ctl/ping_private.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "404 Not Found" */
static void
status_read(struct ping_answer *a, const char *text)
{
	if (!is_digit(text[0]) || !is_digit(text[1]) || !is_digit(text[2]) ||
	    (text[3] != '\0' && text[3] != ' ') || text[0] == '0') {
		ping_broken(a, "the status is no number");
		return;
	}
	a->status = (unsigned)(text[0] - '0') * 100 +
	    (unsigned)(text[1] - '0') * 10 + (unsigned)(text[2] - '0');
	a->reason[0] = '\0';
	if (text[3] == ' ')
		ping_note(
		    a->reason, sizeof(a->reason), text + 4, strlen(text + 4));
}

/* "HTTP/1.1 404 Not Found" */
static void
status_line_read(struct ping_answer *a, const char *line)
{
	if (strncmp(line, "HTTP/1.", 7) != 0 || !is_digit(line[7]) ||
	    line[8] != ' ')
		ping_broken(a, "the answer is not HTTP/1");
	else
		status_read(a, line + 9);
}

static void
length_read(struct ping_answer *a, const char *value)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (!is_digit(*value) || *end != '\0' || errno != 0) {
		ping_broken(a, "Content-Length is no number");
		return;
	}
	a->has_length = true;
	a->length = n;
}

static void
field_read(struct ping_answer *a, char *line, bool first)
{
	char *value = strchr(line, ':');

	if (value == NULL || value == line) {
		ping_broken(a, "a line of the head has no name");
		return;
	}
	*value++ = '\0';
	value += strspn(value, " \t");
	if (first && strcasecmp(line, "Content-Length") == 0)
		length_read(a, value);
	else if (!first && strcasecmp(line, "Status") == 0)
		status_read(a, value);
	else if (!first && strcasecmp(line, "Location") == 0 && a->status == 0)
		status_read(a, "302 Found");
}

/* The empty line. An interim answer is followed by the real one. */
static void
head_end(struct ping_answer *a, bool first)
{
	if (first && a->status < 200) {
		a->status = 0;
		a->has_length = false;
		return;
	}
	/* A CGI program that says nothing else means this. */
	if (a->status == 0)
		status_read(a, "200 OK");
	a->head_done = true;
}

/* A whole line lies in head, with its newline. */
static void
line_read(struct ping_answer *a, bool first)
{
	char *line = a->head;
	size_t len = a->head_len - 1;

	a->head_len = 0;
	if (memchr(line, '\0', len) != NULL) {
		ping_broken(a, "the head has a NUL");
		return;
	}
	line[len] = '\0';
	while (len > 0 && strchr("\r \t", line[len - 1]) != NULL)
		line[--len] = '\0';
	if (first && a->status == 0)
		status_line_read(a, line);
	else if (len == 0)
		head_end(a, first);
	else if (line[0] != ' ' && line[0] != '\t')
		field_read(a, line, first);
}

void
ping_head_put(struct ping_answer *a, const char *data, size_t len, bool first)
{
	size_t i = 0;

	for (; i < len && !a->head_done && a->state == PING_MORE; i++) {
		if (a->head_len == sizeof(a->head)) {
			ping_broken(a, "a line of the head is too long");
			return;
		}
		a->head[a->head_len++] = data[i];
		if (data[i] == '\n')
			line_read(a, first);
	}
	a->body += len - i;
}
