/* Where lines of the log end up. */

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/logsink.h"

/* How often patience is asked for, in milliseconds. */
#define PATIENCE 100

#define SYSLOG_SOCKET "/dev/log"

/* O_NONBLOCK is for a FIFO: its reader may be away. */
static int
open_file(const char *path)
{
	return open(path,
	    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
	    0640);
}

/* The daemon of syslog may start after us, or anew: tried for each line. */
static void
connect_syslog(struct logsink *s)
{
	struct sockaddr_un addr;
	socklen_t len = address_of_path(s->path, &addr);

	if (len == 0)
		return;
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd == -1)
		return;
	if (connect(s->fd, (const void *)&addr, len) == -1) {
		(void)close(s->fd);
		s->fd = -1;
	}
}

/* Whether standard error is the journal's, by systemd.exec(5). */
static bool
is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char text[64];
	struct stat st;

	if (stream == NULL || fstat(fd, &st) == -1)
		return false;
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	return strcmp(text, stream) == 0;
}

int
logsink_init(struct logsink *s, const struct log_spec *spec)
{
	const char *path = spec->path;

	memset(s, 0, sizeof(*s));
	s->dest = spec->dest;
	s->style.json = spec->json;
	s->fd = -1;

	if (s->dest == LOG_DEST_STDERR) {
		s->fd = STDERR_FILENO;
		if (is_journal(s->fd))
			s->style.head = LOGLINE_HEAD_JOURNAL;
		return 0;
	}

	if (s->dest == LOG_DEST_SYSLOG && path == NULL)
		path = SYSLOG_SOCKET;
	s->path = strdup(path);
	if (s->path == NULL)
		return -1;
	if (s->dest == LOG_DEST_SYSLOG) {
		s->style.head = LOGLINE_HEAD_SYSLOG;
		s->style.facility = spec->facility;
		return 0;
	}
	s->fd = open_file(s->path);
	if (s->fd == -1) {
		int saved_errno = errno;

		logsink_fini(s);
		errno = saved_errno;
		return -1;
	}
	return 0;
}

void
logsink_fini(struct logsink *s)
{
	if (s->fd != -1 && s->dest != LOG_DEST_STDERR)
		(void)close(s->fd);
	free(s->path);
	s->path = NULL;
	s->fd = -1;
}

/* Like write(2), but waits for room as long as there is patience. */
static ssize_t
write_some(struct logsink *s, const char *p, size_t len)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLOUT };
	ssize_t n = -1;

	for (;;) {
		bool patient = s->patient == NULL || s->patient(s->arg);
		int ready = poll(&pfd, 1, patient ? PATIENCE : 0);

		if (ready == 1) {
			/* Of what poll finds room for, all is written. */
			n = s->dest == LOG_DEST_SYSLOG
			    ? send(s->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL)
			    : write(s->fd, p, len);
			if (n != -1 || (errno != EAGAIN && errno != EINTR))
				return n;
		} else if (ready == -1 && errno != EINTR) {
			return -1;
		}
		if (!patient) {
			errno = 0;
			return -1;
		}
	}
}

/*
 * Writes the buffer; *done_out says how much of it. A half line that was
 * left behind by a failure is ended first. False, and s->error: not all.
 */
static bool
write_out(struct logsink *s, size_t *done_out)
{
	size_t done = 0;
	ssize_t n = 0;
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	if (s->fresh && s->torn) {
		n = write_some(s, "\n", 1);
		s->torn = n == -1;
	}
	while (n != -1 && done < s->len) {
		n = write_some(s, s->buf + done, s->len - done);
		if (n != -1)
			done += (size_t)n;
	}
	if (n == -1)
		s->error = errno;
	(void)pthread_setcancelstate(state, NULL);

	if (done > 0)
		s->torn =
		    s->dest != LOG_DEST_SYSLOG && s->buf[done - 1] != '\n';
	*done_out = done;
	return n != -1;
}

