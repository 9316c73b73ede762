/* The slow lane: threads for what may block. */

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/lane.h"
#include "sys/log.h"

/* Jobs need little of it; pages that are not used cost nothing. */
#define STACK_SIZE (256 * 1024)

/*
 * Wakes the loop for what has finished since it took the last jobs, once. The
 * caller has the lock.
 */
static void
lane_tell(struct lane *l)
{
	if (!l->told && !STAILQ_EMPTY(&l->finished)) {
		l->told = true;
		(void)eventfd_write(l->io.fd, 1);
	}
}

static void *
lane_run(void *arg)
{
	struct lane *l = arg;
	struct lane_job *job;
	bool told;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		while ((job = STAILQ_FIRST(&l->waiting)) != NULL) {
			STAILQ_REMOVE_HEAD(&l->waiting, next);
			pthread_mutex_unlock(&l->lock);
			told = job->done != NULL;
			job->work(job);
			pthread_mutex_lock(&l->lock);
			l->steps++;
			if (!told)
				continue;
			STAILQ_INSERT_TAIL(&l->finished, job, next);
			if (!job->together || STAILQ_EMPTY(&l->waiting))
				lane_tell(l);
		}
		if (l->stopping)
			break;
		l->idle++;
		pthread_cond_wait(&l->wake, &l->lock);
		l->idle--;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Calls done() of the jobs that have finished. */
static void
lane_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct lane *l = LOOP_OWNER(io, struct lane, io);
	struct lane_jobs jobs = STAILQ_HEAD_INITIALIZER(jobs);
	struct lane_job *job;
	eventfd_t count;

	(void)events;
	pthread_mutex_lock(&l->lock);
	(void)eventfd_read(io->fd, &count);
	STAILQ_CONCAT(&jobs, &l->finished);
	l->told = false;
	if (STAILQ_EMPTY(&l->waiting))
		timer_set(&l->loop->timers, &l->timer, TSTAMP_NEVER);
	pthread_mutex_unlock(&l->lock);
	while ((job = STAILQ_FIRST(&jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(&jobs, next);
		/* The job is the user's again from here on. */
		job->done(job, now);
	}
}

/*
 * Adds a thread if the lane has not moved for LANE_PATIENCE. done() is called
 * by lane_ready() alone, also for jobs that a stuck one keeps from being told:
 * a turn of the loop that calls it has been woken for it.
 */
static void
lane_check_progress(struct timer *t, tstamp now)
{
	struct lane *l = TIMER_OWNER(t, struct lane, timer);
	bool waiting, stuck;

	pthread_mutex_lock(&l->lock);
	waiting = !STAILQ_EMPTY(&l->waiting) && l->nthreads < LANE_THREADS;
	stuck = waiting && l->steps == l->progress_steps &&
	    now - l->progress_at >= LANE_PATIENCE;
	if (l->steps != l->progress_steps || stuck) {
		l->progress_steps = l->steps;
		l->progress_at = now;
	}
	lane_tell(l);
	pthread_mutex_unlock(&l->lock);
	if (stuck &&
	    thread_start(l->name, STACK_SIZE, lane_run, l,
		&l->threads[l->nthreads]) == 0) {
		l->nthreads++;
		if (l->late != NULL)
			log_warnx("%s", l->late);
	}
	if (waiting && l->nthreads < LANE_THREADS)
		timer_set(&l->loop->timers, t,
		    tstamp_add(l->progress_at, LANE_PATIENCE));
}

static void
lane_release(struct lane *l)
{
	if (l->io.fd != -1) {
		(void)loop_set(l->loop, &l->io, 0);
		close(l->io.fd);
	}
	l->io.fd = -1;
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
}

int
lane_start(
    struct lane *l, struct loop *loop, const char *name, const char *late)
{
	int error;

	memset(l, 0, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->wake, NULL);
	STAILQ_INIT(&l->waiting);
	STAILQ_INIT(&l->finished);
	l->loop = loop;
	l->name = name;
	l->late = late;
	timer_init(&l->timer, lane_check_progress);
	l->io.ready = lane_ready;
	l->io.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->io.fd != -1 && loop_set(loop, &l->io, EPOLLIN) == 0 &&
	    thread_start(l->name, STACK_SIZE, lane_run, l, &l->threads[0]) ==
		0) {
		l->nthreads = 1;
		return 0;
	}
	error = errno;
	lane_release(l);
	errno = error;
	return -1;
}

int
lane_stop(struct lane *l, tstamp deadline)
{
	const struct timespec until = clock_timespec(deadline);
	int error = 0;

	timer_set(&l->loop->timers, &l->timer, TSTAMP_NEVER);
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
	lane_ready(&l->io, 0, loop_now(l->loop));
	if (error != 0) {
		(void)loop_set(l->loop, &l->io, 0);
		errno = error;
		return -1;
	}
	lane_release(l);
	return 0;
}

void
lane_submit(struct lane *l, struct lane_job *job)
{
	tstamp now = loop_now(l->loop);

	pthread_mutex_lock(&l->lock);
	assert(!l->stopping);
	if (STAILQ_EMPTY(&l->waiting)) {
		l->progress_at = now;
		l->progress_steps = l->steps;
	}
	timer_advance(
	    &l->loop->timers, &l->timer, tstamp_add(now, LANE_PATIENCE));
	if (l->idle > 0)
		pthread_cond_signal(&l->wake);
	STAILQ_INSERT_TAIL(&l->waiting, job, next);
	pthread_mutex_unlock(&l->lock);
}

/* A descriptor to be closed. */
struct lane_closing {
	struct lane_job job;
	int fd;
};

static void
lane_close_now(int fd)
{
	static const struct linger none = { 0 };

	/* A lingering socket would keep the thread for seconds. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	(void)close(fd);
}

static void
lane_closing_work(struct lane_job *job)
{
	struct lane_closing *c = LOOP_OWNER(job, struct lane_closing, job);

	lane_close_now(c->fd);
	free(c);
}

void
lane_close(struct lane *l, int fd)
{
	struct lane_closing *c = l->nthreads > 0 ? malloc(sizeof(*c)) : NULL;

	if (c == NULL) {
		lane_close_now(fd);
		return;
	}
	*c = (struct lane_closing){ .job.work = lane_closing_work, .fd = fd };
	lane_submit(l, &c->job);
}

bool
lane_is_idle(struct lane *l)
{
	bool idle;

	pthread_mutex_lock(&l->lock);
	idle = STAILQ_EMPTY(&l->waiting) && STAILQ_EMPTY(&l->finished) &&
	    l->idle == l->nthreads;
	pthread_mutex_unlock(&l->lock);
	return idle;
}
