/* Rows of a file, in bounded memory. Millions of them: no copies. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sim/csv.h"

int
csv_open(struct csv *c, const char *file)
{
	struct stat st;

	memset(c, 0, sizeof(*c));
	c->fd = strcmp(file, "-") == 0 ? STDIN_FILENO
				       : open(file, O_RDONLY | O_CLOEXEC);
	if (c->fd == -1)
		return -1;
	if (fstat(c->fd, &st) == 0 && S_ISREG(st.st_mode))
		c->size = (uint64_t)st.st_size;
	return 0;
}

void
csv_close(struct csv *c)
{
	if (c->fd > STDIN_FILENO)
		(void)close(c->fd);
}

void
csv_stop(struct csv *c)
{
	c->ended = true;
	c->from = c->to;
}

/* --- lines -------------------------------------------------------------- */

/* Reads more into the piece, behind what is left of it; false: the end. */
static bool
fill(struct csv *c)
{
	ssize_t n;

	if (c->ended)
		return false;
	memmove(c->piece, c->piece + c->from, c->to - c->from);
	c->to -= c->from;
	c->from = 0;
	do {
		n = read(c->fd, c->piece + c->to, CSV_PIECE - c->to);
	} while (n == -1 && errno == EINTR);
	if (n == -1) {
		c->error = errno;
		csv_stop(c);
	}
	if (n <= 0) {
		c->ended = true;
		return false;
	}
	c->read += (uint64_t)n;
	c->to += (size_t)n;
	return true;
}

/* Reads to the end of a line that is too long. */
static void
skip(struct csv *c)
{
	const char *end;

	do {
		end = memchr(c->piece + c->from, '\n', c->to - c->from);
		c->from = end == NULL ? c->to : (size_t)(end + 1 - c->piece);
	} while (end == NULL && fill(c));
}

/* Gives the next line, without its end. */
static enum csv_got
next_line(struct csv *c, const char **from_out, const char **to_out)
{
	const char *text, *end;
	size_t len, seen = 0;

	for (;;) {
		text = c->piece + c->from;
		len = c->to - c->from;
		end = memchr(text + seen, '\n', len - seen);
		seen = len;
		if (end != NULL || len > CSV_LONGEST || !fill(c))
			break;
	}
	if (end != NULL)
		len = (size_t)(end - text);
	/* A last line may have no end; an error may have left nothing. */
	if (end == NULL && c->from == c->to)
		return CSV_END;
	c->line++;
	if (len > CSV_LONGEST) {
		skip(c);
		return CSV_TOO_LONG;
	}
	c->from += len + (end != NULL);
	*from_out = text;
	*to_out = text + len;
	return CSV_ROW;
}

/* --- fields ------------------------------------------------------------- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct csv_field
trim(const char *from, const char *to)
{
	while (from < to && is_blank(*from))
		from++;
	while (from < to && is_blank(to[-1]))
		to--;
	if (to - from >= 2 && *from == '"' && to[-1] == '"') {
		from++;
		to--;
	}
	return (struct csv_field){ .at = from, .len = (size_t)(to - from) };
}

/* A spreadsheet puts the mark of UTF-8 before the first line. */
static const char *
skip_mark(const char *from, const char *to)
{
	bool marked = to - from >= 3 && memcmp(from, "\xef\xbb\xbf", 3) == 0;

	return marked ? from + 3 : from;
}

static void
split(struct csv *c, const char *from, const char *to)
{
	const char *comma;

	for (c->count = 0;; from = comma + 1) {
		comma = memchr(from, ',', (size_t)(to - from));
		if (c->count++ < CSV_FIELDS)
			c->fields[c->count - 1] =
			    trim(from, comma == NULL ? to : comma);
		if (comma == NULL)
			break;
	}
}

enum csv_got
csv_next(struct csv *c)
{
	const char *from, *to;
	enum csv_got got;
	struct csv_field all;

	do {
		got = next_line(c, &from, &to);
		if (got != CSV_ROW)
			return got;
		if (c->line == 1)
			from = skip_mark(from, to);
		all = trim(from, to);
	} while (all.len == 0 || *all.at == '#');
	split(c, from, to);
	return CSV_ROW;
}
