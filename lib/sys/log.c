/*
 * Where lines of the log go, and the thread that writes them, so that no other
 * one waits for a slow reader.
 */

#include <sys/stat.h>

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/ownfile.h"

/* Bytes of lines that wait for the thread; so many are kept without any. */
#define WAITING_MAX ((size_t)512 * 1024)
#define WAITING_KEPT ((size_t)64 * 1024)

/* Enough for the thread, sanitizers included. */
#define STACK_SIZE ((size_t)128 * 1024)

/* How often a slow reader is given up, or not, in milliseconds. */
#define ASK_AGAIN 100

/*
 * So many bytes are one write(2), and whole in a pipe: the lines that have room
 * in them together, or a piece of one that is longer. A datagram ends there.
 */
#define PIECE_SIZE ((size_t)4096)

/* A full piece, and the longest line behind it, each byte of it escaped. */
#define BUFFER_SIZE (PIECE_SIZE + 6 * (LOG_LINE_MAX + (size_t)1024))

/*
 * Where lines go: standard error, a file, or syslog's socket. A failure is no
 * error for the caller: lines are lost and counted, and the count is written as
 * soon as something can be written again.
 */
struct logsink {
	enum log_dest dest;
	enum log_level level; /* the least urgent that is logged */
	char *path; /* of the socket, owned; NULL: no SYSLOG */
	int fd; /* -1: closed; not ours if STDERR */
	struct log_style style;
	struct logsink *former; /* which this one replaced before it was used */
	bool torn; /* the last byte written does not end a line */
	unsigned long lost; /* lines, since that count was last written */
	int error; /* errno of the latest loss; 0: waiting was given up */
};

static struct logsink standard_error = {
	.dest = LOG_DEST_STDERR,
	.fd = STDERR_FILENO,
};

/*
 * The lock guards everything but the sink and its buffer while the thread runs:
 * these are the thread's then. The lock is never held while a line is written,
 * except where there is no thread.
 */
static struct {
	atomic_int level; /* the least urgent that is logged */
	pthread_mutex_t lock;
	pthread_cond_t work; /* for the thread: there is something to do */
	pthread_cond_t done; /* from the thread: there is nothing left */
	bool running;
	bool busy; /* the thread has something in hand */
	struct logsink *sink;
	struct text waiting; /* for the thread: lines */
	struct text taken; /* the thread's: those that it writes */
	unsigned long dropped; /* lines, since one last found room */
	_Atomic(struct logsink *) next; /* to take the place of sink */
	atomic_bool echo; /* errors go to standard error, too */
} state = {
	.level = LOG_LEVEL_INFO,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.sink = &standard_error,
	.waiting.max = WAITING_MAX,
	.taken.max = WAITING_MAX,
};

/* Whole lines for the sink; only what lines have needed takes memory. */
static char buffer[BUFFER_SIZE];
static size_t used;
static bool reporting; /* the first of them counts lost ones */

/* --- where lines go ----------------------------------------------------- */

/* Tried for each line: the syslog daemon may start after us, or again. */
static void
sink_connect(struct logsink *s)
{
	struct sockaddr_un addr;
	socklen_t len = address_of_path(s->path, &addr);

	if (len != 0)
		s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd != -1 && connect(s->fd, (const void *)&addr, len) == -1) {
		(void)close(s->fd);
		s->fd = -1;
	}
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
	const char *journal = getenv("JOURNAL_STREAM");
	char why[OWNFILE_WHY], ours[64];
	struct stat st = { 0 };

	if (s == NULL)
		return NULL;
	s->dest = spec->dest;
	s->level = spec->level;
	s->style.json = spec->json;
	s->style.facility = spec->facility;
	s->fd = -1;
	switch (spec->dest) {
	case LOG_DEST_STDERR:
		s->fd = STDERR_FILENO;
		/* Whether that is the journal's, by systemd.exec(5). */
		(void)fstat(s->fd, &st);
		(void)snprintf(ours, sizeof(ours), "%ju:%ju",
		    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
		if (spec->journal ||
		    (journal != NULL && strcmp(ours, journal) == 0))
			s->style.head = LOG_HEAD_JOURNAL;
		break;
	case LOG_DEST_SYSLOG:
		s->style.head = LOG_HEAD_SYSLOG;
		s->path = strdup(spec->path == NULL ? "/dev/log" : spec->path);
		break;
	case LOG_DEST_FILE:
		/* O_NONBLOCK is for a FIFO, which may have no reader. */
		s->fd = ownfile_open(spec->path, OWNFILE_ANY,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0640,
		    why);
		break;
	}
	if (s->fd != -1 || s->path != NULL)
		return s;
	free(s);
	return NULL;
}

