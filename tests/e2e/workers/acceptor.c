/*
 * A program that knows nothing of the daemon: it accepts connections on the
 * listening socket it was started with, in whatever way a test wants, and
 * answers each with one line
 *
 *	PID COUNT PEER FLAGS MORE
 *
 * where COUNT are the connections of this process so far, PEER is the address
 * that accept() left (or "-"), FLAGS are "cloexec", "nonblock" or both with a
 * comma, or "-", and MORE depends on the request.  A request is one line; see
 * request_rows.
 */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acceptor_options.h"
#include "acceptor_serve.h"

#define THREADS_MAX 64

static volatile sig_atomic_t terminated;

/* --- a connection --------------------------------------------------------- */

static void *
serve_apart(void *arg)
{
	serve(arg);
	free(arg);
	return NULL;
}

static void
begin(const struct served *s)
{
	struct served *copy;
	pthread_t thread;

	if (!opt.hand_on) {
		serve(s);
		return;
	}
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		err(71, "malloc");
	*copy = *s;
	if (pthread_create(&thread, NULL, serve_apart, copy) != 0)
		errx(71, "pthread_create");
	pthread_detach(thread);
}

/* --- accepting ------------------------------------------------------------ */

static int
accept_flags(void)
{
	int flags = 0;

	if (strstr(opt.accept4, "cloexec") != NULL)
		flags |= SOCK_CLOEXEC;
	if (strstr(opt.accept4, "nonblock") != NULL)
		flags |= SOCK_NONBLOCK;
	if (strstr(opt.accept4, "nonsense") != NULL)
		flags |= 0x10;
	return flags;
}

/* Returns the connection, or -1. */
static int
accept_one(struct served *s)
{
	struct sockaddr *peer = (struct sockaddr *)&s->peer;
	socklen_t *len = &s->peer_len;

	memset(s, 0, sizeof(*s));
	s->peer_len = sizeof(s->peer);
	if (opt.no_address) {
		s->peer_len = 0;
		peer = NULL;
		len = NULL;
	} else if (opt.bad_pointer) {
		opt.bad_pointer = false;
		len = NULL;
	}
	if (opt.accept4 != NULL)
		s->fd = accept4((int)opt.fd, peer, len, accept_flags());
	else
		s->fd = accept((int)opt.fd, peer, len);
	return s->fd;
}

/* Whether a failed accept() is to be tried again. */
static bool
go_on(void)
{
	switch (errno) {
	case EINTR:
		return !terminated;
	case EAGAIN:
	case ECONNABORTED:
		return true;
	case EFAULT:
	case EMFILE:
	case EINVAL:
		warn("accept");
		return errno != EINVAL;
	default:
		warn("accept");
		return false;
	}
}

static void *
accept_all(void *unused)
{
	struct pollfd p = { .fd = (int)opt.fd, .events = POLLIN };
	struct served s;

	(void)unused;
	while (!terminated) {
		if (opt.poll && poll(&p, 1, -1) == -1)
			continue;
		do {
			if (accept_one(&s) == -1) {
				if (!go_on())
					return NULL;
				break;
			}
			begin(&s);
		} while (opt.drain);
	}
	return NULL;
}

/* Returns when all threads have ended. */
static void
accept_with_threads(void)
{
	pthread_t threads[THREADS_MAX];

	if (opt.threads > THREADS_MAX)
		errx(64, "too many threads");
	if (opt.cancel != NULL) {
		if (pthread_create(&threads[0], NULL, accept_all, NULL) != 0)
			errx(71, "pthread_create");
		(void)do_wait(opt.cancel);
		(void)pthread_cancel(threads[0]);
		pthread_join(threads[0], NULL);
		fprintf(stderr, "cancelled\n");
	}
	for (long i = 1; i < opt.threads; i++)
		if (pthread_create(&threads[i], NULL, accept_all, NULL) != 0)
			errx(71, "pthread_create");
	accept_all(NULL);
	for (long i = 1; i < opt.threads; i++)
		pthread_join(threads[i], NULL);
}

