/* Lines of the log: what is logged, and how it looks. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include "sys/log.h"

/* A line of our own is cut here. */
#define TEXT_SIZE 4096

#define SAY_AGAIN TSPAN_SECONDS(60)

const char *const log_level_names[LOG_LEVELS] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* As syslog(3) has them. */
static const int severities[LOG_LEVELS] = { LOG_ERR, LOG_WARNING, LOG_INFO,
	LOG_DEBUG };

const char *
log_time(const struct timespec *at, char buf[LOG_TIME])
{
	struct tm tm;
	size_t len;

	gmtime_r(&at->tv_sec, &tm);
	len = strftime(buf, LOG_TIME, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(
	    buf + len, LOG_TIME - len, ".%03dZ", (int)(at->tv_nsec / 1000000));
	return buf;
}

void
log_format(const struct logline *line, const struct log_style *style,
    text_piece *put, void *arg)
{
	/* What stands before app, id, behind it, before text, behind it. */
	static const char *const frames[][5] = {
		{ "", "/", ": ", "", "" },
		{ ",\"app\":\"", "\",\"id\":\"", "\"", ",\"text\":\"", "\"}" },
	};
	const char *const *frame = frames[style->json];
	const enum text_as as = style->json ? TEXT_JSON : TEXT_LINE;
	const char *level = log_level_names[line->level];
	char time[LOG_TIME], head[128] = "";
	size_t len;
	struct tm tm;

	if (style->head == LOG_HEAD_JOURNAL) {
		(void)snprintf(
		    head, sizeof(head), "<%d>", severities[line->level]);
	} else if (style->head == LOG_HEAD_SYSLOG) {
		/* RFC 3164, as syslog(3) has it: local time, English. */
		localtime_r(&line->at.tv_sec, &tm);
		strftime(time, sizeof(time), "%b %e %H:%M:%S", &tm);
		(void)snprintf(head, sizeof(head), "<%d>%s apppoold[%d]: ",
		    style->facility | severities[line->level], time,
		    (int)getpid());
	}
	len = strlen(head);
	if (style->json)
		(void)snprintf(head + len, sizeof(head) - len,
		    "{\"time\":\"%s\",\"level\":\"%s\"",
		    log_time(&line->at, time), level);
	else if (style->head == LOG_HEAD_TIME)
		(void)snprintf(head, sizeof(head), "%s %s ",
		    log_time(&line->at, time), level);
	put(arg, head, strlen(head));
	if (line->app != NULL) {
		put(arg, frame[0], strlen(frame[0]));
		text_pieces(line->app, strlen(line->app), as, put, arg);
		put(arg, frame[1], strlen(frame[1]));
		text_pieces(line->id, strlen(line->id), as, put, arg);
		put(arg, frame[2], strlen(frame[2]));
	}
	put(arg, frame[3], strlen(frame[3]));
	text_pieces(line->text, line->len, as, put, arg);
	put(arg, frame[4], strlen(frame[4]));
}

/* error is an errno whose text follows, 0 for none; suffix follows that. */
static void __attribute__((format(printf, 4, 0))) log_text(enum log_level level,
    int error, const char *suffix, const char *fmt, va_list ap)
{
	char text[TEXT_SIZE];
	struct logline line = { .level = level, .text = text };
	int saved_errno = errno;
	int n;

	n = vsnprintf(text, sizeof(text), fmt, ap);
	line.len = n < 0 ? 0 : (size_t)n;
	if (line.len < sizeof(text))
		line.len += (size_t)snprintf(text + line.len,
		    sizeof(text) - line.len, "%s%s%s", error != 0 ? ": " : "",
		    error != 0 ? strerror(error) : "", suffix);
	if (line.len >= sizeof(text)) {
		line.len = sizeof(text) - 1;
		memcpy(text + line.len - 3, "...", 4);
	}
	log_put(&line);
	errno = saved_errno;
}

void
log_at(enum log_level level, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(level, error, "", fmt, ap);
	va_end(ap);
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_ERROR, errno, "", fmt, ap);
	va_end(ap);
	(void)log_flush(TSPAN_SECONDS(1));
	_exit(EX_OSERR);
}

bool
log_rate_allows(struct log_rate *rate, tstamp now, char suffix_out[LOG_SUFFIX])
{
	if (now < rate->next) {
		rate->suppressed++;
		return false;
	}
	suffix_out[0] = '\0';
	if (rate->suppressed > 0)
		snprintf(suffix_out, LOG_SUFFIX,
		    " (and %lu times since this was said last)",
		    rate->suppressed);
	rate->next = tstamp_add(now, SAY_AGAIN);
	rate->suppressed = 0;
	return true;
}

void
log_limited(struct log_rate *rate, tstamp now, enum log_level level,
    const char *fmt, ...)
{
	char suffix[LOG_SUFFIX];
	int saved_errno = errno;
	va_list ap;

	if (!log_rate_allows(rate, now, suffix))
		return;
	errno = saved_errno;
	va_start(ap, fmt);
	log_text(level, 0, suffix, fmt, ap);
	va_end(ap);
}
