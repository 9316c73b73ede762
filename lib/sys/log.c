/*
 * Where lines of the log go, and the thread that writes them, so that no other
 * one waits for a slow reader.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/ownfile.h"
#include "sys/ring.h"

/* Lines on their way to the thread. */
#define RING_SIZE ((size_t)512 * 1024)

/* Enough for the thread, sanitizers included. */
#define STACK_SIZE ((size_t)128 * 1024)

/* How often a slow reader is given up, or not, in milliseconds. */
#define ASK_AGAIN 100

#define SYSLOG_SOCKET "/dev/log"

/* A line of at most this size is one write(2), and so whole in a pipe. */
#define BUFFER_SIZE 4096

/*
 * Where lines go: standard error, a file, or syslog's socket. A failure is no
 * error for the caller: lines are lost and counted, and the count is written as
 * soon as something can be written again.
 */
struct logsink {
	enum log_dest dest;
	char *path; /* owned; NULL: STDERR */
	int fd; /* -1: closed; not ours if STDERR */
	struct log_style style;
	struct logsink *former; /* which this one replaced before it was used */

	char buf[BUFFER_SIZE];
	size_t len;
	bool skipping; /* the rest of this line is not wanted any more */
	bool fresh; /* the buffer begins where a line does */
	bool torn; /* the last byte written does not end a line */
	bool reporting; /* the buffer begins with the count of lost lines */
	unsigned long lost; /* lines, since that count was last written */
	int error; /* errno of the latest loss; 0: waiting was given up */
};

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
	struct ring ring; /* of struct ring_line */
	unsigned long dropped; /* lines, since one last found room */
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

/* --- where lines go ----------------------------------------------------- */

/* O_NONBLOCK is for a FIFO, which may have no reader. */
static int
sink_open_file(const char *path, char *why)
{
	return ownfile_open(path, OWNFILE_ANY,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0640, why);
}

/* Tried for each line: the syslog daemon may start after us, or again. */
static void
sink_connect(struct logsink *s)
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
sink_is_journal(int fd)
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

void
log_abandon(struct logsink *s)
{
	if (s == NULL || s == &standard_error)
		return;
	if (s->fd != -1 && s->dest != LOG_DEST_STDERR)
		(void)close(s->fd);
	free(s->path);
	free(s);
}

struct logsink *
log_prepare(const struct log_spec *spec)
{
	struct logsink *s = calloc(1, sizeof(*s));
	const char *path = spec->path;
	char why[OWNFILE_WHY];
	int saved_errno;

	if (s == NULL)
		return NULL;
	s->dest = spec->dest;
	s->style.json = spec->json;
	s->fd = -1;
	if (s->dest == LOG_DEST_STDERR) {
		s->fd = STDERR_FILENO;
		if (sink_is_journal(s->fd))
			s->style.head = LOG_HEAD_JOURNAL;
		return s;
	}
	if (s->dest == LOG_DEST_SYSLOG && path == NULL)
		path = SYSLOG_SOCKET;
	s->path = strdup(path);
	if (s->path == NULL)
		goto fail;
	if (s->dest == LOG_DEST_SYSLOG) {
		s->style.head = LOG_HEAD_SYSLOG;
		s->style.facility = spec->facility;
		return s;
	}
	s->fd = sink_open_file(s->path, why);
	if (s->fd != -1)
		return s;
fail:
	saved_errno = errno;
	log_abandon(s);
	errno = saved_errno;
	return NULL;
}

/*
 * Like write(2), but waits for room: until the thread is to end, or to write
 * elsewhere.
 */
