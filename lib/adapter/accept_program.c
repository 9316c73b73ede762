/*
 * The program: started as our child behind a seccomp filter, with a socket of
 * its own to listen on.
 */

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/seccomp.h>
#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/acceptfilter.h"
#include "sys/fdpass.h"
#include "sys/wire.h"

/* The descriptor that LISTEN_FDS=1 stands for. */
#define LISTEN_FDS_START 3

/* Above the descriptors the program gets. */
#define HIGH 10

/* Programs call listen() again, with a backlog of their choice. */
#define BACKLOG 16

/* Connections of other processes that are thrown away at a time. */
#define STRANGERS 64

/* The exit status of shells for that. */
#define EXIT_NOT_EXECUTED 127

/* The child's report: that the filter is installed, or what failed. */
struct report {
	enum program_stage stage; /* PROGRAM_RUNS: nothing did */
	int error;
	bool restricted;
};

/* --- its listening socket, and the doorbell of that --------------------- */

int
listener_make(struct listener *l, int family)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&l->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&l->addr;
	int no = 0, error;

	l->bell = -1;
	l->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd == -1)
		return -1;
	inherited_read(l->fd, &l->options);

	/* The kernel chooses what is free. */
	memset(&l->addr, 0, sizeof(l->addr));
	l->addr.ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		l->addr_len = sizeof(*in);
	} else if (family == AF_INET6) {
		/* The program sees a socket for both families. */
		(void)setsockopt(
		    l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
		in6->sin6_addr = in6addr_loopback;
		l->addr_len = sizeof(*in6);
	} else {
		/* An abstract name. */
		l->addr_len = offsetof(struct sockaddr_un, sun_path);
	}
	if (bind(l->fd, (struct sockaddr *)&l->addr, l->addr_len) == 0 &&
	    listen(l->fd, BACKLOG) == 0) {
		l->addr_len = sizeof(l->addr);
		if (getsockname(
			l->fd, (struct sockaddr *)&l->addr, &l->addr_len) == 0)
			return 0;
	}
	error = errno;
	(void)close(l->fd);
	errno = error;
	return -1;
}

void
listener_ring(struct listener *l)
{
	if (l->bell != -1)
		return;
	l->bell = socket(
	    l->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->bell == -1)
		return;
	if (connect(l->bell, (struct sockaddr *)&l->addr, l->addr_len) == 0 ||
	    errno == EINPROGRESS)
		return;
	/*
	 * EAGAIN: its queue is full, so it is readable. Any other errno: the
	 * program has shut it down, which wakes a poll as well.
	 */
	(void)close(l->bell);
	l->bell = -1;
}

void
listener_silence(struct listener *l)
{
	/* Closed in order, TCP would keep the port a while: it is reset. */
	const struct linger now = { .l_onoff = 1 };
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	for (int i = 0;
	     i < STRANGERS && poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
	     i++) {
		/* Past the filter, which this process may be behind, too. */
		int fd = (int)syscall(SYS_accept4, l->fd, NULL, NULL,
		    SOCK_CLOEXEC, ACCEPTFILTER_FIRST, ACCEPTFILTER_SECOND);

		if (fd == -1)
			break;
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		(void)close(fd);
	}
	if (l->bell != -1)
		(void)close(l->bell);
	l->bell = -1;
}

/* --- the child ---------------------------------------------------------- */

static _Noreturn void
program_give_up(int parent, enum program_stage stage)
{
	struct report r = { .stage = stage, .error = errno };

	(void)fdpass_send(parent, &r, sizeof(r), -1);
	_exit(EXIT_NOT_EXECUTED);
}

/*
 * Has the calls of accept() reported, unless they are already, at spec->notify.
 * Without the privilege to install the filter no_new_privs is set first, and
 * *restricted_out. Returns the descriptor, or -1 and errno.
 */
static int
install_filter(const struct program_spec *spec, bool *restricted_out)
{
	struct seccomp_notif_addfd probe = {
		.flags = SECCOMP_ADDFD_FLAG_SEND,
	};
	int fd = spec->notify != -1 ? spec->notify : acceptfilter_install();

	if (fd == -1 && errno == EACCES &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
		*restricted_out = true;
		fd = acceptfilter_install();
	}
	if (fd == -1)
		return -1;
	/*
	 * Whether accept() can be answered with a descriptor: no call has this
	 * number; an old kernel stops at the flag already.
	 */
	probe.srcfd = (__u32)fd;
	return ioctl(fd, SECCOMP_IOCTL_NOTIF_ADDFD, &probe) == -1 &&
		errno == ENOENT
	    ? fd
	    : -1;
}

