/*
 * The program: started as our child behind a seccomp filter, with a socket of
 * its own to listen on.
 */

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/seccomp.h>
#include <netinet/in.h>

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "adapter/accept.h"
#include "sys/acceptfilter.h"
#include "sys/fdpass.h"
#include "sys/wire.h"
#include "worker/worker.h"

/* The descriptor that LISTEN_FDS=1 stands for. */
#define LISTEN_FDS_START 3

/* Programs call listen() again, with a backlog of their choice. */
#define BACKLOG 16

/* Connections of other processes that are thrown away at a time. */
#define STRANGERS 64

#define START_FAULT "cannot start %s: %s"

/* --- its listening socket, and the doorbell of that --------------------- */

int
listener_make(struct listener *l, int family)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&l->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&l->addr;
	int no = 0;

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
	if (bind(l->fd, (struct sockaddr *)&l->addr, l->addr_len) == -1 ||
	    listen(l->fd, BACKLOG) == -1)
		return -1;
	l->addr_len = sizeof(l->addr);
	return getsockname(l->fd, (struct sockaddr *)&l->addr, &l->addr_len);
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

bool
listener_inherit(const struct listener *l)
{
	char pid[sizeof("2147483647")];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)unsetenv("LISTEN_FDNAMES");
	return setenv("LISTEN_FDS", "1", 1) == 0 &&
	    setenv("LISTEN_PID", pid, 1) == 0 &&
	    dup2(l->fd, STDIN_FILENO) != -1 &&
	    dup2(l->fd, LISTEN_FDS_START) != -1;
}

/* --- its start ---------------------------------------------------------- */

void
daemon_fail(struct adapter *a, const char *fmt, ...)
{
	char text[WIRE_MAX];
	size_t verb = sizeof(WIRE_FAIL);
	va_list ap;

	memcpy(text, WIRE_FAIL " ", verb);
	va_start(ap, fmt);
	(void)vsnprintf(text + verb, sizeof(text) - verb, fmt, ap);
	va_end(ap);
	(void)channel_say(a->channel, text);
	if (a->program.pid > 0)
		(void)kill(a->program.pid, SIGKILL);
	_exit(EX_OSERR);
}

/*
 * Has the calls of accept() reported, unless they are already, at notify.
 * Without the privilege to install the filter no_new_privs is set first.
 * Returns the descriptor.
 */
static int
install_filter(struct adapter *a, const char *name, int notify)
{
	struct seccomp_notif_addfd probe = {
		.flags = SECCOMP_ADDFD_FLAG_SEND,
	};
	int fd = notify != -1 ? notify : acceptfilter_install();

	if (fd == -1 && errno == EACCES &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
		fd = acceptfilter_install();
		if (fd != -1)
			(void)fprintf(stderr,
			    "apppool-accept: no_new_privs is set: what %s runs "
			    "gains no rights by being set-user-ID\n",
			    name);
	}
	/*
	 * Whether accept() can be answered with a descriptor: no call has this
	 * number; an old kernel stops at the flag already.
	 */
	probe.srcfd = (__u32)fd;
	if (fd == -1 || ioctl(fd, SECCOMP_IOCTL_NOTIF_ADDFD, &probe) != -1 ||
	    errno != ENOENT)
		daemon_fail(a,
		    "this system does not let us answer accept(): seccomp user "
		    "notification: %s; handoff = listen does without",
		    errno == EBUSY ? "somebody uses it already"
				   : strerror(errno));
	return fd;
}

/* Becomes the program; parent: where to send notify, and end at exec. */
static _Noreturn void
program_become(struct adapter *a, char **argv, const sigset_t *signals,
    int notify, int parent, pid_t parent_pid)
{
	static const char *const ours[] = { WIRE_ENV_PROTOCOL, WIRE_ENV_FD,
		WIRE_ENV_FAMILY, WIRE_ENV_UNREAD, WIRE_ENV_CALLS };

	/* Without us the program could only wait for ever. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		daemon_fail(a, START_FAULT, argv[0], strerror(errno));
	if (getppid() != parent_pid)
		_exit(EX_OSERR);
	/* The daemon's socket is hidden. */
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		(void)unsetenv(ours[i]);
	if (!listener_inherit(&a->listener) ||
	    sigprocmask(SIG_SETMASK, signals, NULL) == -1)
		daemon_fail(a, START_FAULT, argv[0], strerror(errno));
	notify = install_filter(a, argv[0], notify);
	if (fdpass_send(parent, "", 1, notify) == -1)
		daemon_fail(a, START_FAULT, argv[0], strerror(errno));
	/*
	 * This and the parent's socket are close-on-exec. execvp(3) would give
	 * a file of unknown format to a shell.
	 */
	if (strchr(argv[0], '/') != NULL)
		(void)execv(argv[0], argv);
	else
		(void)execvp(argv[0], argv);
	daemon_fail(a, "cannot execute %s: %s", argv[0], strerror(errno));
}

void
program_start(
    struct adapter *a, char **argv, const sigset_t *signals, int notify)
{
	struct program *p = &a->program;
	pid_t self = getpid();
	int ends[2], status = 0;
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		daemon_fail(a, START_FAULT, argv[0], strerror(errno));
	p->pid = fork();
	if (p->pid == -1)
		daemon_fail(a, START_FAULT, argv[0], strerror(errno));
	if (p->pid == 0)
		program_become(a, argv, signals, notify,
		    fcntl(ends[1], F_DUPFD_CLOEXEC, HIGH), self);
	(void)close(ends[1]);
	if (fdpass_recv_one(ends[0], &byte, 1, 0, &p->notify) != 1) {
		/* The child has told why, unless somebody has killed it. */
		(void)waitpid(p->pid, &status, 0);
		p->pid = 0;
		if (WIFSIGNALED(status))
			daemon_fail(a, START_FAULT, argv[0],
			    strsignal(WTERMSIG(status)));
		_exit(EX_OSERR);
	}
	if (p->notify == -1)
		daemon_fail(a, START_FAULT, argv[0], strerror(EMFILE));
	/* The end of file comes when the program runs, or cannot. */
	(void)recv(ends[0], &byte, 1, 0);
	(void)close(ends[0]);
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	view_keep_memory(&a->memory, p->pid);
}
