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

/* A listener that is closed in a lane. */
struct discarded {
	struct lane_job job;
	struct listener listener;
};

static void
discard_work(struct lane_job *job)
{
	listener_fini(&LOOP_OWNER(job, struct discarded, job)->listener);
}

static void
discard_done(struct lane_job *job, tstamp now)
{
	(void)now;
	free(LOOP_OWNER(job, struct discarded, job));
}

/* Room for what the lane is to close; NULL: the loop does it. */
static struct discarded *
new_discarded(const struct lane *lane, const struct listener *l)
{
	struct discarded *d = NULL;

	if (lane != NULL && !lane->stopping && l->path != NULL)
		d = calloc(1, sizeof(*d));
	if (d != NULL) {
		d->job.work = discard_work;
		d->job.done = discard_done;
	}
	return d;
}

/* Its file is not taken for another one: the open socket keeps the number. */
void
acceptor_discard(struct lane *lane, struct listener *l)
{
	struct discarded *d = new_discarded(lane, l);

	if (d == NULL) {
		listener_fini(l);
		return;
	}
	if (!l->shared)
		(void)listener_shut(l);
	d->listener = *l;
	l->name = NULL;
	l->path = NULL;
	l->fd = -1;
	lane_submit(lane, &d->job);
}

int
acceptor_hide(struct acceptor *a, struct sockdiag *d)
{
	struct listener *l = &a->listener;
	struct discarded *file = NULL;
	int fd = -1;

	if (!l->inherited && !l->shut && l->path != NULL)
		fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
	if (fd != -1)
		file = new_discarded(a->lane, l);
	if (file == NULL) {
		if (fd != -1)
			(void)close(fd);
		return listener_hide(l, d);
	}
	file->listener = (struct listener){
		.kind = LISTENER_UNIX,
		.fd = fd,
		.diversion = -1,
		.path = l->path,
		.file = l->file,
	};
	l->path = NULL;
	l->shut = true;
	lane_submit(a->lane, &file->job);
	return 0;
}

/* --- the file of a listener, which stays open --------------------------- */

struct errand {
	struct lane_job job;
	char *path;
	struct unixpath file; /* at path */
	struct unixpath_rights rights; /* that it gets */
	char *from; /* of a rename: the file that takes its place */
	struct unixpath fresh; /* at from */
	int fd; /* of a rename: a copy of the socket; -1: none */
	struct acceptor *former; /* whose place is taken; NULL: it is closed */
	const char *why;
	int error; /* errno; 0: done */
};

static void
protect_work(struct lane_job *job)
{
	struct errand *e = LOOP_OWNER(job, struct errand, job);

	if (unixpath_protect(e->path, &e->file, &e->rights, &e->why) == -1)
		e->error = errno;
}

static void
rename_work(struct lane_job *job)
{
	struct errand *e = LOOP_OWNER(job, struct errand, job);

	if (unixpath_replace(e->from, e->path, &e->file, &e->why) == -1) {
		e->error = errno;
		unixpath_remove(e->from, &e->fresh);
		(void)shutdown(e->fd, SHUT_RDWR);
	}
	if (e->fd != -1)
		(void)close(e->fd);
}

static void
errand_done(struct lane_job *job, tstamp now)
{
	struct errand *e = LOOP_OWNER(job, struct errand, job);

	(void)now;
	if (e->former != NULL)
		e->former->succession = NULL;
	if (e->error != 0) {
		errno = e->error;
		log_error("%s: %s", e->path, e->why);
	}
	free(e->path);
	free(e->from);
	free(e);
}

/* NULL: it is to be done in the loop. */
static struct errand *
new_errand(const struct acceptor *a, const struct listener *l,
    void (*work)(struct lane_job *))
{
	struct errand *e;

	if (a->lane == NULL || l->path == NULL)
		return NULL;
	e = calloc(1, sizeof(*e));
	if (e == NULL || (e->path = strdup(l->path)) == NULL) {
		free(e);
		return NULL;
	}
	e->file = l->file;
	e->job.work = work;
	e->job.done = errand_done;
	return e;
}

int
acceptor_update(
    struct acceptor *a, const struct listener_spec *spec, const char **why_out)
{
	struct errand *e = new_errand(a, &a->listener, protect_work);

	if (e == NULL)
		return listener_update(&a->listener, spec, why_out);
	e->rights = (struct unixpath_rights){
		.uid = spec->uid, .gid = spec->gid, .mode = spec->mode
	};
	lane_submit(a->lane, &e->job);
	return listener_set_backlog(&a->listener, spec->backlog, why_out);
}

int
acceptor_succeed(struct acceptor *a, struct acceptor *old, int backlog,
    struct sockdiag *d, const char **why_out)
{
	struct listener *l = &a->listener, *former = &old->listener;
	struct errand *e = new_errand(a, former, rename_work);

	if (e == NULL)
		return listener_succeed(l, former, backlog, d, why_out);
	e->from = l->path;
	e->fresh = l->file;
	e->fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
	l->path = former->path;
	former->path = NULL;
	former->shut = true;
	e->former = old;
	old->succession = e;
	lane_submit(a->lane, &e->job);
	return 0;
}

void
acceptor_close(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	(void)loop_set(a->loop, &a->io, 0);
	if (a->succession != NULL)
		a->succession->former = NULL;
	a->succession = NULL;
	acceptor_discard(a->lane, &a->listener);
}