static ssize_t
sink_write_some(struct logsink *s, const char *p, size_t len)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLOUT };
	ssize_t n = -1;

	for (;;) {
		bool wait = !atomic_load(&state.no_wait) &&
		    atomic_load(&state.next) == NULL;
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
 * *done_out says how much of it. Returns false, and s->error: not all. The only
 * point of cancellation of the thread.
 */
static bool
sink_write_out(struct logsink *s, size_t *done_out)
{
	size_t done = 0;
	ssize_t n = 0;
	int cancel;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
	if (s->fresh && s->torn) {
		n = sink_write_some(s, "\n", 1);
		s->torn = n == -1;
	}
	while (n != -1 && done < s->len) {
		n = sink_write_some(s, s->buf + done, s->len - done);
		if (n != -1)
			done += (size_t)n;
	}
	if (n == -1)
		s->error = errno;
	(void)pthread_setcancelstate(cancel, NULL);

	if (done > 0)
		s->torn =
		    s->dest != LOG_DEST_SYSLOG && s->buf[done - 1] != '\n';
	*done_out = done;
	return n != -1;
}

static bool
sink_flush_stream(struct logsink *s)
{
	size_t done;
	bool all = sink_write_out(s, &done);

	if (s->reporting && done > 0) {
		s->lost = 0;
		s->reporting = false;
	}
	for (size_t i = done; i < s->len; i++)
		s->lost += s->buf[i] == '\n';
	/* The count of lost lines is not one of them. */
	if (s->reporting)
		s->lost--;
	return all;
}

/* Tries twice: the first socket may be that of a daemon that is gone. */
static bool
sink_flush_syslog(struct logsink *s)
{
	size_t done;

	for (int tries = 0; tries < 2; tries++) {
		if (s->fd == -1)
			sink_connect(s);
		if (s->fd == -1) {
			s->error = errno;
			break;
		}
		if (sink_write_out(s, &done)) {
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
sink_flush(struct logsink *s)
{
	bool all = true;

	if (s->len > 0)
		all = s->dest == LOG_DEST_SYSLOG ? sink_flush_syslog(s)
						 : sink_flush_stream(s);
	s->len = 0;
	s->reporting = false;
	return all;
}

/* Adds a piece of a line, which may be longer than the buffer. */
static void
sink_add(void *arg, const char *piece, size_t len)
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
		if (!sink_flush(s)) {
			s->skipping = true;
			s->lost++;
		}
		s->fresh = false;
	}
}

static void
sink_add_line(struct logsink *s, const struct logline *line)
{
	/* A line that fits into the buffer is never cut in two writes. */
	if (s->len > 0 && line->len > sizeof(s->buf) / 2 - s->len / 2)
		(void)sink_flush(s);
	if (s->len == 0)
		s->fresh = true;
	s->skipping = false;
	log_format(line, &s->style, sink_add, s);
	if (s->dest == LOG_DEST_SYSLOG)
		(void)sink_flush(s);
	else
		sink_add(s, "\n", 1);
}

/* Adds a line about the log itself. */
static void __attribute__((format(printf, 2, 3)))
sink_add_own(struct logsink *s, const char *fmt, ...)
{
	char text[512];
	struct logline line = { .level = LOG_LEVEL_WARN, .text = text };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	line.len = strlen(text);
	clock_gettime(CLOCK_REALTIME, &line.at);
	sink_add_line(s, &line);
}

/* Adds a line; writes when the buffer is full, or for syslog at once. */
static void
sink_put(struct logsink *s, const struct logline *line)
{
	/* The count stands in front of the line tried next. */
	if (s->lost > 0 && s->len == 0) {
		s->reporting = true;
		sink_add_own(s, "%lu lines of log lost: %s", s->lost,
		    s->error == 0 ? "they are not read fast enough"
				  : strerror(s->error));
	}
	sink_add_line(s, line);
}

static void
sink_reopen(struct logsink *s)
{
	char why[OWNFILE_WHY];
	int fd;

	if (s->dest != LOG_DEST_FILE)
		return;
	fd = sink_open_file(s->path, why);
	if (fd == -1) {
		sink_add_own(s, "%s: cannot be opened anew: %s", s->path,
		    why[0] != '\0' ? why : strerror(errno));
		return;
	}
	(void)sink_flush(s);
	(void)close(s->fd);
	s->fd = fd;
	s->torn = false;
}

/* Writes a line to the sink in use, and where else it belongs. */
static void
log_write(const struct logline *line)
{
	sink_put(state.sink, line);
	if (!atomic_load(&state.echo) || line->app != NULL ||
	    line->level != LOG_LEVEL_ERROR ||
	    state.sink->dest == LOG_DEST_STDERR)
		return;
	sink_put(&standard_error, line);
	(void)sink_flush(&standard_error);
}

/* Replaces the sink in use; its count of lost lines goes to the next. */
static void
take_next_sink(void)
{
	struct logsink *next, *former;

	if (atomic_load(&state.next) == NULL)
		return;
	/* Flushed while next is still set: the flush does not wait then. */
	(void)sink_flush(state.sink);
	next = atomic_exchange(&state.next, NULL);
	while ((former = next->former) != NULL) {
		next->former = former->former;
		log_abandon(former);
	}
	next->lost = state.sink->lost;
	next->error = state.sink->error;
	log_abandon(state.sink);
	state.sink = next;
}

/* --- lines on their way to the thread ----------------------------------- */

/* Followed by app, NUL, id, NUL and text. */
struct ring_line {
	struct timespec at;
	size_t len;
	uint16_t app_size; /* with NUL; 0: no app and no id */
	uint16_t id_size;
	uint16_t level;
};

static bool
ring_add_line(const struct logline *line)
{
	struct ring_line head = {
		.at = line->at,
		.len = line->len,
		.level = (uint16_t)line->level,
	};
	char *to;

	if (line->app != NULL) {
		head.app_size = (uint16_t)(strlen(line->app) + 1);
		head.id_size = (uint16_t)(strlen(line->id) + 1);
	}
	to = ring_add(&state.ring,
	    sizeof(head) + head.app_size + head.id_size + line->len);
	if (to == NULL)
		return false;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	if (line->app != NULL) {
		memcpy(to, line->app, head.app_size);
		memcpy(to + head.app_size, line->id, head.id_size);
	}
	memcpy(to + head.app_size + head.id_size, line->text, line->len);
	return true;
}

/* The line stays until ring_drop(). False: there is none. */
static bool
ring_first_line(struct logline *out)
{
	const struct ring_line *head = ring_peek(&state.ring);
	const char *p = (const char *)(head + 1);

	if (head == NULL)
		return false;
	*out = (struct logline){
		.at = head->at,
		.level = (enum log_level)head->level,
		.app = head->app_size != 0 ? p : NULL,
		.id = head->app_size != 0 ? p + head->app_size : NULL,
		.text = p + head->app_size + head->id_size,
		.len = head->len,
	};
	return true;
}

/* Tells of the lines dropped, if any, as soon as there is room for that. */
static void
report_dropped(void)
{
	char text[80];
	struct logline line = { .level = LOG_LEVEL_WARN, .text = text };

	if (state.dropped == 0)
		return;
	line.len = (size_t)snprintf(text, sizeof(text),
	    "%lu lines of log dropped: they are not read fast enough",
	    state.dropped);
	clock_gettime(CLOCK_REALTIME, &line.at);
	if (ring_add_line(&line))
		state.dropped = 0;
}

bool
log_wants(enum log_level level)
{
	return (int)level <= atomic_load(&state.level);
}

void
log_put(struct logline *line)
{
	int saved_errno = errno;

	clock_gettime(CLOCK_REALTIME, &line->at);
	if (!log_wants(line->level))
		return;
	pthread_mutex_lock(&state.lock);
	if (state.running) {
		report_dropped();
		if (state.dropped > 0 || !ring_add_line(line))
			state.dropped++;
		pthread_cond_signal(&state.work);
	} else if (!state.abandoned) {
		log_write(line);
		(void)sink_flush(state.sink);
	}
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

/* --- the thread --------------------------------------------------------- */

/* Whether the sink is to be replaced or opened anew. */
static bool
has_requests(void)
{
	return atomic_load(&state.next) != NULL || atomic_load(&state.reopen);
}

/*
 * Called and returns with the lock held, but gives it up meanwhile. Returns
 * false: there was nothing to do.
 */
static bool
log_work(void)
{
	struct logline line;
	bool found;

	if (has_requests()) {
		pthread_mutex_unlock(&state.lock);
		take_next_sink();
		if (atomic_exchange(&state.reopen, false))
			sink_reopen(state.sink);
		pthread_mutex_lock(&state.lock);
		return true;
	}

	found = ring_first_line(&line);
	pthread_mutex_unlock(&state.lock);
	if (found)
		log_write(&line);
	else
		(void)sink_flush(state.sink);
	pthread_mutex_lock(&state.lock);
	if (found)
		ring_drop(&state.ring);
	else
		report_dropped();
	return found || ring_peek(&state.ring) != NULL || has_requests();
}

static void *
log_thread(void *arg)
{
	int ignored;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&state.lock);
	for (;;) {
		state.busy = true;
		while (log_work())
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
	else if (ring_init(&state.ring, RING_SIZE) == -1)
		error = errno;
	if (error == 0) {
		state.stop = false;
		atomic_store(&state.no_wait, false);
		if (thread_start("apppoold-log", STACK_SIZE, log_thread, NULL,
			&state.thread) == -1)
			error = errno;
		state.running = error == 0;
		if (error != 0)
			ring_fini(&state.ring);
	}
	pthread_mutex_unlock(&state.lock);
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

void
log_commit(struct logsink *s, enum log_level level)
{
	pthread_mutex_lock(&state.lock);
	/* A sink that the thread has not taken yet is closed by it, too. */
	s->former = atomic_load(&state.next);
	while (!atomic_compare_exchange_weak(&state.next, &s->former, s))
		continue;
	if (!state.running && !state.abandoned)
		take_next_sink();
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
	atomic_store(&state.level, (int)level);
}

void
log_echo(bool on)
{
	atomic_store(&state.echo, on);
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
		sink_reopen(state.sink);
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

/* The caller has the lock. */
static bool
wait_until_done(tspan limit)
{
	const struct timespec deadline = clock_timespec(clock_now() + limit);

	while (state.busy || ring_peek(&state.ring) != NULL || has_requests()) {
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

/* The wall clock may be set while this waits. */
static bool
join_thread(void)
{
	const struct timespec deadline =
	    clock_timespec(clock_now() + TSPAN_SECONDS(1));

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
		/*
		 * The thread may hang in a write(2) that poll(2) promised would
		 * not: that is cancelled. A thread that hangs in the kernel for
		 * good is left where it is.
		 */
		joined = join_thread();
		if (!joined) {
			(void)pthread_cancel(state.thread);
			joined = join_thread();
		}
		pthread_mutex_lock(&state.lock);
		state.running = false;
		state.busy = false;
		state.abandoned = !joined;
		if (joined)
			ring_fini(&state.ring);
	}
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}
