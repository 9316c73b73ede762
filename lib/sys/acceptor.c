/* Listeners in the loop. */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/acceptor.h"
#include "sys/log.h"

static void
watch(struct acceptor *a)
{
	bool wanted = !a->paused && a->rest.at == TSTAMP_NEVER;

	if (a->listener.fd == -1)
		return;
	if (loop_set(a->loop, &a->io, wanted ? EPOLLIN : 0) == -1)
		log_warn("%s: epoll_ctl", a->listener.name);
}

static void
reopen(struct acceptor *a, tstamp now)
{
	(void)loop_set(a->loop, &a->io, 0);
	if (a->ops->reopen != NULL)
		a->ops->reopen(a, now);
}

static void
rested(struct timer *t, tstamp now)
{
	struct acceptor *a = TIMER_OWNER(t, struct acceptor, rest);

	if (a->listener.fd == -1)
		reopen(a, now);
	else
		watch(a);
}

enum acceptor_got
acceptor_take(struct acceptor *a, tstamp now)
{
	int fd;

	if (a->ops->admits != NULL && !a->ops->admits(a, now))
		return ACCEPTOR_FULL;
	fd = listener_accept(&a->listener, now);
	switch (fd) {
	case LISTENER_EMPTY:
		return ACCEPTOR_EMPTY;
	case LISTENER_RESTING:
		if (a->ops->resting != NULL)
			a->ops->resting(a);
		acceptor_rest(a, a->listener.rest_until);
		return ACCEPTOR_AWAY;
	case LISTENER_BROKEN:
		reopen(a, now);
		return ACCEPTOR_AWAY;
	default:
		a->ops->arrived(a, fd, now);
		return ACCEPTOR_ONE;
	}
}

/*
 * The budget is one accept while connections come one by one, so that no
 * accept is in vain, and grows while they come faster than turns.
 */
static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct acceptor *a = LOOP_OWNER(io, struct acceptor, io);
	enum acceptor_got got = ACCEPTOR_ONE;

	(void)events;
	for (unsigned left = a->budget; left > 0 && got == ACCEPTOR_ONE; left--)
		got = acceptor_take(a, now);
	if (got != ACCEPTOR_ONE)
		a->budget = 1;
	else if (a->budget < a->most)
		a->budget *= 2;
}

void
acceptor_init(struct acceptor *a, struct loop *loop, struct lane *lane,
    const struct acceptor_ops *ops, unsigned most)
{
	*a = (struct acceptor){
		.listener.fd = -1,
		.loop = loop,
		.lane = lane,
		.ops = ops,
		.budget = 1,
		.most = most,
	};
	timer_init(&a->rest, rested);
}

void
acceptor_start(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	a->io = (struct loop_io){ .fd = a->listener.fd, .ready = ready };
	watch(a);
}

void
acceptor_rest(struct acceptor *a, tstamp until)
{
	(void)loop_set(a->loop, &a->io, 0);
	timer_set(&a->loop->timers, &a->rest, until);
}

void
acceptor_pause(struct acceptor *a)
{
	a->paused = true;
	watch(a);
}

void
acceptor_resume(struct acceptor *a)
{
	a->paused = false;
	watch(a);
}

/* --- what a lane does ---------------------------------------------------- */

/*
 * Calls that somebody may make wait: any user who can read the folder of a
 * socket file, or a process that has a TCP socket, too.
 */
struct listener_job {
	struct lane_job job;
	enum {
		JOB_CLOSE,
		JOB_HIDE, /* a copy of a socket that stays open */
		JOB_SHOW, /* likewise */
		JOB_PROTECT, /* the file of one */
	} what;
	struct acceptor *hidden; /* told when it is; NULL: closed meanwhile */
	struct listener listener;
	uid_t uid;
	gid_t gid;
	mode_t mode;
};

