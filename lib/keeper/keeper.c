/*
 * apppool-keeper: does for the daemon what a worker, or a client of its, could
 * have the daemon wait for; sys/keeper_wire.h has what both say.
 *
 * A worker can hold the lock of its pipe for ever, by writing from a page whose
 * fault never ends; who reads or closes the pipe then waits for the lock, and
 * no signal ends that. This process does so, and can be left behind where it
 * waits, for another one to go on. Before each such call it says in a page that
 * the daemon sees, too, whom the call is for.
 *
 * A descendant of a dead worker can do the same to the socket by which
 * connections are given to the worker: those unread there are received here,
 * and sent to the daemon. A close can take long, too: a TCP connection may
 * linger, and in a Unix socket descriptors may lie unread, of whatever kind.
 */

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/keeper_wire.h"

/* Bytes read in a pipe's turn, and lines passed on: what others wait for. */
#define TURN 8192
#define TURN_LINES 256

/* Microseconds that a close may linger. */
#define LINGER 2000

/* Milliseconds before a call that failed for a shortage is made again. */
#define SHORTAGE 5

/* A pipe of a worker. */
struct source {
	struct source *next;
	int fd;
	char *line; /* what is not passed on yet; NULL: nothing */
	size_t len; /* of it */
	bool cutting; /* the rest of a line that was too long is left out */
	size_t head_len;
	char head[]; /* of its packets: KEEPER_OUTPUT or KEEPER_ERRORS */
};

static struct source *sources;
static struct source *unfinished; /* it may have whole lines in hand */
static struct keeper_page *page;
static int epfd;

/* Lines that may still be passed on of a pipe, in its turn or its last. */
static size_t allowed;

/* The packet in hand: only pages with text in them take memory. */
static char packet[KEEPER_HEAD_MAX + KEEPER_LINE_MAX];
static char *const text = packet + KEEPER_HEAD_MAX;

/* --- to the daemon ----------------------------------------------------- */

/*
 * Says this, with a descriptor or -1. Waits as long as the daemon is busy;
 * after a shortage tries again a while later; without a daemon it is over.
 */
static void
keeper_say(const char *buf, size_t len, int fd)
{
	struct pollfd room = { .fd = KEEPER_FD, .events = POLLOUT };

	atomic_fetch_add(&page->moves, 1);
	while (fdpass_send(KEEPER_FD, buf, len, fd) == -1) {
		if (errno == EAGAIN)
			(void)poll(&room, 1, -1);
		else if (errno == ENOBUFS || errno == ENOMEM ||
		    errno == ETOOMANYREFS)
			(void)poll(NULL, 0, SHORTAGE);
		else if (errno != EINTR)
			_exit(EX_OK);
	}
}

/*
 * The next call may wait for somebody. The daemon stops watching before it
 * looks a last time whether the keeper is busy: one of both sees the other.
 */
static void
keeper_does(const char *head)
{
	const char busy = KEEPER_BUSY;

	atomic_fetch_add(&page->moves, 1);
	memcpy(page->id, head + 1, KEEPER_ID_LEN);
	(void)memccpy(
	    page->app, head + KEEPER_HEAD, '\0', sizeof(page->app) - 1);
	atomic_store(&page->busy, (unsigned char)head[0]);
	if (atomic_exchange(&page->watched, 1) == 0)
		keeper_say(&busy, 1, -1);
}

/* --- lines ------------------------------------------------------------- */

/*
 * Says text[from .. end), without a newline at its end, behind a head, which
 * overwrites what has been said, or stands in the place of the first head.
 */
static void
keeper_say_text(struct source *s, char verb, size_t from, size_t end)
{
	char *at = text + from - s->head_len;

	memcpy(at, s->head, s->head_len);
	at[0] = verb;
	keeper_say(at, (size_t)(text + end - at), -1);
}

/*
 * Passes on the whole lines of text[0 .. len), the first newline of which is
 * not before `searched`, as many as are allowed. Moves the rest to the front,
 * and returns its length.
 */
static size_t
keeper_cut(struct source *s, size_t searched, size_t len)
{
	size_t from = 0, end = 0;
	unsigned lines = 0;
	const char *newline;

	while (allowed > 0 &&
	    (newline = memchr(text + searched, '\n', len - searched)) != NULL) {
		size_t at = (size_t)(newline - text);

		searched = at + 1;
		if (s->cutting) {
			s->cutting = false;
			from = searched;
			continue;
		}
		if (lines == KEEPER_LINES ||
		    (lines > 0 && at - from > KEEPER_TEXT)) {
			keeper_say_text(s, s->head[0], from, end);
			from = end + 1;
			lines = 0;
		}
		end = at;
		lines++;
		allowed--;
	}
	if (lines > 0) {
		keeper_say_text(s, s->head[0], from, end);
		from = end + 1;
	}
	if (s->cutting)
		from = len;
	memmove(text, text + from, len - from);
	return len - from;
}

