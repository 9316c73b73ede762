/* Sockets that connections are accepted from. */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/listener.h"
#include "sys/reuseport.h"
#include "sys/sockdiag.h"
#include "sys/turn.h"
#include "sys/uncancelled.h"
#include "sys/unixpath.h"

/*
 * Connections that died in the queue and are passed over in one call. With
 * more of them the listener rests: a flood must not keep us here.
 */
#define DEAD_MAX 64

static struct unixpath_rights
rights_of(const struct listener_spec *spec)
{
	return (struct unixpath_rights){
		.uid = spec->uid, .gid = spec->gid, .mode = spec->mode
	};
}

static int
open_tcp(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const int family = spec->addr->sa_family;
	const int on = 1;
	const int v6only = spec->v6only;

	*why_out = "socket";
	l->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd == -1)
		return -1;
	if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1)
		return -1;
	if (family == AF_INET6 &&
	    setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only,
		sizeof(v6only)) == -1)
		return -1;

	if (spec->beside && reuseport_allow(l->fd) == -1)
		return -1;

	*why_out = "bind";
	if (bind(l->fd, spec->addr, spec->addrlen) == -1)
		return -1;
	l->v6only = spec->v6only;
	*why_out = "listen";
	return spec->beside ? 0 : listen(l->fd, spec->backlog);
}

/* The path of a socket that is to take the place of the one at this path. */
static char *
path_beside(const char *path)
{
	char *beside;

	return asprintf(&beside, "%s.new", path) == -1 ? NULL : beside;
}

static bool
is_there(const char *path, const struct unixpath *file)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_dev == file->dev &&
	    st.st_ino == file->ino;
}

static int
make_folder(const struct listener_spec *spec, const char **why_out)
{
	if (spec->folder == NULL)
		return 0;
	if (mkdir(spec->folder, 0755) == 0)
		log_info("made %s", spec->folder);
	else if (errno != EEXIST) {
		*why_out = "make its folder";
		return -1;
	}
	return 0;
}

static int
open_unix(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const struct unixpath_rights rights = rights_of(spec);
	int saved_errno;
	char *path;

	l->kind = LISTENER_UNIX;
	if (spec->unless != NULL && is_there(spec->path, spec->unless)) {
		*why_out = "it is there already";
		errno = EEXIST;
		return -1;
	}
	*why_out = "socket";
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd == -1)
		return -1;
	if (make_folder(spec, why_out) == -1)
		return -1;
	path = spec->beside ? path_beside(spec->path) : strdup(spec->path);
	if (path == NULL)
		return -1;
	if (unixpath_listen(
		l->fd, path, spec->backlog, &rights, &l->file, why_out) == -1) {
		saved_errno = errno;
		free(path);
		errno = saved_errno;
		return -1;
	}
	l->path = path;
	return 0;
}

static int
socket_option(int fd, int option, int *out)
{
	socklen_t len = sizeof(*out);

	return getsockopt(fd, SOL_SOCKET, option, out, &len);
}

/*
 * By ioctl(2), for F_SETFL takes the lock of the socket where O_ASYNC changes,
 * which another process that has the socket may do at any time.
 */
static int
set_blocking(int fd, bool blocking)
{
	const int nonblocking = !blocking;

	return ioctl(fd, FIONBIO, &nonblocking);
}