static unsigned long
count_newlines(const char *p, size_t len)
{
	unsigned long n = 0;

	for (size_t i = 0; i < len; i++)
		n += p[i] == '\n';
	return n;
}

static bool
flush_stream(struct logsink *s)
{
	size_t done;
	bool all = write_out(s, &done);

	if (s->telling && done > 0) {
		s->lost = 0;
		s->telling = false;
	}
	s->lost += count_newlines(s->buf + done, s->len - done);
	/* The count of the lost is no loss. */
	if (s->telling)
		s->lost--;
	return all;
}

/* The socket may still be that of a daemon that is gone: a second try. */
static bool
flush_syslog(struct logsink *s)
{
	size_t done;

	for (int tries = 0; tries < 2; tries++) {
		if (s->fd == -1)
			connect_syslog(s);
		if (s->fd == -1) {
			s->error = errno;
			break;
		}
		if (write_out(s, &done)) {
			if (s->telling)
				s->lost = 0;
			return true;
		}
		if (s->error == 0)
			break;
		(void)close(s->fd);
		s->fd = -1;
	}
	if (!s->telling)
		s->lost++;
	return false;
}

/* False if something was lost. */
static bool
flush(struct logsink *s)
{
	bool all = true;

	if (s->len > 0)
		all = s->dest == LOG_DEST_SYSLOG ? flush_syslog(s)
						 : flush_stream(s);
	s->len = 0;
	s->telling = false;
	return all;
}

void
logsink_flush(struct logsink *s)
{
	(void)flush(s);
}

/* A piece of a line, which may be longer than the buffer. */
static void
add(void *arg, const char *piece, size_t len)
{
	struct logsink *s = arg;

	while (len > 0 && !s->skipping) {
		size_t room = sizeof(s->buf) - s->len;
		size_t part = len < room ? len : room;

		memcpy(s->buf + s->len, piece, part);
		s->len += part;
		piece += part;
		len -= part;
		if (len == 0)
			break;
		/* A datagram has to do with what went in. */
		s->skipping = s->dest == LOG_DEST_SYSLOG;
		if (s->skipping)
			break;
		if (!flush(s)) {
			s->skipping = true;
			s->lost++;
		}
		s->fresh = false;
	}
}

static void
add_line(struct logsink *s, const struct logline *line)
{
	/* Short lines are never cut in two writes. */
	if (s->len > 0 && line->len > sizeof(s->buf) / 2 - s->len / 2)
		(void)flush(s);
	if (s->len == 0)
		s->fresh = true;
	s->skipping = false;
	logline_format(line, &s->style, add, s);
	if (s->dest == LOG_DEST_SYSLOG)
		(void)flush(s);
	else
		add(s, "\n", 1);
}

/* A line about the log itself. */
static void __attribute__((format(printf, 2, 3)))
add_own(struct logsink *s, const char *fmt, ...)
{
	char text[512];
	struct logline line = { .level = LOG_LEVEL_WARN, .text = text };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	line.len = strlen(text);
	clock_gettime(CLOCK_REALTIME, &line.at);
	add_line(s, &line);
}

void
logsink_write(struct logsink *s, const struct logline *line)
{
	/* In front of the line that is tried next. */
	if (s->lost > 0 && s->len == 0) {
		s->telling = true;
		add_own(s, "%lu lines of log lost: %s", s->lost,
		    s->error == 0 ? "they are not read fast enough"
				  : strerror(s->error));
	}
	add_line(s, line);
}

void
logsink_reopen(struct logsink *s)
{
	int fd;

	if (s->dest != LOG_DEST_FILE)
		return;
	fd = open_file(s->path);
	if (fd == -1) {
		add_own(s, "%s: cannot be opened anew: %s", s->path,
		    strerror(errno));
		return;
	}
	logsink_flush(s);
	(void)close(s->fd);
	s->fd = fd;
	s->torn = false;
}