/*
 * Reads about so many bytes, behind what waits, and passes lines on. The rest
 * stays in text: the beginning of another line, or more than was allowed.
 * Returns its length.
 */
static size_t
keeper_read_lines(struct source *s, size_t bytes)
{
	size_t len = s->len;

	if (len > 0)
		memcpy(text, s->line, len);
	free(s->line);
	s->line = NULL;
	s->len = 0;
	len = keeper_cut(s, 0, len);
	while (bytes > 0 && allowed > 0) {
		size_t room = KEEPER_LINE_MAX - len;
		ssize_t n = read(
		    s->fd, text + len, room < KEEPER_TEXT ? room : KEEPER_TEXT);

		/* No process can print any more: no other event comes. */
		if (n == 0)
			(void)epoll_ctl(epfd, EPOLL_CTL_DEL, s->fd, NULL);
		if (n <= 0)
			break;
		bytes -= (size_t)n < bytes ? (size_t)n : bytes;
		len = keeper_cut(s, len, len + (size_t)n);
		if (len == KEEPER_LINE_MAX) {
			keeper_say_text(s, s->head[0], 0, len);
			s->cutting = true;
			len = 0;
		}
	}
	return len;
}

/*
 * The pipe's turn: the lines in hand, or what is read. Without memory the rest
 * does not wait.
 */
static void
keeper_read(struct source *s)
{
	size_t len;

	allowed = TURN_LINES;
	len = keeper_read_lines(s, unfinished == s ? 0 : TURN);
	unfinished = allowed == 0 && len > 0 ? s : NULL;
	s->line = len > 0 ? malloc(len) : NULL;
	if (s->line != NULL)
		memcpy(s->line, text, s->len = len);
	else if (len > 0)
		keeper_say_text(s, s->head[0], 0, len);
}

/*
 * Passes on what a dead worker has left, the beginning of a line as a line, and
 * the last line even beyond what is allowed; tells how much there is else.
 */
static void
keeper_read_last(struct source *s)
{
	size_t len, from = 0, end;
	const char *newline;
	uint32_t left;
	ssize_t n;
	int more = 0;

	allowed = KEEPER_LAST_LINES;
	end = len = keeper_read_lines(s, KEEPER_LAST_TEXT);
	if (allowed == 0) {
		n = read(s->fd, text + len, KEEPER_LINE_MAX - len);
		len += n > 0 ? (size_t)n : 0;
		end = len - (len > 0 && text[len - 1] == '\n');
		newline = memrchr(text, '\n', end);
		from = newline == NULL ? 0 : (size_t)(newline + 1 - text);
	}
	if (len > 0)
		keeper_say_text(s, s->head[0], from, end);
	(void)ioctl(s->fd, FIONREAD, &more);
	left = (uint32_t)from + (uint32_t)more;
	if (left == 0)
		return;
	memcpy(text, &left, sizeof(left));
	keeper_say_text(s, KEEPER_LEFT_OUT, 0, sizeof(left));
}

static void
keeper_hold(const char *head, char verb, int fd)
{
	size_t len = KEEPER_HEAD + strlen(head + KEEPER_HEAD) + 1;
	struct source *s = calloc(1, sizeof(*s) + len);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = s };

	if (s == NULL || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) == -1)
		_exit(EX_OSERR);
	s->fd = fd;
	s->head_len = len;
	memcpy(s->head, head, len);
	s->head[0] = verb;
	s->next = sources;
	sources = s;
}

/* Takes leave of the pipes of a worker. */
static void
keeper_leave(const char *id)
{
	struct source **at = &sources, *s;

	while ((s = *at) != NULL) {
		if (memcmp(s->head + 1, id, KEEPER_ID_LEN) != 0) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		keeper_does(s->head);
		keeper_read_last(s);
		(void)epoll_ctl(epfd, EPOLL_CTL_DEL, s->fd, NULL);
		(void)close(s->fd);
		if (unfinished == s)
			unfinished = NULL;
		free(s);
	}
}

static void
keeper_interrupted(int sig)
{
	(void)sig;
}

/*
 * Closes them, after what lies in those to be drained has been read; the
 * descriptors among that are closed. A close that lingers is interrupted, and
 * goes on without us: also that of a socket that lies in one of these.
 */
static void
keeper_close_all(const int *fds, size_t n, const char *how)
{
	const struct itimerval ticks = { .it_interval.tv_usec = LINGER,
		.it_value.tv_usec = LINGER };
	const struct itimerval none = { .it_value.tv_usec = 0 };

	(void)setitimer(ITIMER_REAL, &ticks, NULL);
	for (size_t i = 0; i < n; i++) {
		atomic_fetch_add(&page->moves, 1);
		while (*how == KEEPER_DRAIN &&
		    recv(fds[i], packet, sizeof(packet), MSG_DONTWAIT) > 0)
			continue;
		(void)close(fds[i]);
		how += *how != '\0';
	}
	(void)setitimer(ITIMER_REAL, &none, NULL);
}