static void
listener_job_work(struct lane_job *job)
{
	struct listener_job *j = LOOP_OWNER(job, struct listener_job, job);
	struct listener *l = &j->listener;
	const char *why = "drop newcomers";

	if (j->what == JOB_PROTECT) {
		if (listener_protect(
			l->path, &l->file, j->uid, j->gid, j->mode, &why) == -1)
			log_error("%s: %s", l->path, why);
		/* It is not ours to remove. */
		free(l->path);
		l->path = NULL;
	} else if (j->what == JOB_SHOW) {
		listener_unshut(l);
	} else if (j->what == JOB_HIDE && l->kind == LISTENER_TCP &&
	    listener_drop_newcomers(l->fd) == -1) {
		log_debug(
		    "a listener stays open until it is empty: %s: %m", why);
	}
	/* A file is not taken for another one: the open socket has its number.
	 */
	listener_fini(l);
}

static void
listener_job_done(struct lane_job *job, tstamp now)
{
	struct listener_job *j = LOOP_OWNER(job, struct listener_job, job);

	(void)now;
	if (j->hidden != NULL)
		j->hidden->hiding = NULL;
	free(j);
}

/* NULL: there is no lane, or no memory, and the loop does it. */
static struct listener_job *
listener_job_new(const struct lane *lane, int what)
{
	struct listener_job *j = NULL;

	if (lane != NULL && !lane->stopping)
		j = calloc(1, sizeof(*j));
	if (j != NULL) {
		j->job.work = listener_job_work;
		j->job.done = listener_job_done;
		j->what = what;
		j->listener.fd = -1;
	}
	return j;
}

void
acceptor_discard(struct lane *lane, struct listener *l)
{
	struct listener_job *j =
	    l->path == NULL ? NULL : listener_job_new(lane, JOB_CLOSE);

	if (j == NULL) {
		listener_fini(l);
		return;
	}
	if (!l->shared)
		(void)listener_shut(l);
	j->listener = *l;
	l->name = NULL;
	l->path = NULL;
	l->fd = -1;
	lane_submit(lane, &j->job);
}

int
acceptor_hide(struct acceptor *a)
{
	struct listener *l = &a->listener;
	struct listener_job *j;

	if (l->inherited || l->shut)
		return 0;
	j = listener_job_new(a->lane, JOB_HIDE);
	if (j == NULL)
		return -1;
	j->listener.fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
	if (j->listener.fd == -1) {
		free(j);
		return -1;
	}
	j->listener.kind = l->kind;
	j->listener.path = l->path;
	j->listener.file = l->file;
	l->path = NULL;
	l->shut = true;
	j->hidden = a;
	a->hiding = j;
	lane_submit(a->lane, &j->job);
	return 0;
}

void
acceptor_show(struct acceptor *a)
{
	struct listener *l = &a->listener;
	struct listener_job *j = NULL;

	if (l->shared)
		j = listener_job_new(a->lane, JOB_SHOW);
	if (!l->shared) {
		listener_unshut(l);
	} else if (j != NULL) {
		j->listener.fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
		j->listener.kind = l->kind;
		lane_submit(a->lane, &j->job);
	}
	l->shut = false;
}

int
acceptor_update(
    struct acceptor *a, const struct listener_spec *spec, const char **why_out)
{
	const struct listener *l = &a->listener;
	struct listener_job *j = NULL;

	*why_out = "remember the path";
	if (l->path != NULL)
		j = listener_job_new(a->lane, JOB_PROTECT);
	if (j != NULL) {
		j->listener.path = strdup(l->path);
		j->listener.file = l->file;
		j->uid = spec->uid;
		j->gid = spec->gid;
		j->mode = spec->mode;
		if (j->listener.path == NULL) {
			free(j);
			return -1;
		}
		lane_submit(a->lane, &j->job);
	} else if (l->path != NULL &&
	    listener_protect(l->path, &l->file, spec->uid, spec->gid,
		spec->mode, why_out) == -1) {
		return -1;
	}
	return listener_set_backlog(&a->listener, spec->backlog, why_out);
}

void
acceptor_close(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	(void)loop_set(a->loop, &a->io, 0);
	if (a->hiding != NULL)
		a->hiding->hidden = NULL;
	a->hiding = NULL;
	acceptor_discard(a->lane, &a->listener);
}
