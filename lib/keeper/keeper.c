/*
 * apppool-keeper: does for the daemon, and for one app, what its workers could
 * have the daemon wait for.
 *
 * A worker can hold the lock of its pipe for ever, by writing from a page whose
 * fault never ends; who reads or closes the pipe then waits for the lock, and
 * no signal ends that. So the daemon never does: this process does, and a
 * process that waits there can be left behind. The daemon makes the pipes and
 * sends both ends before the worker runs. The write ends are kept until the
 * worker is dead, so that no close of the daemon's is the last.
 *
 * A descendant of a dead worker can do the same to the socket by which
 * connections are given to the worker. So those that it has not received are
 * received here, and sent to the daemon.
 *
 * A close can take long, too: a TCP connection may linger, and in a Unix socket
 * descriptors may lie unread, of whatever kind.
 *
 * What is said over the socket is in sys/keeper_wire.h. At the end of the
 * socket what is left in the pipes is passed on, and the process exits.
 */

#include <sys/epoll.h>
#include <sys/ioctl.h>
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
#include <time.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/keeper_wire.h"

/* Bytes read from a pipe in its turn. */
#define TURN 16384

#define BATCH 16

/* The longest packet of the daemon's: KEEPER_LEAVE. */
#define PACKET_MAX (1 + KEEPER_LEAVE_MAX * KEEPER_ID_LEN)

/* Microseconds that a close may linger. */
#define LINGER 2000

/* The beginning of a pipe's last line that is not blank, without blanks. */
struct words {
	char text[KEEPER_WORDS_MAX];
	size_t len; /* 0: there was none */
};

/* A pipe of a worker. */
struct source {
	struct source *next;
	char id[KEEPER_ID_LEN];
	char verb; /* KEEPER_OUTPUT or KEEPER_ERRORS */
	int ends[2]; /* to read, and to write */
	struct words *words; /* of KEEPER_ERRORS; NULL: nothing was said */
	char *line; /* the beginning of a line; NULL: none */
	size_t len; /* of it */
	bool cutting; /* the rest of a line that was too long is left out */
};

static struct source *sources;
static int epfd;

/* Lines that may still be passed on of a pipe that is closed. */
static size_t allowed = SIZE_MAX;

/* Descriptors to be closed when the daemon says so. */
static int closing[FDPASS_MAX];
static char how_to_close[FDPASS_MAX];
static size_t nclosing;

/* The packet in hand: only pages with text in them take memory. */
static char packet[KEEPER_HEAD + KEEPER_LINE_MAX];
static char *const text = packet + KEEPER_HEAD;

/* --- to the daemon ------------------------------------------------------ */

/* Before a call that failed for a shortage is made again. */
static void
rest(void)
{
	static const struct timespec span = { .tv_nsec = 5000000 };

	(void)nanosleep(&span, NULL);
}

/* After a packet could not be sent: it will; without a daemon it is over. */
static void
wait_for_room(void)
{
	struct pollfd room = { .fd = KEEPER_FD, .events = POLLOUT };

	switch (errno) {
	case EAGAIN:
		(void)poll(&room, 1, -1);
		break;
	case EINTR:
		break;
	case ENOBUFS:
	case ENOMEM:
	case ETOOMANYREFS:
		rest();
		break;
	default:
		_exit(EX_OK);
	}
}

/* Waits as long as the daemon is busy. */
static void
say(const char *buf, size_t len)
{
	while (send(KEEPER_FD, buf, len, MSG_NOSIGNAL) == -1)
		wait_for_room();
}

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Keeps the last line of these that is not blank; it replaces the former. */
static void
keep_words(struct words *to, const char *lines, size_t len)
{
	const char *newline;

	while (len > 0 && is_blank(lines[len - 1]))
		len--;
	if (len == 0)
		return;
	newline = memrchr(lines, '\n', len);
	if (newline != NULL) {
		len -= (size_t)(newline + 1 - lines);
		lines = newline + 1;
	}
	while (is_blank(*lines)) {
		len--;
		lines++;
	}
	to->len = len < sizeof(to->text) ? len : sizeof(to->text);
	memcpy(to->text, lines, to->len);
}

