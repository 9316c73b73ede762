/* The slow lane: threads for what may block. */

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/lane.h"
#include "sys/thread.h"

/* What jobs need of it is little; it is touched only where it is used. */
#define STACK_SIZE (256 * 1024)

/* No more than this is asked for when the limit is "infinity". */
#define CLOSING_MAX (1 << 20)

/* The caller has the lock. */
static void
finished(struct lane *l, struct lane_job *job)
{
	bool first = STAILQ_EMPTY(&l->finished);

	STAILQ_INSERT_TAIL(&l->finished, job, next);
	/* The counter cannot overflow: it is read for each list. */
	if (first)
		(void)eventfd_write(l->event_fd, 1);
}

static void
close_foreign(int fd)
{
	static const struct linger none = { 0 };

	/* Whoever sent us a lingering socket does not get a thread for it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	(void)close(fd);
}

/* The caller has the lock, and there is one. */
static int
next_closing(struct lane *l)
{
	int fd = l->closing[l->closing_first];

	l->closing_first = (l->closing_first + 1) % l->closing_max;
	/* Start anew where the pages have been touched already. */
	if (--l->closing_count == 0)
		l->closing_first = 0;
	return fd;
}

/* Does one piece of work if there is one. The caller has the lock. */
static bool
step(struct lane *l)
{
	struct lane_job *job = STAILQ_FIRST(&l->waiting);
	int fd;

	if (job != NULL) {
		STAILQ_REMOVE_HEAD(&l->waiting, next);
		atomic_fetch_sub(&l->pending, 1);
		pthread_mutex_unlock(&l->lock);
		job->work(job);
		pthread_mutex_lock(&l->lock);
		finished(l, job);
	} else if (l->closing_count > 0) {
		fd = next_closing(l);
		atomic_fetch_sub(&l->pending, 1);
		pthread_mutex_unlock(&l->lock);
		close_foreign(fd);
		pthread_mutex_lock(&l->lock);
	} else {
		return false;
	}
	l->steps++;
	return true;
}

static void *
run(void *arg)
{
	struct lane *l = arg;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		if (step(l))
			continue;
		if (l->stopping)
			break;
		l->idle++;
		pthread_cond_wait(&l->wake, &l->lock);
		l->idle--;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static int
add_thread(struct lane *l)
{
	if (thread_start(
		l->name, STACK_SIZE, run, l, &l->threads[l->nthreads]) == -1)
		return -1;
	l->nthreads++;
	return 0;
}

/* Room for every descriptor we may have, so that lane_close() cannot fail. */
static int
map_closing(struct lane *l)
{
	struct rlimit limit;
	void *map;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return -1;
	l->closing_max =
	    limit.rlim_max < CLOSING_MAX ? limit.rlim_max : CLOSING_MAX;
	map = mmap(NULL, l->closing_max * sizeof(*l->closing),
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    -1, 0);
	if (map == MAP_FAILED)
		return -1;
	l->closing = map;
	return 0;
}

static void
release(struct lane *l)
{
	if (l->closing != NULL)
		munmap(l->closing, l->closing_max * sizeof(*l->closing));
	l->closing = NULL;
	if (l->event_fd != -1)
		close(l->event_fd);
	l->event_fd = -1;
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
}

int
lane_start(struct lane *l, const char *name)
{
	int error;

	memset(l, 0, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->wake, NULL);
	STAILQ_INIT(&l->waiting);
	STAILQ_INIT(&l->finished);
	l->name = name;
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->event_fd != -1 && map_closing(l) == 0 && add_thread(l) == 0)
		return 0;
	error = errno;
	release(l);
	errno = error;
	return -1;
}

int
lane_stop(struct lane *l, tstamp now, tstamp deadline)
{
	struct timespec until = {
		.tv_sec = (time_t)(deadline / TSPAN_SECONDS(1)),
		.tv_nsec = (long)(deadline % TSPAN_SECONDS(1)),
	};
	int error = 0;

	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);

	while (l->nthreads > 0 && error == 0) {
		error = pthread_clockjoin_np(
		    l->threads[l->nthreads - 1], NULL, CLOCK_MONOTONIC, &until);
		if (error == 0)
			l->nthreads--;
	}
	(void)lane_collect(l, now);
	if (error != 0) {
		errno = error;
		return -1;
	}
	release(l);
	return 0;
}

/* The caller has the lock. */
static bool
is_waiting(const struct lane *l)
{
	return !STAILQ_EMPTY(&l->waiting) || l->closing_count > 0;
}

/* Before something is added. The caller has the lock. */
static void
prepare(struct lane *l, tstamp now)
{
	if (!is_waiting(l)) {
		l->progress_at = now;
		l->progress_steps = l->steps;
	}
	if (l->idle > 0)
		pthread_cond_signal(&l->wake);
}

void
lane_submit(struct lane *l, struct lane_job *job, tstamp now)
{
	pthread_mutex_lock(&l->lock);
	assert(!l->stopping);
	prepare(l, now);
	STAILQ_INSERT_TAIL(&l->waiting, job, next);
	atomic_fetch_add(&l->pending, 1);
	pthread_mutex_unlock(&l->lock);
}

void
lane_close(struct lane *l, int fd, tstamp now)
{
	bool room;

	pthread_mutex_lock(&l->lock);
	assert(!l->stopping);
	room = l->closing_count < l->closing_max;
	if (room) {
		prepare(l, now);
		l->closing[(l->closing_first + l->closing_count) %
		    l->closing_max] = fd;
		l->closing_count++;
		atomic_fetch_add(&l->pending, 1);
	}
	pthread_mutex_unlock(&l->lock);
	if (!room)
		close_foreign(fd);
}

int
lane_fd(const struct lane *l)
{
	return l->event_fd;
}

int
lane_collect(struct lane *l, tstamp now)
{
	struct lane_jobs jobs = STAILQ_HEAD_INITIALIZER(jobs);
	struct lane_job *job;
	eventfd_t count;
	int n = 0;

	pthread_mutex_lock(&l->lock);
	(void)eventfd_read(l->event_fd, &count);
	STAILQ_CONCAT(&jobs, &l->finished);
	pthread_mutex_unlock(&l->lock);

	while ((job = STAILQ_FIRST(&jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(&jobs, next);
		/* Not ours any more from here on. */
		job->done(job, now);
		n++;
	}
	return n;
}

tstamp
lane_deadline(struct lane *l)
{
	tstamp at = TSTAMP_NEVER;

	if (atomic_load(&l->pending) == 0)
		return at;
	pthread_mutex_lock(&l->lock);
	if (is_waiting(l) && l->nthreads < LANE_THREADS)
		at = tstamp_add(l->progress_at, LANE_PATIENCE);
	pthread_mutex_unlock(&l->lock);
	return at;
}

bool
lane_expire(struct lane *l, tstamp now)
{
	bool stuck;

	pthread_mutex_lock(&l->lock);
	stuck = is_waiting(l) && l->steps == l->progress_steps &&
	    now - l->progress_at >= LANE_PATIENCE;
	if (l->steps != l->progress_steps || stuck) {
		l->progress_steps = l->steps;
		l->progress_at = now;
	}
	pthread_mutex_unlock(&l->lock);
	return stuck && l->nthreads < LANE_THREADS && add_thread(l) == 0;
}