static int
open_inherited(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const int fd = spec->inherited_fd;
	int domain, type, listens;

	l->inherited = true;
	*why_out = "not a listening stream socket";
	if (socket_option(fd, SO_DOMAIN, &domain) == -1 ||
	    socket_option(fd, SO_TYPE, &type) == -1 ||
	    socket_option(fd, SO_ACCEPTCONN, &listens) == -1)
		return -1;
	if (type != SOCK_STREAM || !listens) {
		errno = EINVAL;
		return -1;
	}

	*why_out = "fcntl";
	if (set_blocking(fd, false) == -1 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		return -1;
	l->kind = domain == AF_UNIX ? LISTENER_UNIX : LISTENER_TCP;
	l->fd = fd;
	return 0;
}

int
listener_open(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	int saved_errno;
	int rc;

	assert(!spec->beside || spec->inherited_fd == -1);
	assert((spec->addr != NULL) + (spec->path != NULL) +
		(spec->inherited_fd != -1) ==
	    1);

	memset(l, 0, sizeof(*l));
	l->fd = -1;
	l->diversion = -1;
	*why_out = "remember the name";
	l->name = strdup(spec->name);
	if (l->name == NULL)
		return -1;

	if (spec->addr != NULL)
		rc = open_tcp(l, spec, why_out);
	else if (spec->path != NULL)
		rc = open_unix(l, spec, why_out);
	else
		rc = open_inherited(l, spec, why_out);
	if (rc == 0) {
		*why_out = "getsockname";
		l->addrlen = sizeof(l->addr);
		rc = getsockname(l->fd, (void *)&l->addr, &l->addrlen);
	}
	if (rc == -1) {
		saved_errno = errno;
		listener_fini(l);
		errno = saved_errno;
	}
	return rc;
}

int
listener_probe(const struct listener_spec *spec, const char **why_out)
{
	struct sockdiag d;
	bool held;

	if (spec->path != NULL)
		return unixpath_probe(spec->path, why_out);
	if (spec->addr == NULL)
		return 0;

	(void)sockdiag_init(&d);
	held = sockdiag_tcp_taken(&d, spec->addr, spec->v6only, NULL);
	sockdiag_fini(&d);
	if (!held)
		return 0;
	*why_out = "another process listens there";
	errno = EADDRINUSE;
	return -1;
}

/*
 * Whether calls that take the lock of the socket may wait for ever: a program
 * that has it, too, can hold the lock while it reads its own memory in
 * setsockopt(2). For TCP these are listen, accept, shutdown, setsockopt and
 * getsockname, but not poll, getsockopt and a close that is not the last. A
 * Unix socket's setsockopt alone takes that lock.
 */
static bool
has_lock_of_others(const struct listener *l)
{
	return l->shared && l->kind == LISTENER_TCP;
}

int
listener_set_backlog(struct listener *l, int backlog, const char **why_out)
{
	if (l->inherited || l->shut || has_lock_of_others(l))
		return 0;
	/* A second listen(2) changes the backlog and nothing else. */
	*why_out = "listen";
	return listen(l->fd, backlog);
}

int
listener_update(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const struct unixpath_rights rights = rights_of(spec);

	if (listener_set_backlog(l, spec->backlog, why_out) == -1)
		return -1;
	if (l->path == NULL)
		return 0;
	return unixpath_protect(l->path, &l->file, &rights, why_out);
}

/* --- closing TCP for newcomers ------------------------------------------- */

/*
 * From now on new connections get no answer, but a handshake under way still
 * completes; shutdown(2) would reset the whole queue. The filter drops SYN
 * without ACK; byte 13 of a TCP header holds the flags. Newer kernels want
 * CAP_NET_ADMIN for it: EPERM.
 */
static int
drop_syns(int fd)
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

/*
 * The least time to live that a packet must have left; 0: any. The kernel
 * asks it of packets to the listening socket itself, so of SYNs, but not of
 * the end of a handshake under way. On a socket for both families the option
 * of IPv4 counts, too.
 */
static int
set_min_ttl(int fd, int ttl)
{
	int v4 = setsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, sizeof(ttl));
	int v6 =
	    setsockopt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, &ttl, sizeof(ttl));

	return v4 == 0 || v6 == 0 ? 0 : -1;
}

/* If *marks_out, connections accepted from now on need unmark(). */
static int
shut_tcp(int fd, bool *marks_out)
{
	*marks_out = false;
	if (drop_syns(fd) == 0)
		return 0;
	/* Nearly no packet has that: even neighbours begin with 64 or 128. */
	if (set_min_ttl(fd, 255) == -1)
		return -1;
	*marks_out = true;
	return 0;
}

