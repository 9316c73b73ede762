/* Questions to the daemon, over its control socket. */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "web/web.h"

/* The daemon has so long for a whole answer. */
#define PATIENCE 5000

/* Far above the status of 10,000 processes. */
#define ANSWER_MAX (64 * 1024 * 1024)

/* The daemon is not being asked any more: there is an answer, or q->why. */
static void
question_end(struct question *q, int64_t now)
{
	if (q->fd != -1)
		(void)close(q->fd);
	q->fd = -1;
	free(q->coming);
	q->coming = NULL;
	q->len = q->size = 0;
	q->answered = now;
}

void
question_fini(struct question *q)
{
	question_end(q, -1);
	free(q->answer);
}

static void
question_fail(struct question *q, const char *why, int64_t now)
{
	(void)snprintf(q->why, sizeof(q->why), "%s: %s", q->path, why);
	question_end(q, now);
}

void
question_ask(struct question *q, int64_t now)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const size_t len = strlen(q->line);

	if (q->fd != -1)
		return;
	if (strlcpy(addr.sun_path, q->path, sizeof(addr.sun_path)) >=
	    sizeof(addr.sun_path)) {
		question_fail(q, strerror(ENAMETOOLONG), now);
		return;
	}
	q->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (q->fd == -1 ||
	    connect(q->fd, (struct sockaddr *)&addr, sizeof(addr)) == -1) {
		question_fail(q,
		    errno == EACCES
			? "Permission denied; control_mode = 0666 opens it"
			: strerror(errno),
		    now);
		return;
	}
	q->deadline = now + PATIENCE;
	/* An empty socket takes a line. */
	if (send(q->fd, q->line, len, MSG_NOSIGNAL) != (ssize_t)len)
		question_fail(q, "it takes no command", now);
}

/* All that comes has come. */
static void
question_judge(struct question *q, int64_t now)
{
	const size_t end = strlen(q->end);
	char *last;

	q->coming[q->len] = '\0';
	if (q->len >= end && strcmp(q->coming + q->len - end, q->end) == 0) {
		free(q->answer);
		q->answer = q->coming;
		q->answer_len = q->len;
		q->coming = NULL;
		q->why[0] = '\0';
		question_end(q, now);
		return;
	}
	/* The last line of an unsuccessful answer says why. */
	if (q->len > 0 && q->coming[q->len - 1] == '\n')
		q->coming[--q->len] = '\0';
	last = strrchr(q->coming, '\n');
	last = last == NULL ? q->coming : last + 1;
	if (strncmp(last, "error: ", 7) != 0) {
		question_fail(q, "the daemon cut its answer off", now);
		return;
	}
	(void)strlcpy(q->why, last + 7, sizeof(q->why));
	question_end(q, now);
}

void
question_go_on(struct question *q, int64_t now)
{
	while (q->fd != -1) {
		ssize_t n;

		/* Room for more, and for a NUL. */
		if (q->len + 1 >= q->size) {
			size_t size = q->size == 0 ? 16384 : 2 * q->size;
			char *larger =
			    size > ANSWER_MAX ? NULL : realloc(q->coming, size);

			if (larger == NULL) {
				question_fail(q, "the answer is too long", now);
				return;
			}
			q->coming = larger;
			q->size = size;
		}
		n = recv(q->fd, q->coming + q->len, q->size - q->len - 1, 0);
		if (n > 0)
			q->len += (size_t)n;
		else if (n == 0)
			question_judge(q, now);
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			question_fail(q, strerror(errno), now);
	}
	if (q->fd != -1 && now >= q->deadline)
		question_fail(q, "the daemon does not answer", now);
}