/* Becomes the program; parent: where to say what fails. */
static _Noreturn void
program_become(const struct program_spec *spec, int parent, pid_t parent_pid)
{
	static const char *const ours[] = { WIRE_ENV_PROTOCOL, WIRE_ENV_FD,
		WIRE_ENV_FAMILY, WIRE_ENV_UNREAD, WIRE_ENV_CALLS,
		"LISTEN_FDNAMES" };
	struct report r = { .stage = PROGRAM_RUNS };
	char pid[sizeof("2147483647")];
	char **argv = spec->argv;
	int notify;

	/* Without us the program could only wait for ever. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		program_give_up(parent, PROGRAM_PREPARE);
	if (getppid() != parent_pid)
		_exit(EXIT_NOT_EXECUTED);
	/* The daemon's socket is hidden; sd_listen_fds(3) reads the rest. */
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		(void)unsetenv(ours[i]);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (setenv("LISTEN_FDS", "1", 1) == -1 ||
	    setenv("LISTEN_PID", pid, 1) == -1 ||
	    dup2(spec->listener, STDIN_FILENO) == -1 ||
	    dup2(spec->listener, LISTEN_FDS_START) == -1 ||
	    sigprocmask(SIG_SETMASK, &spec->signals, NULL) == -1)
		program_give_up(parent, PROGRAM_PREPARE);
	notify = install_filter(spec, &r.restricted);
	if (notify == -1)
		program_give_up(parent, PROGRAM_FILTER);
	if (fdpass_send(parent, &r, sizeof(r), notify) == -1)
		program_give_up(parent, PROGRAM_PREPARE);
	/*
	 * This and the parent's socket are close-on-exec. execvp(3) would give
	 * a file of unknown format to a shell.
	 */
	if (strchr(argv[0], '/') != NULL)
		(void)execv(argv[0], argv);
	else
		(void)execvp(argv[0], argv);
	program_give_up(parent, PROGRAM_EXECUTE);
}

/* --- its start ---------------------------------------------------------- */

/* Reads a report. Returns false: end of file, the program runs. */
static bool
read_report(int child, struct report *r, int *fd_out)
{
	ssize_t n;

	do {
		n = fdpass_recv_one(child, r, sizeof(*r), 0, fd_out);
	} while (n == -1 && errno == EINTR);
	return n == sizeof(*r);
}

bool
program_start(struct program *p, const struct program_spec *spec)
{
	struct report r = { .stage = PROGRAM_FORK };
	pid_t self = getpid();
	int ends[2], high, none = -1;

	*p = (struct program){ .pidfd = -1, .notify = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
		p->error = errno;
		return false;
	}
	p->pid = fork();
	r.error = errno;
	if (p->pid == 0) {
		high = fcntl(ends[1], F_DUPFD_CLOEXEC, HIGH);
		(void)close(ends[1]);
		program_become(spec, high, self);
	}
	(void)close(ends[1]);
	if (p->pid > 0 && !read_report(ends[0], &r, &p->notify)) {
		r = (struct report){ PROGRAM_PREPARE, ECHILD, false };
	} else if (r.stage == PROGRAM_RUNS && p->notify == -1) {
		r = (struct report){ PROGRAM_PREPARE, EMFILE, false };
	} else if (r.stage == PROGRAM_RUNS) {
		p->restricted = r.restricted;
		p->pidfd = view_open(p->pid);
		/* A program that runs sends no second report. */
		(void)read_report(ends[0], &r, &none);
	}
	(void)close(ends[0]);
	p->stage = r.stage;
	p->error = r.error;
	if (p->stage == PROGRAM_RUNS)
		return true;
	if (p->notify != -1)
		(void)close(p->notify);
	if (p->pid > 0)
		while (waitpid(p->pid, NULL, 0) == -1 && errno == EINTR)
			continue;
	p->pid = 0;
	return false;
}

bool
program_ended(struct program *p, int *status_out)
{
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
	p->pid = 0;
	*status_out = status;
	return true;
}
