#ifndef SYS_LANE_H
#define SYS_LANE_H

/*
 * The slow lane: threads for work that may block, so that the loop does not.
 * There is one thread; only if it has been stuck for LANE_PATIENCE with work
 * behind it another one joins, up to LANE_THREADS. Work that must not wait for
 * other work (spawning, closing) uses a lane of its own.
 *
 * All functions are for the thread of the loop; only lane_job.work runs
 * elsewhere, with all signals blocked.
 */

#include <sys/queue.h>

#include "sys/loop.h"

#define LANE_PATIENCE TSPAN_SECONDS(1)
#define LANE_THREADS 8

/* Embedded in the user's struct; the lane's from lane_submit() to done(). */
struct lane_job {
	STAILQ_ENTRY(lane_job) next;
	void (*work)(struct lane_job *); /* in the lane */
	/* In the loop; NULL: nobody is told, and work() frees the job. */
	void (*done)(struct lane_job *, tstamp now);
	/*
	 * The job wakes the loop with those behind it, when none of them waits
	 * any more, or after LANE_PATIENCE if one is stuck.
	 */
	bool together;
};

STAILQ_HEAD(lane_jobs, lane_job);

struct lane {
	pthread_mutex_t lock; /* of the fields up to steps */
	pthread_cond_t wake;
	struct lane_jobs waiting;
	struct lane_jobs finished;
	bool stopping;
	bool told; /* the loop, of what is finished */
	unsigned idle; /* threads that wait for work */
	unsigned long steps; /* pieces of work finished, ever */

	struct loop *loop;
	struct loop_io io; /* an eventfd, readable while finished has jobs */
	struct timer timer; /* whether the lane moves; set while work waits */
	const char *name;
	const char *late; /* logged when another thread joins; NULL: nothing */
	pthread_t threads[LANE_THREADS];
	unsigned nthreads;
	/* When steps last changed, or work came to an idle lane. */
	tstamp progress_at;
	unsigned long progress_steps;
};

/*
 * The name (at most 15 characters) is what ps shows; late is logged when the
 * lane has been stuck and another thread joins, NULL: nothing. Neither is
 * copied. Returns 0, or -1 and errno.
 */
int lane_start(
    struct lane *, struct loop *, const char *name, const char *late);

/*
 * Lets the lane finish what it was given and ends it. done() is called before
 * the return, and may submit nothing. Returns 0, or -1 with ETIMEDOUT if a job
 * is still stuck at the deadline (of CLOCK_MONOTONIC): the struct must then
 * stay until the process exits, and jobs left over are never called back.
 */
int lane_stop(struct lane *, tstamp deadline);

/* Whether nothing is under way, and done() of all jobs has been called. */
bool lane_is_idle(struct lane *);

/* Jobs begin in the order they were submitted. done() may submit another. */
void lane_submit(struct lane *, struct lane_job *);

/*
 * Takes the descriptor over and has it closed in the lane; until then its
 * number stays taken. Without memory for a job it is closed here and now.
 */
void lane_close(struct lane *, int fd);

#endif