/* Receives, in the place of a worker, all there is, and passes it on. */
static void
keeper_empty(const char *id, int end, bool one)
{
	char buf[KEEPER_HEAD + KEEPER_TAKEN_MAX] = { KEEPER_TAKEN };
	struct fdpass_got got;
	ssize_t n;

	memcpy(buf + 1, id, KEEPER_ID_LEN);
	do {
		n = fdpass_recv(end, buf + KEEPER_HEAD, KEEPER_TAKEN_MAX,
		    MSG_DONTWAIT, &got);
		if (n == 0 || (n == -1 && errno == EAGAIN))
			break;
		if (n == -1) {
			(void)poll(NULL, 0, SHORTAGE);
			continue;
		}
		keeper_say(buf, KEEPER_HEAD + (size_t)n,
		    got.nfds > 0 ? got.fds[0] : -1);
		/* By now it may be the last. */
		keeper_close_all(got.fds, got.nfds, "");
	} while (n == -1 || !one);
	(void)close(end);
}

/*
 * Hears one packet and carries it out; false: there is none. An error of the
 * daemon's, or a want of descriptors, ends the keeper: another one begins anew.
 */
static bool
keeper_hear(void)
{
	static char buf[KEEPER_SAID_MAX + 1], closing_said[sizeof(buf)];
	static int closing[KEEPER_CLOSE_FDS];
	static size_t nclosing;
	const char *how = closing_said + KEEPER_HEAD, done = KEEPER_DONE;
	struct fdpass_got got;
	/* Descriptors in hand are closed before anything else is touched. */
	ssize_t n = fdpass_recv(KEEPER_FD, buf, KEEPER_SAID_MAX,
	    nclosing > 0 ? 0 : MSG_DONTWAIT, &got);

	if (n == -1)
		return errno == EINTR;
	if (n == 0) {
		for (struct source *s = sources; s != NULL; s = s->next)
			keeper_read_last(s);
		_exit(EX_OK);
	}
	/* Behind a head there is a name, and behind all a NUL. */
	memset(buf + n, '\0', sizeof(buf) - (size_t)n);
	how += strlen(how) + 1;
	switch (buf[0]) {
	case KEEPER_HOLD:
		if (got.nfds != KEEPER_HOLD_FDS)
			_exit(EX_OSERR);
		keeper_hold(buf, KEEPER_ERRORS, got.fds[1]);
		keeper_hold(buf, KEEPER_OUTPUT, got.fds[0]);
		break;
	case KEEPER_LEAVE:
		keeper_leave(buf + 1);
		break;
	case KEEPER_TAKE:
		if (got.nfds != 1)
			_exit(EX_OSERR);
		keeper_does(buf);
		keeper_empty(buf + 1, got.fds[0],
		    buf[KEEPER_HEAD + strlen(buf + KEEPER_HEAD) + 1] != '\0');
		break;
	case KEEPER_CLOSE:
		/* Our copies are kept until the daemon has closed its own. */
		if (got.nfds > KEEPER_CLOSE_FDS)
			_exit(EX_OSERR);
		if (nclosing > 0)
			keeper_does(closing_said);
		keeper_close_all(closing, nclosing, how);
		nclosing = got.nfds;
		memcpy(closing, got.fds, nclosing * sizeof(*closing));
		memcpy(closing_said, buf, sizeof(buf));
		break;
	default:
		_exit(EX_OSERR);
	}
	keeper_say(&done, 1, -1);
	return true;
}

int
main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	/* No SA_RESTART: it ends what it interrupts. */
	const struct sigaction tick = { .sa_handler = keeper_interrupted };
	struct source *s;
	sigset_t all;

	(void)sigaction(SIGALRM, &tick, NULL);
	/* Signals to the daemon's group must not end the keeper. */
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	/* Where workers have our user: they cannot trace us, nor look in. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED,
	    KEEPER_PAGE_FD, 0);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (page == MAP_FAILED || epfd == -1 ||
	    epoll_ctl(epfd, EPOLL_CTL_ADD, KEEPER_FD, &event) == -1) {
		(void)dprintf(STDERR_FILENO,
		    "apppool-keeper is started by apppoold(8)\n");
		_exit(EX_USAGE);
	}
	(void)close(KEEPER_PAGE_FD);
	for (;;) {
		/* The daemon may take away a pipe that has an event. */
		while (keeper_hear())
			continue;
		atomic_store(&page->busy, 0);
		s = unfinished;
		if (s == NULL && epoll_wait(epfd, &event, 1, -1) == 1)
			s = event.data.ptr;
		if (s != NULL) {
			keeper_does(s->head);
			keeper_read(s);
		}
	}
}