/* Takes from a connection what it inherited from a listener with marks. */
static void
unmark(int conn)
{
	(void)set_min_ttl(conn, 0);
}

/* --- accepting ---------------------------------------------------------- */

/* Logs that accept did not work; the listener rests for a while. */
static int
rest(struct listener *l, tstamp now, tspan span)
{
	log_limited(&l->rate, now, LOG_LEVEL_WARN, "%s: accept: %m", l->name);
	l->rest_until = tstamp_add(now, span);
	return LISTENER_RESTING;
}

/*
 * The queue is empty, or so says a Unix socket that somebody shut down, which
 * is readable for ever. If it was empty the last time, too, a look tells.
 */
static int
find_empty(struct listener *l)
{
	struct pollfd pfd = { .fd = l->fd, .events = POLLRDHUP };

	if (l->kind == LISTENER_UNIX && !l->shut && l->dry &&
	    poll(&pfd, 1, 0) == 1)
		return LISTENER_BROKEN;
	l->dry = true;
	return LISTENER_EMPTY;
}

int
listener_accept(struct listener *l, tstamp now)
{
	int fd;

	if (now < l->rest_until)
		return LISTENER_RESTING;
	if ((l->shared || l->blocked) && set_blocking(l->fd, false) == -1)
		return rest(l, now, LISTENER_REST);

	for (int dead = 0; dead < DEAD_MAX; dead++) {
		turn_call("accept4");
		fd = uncancelled_accept4(l->fd, SOCK_CLOEXEC);
		if (fd != -1) {
			l->dry = false;
			if (l->marks)
				unmark(fd);
			return fd;
		}

		switch (errno) {
		case EAGAIN:
			return find_empty(l);
		case EINTR:
			/*
			 * Nothing came, and it blocks: of the processes that
			 * have a copy one has changed that.
			 */
			if (l->blocked && !l->shut)
				return rest(l, now, LISTENER_LONG_REST);
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
			/* This connection is lost; the next may be good. */
			break;
		default:
			/*
			 * Out of descriptors or memory, or a rule of the
			 * machine (EPERM): the queue stays.
			 */
			return rest(l, now, LISTENER_REST);
		}
	}
	return rest(l, now, LISTENER_REST);
}

int
listener_shut(struct listener *l)
{
	int rc;

	if (l->inherited || l->shut)
		return 0;
	turn_call(l->kind == LISTENER_UNIX ? "shutdown" : "setsockopt");
	rc = l->kind == LISTENER_UNIX ? shutdown(l->fd, SHUT_RD)
				      : shut_tcp(l->fd, &l->marks);
	if (rc == 0)
		l->shut = true;
	return rc;
}

/* --- sharing ------------------------------------------------------------ */

int
listener_share(struct listener *l, bool share)
{
	bool first = share && !l->shared;

	/* Later it would wait for the lock. */
	if (first && l->kind == LISTENER_TCP && !l->inherited &&
	    reuseport_allow(l->fd) == -1)
		return -1;
	l->shared = l->shared || share;
	return l->shared ? set_blocking(l->fd, share) : 0;
}

int
listener_succeed(struct listener *l, struct listener *old, int backlog,
    struct sockdiag *d, const char **why_out)
{
	*why_out = "take the place of another socket";
	if (l->kind == LISTENER_TCP) {
		if (reuseport_lead(l->fd, backlog, (void *)&l->addr, d) == -1)
			return -1;
	} else {
		if (unixpath_replace(l->path, old->path, &old->file, why_out) ==
		    -1)
			return -1;
		free(l->path);
		l->path = old->path;
		old->path = NULL;
	}
	old->shut = true;
	return 0;
}

