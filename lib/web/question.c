/* Questions to the daemon. */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "web/question.h"

/* The daemon has so long for a whole answer, in milliseconds. */
#define PATIENCE 5000

/* Far above the status of 10,000 processes. */
#define ANSWER_MAX (64 * 1024 * 1024)

void
question_init(
    struct question *q, const char *path, const char *line, const char *end)
{
	*q = (struct question){
		.path = path, .line = line, .end = end, .fd = -1, .answered = -1
	};
}

/* The daemon is not being asked any more. */
static void
hang_up(struct question *q)
{
	if (q->fd != -1)
		(void)close(q->fd);
	q->fd = -1;
	free(q->coming);
	q->coming = NULL;
	q->len = q->size = 0;
}

void
question_fini(struct question *q)
{
	hang_up(q);
	free(q->answer);
}

static void
give_up(struct question *q, const char *what, const char *why, int64_t now)
{
	(void)snprintf(q->why, sizeof(q->why), "%s%s%s", what,
	    *what == '\0' ? "" : ": ", why);
	hang_up(q);
	q->answered = now;
}

/* --- asking ------------------------------------------------------------- */

static int
connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlcpy(addr.sun_path, path, sizeof(addr.sun_path)) >=
	    sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1) {
		int error = errno;

		(void)close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

void
question_ask(struct question *q, int64_t now)
{
	const size_t len = strlen(q->line);

	if (q->fd != -1)
		return;
	q->fd = connect_to(q->path);
	if (q->fd == -1) {
		give_up(q, q->path,
		    errno == EACCES
			? "Permission denied; control_mode = 0666 opens it"
			: strerror(errno),
		    now);
		return;
	}
	q->deadline = now + PATIENCE;
	/* An empty socket takes a line. */
	if (send(q->fd, q->line, len, MSG_NOSIGNAL) != (ssize_t)len)
		give_up(q, q->path, "it takes no command", now);
}

/* --- the answer --------------------------------------------------------- */

/* Room for more, and for a NUL. */
static bool
make_room(struct question *q)
{
	size_t size = q->size == 0 ? 16384 : 2 * q->size;
	char *larger;

	if (q->len + 1 < q->size)
		return true;
	if (size > ANSWER_MAX)
		return false;
	larger = realloc(q->coming, size);
	if (larger == NULL)
		return false;
	q->coming = larger;
	q->size = size;
	return true;
}

/* The last line, without its newline; q->coming ends with a NUL. */
static const char *
last_line(struct question *q)
{
	char *line;

	if (q->len == 0 || q->coming[q->len - 1] != '\n')
		return "";
	q->coming[--q->len] = '\0';
	line = strrchr(q->coming, '\n');
	return line == NULL ? q->coming : line + 1;
}

static void
finish(struct question *q, int64_t now)
{
	const size_t end = strlen(q->end);
	const char *last;

	q->coming[q->len] = '\0';
	if (q->len >= end &&
	    memcmp(q->coming + q->len - end, q->end, end) == 0) {
		free(q->answer);
		q->answer = q->coming;
		q->answer_len = q->len;
		q->coming = NULL;
		q->why[0] = '\0';
		hang_up(q);
		q->answered = now;
		return;
	}
	last = last_line(q);
	if (strncmp(last, "error: ", 7) == 0)
		give_up(q, "", last + 7, now);
	else
		give_up(q, q->path, "the daemon cut its answer off", now);
}

void
question_go_on(struct question *q, int64_t now)
{
	ssize_t n;

	while (q->fd != -1) {
		if (!make_room(q)) {
			give_up(q, q->path, "the answer is too long", now);
			return;
		}
		n = recv(q->fd, q->coming + q->len, q->size - q->len - 1, 0);
		if (n > 0) {
			q->len += (size_t)n;
		} else if (n == 0) {
			finish(q, now);
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			give_up(q, q->path, strerror(errno), now);
		}
	}
	if (q->fd != -1 && now >= q->deadline)
		give_up(q, q->path, "the daemon does not answer", now);
}

bool
question_is_answered(const struct question *q, int64_t since)
{
	return q->answered != -1 && q->answered >= since;
}
