/* How a line of the log looks. */

#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "sys/logline.h"
#include "sys/text.h"

/* Where the pieces of one line go. */
struct out {
	logline_put *put;
	void *arg;
};

static void
put_string(const struct out *out, const char *s)
{
	out->put(out->arg, s, strlen(s));
}

static int
logline_severity(enum log_level level)
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

/* One character of a JSON string that cannot stand for itself. */
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

/* Runs of ordinary characters go out in one piece. */
static void
put_text(const struct out *out, const char *s, size_t len, bool json)
{
	size_t from = 0;
	size_t at = 0;

	while (at < len) {
		size_t n = text_char_length(s + at, len - at);
		/* A tab does no harm to a terminal. */
		bool plain = s[at] == '\t' ||
		    (n != 0 && !text_is_control(s + at, n));

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

static void
format_time(const struct timespec *at, char *buf, size_t size)
{
	struct tm tm;
	size_t len;

	gmtime_r(&at->tv_sec, &tm);
	len = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, size - len, ".%03dZ", (int)(at->tv_nsec / 1000000));
}

static void
put_head(const struct out *out, const struct logline *line,
    const struct logline_style *style)
{
	int severity = logline_severity(line->level);
	char time[64];
	char head[128];
	struct tm tm;

	switch (style->head) {
	case LOGLINE_HEAD_TIME:
		if (style->json)
			return;
		format_time(&line->at, time, sizeof(time));
		snprintf(head, sizeof(head), "%s %s ", time,
		    log_level_names[line->level]);
		break;
	case LOGLINE_HEAD_JOURNAL:
		snprintf(head, sizeof(head), "<%d>", severity);
		break;
	case LOGLINE_HEAD_SYSLOG:
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
	char time[64];

	format_time(&line->at, time, sizeof(time));
	put_string(out, "{\"time\":\"");
	put_string(out, time);
	put_string(out, "\",\"level\":\"");
	put_string(out, log_level_names[line->level]);
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
logline_format(const struct logline *line, const struct logline_style *style,
    logline_put *put, void *arg)
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
