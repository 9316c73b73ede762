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
acceptor_watch(struct acceptor *a)
{
	bool wanted = !a->paused && a->rest.at == TSTAMP_NEVER;

	if (a->listener.fd == -1)
		return;
	if (loop_set(a->loop, &a->io, wanted ? EPOLLIN : 0) == -1)
		log_warn("%s: epoll_ctl", a->listener.name);
}

static void
acceptor_reopen(struct acceptor *a, tstamp now)
{
	(void)loop_set(a->loop, &a->io, 0);
	if (a->ops->reopen != NULL)
		a->ops->reopen(a, now);
}

static void
acceptor_rested(struct timer *t, tstamp now)
{
	struct acceptor *a = TIMER_OWNER(t, struct acceptor, rest);

	if (a->listener.fd == -1)
		acceptor_reopen(a, now);
	else
		acceptor_watch(a);
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
		acceptor_reopen(a, now);
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
acceptor_ready(struct loop_io *io, uint32_t events, tstamp now)
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
	timer_init(&a->rest, acceptor_rested);
}

void
acceptor_start(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	a->io =
	    (struct loop_io){ .fd = a->listener.fd, .ready = acceptor_ready };
	acceptor_watch(a);
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
	acceptor_watch(a);
}

void
acceptor_resume(struct acceptor *a)
{
	a->paused = false;
	acceptor_watch(a);
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

/* --- listeners that a lane opens for a change ------------------------- */

struct opening {
	STAILQ_ENTRY(opening) next;
	struct listener_spec spec;
	struct listener_file unless; /* of spec */
	struct listener listener;
	const char *why;
	int error; /* of opening it; 0: none */
	bool opened; /* whether it was tried */
};

void
openings_init(struct openings *all)
{
	STAILQ_INIT(&all->list);
	all->planned = false;
}

/* A listener opened for this spec that nobody has taken; NULL: none. */
static struct opening *
opening_find(const struct openings *all, const struct listener_spec *spec)
{
	struct opening *o;

	STAILQ_FOREACH(o, &all->list, next)
		if (o->opened && strcmp(o->spec.path, spec->path) == 0)
			return o;
	return NULL;
}

/* Returns the errno. */
static int
opening_note(struct openings *all, const struct listener_spec *spec)
{
	struct opening *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return ENOMEM;
	o->spec = *spec;
	if (spec->unless != NULL) {
		o->unless = *spec->unless;
		o->spec.unless = &o->unless;
	}
	STAILQ_INSERT_TAIL(&all->list, o, next);
	return EINPROGRESS;
}

/* Returns its errno, 0: *l is open. */
static int
opening_take(struct openings *all, struct opening *o, struct listener *l,
    const char **why_out)
{
	int error = o->error;

	*why_out = o->why;
	if (error == 0)
		*l = o->listener;
	STAILQ_REMOVE(&all->list, o, opening, next);
	free(o);
	return error;
}

int
openings_open(struct openings *all, struct listener *l,
    const struct listener_spec *spec, const char **why_out)
{
	struct opening *o;

	if (all == NULL || (all->planned && spec->path == NULL))
		return listener_open(l, spec, why_out);
	*why_out = "open it in a lane";
	if (spec->path == NULL) {
		errno = EINPROGRESS;
		return -1;
	}
	o = opening_find(all, spec);
	errno = o == NULL ? opening_note(all, spec)
			  : opening_take(all, o, l, why_out);
	return errno == 0 ? 0 : -1;
}

void
openings_work(struct openings *all)
{
	struct opening *o;

	all->planned = true;
	STAILQ_FOREACH(o, &all->list, next) {
		if (o->opened)
			continue;
		o->opened = true;
		if (listener_open(&o->listener, &o->spec, &o->why) == -1)
			o->error = errno;
	}
}

void
openings_fini(struct openings *all, struct lane *lane)
{
	struct opening *o;

	while ((o = STAILQ_FIRST(&all->list)) != NULL) {
		STAILQ_REMOVE_HEAD(&all->list, next);
		if (o->opened && o->error == 0)
			acceptor_discard(lane, &o->listener);
		free(o);
	}
}
