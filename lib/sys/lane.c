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
#include "sys/log.h"
#include "sys/loop.h"

/* Jobs need little of it; pages that are not used cost nothing. */
#define STACK_SIZE (256 * 1024)

/* Room for so many descriptors at most, as where the limit is infinity. */
#define CLOSING_MAX (1 << 20)

static void
lane_close_now(int fd)
{
	static const struct linger none = { 0 };

	/* A lingering socket would keep the thread for seconds. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	(void)close(fd);
}

/* Does one piece of work if there is one. The caller has the lock. */
static bool
lane_step(struct lane *l)
{
	struct lane_job *job = STAILQ_FIRST(&l->waiting);
	int fd;

	if (job != NULL) {
		STAILQ_REMOVE_HEAD(&l->waiting, next);
		pthread_mutex_unlock(&l->lock);
		job->work(job);
		pthread_mutex_lock(&l->lock);
		STAILQ_INSERT_TAIL(&l->finished, job, next);
		/* The counter cannot overflow: each list is counted once. */
		if (!l->told && (!job->together || STAILQ_EMPTY(&l->waiting))) {
			l->told = true;
			(void)eventfd_write(l->io.fd, 1);
		}
	} else if (l->closing_count > 0) {
		fd = l->closing[l->closing_first];
		l->closing_first = (l->closing_first + 1) % l->closing_max;
		/* An empty ring starts anew, in pages that have been touched.
		 */
		if (--l->closing_count == 0)
			l->closing_first = 0;
		pthread_mutex_unlock(&l->lock);
		lane_close_now(fd);
		pthread_mutex_lock(&l->lock);
	} else {
		return false;
	}
	l->steps++;
	return true;
}

static void *
lane_run(void *arg)
{
	struct lane *l = arg;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		if (lane_step(l))
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
lane_add_thread(struct lane *l)
{
	if (thread_start(l->name, STACK_SIZE, lane_run, l,
		&l->threads[l->nthreads]) == -1)
		return -1;
	l->nthreads++;
	return 0;
}

/* --- in the loop -------------------------------------------------------- */

/* The caller has the lock. */
static bool
lane_has_work(const struct lane *l)
{
	return !STAILQ_EMPTY(&l->waiting) || l->closing_count > 0;
}

/* Calls done() of the jobs that have finished. */
static void
lane_collect(struct lane *l, tstamp now)
{
	struct lane_jobs jobs = STAILQ_HEAD_INITIALIZER(jobs);
	struct lane_job *job;
	eventfd_t count;
	bool idle;

	pthread_mutex_lock(&l->lock);
	(void)eventfd_read(l->io.fd, &count);
	STAILQ_CONCAT(&jobs, &l->finished);
	l->told = false;
	idle = !lane_has_work(l);
	pthread_mutex_unlock(&l->lock);
	if (idle)
		timer_set(&l->loop->timers, &l->timer, TSTAMP_NEVER);
	while ((job = STAILQ_FIRST(&jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(&jobs, next);
		/* The job is the user's again from here on. */
		job->done(job, now);
	}
}

static void
lane_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	(void)events;
	lane_collect(LOOP_OWNER(io, struct lane, io), now);
}

/* Adds a thread if the lane has not moved for LANE_PATIENCE. */
static void
lane_check_progress(struct timer *t, tstamp now)
{
	struct lane *l = TIMER_OWNER(t, struct lane, timer);
	bool waiting, stuck;

	pthread_mutex_lock(&l->lock);
	waiting = lane_has_work(l) && l->nthreads < LANE_THREADS;
	stuck = waiting && l->steps == l->progress_steps &&
	    now - l->progress_at >= LANE_PATIENCE;
	if (l->steps != l->progress_steps || stuck) {
		l->progress_steps = l->steps;
		l->progress_at = now;
	}
	pthread_mutex_unlock(&l->lock);
	if (stuck && lane_add_thread(l) == 0 && l->late != NULL)
		log_warnx("%s", l->late);
	lane_collect(l, now);
	if (waiting && l->nthreads < LANE_THREADS)
		timer_set(&l->loop->timers, &l->timer,
		    tstamp_add(l->progress_at, LANE_PATIENCE));
}

/* --- beginning and end -------------------------------------------------- */

static void
lane_release(struct lane *l)
{
	if (l->closing != NULL)
		munmap(l->closing, l->closing_max * sizeof(*l->closing));
	l->closing = NULL;
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
	    lane_add_thread(l) == 0)
		return 0;
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
	lane_collect(l, loop_now(l->loop));
	if (error != 0) {
		(void)loop_set(l->loop, &l->io, 0);
		errno = error;
		return -1;
	}
	lane_release(l);
	return 0;
}

/* --- work --------------------------------------------------------------- */

/* To be called before work is added. The caller has the lock. */
static void
lane_prepare(struct lane *l)
{
	tstamp now = loop_now(l->loop);

	if (!lane_has_work(l)) {
		l->progress_at = now;
		l->progress_steps = l->steps;
	}
	timer_advance(
	    &l->loop->timers, &l->timer, tstamp_add(now, LANE_PATIENCE));
	if (l->idle > 0)
		pthread_cond_signal(&l->wake);
}

void
lane_submit(struct lane *l, struct lane_job *job)
{
	pthread_mutex_lock(&l->lock);
	assert(!l->stopping);
	lane_prepare(l);
	job->together = false;
	STAILQ_INSERT_TAIL(&l->waiting, job, next);
	pthread_mutex_unlock(&l->lock);
}

void
lane_submit_together(struct lane *l, struct lane_jobs *jobs)
{
	struct lane_job *job;

	if (STAILQ_EMPTY(jobs))
		return;
	STAILQ_FOREACH(job, jobs, next)
		job->together = true;
	pthread_mutex_lock(&l->lock);
	assert(!l->stopping);
	lane_prepare(l);
	STAILQ_CONCAT(&l->waiting, jobs);
	pthread_mutex_unlock(&l->lock);
}

/* Room for every descriptor we may have; only what is used of it is taken. */
static void
lane_map_closing(struct lane *l)
{
	struct rlimit limit;
	size_t max;
	void *map;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	max = limit.rlim_max < CLOSING_MAX ? limit.rlim_max : CLOSING_MAX;
	map = mmap(NULL, max * sizeof(*l->closing), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return;
	l->closing = map;
	l->closing_max = max;
}

void
lane_close(struct lane *l, int fd)
{
	bool room;

	/* Where there is no thread, it is closed here and now. */
	if (l->closing == NULL && l->nthreads > 0)
		lane_map_closing(l);
	pthread_mutex_lock(&l->lock);
	assert(!l->stopping);
	room = l->closing_count < l->closing_max;
	if (room) {
		lane_prepare(l);
		l->closing[(l->closing_first + l->closing_count) %
		    l->closing_max] = fd;
		l->closing_count++;
	}
	pthread_mutex_unlock(&l->lock);
	if (!room)
		lane_close_now(fd);
}
