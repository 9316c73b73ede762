/* Taking back: the helper process, which may block, and our side of it. */

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/descriptors.h"
#include "sys/fdpass.h"
#include "sys/procinfo.h"
#include "sys/retriever.h"

/* Packets read in one turn, so that a long queue does not hold the loop. */
#define BATCH 64

/* How often, and how many times, we try again after a shortage. */
#define RETRY_AFTER TSPAN_MSECONDS(50)
#define ATTEMPTS 100

/*
 * The question has a descriptor to read from with it; the helper answers with
 * a packet for each message, which follows the first letter, and then the end.
 */
#define QUESTION "A"
#define ANSWER_MESSAGE "M"
#define ANSWER_END "E"

/* --- the helper --------------------------------------------------------- */

/* The number of the helper's socket: all above it can be closed. */
#define SOCK 3

static void
prepare_helper(int sock)
{
	sigset_t all;

	/* Signals to the daemon's group must not end the helper. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "retriever");

	sock = fcntl(sock, F_DUPFD, SOCK + 1);
	if (sock == -1 || dup2(sock, SOCK) == -1)
		_exit(1);
	/* Closing them would free numbers below SOCK. */
	descriptors_detach();
	(void)close_range(SOCK + 1, ~0U, 0);
}

/* Waits before a call that failed for a shortage is made again. */
static void
rest(void)
{
	static const struct timespec span = { .tv_nsec = TSPAN_MSECONDS(5) };

	(void)nanosleep(&span, NULL);
}

static void
say(const char *buf, size_t len, int fd)
{
	struct pollfd room = { .fd = SOCK, .events = POLLOUT };

	while (fdpass_send(SOCK, buf, len, fd) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			_exit(0);
		if (errno == EAGAIN)
			(void)poll(&room, 1, -1);
		else
			rest();
	}
}

static void
close_all(const struct fdpass_got *got)
{
	for (size_t i = 0; i < got->nfds; i++)
		(void)close(got->fds[i]);
}

static void
empty(int end)
{
	char buf[1 + RETRIEVER_MESSAGE_MAX] = ANSWER_MESSAGE;
	struct fdpass_got got;
	ssize_t n;

	for (;;) {
		n = fdpass_recv(
		    end, buf + 1, sizeof(buf) - 1, MSG_DONTWAIT, &got);
		if (n > 0) {
			say(buf, 1 + (size_t)n, got.nfds > 0 ? got.fds[0] : -1);
			close_all(&got);
		} else if (n == 0 || errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			rest();
		}
	}
}

/*
 * The life of the helper, from fork(2) on, until the other end of sock is
 * closed. The process it was forked from may have threads: so it makes system
 * calls only.
 */
static _Noreturn void
be_helper(int sock)
{
	char ask[sizeof(QUESTION)];
	struct fdpass_got got;
	ssize_t n;

	prepare_helper(sock);
	for (;;) {
		n = fdpass_recv(SOCK, ask, sizeof(ask), 0, &got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		/* Another helper may receive the descriptor that we cannot. */
		if (got.nfds == 0)
			_exit(1);
		empty(got.fds[0]);
		close_all(&got);
		/* The daemon may count on ours being closed by then. */
		say(ANSWER_END, 1, -1);
	}
}

/* --- our side ----------------------------------------------------------- */

static void
set_timer(struct retriever *r, tstamp at)
{
	timer_set(&r->loop->timers, &r->timer, at);
}

/* Kills the helper without waiting: no signal may reach it where it is. */
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

/* Returns 0, or -1 and errno. */
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
		be_helper(sv[1]);
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

/* Gives the helper time for what it has to do. */
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
	if (fdpass_send(r->io.fd, QUESTION, 1, take->child_end) == -1) {
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
	/* The packet in the queue is but another copy now. */
	if (n > 0)
		(void)recv(sock, &byte, sizeof(byte), MSG_DONTWAIT);
	return n;
}

/* Leaves the packet until the timer: descriptors may be free again then. */
static void
wait_for_room(struct retriever *r, tstamp now)
{
	r->no_room = true;
	set_timer(r, tstamp_add(now, RETRY_AFTER));
	(void)loop_set(r->loop, &r->io, 0);
}

/* Reads one packet of the helper's. Returns false: there was none. */
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
		/* The helper is dead: its take is asked for again. */
		drop_helper(r);
		if (!STAILQ_EMPTY(&r->takes))
			set_timer(r, tstamp_add(now, RETRY_AFTER));
		return false;
	}
	assert(r->asked);
	if (buf[0] == ANSWER_END[0]) {
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

/* The timer: asks or reads again, or gives up the helper or the take. */
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
	/* Perhaps we were late, and not the helper. */
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
retriever_inquire(int child_end)
{
	int bytes;

	return ioctl(child_end, SIOCINQ, &bytes) == -1 ? -1 : bytes;
}

void
retriever_take(
    struct retriever *r, struct retriever_take *take, int child_end, tstamp now)
{
	bool first = STAILQ_EMPTY(&r->takes);

	take->child_end = child_end;
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
	/* Its last packets may still lie in the socket; see receive_one(). */
	r->pid = 0;
	return true;
}