/* Without memory its words are not kept. */
static void
note_words(struct source *s, const char *lines, size_t len)
{
	if (s->words == NULL)
		s->words = calloc(1, sizeof(*s->words));
	if (s->words != NULL)
		keep_words(s->words, lines, len);
}

/*
 * Passes text[from .. end) on, without a newline at its end. The bytes before
 * it have been said, or are the place of the first header.
 */
static void
say_lines(struct source *s, size_t from, size_t end)
{
	char *at = text + from - KEEPER_HEAD;

	if (s->verb == KEEPER_ERRORS)
		note_words(s, text + from, end - from);
	at[0] = s->verb;
	memcpy(at + 1, s->id, sizeof(s->id));
	say(at, KEEPER_HEAD + end - from);
}

/* --- lines -------------------------------------------------------------- */

/*
 * Passes on the whole lines of text[0 .. len), the first newline of which is
 * not before `searched`, as many as are allowed. Moves the rest to the front,
 * and returns its length.
 */
static size_t
cut(struct source *s, size_t searched, size_t len)
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
			say_lines(s, from, end);
			from = end + 1;
			lines = 0;
		}
		end = at;
		lines++;
		allowed--;
	}
	if (lines > 0) {
		say_lines(s, from, end);
		from = end + 1;
	}
	if (s->cutting)
		from = len;
	memmove(text, text + from, len - from);
	return len - from;
}

/* Puts the beginning of a line back into text; returns its length. */
static size_t
restore(struct source *s)
{
	size_t len = s->len;

	if (s->line == NULL)
		return 0;
	memcpy(text, s->line, len);
	free(s->line);
	s->line = NULL;
	s->len = 0;
	return len;
}

/* Keeps the beginning of a line; without memory it is passed on as it is. */
static void
keep(struct source *s, size_t len)
{
	if (len == 0)
		return;
	s->line = malloc(len);
	if (s->line == NULL) {
		say_lines(s, 0, len);
		return;
	}
	memcpy(s->line, text, len);
	s->len = len;
}

/* Reads and passes on, about so many bytes. */
static void
take(struct source *s, size_t bytes)
{
	size_t len = restore(s);

	while (bytes > 0 && allowed > 0) {
		size_t room = KEEPER_LINE_MAX - len;
		ssize_t n = read(s->ends[0], text + len,
		    room < KEEPER_TEXT ? room : KEEPER_TEXT);

		if (n <= 0)
			break;
		bytes -= (size_t)n < bytes ? (size_t)n : bytes;
		len = cut(s, len, len + (size_t)n);
		if (len == KEEPER_LINE_MAX) {
			say_lines(s, 0, len);
			s->cutting = true;
			len = 0;
		}
	}
	keep(s, len);
}

static void
say_left_out(const struct source *s, uint32_t bytes)
{
	char buf[KEEPER_HEAD + sizeof(bytes)] = { KEEPER_LEFT_OUT };

	memcpy(buf + 1, s->id, sizeof(s->id));
	memcpy(buf + KEEPER_HEAD, &bytes, sizeof(bytes));
	say(buf, sizeof(buf));
}

/*
 * Passes on what a dead worker has left, the beginning of a line as a line; or
 * tells how much there is beyond what is allowed.
 */
static void
take_last(struct source *s)
{
	size_t len;
	int more = 0;

	allowed = KEEPER_LAST_LINES;
	take(s, KEEPER_LAST_TEXT);
	len = restore(s);
	if (len > 0 && allowed > 0) {
		say_lines(s, 0, len);
		len = 0;
	}
	allowed = SIZE_MAX;
	(void)ioctl(s->ends[0], FIONREAD, &more);
	if (len + (size_t)more > 0)
		say_left_out(s, (uint32_t)(len + (size_t)more));
}