/* Opens a socket that gets the newcomers of a TCP listener, and drops them. */
static int
divert(struct listener *l, struct sockdiag *d)
{
	const struct listener_spec spec = {
		.name = l->name,
		.addr = (void *)&l->addr,
		.addrlen = l->addrlen,
		.v6only = l->v6only,
		.inherited_fd = -1,
		.beside = true,
	};
	struct listener diversion = { .fd = -1, .diversion = -1 };
	const char *why;
	bool marks;

	if (open_tcp(&diversion, &spec, &why) == -1 ||
	    shut_tcp(diversion.fd, &marks) == -1 ||
	    reuseport_lead(diversion.fd, 0, spec.addr, d) == -1) {
		listener_fini(&diversion);
		return -1;
	}
	l->diversion = diversion.fd;
	return 0;
}

int
listener_hide(struct listener *l, struct sockdiag *d)
{
	if (l->inherited || l->shut)
		return 0;
	if (l->kind == LISTENER_TCP && divert(l, d) == -1)
		return -1;
	if (l->kind == LISTENER_UNIX) {
		unixpath_remove(l->path, &l->file);
		free(l->path);
		l->path = NULL;
	}
	l->shut = true;
	return 0;
}

bool
listener_is_broken(const struct listener *l)
{
	struct pollfd pfd = { .fd = l->fd, .events = POLLRDHUP };
	int listens;

	if (l->kind == LISTENER_UNIX)
		return poll(&pfd, 1, 0) == 1 &&
		    (pfd.revents & (POLLRDHUP | POLLHUP)) != 0;
	return socket_option(l->fd, SO_ACCEPTCONN, &listens) == 0 && !listens;
}

socklen_t
listener_address(const struct listener *l, struct sockaddr_storage *out)
{
	if (l->fd == -1)
		return 0;
	memcpy(out, &l->addr, sizeof(*out));
	return l->addrlen;
}

long
listener_half_open(const struct listener *l, struct sockdiag *d)
{
	struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
	struct sockaddr_in6 in6;

	if (l->kind == LISTENER_UNIX)
		return 0;
	if (listener_address(l, &addr) < sizeof(struct sockaddr_in))
		return -1;
	/* The port has the same place in both families. */
	memcpy(&in6, &addr, sizeof(in6));
	return sockdiag_tcp_half_open(d, addr.ss_family, ntohs(in6.sin6_port));
}

/*
 * Asks about the socket, whose lock others may hold, without touching it: an
 * empty queue is seen by poll(2), the length of another is told by the monitor,
 * which looks for the socket among all of the machine.
 */
static long
depth_from_outside(const struct listener *l, struct sockdiag *d)
{
	struct pollfd pfd = { .fd = l->fd, .events = POLLIN };
	struct stat st;

	if (poll(&pfd, 1, 0) == 0)
		return 0;
	if (fstat(l->fd, &st) == -1)
		return -1;
	if (l->kind == LISTENER_UNIX)
		return sockdiag_unix_queue(d, (uint32_t)st.st_ino);
	return sockdiag_tcp_queue(
	    d, (const void *)&l->addr, (uint32_t)st.st_ino);
}

long
listener_depth(const struct listener *l, struct sockdiag *d)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	/* TCP_INFO takes the lock of a socket that listens no more. */
	if (l->kind == LISTENER_UNIX || l->shared)
		return depth_from_outside(l, d);

	/* In a listening socket this field has the length of its queue. */
	if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == -1 ||
	    info.tcpi_state != TCP_LISTEN)
		return -1;
	return (long)info.tcpi_unacked;
}

void
listener_fini(struct listener *l)
{
	if (l->path != NULL)
		unixpath_remove(l->path, &l->file);
	if (l->fd != -1 && !l->inherited)
		(void)close(l->fd);
	if (l->fd != -1 && l->diversion != -1)
		(void)close(l->diversion);
	free(l->path);
	free(l->name);
	l->path = NULL;
	l->name = NULL;
	l->fd = -1;
}
