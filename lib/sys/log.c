/* The log: what is said, and how urgent it is. */

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "sys/log.h"
#include "sys/logline.h"
#include "sys/logwriter.h"

/* A line of our own is cut here. */
#define TEXT_SIZE 4096

/* Names of apps and processes are cut here, in front of what they print. */
#define NAME_SIZE 256

#define SAY_AGAIN TSPAN_SECONDS(60)

const char *const log_level_names[LOG_LEVELS] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

static atomic_int level_wanted = LOG_LEVEL_INFO;

int
log_open(const struct log_spec *spec)
{
	if (logwriter_open(spec) == -1)
		return -1;
	atomic_store(&level_wanted, (int)spec->level);
	return 0;
}

int
log_start(void)
{
	return logwriter_start();
}

void
log_reopen(void)
{
	logwriter_reopen();
}

bool
log_flush(tspan limit)
{
	return logwriter_flush(limit);
}

void
log_stop(tspan limit)
{
	logwriter_stop(limit);
}

/* What is cut ends with dots. */
static size_t
cut(char *text, size_t size, size_t len)
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

	if ((int)level > atomic_load(&level_wanted))
		return;
	n = vsnprintf(text, sizeof(text), fmt, ap);
	line.len = cut(text, sizeof(text), n < 0 ? 0 : (size_t)n);
	n = snprintf(text + line.len, sizeof(text) - line.len, "%s%s%s",
	    error != 0 ? ": " : "", error != 0 ? strerror(error) : "", suffix);
	line.len = cut(text, sizeof(text), line.len + (size_t)n);
	clock_gettime(CLOCK_REALTIME, &line.at);
	logwriter_put(&line);
	errno = saved_errno;
}

void
log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_ERROR, errno, "", fmt, ap);
	va_end(ap);
}

void
log_errorx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_ERROR, 0, "", fmt, ap);
	va_end(ap);
}

void
log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_WARN, errno, "", fmt, ap);
	va_end(ap);
}

void
log_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_WARN, 0, "", fmt, ap);
	va_end(ap);
}

void
log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_INFO, 0, "", fmt, ap);
	va_end(ap);
}

void
log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_text(LOG_LEVEL_DEBUG, 0, "", fmt, ap);
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

void
log_output(const char *app, const char *id, const char *text, size_t len)
{
	char app_name[NAME_SIZE];
	char id_name[NAME_SIZE];
	struct logline line = {
		.level = LOG_LEVEL_INFO,
		.app = app_name,
		.id = id_name,
		.text = text,
		.len = len < LOG_LINE_MAX ? len : LOG_LINE_MAX,
	};
	int saved_errno = errno;

	snprintf(app_name, sizeof(app_name), "%s", app);
	snprintf(id_name, sizeof(id_name), "%s", id);
	clock_gettime(CLOCK_REALTIME, &line.at);
	logwriter_put(&line);
	errno = saved_errno;
}

void
log_limited(struct log_rate *rate, tstamp now, enum log_level level,
    const char *fmt, ...)
{
	char suffix[64] = "";
	int saved_errno = errno;
	va_list ap;

	if (now < rate->next) {
		rate->missed++;
		return;
	}
	if (rate->missed > 0)
		snprintf(suffix, sizeof(suffix),
		    " (and %lu times since this was said last)", rate->missed);
	rate->next = tstamp_add(now, SAY_AGAIN);
	rate->missed = 0;

	errno = saved_errno;
	va_start(ap, fmt);
	log_text(level, 0, suffix, fmt, ap);
	va_end(ap);
}