/* --- what the daemon says ----------------------------------------------- */

static void
hold(const char *id, char verb, const int ends[2])
{
	struct source *s = calloc(1, sizeof(*s));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = s };

	if (s == NULL || epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &event) == -1)
		_exit(EX_OSERR);
	memcpy(s->id, id, sizeof(s->id));
	s->verb = verb;
	memcpy(s->ends, ends, sizeof(s->ends));
	s->next = sources;
	sources = s;
}

/* Where the pipe of this worker and verb is linked; *result NULL: nowhere. */
static struct source **
find(const char *id, char verb)
{
	struct source **at = &sources;

	while (*at != NULL &&
	    ((*at)->verb != verb || memcmp((*at)->id, id, KEEPER_ID_LEN) != 0))
		at = &(*at)->next;
	return at;
}

static void
leave(const char *id, char verb)
{
	struct source **at = find(id, verb), *s = *at;

	if (s == NULL)
		return;
	*at = s->next;
	take_last(s);
	(void)epoll_ctl(epfd, EPOLL_CTL_DEL, s->ends[0], NULL);
	(void)close(s->ends[1]);
	(void)close(s->ends[0]);
	free(s->words);
	free(s);
}

/* The last line may have no end yet. */
static void
tell_words(const char *id)
{
	char buf[KEEPER_HEAD + KEEPER_WORDS_MAX] = { KEEPER_WORDS };
	struct source *s = *find(id, KEEPER_ERRORS);
	struct words none = { 0 }, *words = &none;

	memcpy(buf + 1, id, KEEPER_ID_LEN);
	if (s != NULL) {
		take(s, KEEPER_LAST_TEXT);
		if (s->words != NULL)
			words = s->words;
		if (s->line != NULL)
			keep_words(words, s->line, s->len);
	}
	memcpy(buf + KEEPER_HEAD, words->text, words->len);
	say(buf, KEEPER_HEAD + words->len);
}

static _Noreturn void
finish(void)
{
	for (struct source *s = sources; s != NULL; s = s->next)
		take_last(s);
	_exit(EX_OK);
}

/* --- closing ------------------------------------------------------------ */

static void
interrupt(int sig)
{
	(void)sig;
}

