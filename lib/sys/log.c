/*
 * The log: lines of ours and of the workers, and the thread that writes them,
 * so that no other one waits for a slow reader.
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "sys/log.h"
#include "sys/logring.h"
#include "sys/thread.h"

/* A line of our own is cut here. */
#define TEXT_SIZE 4096

/* Names of apps and processes are cut here, in front of what they print. */
#define NAME_SIZE 256

#define SAY_AGAIN TSPAN_SECONDS(60)

/* Enough for the thread, sanitizers included. */
#define STACK_SIZE ((size_t)128 * 1024)

static struct logsink standard_error = {
	.dest = LOG_DEST_STDERR,
	.fd = STDERR_FILENO,
};

/*
 * The lock guards everything but the sink while the thread runs: the sink is
 * the thread's then. The lock is never held while a line is written, except
 * where there is no thread.
 */
static struct {
	atomic_int level; /* the least urgent that is logged */
	pthread_mutex_t lock;
	pthread_cond_t work; /* for the thread: there is something to do */
	pthread_cond_t done; /* from the thread: there is nothing left */
	pthread_t thread;
	bool running;
	bool busy; /* the thread has something in hand */
	bool abandoned; /* the thread could not be ended and has the sink */
	bool stop;
	struct logsink *sink;
	struct logring ring;
	_Atomic(struct logsink *) next; /* to take the place of sink */
	atomic_bool reopen;
	atomic_bool echo; /* errors go to standard error, too */
	atomic_bool no_wait; /* for slow readers, while the thread is ended */
} state = {
	.level = LOG_LEVEL_INFO,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.sink = &standard_error,
};

/* --- the thread --------------------------------------------------------- */

static void
free_sink(struct logsink *s)
{
	if (s == NULL || s == &standard_error)
		return;
	logsink_fini(s);
	free(s);
}

/* Replaces the sink in use; its count of lost lines goes to the next. */
static void
take_next_sink(void)
{
	struct logsink *next;

	if (atomic_load(&state.next) == NULL)
		return;
	/* Flushed while next is still set: the flush does not wait then. */
	logsink_flush(state.sink);
	next = atomic_exchange(&state.next, NULL);
	next->lost = state.sink->lost;
	next->error = state.sink->error;
	free_sink(state.sink);
	state.sink = next;
}

static bool
may_wait(void *arg)
{
	(void)arg;
	return !atomic_load(&state.no_wait) && atomic_load(&state.next) == NULL;
}

/* Writes a line to the sink in use, and where else it belongs. */
static void
write_line(const struct logline *line)
{
	logsink_write(state.sink, line);
	if (!atomic_load(&state.echo) || line->app != NULL ||
	    line->level != LOG_LEVEL_ERROR ||
	    state.sink->dest == LOG_DEST_STDERR)
		return;
	logsink_write(&standard_error, line);
	logsink_flush(&standard_error);
}

/* Whether the sink is to be replaced or opened anew. */
static bool
has_requests(void)
{
	return atomic_load(&state.next) != NULL || atomic_load(&state.reopen);
}

static void
handle_requests(void)
{
	take_next_sink();
	if (atomic_exchange(&state.reopen, false))
		logsink_reopen(state.sink);
}

/*
 * Called and returns with the lock held, but gives it up meanwhile. Returns
 * false: there was nothing to do.
 */
static bool
work(void)
{
	struct logline line;
	bool found;

	if (has_requests()) {
		pthread_mutex_unlock(&state.lock);
		handle_requests();
		pthread_mutex_lock(&state.lock);
		return true;
	}

	found = logring_peek(&state.ring, &line);
	pthread_mutex_unlock(&state.lock);
	if (found)
		write_line(&line);
	else
		logsink_flush(state.sink);
	pthread_mutex_lock(&state.lock);
	if (found)
		logring_pop(&state.ring);
	else
		logring_report_dropped(&state.ring);
	return found || state.ring.lines > 0 || has_requests();
}

