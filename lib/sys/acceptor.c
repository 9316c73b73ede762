/* Listeners in the loop. */

#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/listener.h"

/*
 * Connections that died in the queue and are passed over in one call. With
 * more of them the listener rests: a flood must not keep us here.
 */
#define DEAD_MAX 64

/* --- closing for newcomers ----------------------------------------------- */

/*
 * From now on new connections get no answer, but a handshake under way still
 * completes; shutdown(2) would reset the whole queue. The filter drops SYN
 * without ACK; byte 13 of a TCP header holds the flags. Newer kernels want
 * CAP_NET_ADMIN for it: EPERM.
 */
static int
listener_drop_newcomers(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_ACK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	return setsockopt(
	    fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Nearly no packet has it: even neighbours begin with 64 or 128. */
#define MARK_TTL 255

/*
 * The least time to live that a packet must have left; 0: any. The kernel
 * asks it of packets to the listening socket itself, so of SYNs, but not of
 * the end of a handshake under way. On a socket for both families the option
 * of IPv4 counts, too.
 */
static int
listener_set_min_ttl(int fd, int ttl)
{
	int v4 = setsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, sizeof(ttl));
	int v6 =
	    setsockopt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, &ttl, sizeof(ttl));

	return v4 == 0 || v6 == 0 ? 0 : -1;
}

int
listener_shut(struct listener *l)
{
	int rc;

	if (l->inherited || l->shut)
		return 0;
	turn_call(l->kind == LISTENER_UNIX ? "shutdown" : "setsockopt");
	if (l->kind == LISTENER_UNIX) {
		rc = shutdown(l->fd, SHUT_RD);
	} else if ((rc = listener_drop_newcomers(l->fd)) == -1) {
		/* Connections inherit the mark; listener_accept() ends it. */
		rc = listener_set_min_ttl(l->fd, MARK_TTL);
		l->marks = rc == 0;
	}
	l->shut = rc == 0;
	return rc;
}

