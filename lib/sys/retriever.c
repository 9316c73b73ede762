/* Taking back, our side: the helper is in retriever_helper.c. */

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/procinfo.h"
#include "sys/retriever.h"
#include "sys/retriever_helper.h"

/* Packets read in one turn, so that a long queue does not hold the loop. */
#define BATCH 64

/* How often, and how many times, we try what fails for want of something. */
#define RETRY_AFTER TSPAN_MSECONDS(50)
#define ATTEMPTS 100

static void
set_timer(struct retriever *r, tstamp at)
{
	timer_set(&r->loop->timers, &r->timer, at);
}

/* Without waiting: it may be where no signal reaches it. */
static void
drop_helper(struct retriever *r)
{
	if (r->io.fd != -1) {
		(void)loop_set(r->loop, &r->io, 0);
		close(r->io.fd);
		r->io.fd = -1;
	}
	if (r->pid != 0)
		(void)kill(r->pid, SIGKILL);
	r->pid = 0;
	r->asked = false;
	r->no_room = false;
}

/* Makes a helper. The child never returns. 0, or -1 and errno. */
static int
start_helper(struct retriever *r)
{
	int sv[2];
	int error;
	pid_t pid;

	if (fdpass_pair(sv) == -1)
		return -1;
	pid = fork();
	if (pid == 0)
		retriever_helper(sv[1]);
	error = errno;
	close(sv[1]);
	if (pid == -1) {
		close(sv[0]);
		errno = error;
		return -1;
	}
	r->pid = pid;
	r->io.fd = sv[0];
	if (loop_set(r->loop, &r->io, EPOLLIN) == -1) {
		error = errno;
		drop_helper(r);
		errno = error;
		return -1;
	}
	return 0;
}

/* The helper has something to do, and time for it. */
static void
be_patient(struct retriever *r, tstamp now)
{
	set_timer(r, tstamp_add(now, RETRIEVER_PATIENCE));
	r->limit = tstamp_add(now, RETRIEVER_LIMIT);
}

/* Gives the first take to the helper, or leaves it for the deadline. */
static void
ask(struct retriever *r, tstamp now)
{
	struct retriever_take *take = STAILQ_FIRST(&r->takes);

	if (take == NULL || r->asked)
		return;
	take->attempts++;
	set_timer(r, tstamp_add(now, RETRY_AFTER));
	if (r->io.fd == -1 && start_helper(r) == -1)
		return;
	if (fdpass_send(r->io.fd, RETRIEVER_ASK, 1, take->held_fd) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			drop_helper(r);
		return;
	}
	r->asked = true;
	be_patient(r, now);
}

static void
end_first(struct retriever *r, bool complete, tstamp now)
{
	struct retriever_take *take = STAILQ_FIRST(&r->takes);

	STAILQ_REMOVE_HEAD(&r->takes, next);
	r->asked = false;
	set_timer(r, TSTAMP_NEVER);
	r->ops->end(r->arg, take, complete, now);
	ask(r, now);
}

/*
 * Receives one packet like fdpass_recv_one(), but leaves it there, with
 * EMFILE, if there is no descriptor for what comes with it.
 */
static ssize_t
receive_whole(int sock, char *buf, size_t size, int *fd_out)
{
	struct fdpass_got got;
	ssize_t n = fdpass_recv(sock, buf, size, MSG_DONTWAIT | MSG_PEEK, &got);
	char byte;

	if (n == -1)
		return -1;
	*fd_out = got.nfds > 0 ? got.fds[0] : -1;
	if (got.lost_fds) {
		errno = EMFILE;
		return -1;
	}
	/* What is in the queue is but another copy now. */
	if (n > 0)
		(void)recv(sock, &byte, sizeof(byte), MSG_DONTWAIT);
	return n;
}

/* Out of descriptors: tried again at the deadline, but not for ever. */
static void
wait_for_room(struct retriever *r, tstamp now)
{
	r->no_room = true;
	set_timer(r, tstamp_add(now, RETRY_AFTER));
	(void)loop_set(r->loop, &r->io, 0);
}