static void *
write_lines(void *arg)
{
	int ignored;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&state.lock);
	for (;;) {
		state.busy = true;
		while (work())
			continue;
		state.busy = false;
		pthread_cond_broadcast(&state.done);
		if (state.stop)
			break;
		pthread_cond_wait(&state.work, &state.lock);
	}
	pthread_mutex_unlock(&state.lock);
	return arg;
}

int
log_start(void)
{
	int error = 0;

	/* The zone is read here, and not by localtime_r(3) in the thread. */
	tzset();
	pthread_mutex_lock(&state.lock);
	assert(!state.running);
	if (state.abandoned)
		error = EBUSY;
	else if (logring_init(&state.ring) == -1)
		error = errno;
	if (error == 0) {
		state.stop = false;
		atomic_store(&state.no_wait, false);
		state.sink->may_wait = may_wait;
		if (thread_start("apppoold-log", STACK_SIZE, write_lines, NULL,
			&state.thread) == -1)
			error = errno;
		state.running = error == 0;
		if (error != 0)
			logring_fini(&state.ring);
	}
	pthread_mutex_unlock(&state.lock);
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

struct logsink *
log_prepare(const struct log_spec *spec)
{
	struct logsink *s = calloc(1, sizeof(*s));
	int saved_errno;

	if (s == NULL)
		return NULL;
	if (logsink_init(s, spec) == 0) {
		s->may_wait = may_wait;
		return s;
	}
	saved_errno = errno;
	free(s);
	errno = saved_errno;
	return NULL;
}

void
log_commit(struct logsink *s, enum log_level level)
{
	struct logsink *old;

	pthread_mutex_lock(&state.lock);
	old = atomic_exchange(&state.next, s);
	if (!state.running && !state.abandoned)
		take_next_sink();
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
	free_sink(old);
	atomic_store(&state.level, (int)level);
}

void
log_echo(bool on)
{
	atomic_store(&state.echo, on);
}

void
log_abandon(struct logsink *s)
{
	free_sink(s);
}

int
log_open(const struct log_spec *spec)
{
	struct logsink *s = log_prepare(spec);

	if (s == NULL)
		return -1;
	log_commit(s, spec->level);
	return 0;
}

void
log_reopen(void)
{
	int saved_errno = errno;

	pthread_mutex_lock(&state.lock);
	if (state.running)
		atomic_store(&state.reopen, true);
	else if (!state.abandoned)
		logsink_reopen(state.sink);
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

/* A deadline of CLOCK_MONOTONIC: the wall clock may be set while we wait. */
static struct timespec
in(tspan span)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)(span / TSPAN_SECONDS(1));
	ts.tv_nsec += (long)(span % TSPAN_SECONDS(1));
	if (ts.tv_nsec >= TSPAN_SECONDS(1)) {
		ts.tv_nsec -= TSPAN_SECONDS(1);
		ts.tv_sec++;
	}
	return ts;
}

/* The caller has the lock. */
static bool
wait_until_done(tspan limit)
{
	const struct timespec deadline = in(limit);

	while (state.busy || state.ring.lines > 0 || has_requests()) {
		if (pthread_cond_clockwait(&state.done, &state.lock,
			CLOCK_MONOTONIC, &deadline) == ETIMEDOUT)
			return false;
	}
	return true;
}

bool
log_flush(tspan limit)
{
	int saved_errno = errno;
	bool all;

	pthread_mutex_lock(&state.lock);
	all = !state.running || wait_until_done(limit);
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
	return all;
}

/*
 * The thread may hang in a write(2) that poll(2) promised would not: that is
 * cancelled. A thread that hangs in the kernel for good is left where it is.
 */
static bool
join_thread(void)
{
	struct timespec deadline = in(TSPAN_SECONDS(1));

	if (pthread_clockjoin_np(
		state.thread, NULL, CLOCK_MONOTONIC, &deadline) == 0)
		return true;
	(void)pthread_cancel(state.thread);
	deadline = in(TSPAN_SECONDS(1));
	return pthread_clockjoin_np(
		   state.thread, NULL, CLOCK_MONOTONIC, &deadline) == 0;
}