void
listener_unshut(struct listener *l)
{
	const int none = 0;
	int ttl = 0;
	socklen_t len = sizeof(ttl);

	if (getsockopt(l->fd, IPPROTO_IP, IP_MINTTL, &ttl, &len) == 0)
		l->marks = l->marks || ttl == MARK_TTL;
	/* Connections that came while the mark was asked for have it still. */
	if (l->marks)
		(void)listener_set_min_ttl(l->fd, 0);
	else
		(void)setsockopt(
		    l->fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
	l->shut = false;
}

/* --- accepting ----------------------------------------------------------- */

/* Logs that accept did not work; the listener rests for a while. */
static int
listener_rest(struct listener *l, tstamp now, tspan span)
{
	log_limited(&l->rate, now, LOG_LEVEL_WARN, "%s: accept: %m", l->name);
	l->rest_until = tstamp_add(now, span);
	return LISTENER_RESTING;
}

int
listener_accept(struct listener *l, tstamp now)
{
	const int on = 1;
	int fd;

	if (now < l->rest_until)
		return LISTENER_RESTING;
	/* The processes that have it may have changed that. */
	if ((l->shared || l->blocked) && ioctl(l->fd, FIONBIO, &on) == -1)
		return listener_rest(l, now, LISTENER_REST);

	for (int dead = 0; dead < DEAD_MAX; dead++) {
		turn_call("accept4");
		/* Without a cancellation point; see fdpass_close(). */
		fd = (int)syscall(SYS_accept4, l->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd != -1) {
			l->dry = false;
			if (l->marks)
				(void)listener_set_min_ttl(fd, 0);
			return fd;
		}

		switch (errno) {
		case EAGAIN:
			/*
			 * The queue is empty, or so says a Unix socket that
			 * somebody shut down, which is readable for ever. If it
			 * was empty the last time, too, a look tells.
			 */
			if (l->kind == LISTENER_UNIX && !l->shut && l->dry &&
			    listener_is_broken(l))
				return LISTENER_BROKEN;
			l->dry = true;
			return LISTENER_EMPTY;
		case EINTR:
			/*
			 * Nothing came, and it blocks: of the processes that
			 * have a copy one has changed that.
			 */
			if (l->blocked && !l->shut)
				return listener_rest(
				    l, now, LISTENER_LONG_REST);
			l->blocked = true;
			return LISTENER_EMPTY;
		case EINVAL:
			return l->shut ? LISTENER_EMPTY : LISTENER_BROKEN;
		case EBADF:
		case ENOTSOCK:
			fatal("%s: accept", l->name);
		case ECONNABORTED:
		case EPROTO:
		case ENOPROTOOPT:
		case ENETDOWN:
		case ENETUNREACH:
		case EHOSTDOWN:
		case EHOSTUNREACH:
		case ENONET:
		case ETIMEDOUT:
			/* The connection is lost; the next may be good. */
			break;
		default:
			/*
			 * Out of descriptors or memory, or a rule of the
			 * machine (EPERM): the queue stays.
			 */
			return listener_rest(l, now, LISTENER_REST);
		}
	}
	return listener_rest(l, now, LISTENER_REST);
}

/* --- in the loop ------------------------------------------------------- */

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
acceptor_rested(struct timer *t, tstamp now)
{
	struct acceptor *a = TIMER_OWNER(t, struct acceptor, rest);

	if (a->listener.fd != -1)
		acceptor_watch(a);
	else if (a->ops->reopen != NULL)
		a->ops->reopen(a, now);
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
		(void)loop_set(a->loop, &a->io, 0);
		if (a->ops->reopen != NULL)
			a->ops->reopen(a, now);
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
acceptor_pause(struct acceptor *a, bool paused)
{
	a->paused = paused;
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
		JOB_KEEP, /* likewise */
	} what;
	struct acceptor *of; /* is told of its end; NULL: closed meanwhile */
	bool restored; /* the file */
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
	const char *why;

	if (j->what == JOB_PROTECT || j->what == JOB_KEEP) {
		if (j->what == JOB_KEEP)
			j->restored = listener_keep(l->path, &l->file);
		else if (listener_protect(l->path, &l->file, j->uid, j->gid,
			     j->mode, &why) == -1)
			log_error("%s: %s", l->path, why);
		/* The file is not ours to remove. */
		free(l->path);
		l->path = NULL;
	} else if (j->what == JOB_SHOW) {
		listener_unshut(l);
	} else if (j->what == JOB_HIDE && l->kind == LISTENER_TCP &&
	    listener_drop_newcomers(l->fd) == -1) {
		log_debug("a listener stays open until it is empty: %m");
	}
	/* The open socket has its number: no other file is taken for its. */
	listener_fini(l);
}

static void
listener_job_done(struct lane_job *job, tstamp now)
{
	struct listener_job *j = LOOP_OWNER(job, struct listener_job, job);
	struct acceptor *a = j->of;

	(void)now;
	if (a != NULL && a->hiding == j)
		a->hiding = NULL;
	if (a != NULL && a->keeping == j) {
		a->keeping = NULL;
		a->restored += j->restored;
		if (a->keep_again)
			acceptor_keep(a);
	}
	free(j);
}

/*
 * A job with the whole listener, a copy of its descriptor, or one of its path.
 * NULL: there is no lane, no file, no memory, or no descriptor, and the loop
 * does it.
 */
static struct listener_job *
listener_job_new(const struct lane *lane, int what, const struct listener *l)
{
	const bool open = what == JOB_HIDE || what == JOB_SHOW;
	struct listener_job *j = NULL;

	if (lane != NULL && !lane->stopping && (open || l->path != NULL))
		j = calloc(1, sizeof(*j));
	if (j == NULL)
		return NULL;
	j->job.work = listener_job_work;
	j->job.done = listener_job_done;
	j->what = what;
	j->listener =
	    (struct listener){ .fd = -1, .kind = l->kind, .file = l->file };
	if (what == JOB_CLOSE)
		j->listener = *l;
	else if (open)
		j->listener.fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
	else
		j->listener.path = strdup(l->path);
	if (j->listener.fd != -1 || j->listener.path != NULL)
		return j;
	free(j);
	return NULL;
}

void
acceptor_discard(struct lane *lane, struct listener *l)
{
	struct listener_job *j = listener_job_new(lane, JOB_CLOSE, l);

	if (j == NULL) {
		listener_fini(l);
		return;
	}
	if (!l->shared)
		(void)listener_shut(l);
	l->path = NULL;
	l->fd = -1;
	lane_submit(lane, &j->job);
}

void
acceptor_hide(struct acceptor *a, bool hidden)
{
	struct listener *l = &a->listener;
	struct listener_job *j = NULL;

	if (hidden && (l->inherited || l->shut))
		return;
	if (hidden || l->shared)
		j = listener_job_new(a->lane, hidden ? JOB_HIDE : JOB_SHOW, l);
	else
		listener_unshut(l);
	if (hidden && j == NULL) {
		log_debug("%s: stays open until it is empty: %m", l->name);
		return;
	}
	l->shut = hidden;
	if (hidden) {
		j->listener.path = l->path;
		l->path = NULL;
		j->of = a;
		a->hiding = j;
	}
	if (j != NULL)
		lane_submit(a->lane, &j->job);
}

void
acceptor_keep(struct acceptor *a)
{
	struct listener_job *j = NULL;

	/* The next look finds a file that was removed during this one. */
	a->keep_again = a->keeping != NULL;
	if (!a->keep_again)
		j = listener_job_new(a->lane, JOB_KEEP, &a->listener);
	if (j == NULL)
		return;
	j->of = a;
	a->keeping = j;
	lane_submit(a->lane, &j->job);
}

int
acceptor_update(
    struct acceptor *a, const struct listener_spec *spec, const char **why_out)
{
	const struct listener *l = &a->listener;
	struct listener_job *j = listener_job_new(a->lane, JOB_PROTECT, l);

	if (j != NULL) {
		j->uid = spec->uid;
		j->gid = spec->gid;
		j->mode = spec->mode;
		lane_submit(a->lane, &j->job);
	} else if (l->path != NULL &&
	    listener_protect(l->path, &l->file, spec->uid, spec->gid,
		spec->mode, why_out) == -1) {
		return -1;
	}
	/* The lock of a shared TCP socket is not ours to wait for. */
	if (l->inherited || l->shut || (l->shared && l->kind == LISTENER_TCP))
		return 0;
	/* A second listen(2) changes the backlog and nothing else. */
	*why_out = "listen";
	return listen(l->fd, spec->backlog);
}

void
acceptor_close(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	(void)loop_set(a->loop, &a->io, 0);
	if (a->hiding != NULL)
		a->hiding->of = NULL;
	if (a->keeping != NULL)
		a->keeping->of = NULL;
	a->hiding = a->keeping = NULL;
	acceptor_discard(a->lane, &a->listener);
}
