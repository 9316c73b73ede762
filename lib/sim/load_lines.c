/* Lines of a file, in bounded memory. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sim/load_lines.h"

int
lines_open(struct lines *l, const char *file)
{
	struct stat st;

	memset(l, 0, sizeof(*l));
	l->fd = strcmp(file, "-") == 0 ? STDIN_FILENO
				       : open(file, O_RDONLY | O_CLOEXEC);
	if (l->fd == -1)
		return -1;
	if (fstat(l->fd, &st) == 0 && S_ISREG(st.st_mode))
		l->size = (uint64_t)st.st_size;
	return 0;
}

void
lines_close(struct lines *l)
{
	if (l->fd > STDIN_FILENO)
		(void)close(l->fd);
}

void
lines_stop(struct lines *l)
{
	l->ended = true;
	l->from = l->to;
}

/* More into the piece, behind what is left of it; false: there is none. */
static bool
lines_fill(struct lines *l)
{
	ssize_t n;

	if (l->ended)
		return false;
	memmove(l->piece, l->piece + l->from, l->to - l->from);
	l->to -= l->from;
	l->from = 0;
	do {
		n = read(l->fd, l->piece + l->to, LINES_PIECE - l->to);
	} while (n == -1 && errno == EINTR);
	if (n == -1) {
		l->error = errno;
		lines_stop(l);
		return false;
	}
	if (n == 0) {
		l->ended = true;
		return false;
	}
	l->read += (uint64_t)n;
	l->to += (size_t)n;
	return true;
}

/* To the end of a line that is too long. */
static void
lines_skip(struct lines *l)
{
	const char *end;

	do {
		end = memchr(l->piece + l->from, '\n', l->to - l->from);
		l->from = end == NULL ? l->to : (size_t)(end + 1 - l->piece);
	} while (end == NULL && lines_fill(l));
}

enum lines_got
lines_next(struct lines *l, const char **text_out, size_t *len_out)
{
	const char *text, *end;
	size_t len, seen = 0;

	for (;;) {
		text = l->piece + l->from;
		len = l->to - l->from;
		end = memchr(text + seen, '\n', len - seen);
		seen = len;
		if (end != NULL || len > LINES_LONGEST || !lines_fill(l))
			break;
	}
	if (end != NULL)
		len = (size_t)(end - text);
	/* A last line may have no end; an error may have left nothing. */
	if (end == NULL && l->from == l->to)
		return LINES_END;
	l->number++;
	if (len > LINES_LONGEST) {
		lines_skip(l);
		return LINES_TOO_LONG;
	}
	l->from += len + (end != NULL);
	*text_out = text;
	*len_out = len;
	return LINES_LINE;
}