/* As write(2), but waits for room, unless another sink is to be used. */
static ssize_t
sink_write_some(struct logsink *s, const char *p, size_t len)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLOUT };
	ssize_t n = -1;

	for (;;) {
		bool wait = atomic_load(&state.next) == NULL;
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
 * Writes so much of the buffer, without its newline as a datagram, or after the
 * newline of a line that a failure has torn. Returns the bytes written, all but
 * after a failure, s->error.
 */
static size_t
sink_write_out(struct logsink *s, size_t len)
{
	bool datagram = s->dest == LOG_DEST_SYSLOG;
	size_t done = 0, part;
	ssize_t n = 0;

	if (s->torn) {
		n = sink_write_some(s, "\n", 1);
		s->torn = n == -1;
	}
	while (n != -1 && done < len) {
		part = len - done - datagram;
		if (part > PIECE_SIZE)
			part = PIECE_SIZE;
		n = sink_write_some(s, buffer + done, part);
		if (n != -1)
			done = datagram ? len : done + (size_t)n;
	}
	if (n == -1)
		s->error = errno;
	if (done > 0)
		s->torn = !datagram && buffer[done - 1] != '\n';
	return done;
}

/*
 * Writes whole lines, so many bytes at the beginning of the buffer, and takes
 * them out; those not written are lost.
 */
static void
sink_flush(struct logsink *s, size_t len)
{
	bool datagram = s->dest == LOG_DEST_SYSLOG;
	unsigned long lost = 0;
	size_t done = 0;

	if (len == 0)
		return;
	/* The first socket may be that of a daemon that is gone. */
	for (int tries = datagram ? 2 : 1; tries > 0 && done == 0; tries--) {
		if (s->fd == -1)
			sink_connect(s);
		if (s->fd == -1) {
			s->error = errno;
			break;
		}
		done = sink_write_out(s, len);
		if (done > 0 || !datagram || s->error == 0)
			break;
		(void)close(s->fd);
		s->fd = -1;
	}
	for (size_t i = done; i < len; i++)
		lost += buffer[i] == '\n';
	/* The count of lost lines is not one of them. */
	if (reporting && done > 0)
		s->lost = 0;
	else if (reporting)
		lost--;
	s->lost += lost;
	reporting = false;
	used -= len;
	memmove(buffer, buffer + len, used);
}

static void
buffer_add(void *arg, const char *piece, size_t len)
{
	(void)arg;
	assert(len < sizeof(buffer) - used);

	memcpy(buffer + used, piece, len);
	used += len;
}

/* Adds a line, and writes what is a datagram or makes no piece with others. */
static void
sink_add(struct logsink *s, const struct logline *line)
{
	size_t before = used;

	log_format(line, &s->style, buffer_add, NULL);
	buffer_add(NULL, "\n", 1);
	if (used > PIECE_SIZE)
		sink_flush(s, before);
	if (used > PIECE_SIZE || s->dest == LOG_DEST_SYSLOG)
		sink_flush(s, used);
}

static void
sink_put(struct logsink *s, const struct logline *line)
{
	char text[256];
	struct logline count = {
		.at = line->at, .level = LOG_LEVEL_WARN, .text = text
	};

	/* The count stands in front of the line tried next. */
	if (s->lost > 0 && used == 0) {
		(void)snprintf(text, sizeof(text), "%lu lines of log lost: %s",
		    s->lost,
		    s->error == 0 ? "they are not read fast enough"
				  : strerror(s->error));
		count.len = strlen(text);
		reporting = true;
		sink_add(s, &count);
	}
	sink_add(s, line);
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
	sink_flush(state.sink, used);
	sink_put(&standard_error, line);
	sink_flush(&standard_error, used);
}

/* Replaces the sink in use; its count of lost lines goes to the next. */
static void
take_next_sink(void)
{
	struct logsink *next, *former;

	/* Flushed while next is still set: the flush does not wait then. */
	sink_flush(state.sink, used);
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

/*
 * Adds the line itself, followed by app, NUL, id, NUL, where it has these, and
 * text. False: there is no room.
 */
static bool
waiting_add(const struct logline *line)
{
	struct text *to = &state.waiting;
	const size_t before = to->len;

	text_put(to, (const char *)line, sizeof(*line));
	if (line->app != NULL) {
		text_put(to, line->app, strlen(line->app) + 1);
		text_put(to, line->id, strlen(line->id) + 1);
	}
	text_put(to, line->text, line->len);
	if (!to->failed)
		return true;
	to->len = before;
	to->failed = false;
	return false;
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
	if (waiting_add(&line))
		state.dropped = 0;
}

void
log_put(struct logline *line)
{
	int saved_errno = errno;

	clock_gettime(CLOCK_REALTIME, &line->at);
	if ((int)line->level > atomic_load(&state.level))
		return;
	pthread_mutex_lock(&state.lock);
	if (state.running) {
		report_dropped();
		if (state.dropped > 0 || !waiting_add(line))
			state.dropped++;
		pthread_cond_signal(&state.work);
	} else {
		log_write(line);
		sink_flush(state.sink, used);
	}
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

/* --- the thread --------------------------------------------------------- */

/* Writes the lines taken, to the next sink as soon as there is one. */
static void
write_taken(void)
{
	const char *p = state.taken.data;
	struct logline line;

	while (p < state.taken.data + state.taken.len) {
		memcpy(&line, p, sizeof(line));
		p += sizeof(line);
		if (line.app != NULL) {
			line.app = p;
			line.id = p += strlen(p) + 1;
			p += strlen(p) + 1;
		}
		line.text = p;
		p += line.len;
		if (atomic_load(&state.next) != NULL)
			take_next_sink();
		log_write(&line);
	}
	/* The memory of a flood is given back. */
	if (state.taken.size > WAITING_KEPT) {
		text_fini(&state.taken);
		text_init(&state.taken, WAITING_MAX);
	}
	text_clear(&state.taken);
}

static _Noreturn void *
log_thread(void *arg)
{
	struct text taken;

	(void)arg;
	pthread_mutex_lock(&state.lock);
	for (;;) {
		report_dropped();
		state.busy = state.waiting.len > 0 || used > 0 ||
		    atomic_load(&state.next) != NULL;
		if (!state.busy) {
			pthread_cond_broadcast(&state.done);
			pthread_cond_wait(&state.work, &state.lock);
			continue;
		}
		taken = state.waiting;
		state.waiting = state.taken;
		state.taken = taken;
		pthread_mutex_unlock(&state.lock);
		if (atomic_load(&state.next) != NULL)
			take_next_sink();
		if (state.taken.len > 0)
			write_taken();
		else
			sink_flush(state.sink, used);
		pthread_mutex_lock(&state.lock);
	}
}

int
log_start(void)
{
	pthread_t thread;
	bool running;

	/* The zone is read here, and not by localtime_r(3) in the thread. */
	tzset();
	pthread_mutex_lock(&state.lock);
	assert(!state.running);
	running = thread_start("apppoold-log", STACK_SIZE, log_thread, NULL,
		      &thread) == 0;
	state.running = running;
	pthread_mutex_unlock(&state.lock);
	return running ? 0 : -1;
}

void
log_commit(struct logsink *s)
{
	pthread_mutex_lock(&state.lock);
	atomic_store(&state.level, (int)s->level);
	/* A sink that the thread has not taken yet is closed by it, too. */
	s->former = atomic_load(&state.next);
	while (!atomic_compare_exchange_weak(&state.next, &s->former, s))
		continue;
	if (!state.running)
		take_next_sink();
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
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
	log_commit(s);
	return 0;
}

bool
log_flush(tspan limit)
{
	const struct timespec deadline = clock_timespec(clock_now() + limit);
	int saved_errno = errno, error = 0;

	pthread_mutex_lock(&state.lock);
	while (error == 0 && state.running &&
	    (state.busy || state.waiting.len > 0 ||
		atomic_load(&state.next) != NULL))
		error = pthread_cond_clockwait(
		    &state.done, &state.lock, CLOCK_MONOTONIC, &deadline);
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
	return error == 0;
}