/* Reads what lies in a socket; the descriptors among it are closed. */
static void
drain(int fd)
{
	while (recv(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		continue;
}

/*
 * Closes them. A close that lingers is interrupted, and goes on without us:
 * also that of a socket that lies in one of these.
 */
static void
close_all(const int *fds, const char *how, size_t n)
{
	const struct itimerval ticks = { .it_interval.tv_usec = LINGER,
		.it_value.tv_usec = LINGER };
	const struct itimerval none = { .it_value.tv_usec = 0 };

	(void)setitimer(ITIMER_REAL, &ticks, NULL);
	for (size_t i = 0; i < n; i++) {
		if (how[i] == KEEPER_DRAIN)
			drain(fds[i]);
		(void)close(fds[i]);
	}
	(void)setitimer(ITIMER_REAL, &none, NULL);
}

static void
release(void)
{
	close_all(closing, how_to_close, nclosing);
	nclosing = 0;
}

/* Keeps them until the daemon has closed its own. */
static void
keep_for_closing(const char *how, size_t len, const struct fdpass_got *got)
{
	if (len < got->nfds)
		_exit(EX_OSERR);
	release();
	nclosing = got->nfds;
	memcpy(closing, got->fds, nclosing * sizeof(*closing));
	memcpy(how_to_close, how, nclosing);
}

/* --- taking back -------------------------------------------------------- */

/* Passes on one packet that a worker has not received. */
static void
pass_on(const char *buf, size_t len, const struct fdpass_got *got)
{
	static const char plain[FDPASS_MAX];

	while (fdpass_send(
		   KEEPER_FD, buf, len, got->nfds > 0 ? got->fds[0] : -1) == -1)
		wait_for_room();
	/* By now it may be the last. */
	close_all(got->fds, plain, got->nfds);
}

/* Receives, in the place of a dead worker, all there is. */
static void
empty(const char *id, int end)
{
	char buf[KEEPER_HEAD + KEEPER_TAKEN_MAX] = { KEEPER_TAKEN };
	struct fdpass_got got;
	ssize_t n;

	memcpy(buf + 1, id, KEEPER_ID_LEN);
	for (;;) {
		n = fdpass_recv(end, buf + KEEPER_HEAD, KEEPER_TAKEN_MAX,
		    MSG_DONTWAIT, &got);
		if (n > 0)
			pass_on(buf, KEEPER_HEAD + (size_t)n, &got);
		else if (n == 0 || errno == EAGAIN)
			break;
		else if (errno != EINTR)
			rest();
	}
	(void)close(end);
	buf[0] = KEEPER_EMPTY;
	say(buf, KEEPER_HEAD);
}

/* Carries out one packet of the daemon. */
static void
obey(const char *buf, size_t len, const struct fdpass_got *got)
{
	const char pong = KEEPER_PONG;

	switch (buf[0]) {
	case KEEPER_HOLD:
		if (len != KEEPER_HEAD || got->nfds != KEEPER_HOLD_FDS)
			_exit(EX_OSERR);
		hold(buf + 1, KEEPER_OUTPUT, got->fds);
		hold(buf + 1, KEEPER_ERRORS, got->fds + 2);
		say(&pong, 1);
		break;
	case KEEPER_LEAVE:
		for (size_t at = 1; at + KEEPER_ID_LEN <= len;
		     at += KEEPER_ID_LEN) {
			leave(buf + at, KEEPER_OUTPUT);
			leave(buf + at, KEEPER_ERRORS);
		}
		break;
	case KEEPER_WORDS:
		if (len != KEEPER_HEAD)
			_exit(EX_OSERR);
		tell_words(buf + 1);
		break;
	case KEEPER_TAKE:
		if (len != KEEPER_HEAD || got->nfds != 1)
			_exit(EX_OSERR);
		empty(buf + 1, got->fds[0]);
		break;
	case KEEPER_CLOSE:
		keep_for_closing(buf + 1, len - 1, got);
		break;
	case KEEPER_CLOSED:
		release();
		break;
	default:
		say(&pong, 1);
		break;
	}
}

static void
listen_to_daemon(void)
{
	char buf[PACKET_MAX];
	struct fdpass_got got;
	ssize_t n;

	while ((n = fdpass_recv(
		    KEEPER_FD, buf, sizeof(buf), MSG_DONTWAIT, &got)) > 0)
		obey(buf, (size_t)n, &got);
	if (n == 0)
		finish();
}

/* --- the loop ----------------------------------------------------------- */

static void
prepare(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	/* No SA_RESTART: it ends what it interrupts. */
	const struct sigaction tick = { .sa_handler = interrupt };
	sigset_t all;

	(void)sigaction(SIGALRM, &tick, NULL);
	/* Signals to the daemon's group must not end the keeper. */
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	/* Where workers have our user: they cannot trace us, nor look in. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (epfd == -1 ||
	    epoll_ctl(epfd, EPOLL_CTL_ADD, KEEPER_FD, &event) == -1) {
		static const char usage[] =
		    "apppool-keeper is started by apppoold(8)\n";

		(void)!write(STDERR_FILENO, usage, sizeof(usage) - 1);
		_exit(EX_USAGE);
	}
}

int
main(void)
{
	struct epoll_event events[BATCH];

	prepare();
	for (;;) {
		int n = epoll_wait(epfd, events, BATCH, -1);
		bool told = false;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == NULL)
				told = true;
			else
				take(events[i].data.ptr, TURN);
		}
		/* Last, because it may free what has an event here. */
		if (told)
			listen_to_daemon();
	}
}