/* Reads one packet of the helper's. False: there was none. */
static bool
receive_one(struct retriever *r, tstamp now)
{
	char buf[1 + RETRIEVER_MESSAGE_MAX];
	ssize_t n;
	int fd;

	n = receive_whole(r->io.fd, buf, sizeof(buf), &fd);
	if (n == -1 && errno == EMFILE) {
		wait_for_room(r, now);
		return false;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		/* It is dead. What it has not ended is asked for again. */
		drop_helper(r);
		if (!STAILQ_EMPTY(&r->takes))
			set_timer(r, tstamp_add(now, RETRY_AFTER));
		return false;
	}
	assert(r->asked);
	if (buf[0] == RETRIEVER_END[0]) {
		end_first(r, true, now);
		return r->io.fd != -1;
	}
	be_patient(r, now);
	r->ops->message(
	    r->arg, STAILQ_FIRST(&r->takes), buf + 1, (size_t)n - 1, fd, now);
	return true;
}

static void
helper_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct retriever *r = LOOP_OWNER(io, struct retriever, io);

	(void)events;
	for (int i = 0; i < BATCH && receive_one(r, now); i++)
		continue;
}

/* Whether the helper waits for a lock, where no signal reaches it. */
static bool
is_stuck(const struct retriever *r)
{
	struct procinfo info;

	return r->pid != 0 && procinfo_read(r->pid, &info) == 0 &&
	    info.state == 'D';
}

/* The timer: something is tried again, or given up. */
static void
expire(struct timer *t, tstamp now)
{
	struct retriever *r = TIMER_OWNER(t, struct retriever, timer);
	struct retriever_take *take = STAILQ_FIRST(&r->takes);

	if (!r->asked) {
		if (take->attempts < ATTEMPTS)
			ask(r, now);
		else
			end_first(r, false, now);
		return;
	}
	if (r->no_room) {
		r->no_room = false;
		set_timer(r, tstamp_add(now, RETRIEVER_PATIENCE));
		(void)loop_set(r->loop, &r->io, EPOLLIN);
	}
	/* Perhaps it was we who were late. */
	if (++take->attempts < ATTEMPTS) {
		helper_ready(&r->io, EPOLLIN, now);
		if (STAILQ_EMPTY(&r->takes) || r->timer.at != TSTAMP_NEVER)
			return;
	}
	if (take->attempts < ATTEMPTS && now < r->limit && !is_stuck(r)) {
		set_timer(r,
		    tstamp_min(r->limit, tstamp_add(now, RETRIEVER_PATIENCE)));
		return;
	}
	drop_helper(r);
	end_first(r, false, now);
}

int
retriever_init(struct retriever *r, struct loop *loop,
    const struct retriever_ops *ops, void *arg)
{
	memset(r, 0, sizeof(*r));
	r->loop = loop;
	r->ops = ops;
	r->arg = arg;
	r->io.fd = -1;
	r->io.ready = helper_ready;
	STAILQ_INIT(&r->takes);
	timer_init(&r->timer, expire);
	return start_helper(r);
}

void
retriever_fini(struct retriever *r)
{
	drop_helper(r);
	STAILQ_INIT(&r->takes);
	set_timer(r, TSTAMP_NEVER);
}

int
retriever_inquire(int held_fd)
{
	int bytes;

	return ioctl(held_fd, SIOCINQ, &bytes) == -1 ? -1 : bytes;
}

void
retriever_take(
    struct retriever *r, struct retriever_take *take, int held_fd, tstamp now)
{
	bool first = STAILQ_EMPTY(&r->takes);

	take->held_fd = held_fd;
	take->attempts = 0;
	STAILQ_INSERT_TAIL(&r->takes, take, next);
	if (first)
		ask(r, now);
}

bool
retriever_exited(struct retriever *r, pid_t pid)
{
	if (pid != r->pid)
		return false;
	/* The end of file comes after what it said; see receive_one(). */
	r->pid = 0;
	return true;
}
