/* Where lines of the log go, and how they look there. */

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/logsink.h"
#include "sys/ownfile.h"
#include "sys/text.h"

/* How often may_wait() is asked, in milliseconds. */
#define ASK_AGAIN 100

#define SYSLOG_SOCKET "/dev/log"

/* --- how a line looks --------------------------------------------------- */

/* Where the pieces of one line go. */
struct out {
	void (*put)(void *arg, const char *piece, size_t len);
	void *arg;
};

static void
put_string(const struct out *out, const char *s)
{
	out->put(out->arg, s, strlen(s));
}

static const char *const levels[LOG_LEVELS] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

static int
severity_of(enum log_level level)
{
	static const int severities[LOG_LEVELS] = {
		[LOG_LEVEL_ERROR] = LOG_ERR,
		[LOG_LEVEL_WARN] = LOG_WARNING,
		[LOG_LEVEL_INFO] = LOG_INFO,
		[LOG_LEVEL_DEBUG] = LOG_DEBUG,
	};

	return severities[level];
}

static void
put_hex(const struct out *out, const char *p, size_t n)
{
	char text[8];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "\\x%02x", (unsigned char)p[i]);
		put_string(out, text);
	}
}

/* Escapes one character for a JSON string. */
static void
put_json_escape(const struct out *out, const char *p, size_t n)
{
	char text[8];

	switch (p[0]) {
	case '"':
		put_string(out, "\\\"");
		break;
	case '\\':
		put_string(out, "\\\\");
		break;
	case '\n':
		put_string(out, "\\n");
		break;
	case '\t':
		put_string(out, "\\t");
		break;
	default:
		snprintf(
		    text, sizeof(text), "\\u%04x", (unsigned char)p[n - 1]);
		put_string(out, text);
		break;
	}
}

/* Puts runs of plain characters in one piece. */
static void
put_text(const struct out *out, const char *s, size_t len, bool json)
{
	size_t from = 0;
	size_t at = 0;

	while (at < len) {
		size_t n = text_char_length(s + at, len - at);
		/* A tab does no harm to a terminal. */
		bool plain =
		    s[at] == '\t' || (n != 0 && !text_is_control(s + at, n));

		if (json && n == 1 && strchr("\"\\\t", s[at]) != NULL)
			plain = false;
		if (plain) {
			at += n;
			continue;
		}
		if (at > from)
			out->put(out->arg, s + from, at - from);
		if (!json)
			put_hex(out, s + at, n == 0 ? 1 : n);
		else if (n == 0)
			put_string(out, "\\ufffd");
		else
			put_json_escape(out, s + at, n);
		at += n == 0 ? 1 : n;
		from = at;
	}
	if (at > from)
		out->put(out->arg, s + from, at - from);
}

const char *
logsink_time(const struct timespec *at, char buf[LOGSINK_TIME])
{
	struct tm tm;
	size_t len;

	gmtime_r(&at->tv_sec, &tm);
	len = strftime(buf, LOGSINK_TIME, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, LOGSINK_TIME - len, ".%03dZ",
	    (int)(at->tv_nsec / 1000000));
	return buf;
}

const char *
logsink_level_name(enum log_level level)
{
	return levels[level];
}

static void
put_head(const struct out *out, const struct logline *line,
    const struct logsink_style *style)
{
	int severity = severity_of(line->level);
	char time[LOGSINK_TIME];
	char head[128];
	struct tm tm;

	switch (style->head) {
	case LOGSINK_HEAD_TIME:
		if (style->json)
			return;
		snprintf(head, sizeof(head), "%s %s ",
		    logsink_time(&line->at, time), levels[line->level]);
		break;
	case LOGSINK_HEAD_JOURNAL:
		snprintf(head, sizeof(head), "<%d>", severity);
		break;
	case LOGSINK_HEAD_SYSLOG:
		/* RFC 3164, as syslog(3) has it: local time, English. */
		localtime_r(&line->at.tv_sec, &tm);
		strftime(time, sizeof(time), "%b %e %H:%M:%S", &tm);
		snprintf(head, sizeof(head),
		    "<%d>%s apppoold[%d]: ", style->facility | severity, time,
		    (int)getpid());
		break;
	}
	put_string(out, head);
}

static void
put_json(const struct out *out, const struct logline *line)
{
	char time[LOGSINK_TIME];

	put_string(out, "{\"time\":\"");
	put_string(out, logsink_time(&line->at, time));
	put_string(out, "\",\"level\":\"");
	put_string(out, levels[line->level]);
	if (line->app != NULL) {
		put_string(out, "\",\"app\":\"");
		put_text(out, line->app, strlen(line->app), true);
		put_string(out, "\",\"id\":\"");
		put_text(out, line->id, strlen(line->id), true);
	}
	put_string(out, "\",\"text\":\"");
	put_text(out, line->text, line->len, true);
	put_string(out, "\"}");
}

