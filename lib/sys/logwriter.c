/* The thread that writes the log, so that nobody else waits. */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/logring.h"
#include "sys/logsink.h"
#include "sys/logwriter.h"
#include "sys/thread.h"

/* What the thread needs, sanitizers included. */
#define STACK_SIZE ((size_t)128 * 1024)

static struct logsink at_first = {
	.dest = LOG_DEST_STDERR,
	.fd = STDERR_FILENO,
};

/*
 * The lock guards everything but the sink while the thread runs: that is the
 * thread's then. It is never held while something is written, except where
 * there is no thread.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t work; /* for the thread: there is something to do */
	pthread_cond_t done; /* from the thread: there is nothing left */
	pthread_t thread;
	bool running;
	bool busy; /* the thread has something in hand */
	bool left; /* the thread could not be ended and has the sink */
	bool stop;
	struct logsink *sink;
	struct logring ring;
	_Atomic(struct logsink *) next; /* to take the place of sink */
	atomic_bool reopen;
	atomic_bool hurry; /* waits for no reader any more */
} state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.sink = &at_first,
};

static void
free_sink(struct logsink *s)
{
	if (s == NULL || s == &at_first)
		return;
	logsink_fini(s);
	free(s);
}

/* Lets go of the sink in use; what that has lost is not forgotten. */
static void
take_next_sink(void)
{
	struct logsink *next;

	if (atomic_load(&state.next) == NULL)
		return;
	/* Before next is taken: with one in sight nobody is patient. */
	logsink_flush(state.sink);
	next = atomic_exchange(&state.next, NULL);
	next->lost = state.sink->lost;
	next->error = state.sink->error;
	free_sink(state.sink);
	state.sink = next;
}

static bool
is_patient(void *arg)
{
	(void)arg;
	return !atomic_load(&state.hurry) && atomic_load(&state.next) == NULL;
}

/* Whether there is something to do beside lines. */
static bool
has_orders(void)
{
	return atomic_load(&state.next) != NULL || atomic_load(&state.reopen);
}

static void
follow_orders(void)
{
	take_next_sink();
	if (atomic_exchange(&state.reopen, false))
		logsink_reopen(state.sink);
}

/*
 * Called and returns with the lock held, but gives it up meanwhile. False:
 * there was nothing to do.
 */
static bool
work(void)
{
	struct logline line;
	bool found;

	if (has_orders()) {
		pthread_mutex_unlock(&state.lock);
		follow_orders();
		pthread_mutex_lock(&state.lock);
		return true;
	}

	found = logring_peek(&state.ring, &line);
	pthread_mutex_unlock(&state.lock);
	if (found)
		logsink_write(state.sink, &line);
	else
		logsink_flush(state.sink);
	pthread_mutex_lock(&state.lock);
	if (found)
		logring_pop(&state.ring);
	else
		logring_say_dropped(&state.ring);
	return found || state.ring.lines > 0 || has_orders();
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
logwriter_start(void)
{
	int error = 0;

	/* localtime_r(3) shall find the zone read, and not read it there. */
	tzset();
	pthread_mutex_lock(&state.lock);
	assert(!state.running);
	if (state.left)
		error = EBUSY;
	else if (logring_init(&state.ring) == -1)
		error = errno;
	if (error == 0) {
		state.stop = false;
		atomic_store(&state.hurry, false);
		state.sink->patient = is_patient;
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

int
logwriter_open(const struct log_spec *spec)
{
	struct logsink *s = calloc(1, sizeof(*s));
	struct logsink *old;

	if (s == NULL)
		return -1;
	if (logsink_init(s, spec) == -1) {
		int saved_errno = errno;

		free(s);
		errno = saved_errno;
		return -1;
	}
	s->patient = is_patient;

	pthread_mutex_lock(&state.lock);
	old = atomic_exchange(&state.next, s);
	if (!state.running && !state.left)
		take_next_sink();
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
	free_sink(old);
	return 0;
}

void
logwriter_reopen(void)
{
	int saved_errno = errno;

	pthread_mutex_lock(&state.lock);
	if (state.running)
		atomic_store(&state.reopen, true);
	else if (!state.left)
		logsink_reopen(state.sink);
	pthread_cond_signal(&state.work);
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

static struct timespec
after(clockid_t clock, tspan span)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += (time_t)(span / TSPAN_SECONDS(1));
	ts.tv_nsec += (long)(span % TSPAN_SECONDS(1));
	if (ts.tv_nsec >= TSPAN_SECONDS(1)) {
		ts.tv_nsec -= TSPAN_SECONDS(1);
		ts.tv_sec++;
	}
	return ts;
}

/* With the lock held. */
static bool
wait_until_done(tspan limit)
{
	const struct timespec deadline = after(CLOCK_MONOTONIC, limit);

	while (state.busy || state.ring.lines > 0 || has_orders()) {
		if (pthread_cond_clockwait(&state.done, &state.lock,
			CLOCK_MONOTONIC, &deadline) == ETIMEDOUT)
			return false;
	}
	return true;
}

bool
logwriter_flush(tspan limit)
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
 * cancelled. One that hangs in the kernel for good is left where it is.
 */
static bool
join_thread(void)
{
	struct timespec deadline = after(CLOCK_REALTIME, TSPAN_SECONDS(1));

	if (pthread_timedjoin_np(state.thread, NULL, &deadline) == 0)
		return true;
	(void)pthread_cancel(state.thread);
	deadline = after(CLOCK_REALTIME, TSPAN_SECONDS(1));
	return pthread_timedjoin_np(state.thread, NULL, &deadline) == 0;
}

void
logwriter_stop(tspan limit)
{
	int saved_errno = errno;
	bool joined;

	pthread_mutex_lock(&state.lock);
	if (state.running && !state.stop) {
		(void)wait_until_done(limit);
		state.stop = true;
		atomic_store(&state.hurry, true);
		pthread_cond_signal(&state.work);
		pthread_mutex_unlock(&state.lock);
		joined = join_thread();
		pthread_mutex_lock(&state.lock);
		state.running = false;
		state.busy = false;
		state.left = !joined;
		if (joined)
			logring_fini(&state.ring);
	}
	pthread_mutex_unlock(&state.lock);
	errno = saved_errno;
}

void
logwriter_put(const struct logline *line)
{
	pthread_mutex_lock(&state.lock);
	if (state.running) {
		(void)logring_put(&state.ring, line);
		pthread_cond_signal(&state.work);
	} else if (!state.left) {
		logsink_write(state.sink, line);
		logsink_flush(state.sink);
	}
	pthread_mutex_unlock(&state.lock);
}