/* --- preparing ------------------------------------------------------------ */

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		_exit(0);
	if (sig != SIGTERM)
		return;
	terminated = 1;
	if (opt.shutdown)
		(void)shutdown((int)opt.fd, SHUT_RD);
}

static void
prepare_signals(void)
{
	struct itimerval every = {
		.it_interval.tv_usec = opt.alarm * 1000,
		.it_value.tv_usec = opt.alarm * 1000,
	};
	struct sigaction act = { .sa_handler = on_signal };

	/* With SA_RESTART the shutdown alone ends a blocking accept(). */
	if (opt.shutdown)
		act.sa_flags = SA_RESTART;
	if (opt.graceful || opt.shutdown)
		sigaction(SIGTERM, &act, NULL);
	if (opt.leave)
		sigaction(SIGUSR1, &act, NULL);
	if (opt.alarm > 0) {
		sigaction(SIGALRM, &act, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
	}
}

/* A thread that serves a second listener, which the daemon knows nothing of. */
static void *
serve_other(void *arg)
{
	int listener = *(int *)arg;
	struct served s = { 0 };

	for (;;) {
		s.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (s.fd == -1)
			err(71, "the other socket");
		serve(&s);
	}
}

static void
open_other(const char *path)
{
	static int listener;
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	pthread_t thread;

	(void)unlink(path);
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener == -1 ||
	    bind(listener, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    chmod(path, 0666) == -1 || listen(listener, 16) == -1)
		err(71, "%s", path);
	if (pthread_create(&thread, NULL, serve_other, &listener) != 0)
		errx(71, "pthread_create");
}

static void
prepare_socket(void)
{
	int old = (int)opt.fd;

	if (opt.dup) {
		opt.fd = fcntl(old, F_DUPFD, 20);
		close(0);
		close(3);
		(void)open("/dev/null", O_RDWR);
	}
	if (opt.nonblock)
		fcntl((int)opt.fd, F_SETFL, O_NONBLOCK);
}

static void
prepare(void)
{
	const struct rlimit nofile = { (rlim_t)opt.nofile, (rlim_t)opt.nofile };

	if (opt.say != NULL)
		fprintf(stderr, "%s\n", opt.say);
	prepare_signals();
	prepare_socket();
	if (opt.nofile > 0)
		setrlimit(RLIMIT_NOFILE, &nofile);
	for (long i = 0; i < opt.files; i++)
		(void)open("/dev/null", O_RDWR);
	if (opt.user != -1 &&
	    (setgroups(0, NULL) == -1 || setgid((gid_t)opt.user) == -1 ||
		setuid((uid_t)opt.user) == -1))
		err(71, "setuid");
	if (opt.hide && prctl(PR_SET_DUMPABLE, 0) == -1)
		err(71, "prctl");
	if (opt.other != NULL)
		open_other(opt.other);
	sleep_for(opt.start_delay);
	if (opt.start_when != NULL)
		(void)do_wait(opt.start_when);
}

/* Children that accept; a child that ends is replaced. */
static void
accept_with_children(void)
{
	long running = 0;

	while (!terminated) {
		for (; running < opt.fork; running++) {
			pid_t pid = fork();

			if (pid == -1)
				err(71, "fork");
			if (pid == 0) {
				if (opt.hide_child)
					(void)prctl(PR_SET_DUMPABLE, 0);
				accept_all(NULL);
				_exit(0);
			}
		}
		if (wait(NULL) != -1)
			running--;
		else if (errno != EINTR)
			err(71, "wait");
	}
}

int
main(int argc, char **argv)
{
	(void)argc;
	options_read(option_rows, argv);
	prepare();
	if (opt.fork > 0)
		accept_with_children();
	else
		accept_with_threads();
	return 0;
}
