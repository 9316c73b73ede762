/* Lines of the log: what is logged, and how it looks. */

#include <errno.h>
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

/* --- how a line looks --------------------------------------------------- */

static const struct {
	const char *name;
	int severity;
} levels[LOG_LEVELS] = {
	[LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[LOG_LEVEL_WARN] = { "warn", LOG_WARNING },
	[LOG_LEVEL_INFO] = { "info", LOG_INFO },
	[LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

const char *
log_level_name(enum log_level level)
{
	return levels[level].name;
}

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

static void
format_json(const struct logline *line, text_piece *put, void *arg)
{
	char time[LOG_TIME], head[LOG_TIME + 64];

	(void)snprintf(head, sizeof(head), "{\"time\":\"%s\",\"level\":\"%s\"",
	    log_time(&line->at, time), log_level_name(line->level));
	put(arg, head, strlen(head));
	if (line->app != NULL) {
		put(arg, ",\"app\":\"", 8);
		text_pieces(line->app, strlen(line->app), TEXT_JSON, put, arg);
		put(arg, "\",\"id\":\"", 8);
		text_pieces(line->id, strlen(line->id), TEXT_JSON, put, arg);
		put(arg, "\"", 1);
	}
	put(arg, ",\"text\":\"", 9);
	text_pieces(line->text, line->len, TEXT_JSON, put, arg);
	put(arg, "\"}", 2);
}

void
log_format(const struct logline *line, const struct log_style *style,
    text_piece *put, void *arg)
{
	const int severity = levels[line->level].severity;
	char time[LOG_TIME], head[128] = "";
	struct tm tm;

	switch (style->head) {
	case LOG_HEAD_TIME:
		if (!style->json)
			(void)snprintf(head, sizeof(head), "%s %s ",
			    log_time(&line->at, time),
			    log_level_name(line->level));
		break;
	case LOG_HEAD_JOURNAL:
		(void)snprintf(head, sizeof(head), "<%d>", severity);
		break;
	case LOG_HEAD_SYSLOG:
		/* RFC 3164, as syslog(3) has it: local time, English. */
		localtime_r(&line->at.tv_sec, &tm);
		strftime(time, sizeof(time), "%b %e %H:%M:%S", &tm);
		(void)snprintf(head, sizeof(head),
		    "<%d>%s apppoold[%d]: ", style->facility | severity, time,
		    (int)getpid());
		break;
	}
	put(arg, head, strlen(head));
	if (style->json) {
		format_json(line, put, arg);
		return;
	}
	if (line->app != NULL) {
		text_pieces(line->app, strlen(line->app), TEXT_LINE, put, arg);
		put(arg, "/", 1);
		text_pieces(line->id, strlen(line->id), TEXT_LINE, put, arg);
		put(arg, ": ", 2);
	}
	text_pieces(line->text, line->len, TEXT_LINE, put, arg);
}

/* --- lines of ours ------------------------------------------------------ */

/* Ends a text that was cut with dots; returns its length. */
static size_t
end_with_dots(char *text, size_t size, size_t len)
{
	if (len < size)
		return len;
	memcpy(text + size - 4, "...", 4);
	return size - 1;
}

/* error is an errno whose text follows, 0 for none; suffix follows that. */
static void __attribute__((format(printf, 4, 0))) log_text(enum log_level level,
    int error, const char *suffix, const char *fmt, va_list ap)
{
	char text[TEXT_SIZE];
	struct logline line = { .level = level, .text = text };
	int saved_errno = errno;
	int n;

	if (!log_wants(level))
		return;
	n = vsnprintf(text, sizeof(text), fmt, ap);
	line.len = end_with_dots(text, sizeof(text), n < 0 ? 0 : (size_t)n);
	n = snprintf(text + line.len, sizeof(text) - line.len, "%s%s%s",
	    error != 0 ? ": " : "", error != 0 ? strerror(error) : "", suffix);
	line.len = end_with_dots(text, sizeof(text), line.len + (size_t)n);
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
	log_stop(TSPAN_SECONDS(1));
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