void
log_stop(tspan limit)
{
	int saved_errno = errno;
	bool joined;

	pthread_mutex_lock(&state.lock);
	if (state.running && !state.stop) {
		(void)wait_until_done(limit);
		state.stop = true;
		atomic_store(&state.no_wait, true);
		pthread_cond_signal(&state.work);
		pthread_mutex_unlock(&state.lock);
		joined = join_thread();
		pthread_mutex_lock(&state.lock);
		state.running = false;
		state.busy = false;
		state.abandoned = !joined;
		if (joined)
			logring_fini(&state.ring);
	}
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

/* --- lines -------------------------------------------------------------- */

void
log_clock(struct timespec *out)
{
	clock_gettime(CLOCK_REALTIME, out);
}

/* Writes the line, or, while the thread runs, leaves it a copy. */
static void
put(struct logline *line)
{
	log_clock(&line->at);
	pthread_mutex_lock(&state.lock);
	if (state.running) {
		(void)logring_put(&state.ring, line);
		pthread_cond_signal(&state.work);
	} else if (!state.abandoned) {
		write_line(line);
		logsink_flush(state.sink);
	}
	pthread_mutex_unlock(&state.lock);
}

/* Ends a text that was cut with dots; returns its length. */
static size_t
cut(char *text, size_t size, size_t len)
{
	if (len < size)
		return len;
	memcpy(text + size - 4, "...", 4);
	return size - 1;
}

/* error is an errno whose text follows, 0 for none; suffix follows that. */
static void __attribute__((format(printf, 4, 0))) say(enum log_level level,
    int error, const char *suffix, const char *fmt, va_list ap)
{
	char text[TEXT_SIZE];
	struct logline line = { .level = level, .text = text };
	int saved_errno = errno;
	int n;

	if ((int)level > atomic_load(&state.level))
		return;
	n = vsnprintf(text, sizeof(text), fmt, ap);
	line.len = cut(text, sizeof(text), n < 0 ? 0 : (size_t)n);
	n = snprintf(text + line.len, sizeof(text) - line.len, "%s%s%s",
	    error != 0 ? ": " : "", error != 0 ? strerror(error) : "", suffix);
	line.len = cut(text, sizeof(text), line.len + (size_t)n);
	put(&line);
	errno = saved_errno;
}

void
log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_ERROR, errno, "", fmt, ap);
	va_end(ap);
}

void
log_errorx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_ERROR, 0, "", fmt, ap);
	va_end(ap);
}

void
log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_WARN, errno, "", fmt, ap);
	va_end(ap);
}

void
log_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_WARN, 0, "", fmt, ap);
	va_end(ap);
}

void
log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_INFO, 0, "", fmt, ap);
	va_end(ap);
}

void
log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_DEBUG, 0, "", fmt, ap);
	va_end(ap);
}

void
log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(level, 0, "", fmt, ap);
	va_end(ap);
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_LEVEL_ERROR, errno, "", fmt, ap);
	va_end(ap);
	log_stop(TSPAN_SECONDS(1));
	_exit(EX_OSERR);
}

void
log_output(enum log_level level, const char *app, const char *id,
    const char *text, size_t len)
{
	char app_name[NAME_SIZE];
	char id_name[NAME_SIZE];
	struct logline line = {
		.level = level,
		.app = app_name,
		.id = id_name,
		.text = text,
		.len = len < LOG_LINE_MAX ? len : LOG_LINE_MAX,
	};
	int saved_errno = errno;

	if ((int)level > atomic_load(&state.level))
		return;
	snprintf(app_name, sizeof(app_name), "%s", app);
	snprintf(id_name, sizeof(id_name), "%s", id);
	put(&line);
	errno = saved_errno;
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
	say(level, 0, suffix, fmt, ap);
	va_end(ap);
}
