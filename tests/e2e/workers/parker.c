/*
 * parker: a worker that parks its connections.
 *
 *     parker [--ahead]
 *
 * Answers each line with its process number before it, and parks the connection
 * then.  A line is read without what is behind it; --ahead: as much as is there
 * is read at once, and all of it answered before parking.  Lines that begin
 * with one of these words are obeyed as well:
 *
 *     close        the session is over
 *     keep         a copy of the connection is kept for ever
 *     sleep USEC   before the answer
 */

#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/apppool.h"

enum {
	LINE_MAX_SIZE = 512
};

/* Bytes that were read of a connection and not answered. */
struct input {
	int fd;
	bool ahead;
	size_t used;
	char text[LINE_MAX_SIZE];
};

/* Returns false at the end of the stream. */
static bool
read_more(struct input *in)
{
	size_t room = in->ahead ? sizeof(in->text) - in->used : 1;
	ssize_t n = recv(in->fd, in->text + in->used, room, 0);

	if (n > 0)
		in->used += (size_t)n;
	return n > 0 && in->used < sizeof(in->text);
}

/* Takes one line, without its end. */
static bool
take_line(struct input *in, char *out)
{
	const char *end;
	size_t len;

	while ((end = memchr(in->text, '\n', in->used)) == NULL)
		if (!read_more(in))
			return false;
	len = (size_t)(end - in->text);
	memcpy(out, in->text, len);
	out[len] = '\0';
	in->used -= len + 1;
	memmove(in->text, end + 1, in->used);
	return true;
}

static bool
begins(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

static void
answer(int fd, const char *line)
{
	char text[LINE_MAX_SIZE + 32];
	int len =
	    snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), line);

	if (begins(line, "sleep "))
		usleep((useconds_t)atoi(line + 6));
	(void)send(fd, text, (size_t)len, MSG_NOSIGNAL);
}

static void
serve(struct input *in)
{
	char line[LINE_MAX_SIZE];

	do {
		if (!take_line(in, line)) {
			apppool_done(in->fd);
			return;
		}
		answer(in->fd, line);
	} while (in->used > 0);
	if (begins(line, "keep") && dup(in->fd) == -1)
		err(71, "dup");
	if (begins(line, "close"))
		apppool_done(in->fd);
	else
		apppool_park(in->fd);
}

int
main(int argc, char **argv)
{
	bool ahead = argc > 1 && strcmp(argv[1], "--ahead") == 0;
	int fd;

	if (apppool_open() == -1 || apppool_ready() == -1)
		err(71, "apppool");
	while ((fd = apppool_accept()) != -1 || errno == EINTR) {
		struct input in = { .fd = fd, .ahead = ahead };

		if (fd != -1)
			serve(&in);
	}
	return errno == ESHUTDOWN ? 0 : 71;
}