void
logsink_format(const struct logline *line, const struct logsink_style *style,
    void (*put)(void *arg, const char *piece, size_t len), void *arg)
{
	const struct out out = { put, arg };

	put_head(&out, line, style);
	if (style->json) {
		put_json(&out, line);
		return;
	}
	if (line->app != NULL) {
		put_text(&out, line->app, strlen(line->app), false);
		put_string(&out, "/");
		put_text(&out, line->id, strlen(line->id), false);
		put_string(&out, ": ");
	}
	put_text(&out, line->text, line->len, false);
}

/* --- where lines go ----------------------------------------------------- */

/* O_NONBLOCK is for a FIFO, which may have no reader. */
static int
open_file(const char *path, char *why)
{
	return ownfile_open(path, OWNFILE_ANY,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0640, why);
}

/* Tried for each line: the syslog daemon may start after us, or again. */
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
	char why[OWNFILE_WHY];

	memset(s, 0, sizeof(*s));
	s->dest = spec->dest;
	s->style.json = spec->json;
	s->fd = -1;

	if (s->dest == LOG_DEST_STDERR) {
		s->fd = STDERR_FILENO;
		if (is_journal(s->fd))
			s->style.head = LOGSINK_HEAD_JOURNAL;
		return 0;
	}

	if (s->dest == LOG_DEST_SYSLOG && path == NULL)
		path = SYSLOG_SOCKET;
	s->path = strdup(path);
	if (s->path == NULL)
		return -1;
	if (s->dest == LOG_DEST_SYSLOG) {
		s->style.head = LOGSINK_HEAD_SYSLOG;
		s->style.facility = spec->facility;
		return 0;
	}
	s->fd = open_file(s->path, why);
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

/* Like write(2), but waits for room as long as it may. */
static ssize_t
write_some(struct logsink *s, const char *p, size_t len)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLOUT };
	ssize_t n = -1;

	for (;;) {
		bool wait = s->may_wait == NULL || s->may_wait(s->arg);
		int ready = poll(&pfd, 1, wait ? ASK_AGAIN : 0);

		if (ready == 1) {
			/* At most PIPE_BUF bytes: poll(2) has found room. */
			n = s->dest == LOG_DEST_SYSLOG
			    ? send(s->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL)
			    : write(s->fd, p, len);
			if (n != -1 || (errno != EAGAIN && errno != EINTR))
				return n;
		} else if (ready == -1 && errno != EINTR) {
			return -1;
		}
		if (!wait) {
			errno = 0;
			return -1;
		}
	}
}

/*
 * Writes the buffer, after the newline of a line that a failure has torn;
 * *done_out says how much of it. Returns false, and s->error: not all.
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

	if (s->reporting && done > 0) {
		s->lost = 0;
		s->reporting = false;
	}
	s->lost += count_newlines(s->buf + done, s->len - done);
	/* The count of lost lines is not one of them. */
	if (s->reporting)
		s->lost--;
	return all;
}

/* Tries twice: the first socket may be that of a daemon that is gone. */
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
			if (s->reporting)
				s->lost = 0;
			return true;
		}
		if (s->error == 0)
			break;
		(void)close(s->fd);
		s->fd = -1;
	}
	if (!s->reporting)
		s->lost++;
	return false;
}

/* Returns false if something was lost. */
static bool
flush(struct logsink *s)
{
	bool all = true;

	if (s->len > 0)
		all = s->dest == LOG_DEST_SYSLOG ? flush_syslog(s)
						 : flush_stream(s);
	s->len = 0;
	s->reporting = false;
	return all;
}

void
logsink_flush(struct logsink *s)
{
	(void)flush(s);
}

/* Adds a piece of a line, which may be longer than the buffer. */
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
		/* A line that fills a datagram ends there. */
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
	/* A line that fits into the buffer is never cut in two writes. */
	if (s->len > 0 && line->len > sizeof(s->buf) / 2 - s->len / 2)
		(void)flush(s);
	if (s->len == 0)
		s->fresh = true;
	s->skipping = false;
	logsink_format(line, &s->style, add, s);
	if (s->dest == LOG_DEST_SYSLOG)
		(void)flush(s);
	else
		add(s, "\n", 1);
}

/* Adds a line about the log itself. */
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
	/* The count stands in front of the line tried next. */
	if (s->lost > 0 && s->len == 0) {
		s->reporting = true;
		add_own(s, "%lu lines of log lost: %s", s->lost,
		    s->error == 0 ? "they are not read fast enough"
				  : strerror(s->error));
	}
	add_line(s, line);
}

void
logsink_reopen(struct logsink *s)
{
	char why[OWNFILE_WHY];
	int fd;

	if (s->dest != LOG_DEST_FILE)
		return;
	fd = open_file(s->path, why);
	if (fd == -1) {
		add_own(s, "%s: cannot be opened anew: %s", s->path,
		    why[0] != '\0' ? why : strerror(errno));
		return;
	}
	logsink_flush(s);
	(void)close(s->fd);
	s->fd = fd;
	s->torn = false;
}
