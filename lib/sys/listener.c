/* Sockets that connections are accepted from, and the files of Unix sockets. */

#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/listener.h"
#include "sys/manager.h"
#include "sys/sockets.h"

/* For the lock of a folder: many times what a daemon does under it. */
#define LOCK_WAIT TSPAN_MSECONDS(1)

/* --- the file of a Unix socket ------------------------------------------- */

/*
 * Locks the folder: two daemons that find the same stale socket must not
 * remove each other's new one. A daemon has the lock for a few system calls,
 * but any process that can read the folder can hold it for ever: so it is
 * asked for without sleeping, and given up soon. -1: there is no lock.
 */
static int
file_lock_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	if (slash != NULL)
		(void)snprintf(
		    folder, sizeof(folder), "%.*s/", (int)(slash - path), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	for (tstamp end = clock_now() + LOCK_WAIT;;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		/* On busy processors it may take long to get one back. */
		if (clock_now() >= end)
			break;
		(void)sched_yield();
	}
	(void)close(fd);
	return -1;
}

/*
 * The result of a connect to the socket at the path: 0, or an errno, ENOENT if
 * nothing is there, ENOTSOCK if it is something else. A datagram socket asks
 * without the owner noticing: a stream socket refuses it as one of the wrong
 * type, EPROTOTYPE.
 */
static int
file_ask(const char *path, int type, const char **why_out)
{
	struct sockaddr_un addr;
	struct stat st;
	int fd, error = 0;

	*why_out = "look for an old socket";
	if (lstat(path, &st) == -1)
		return errno;
	*why_out = "a file that is no socket is in the way";
	if (!S_ISSOCK(st.st_mode))
		return ENOTSOCK;
	*why_out = "ask who has the old socket";
	if (address_of_path(path, &addr) == 0)
		return ENAMETOOLONG;
	fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1 || connect(fd, (const void *)&addr, sizeof(addr)) == -1)
		error = errno;
	if (fd != -1)
		(void)close(fd);
	return error;
}

/* Removes a socket without a listener, and nothing else. */
static int
file_make_way(const char *path, const char **why_out)
{
	int error = file_ask(path, SOCK_DGRAM, why_out);

	/* A daemon that is stopping still has it, but takes no connection. */
	if (error == EPROTOTYPE)
		error = file_ask(path, SOCK_STREAM, why_out);
	switch (error) {
	case ENOENT:
		return 0;
	case ECONNREFUSED:
		*why_out = "remove the old socket";
		return unlink(path) == -1 && errno != ENOENT ? -1 : 0;
	case 0:
	case EAGAIN:
	case EPROTOTYPE:
		*why_out = "another process listens there";
		errno = EADDRINUSE;
		return -1;
	default:
		errno = error;
		return -1;
	}
}

static bool
file_is_ours(const struct stat *st, const struct listener_file *ours)
{
	return S_ISSOCK(st->st_mode) && st->st_dev == ours->dev &&
	    st->st_ino == ours->ino;
}

/*
 * By descriptor: another file may be put there as soon as we have looked.
 * fchmod(2) does not take an O_PATH descriptor.
 */
int
listener_protect(const char *path, const struct listener_file *ours, uid_t uid,
    gid_t gid, mode_t mode, const char **why_out)
{
	int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = -1;
	struct stat st;
	char name[64];

	*why_out = "look at our socket";
	if (file == -1)
		return -1;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	if (fstat(file, &st) == -1 || !file_is_ours(&st, ours)) {
		*why_out = "another process took the place of our socket";
		errno = EADDRINUSE;
		goto out;
	}
	if ((uid != (uid_t)-1 && uid != st.st_uid) ||
	    (gid != (gid_t)-1 && gid != st.st_gid)) {
		*why_out = "change the owner of the socket";
		if (chmod(name, st.st_mode & mode & 0777) == -1 ||
		    fchownat(file, "", uid, gid, AT_EMPTY_PATH) == -1)
			goto out;
	}
	*why_out = "change the mode of the socket";
	rc = chmod(name, mode & 0777);
out:
	/* A close of an O_PATH descriptor keeps errno. */
	(void)close(file);
	return rc;
}

/* The second name of our file; a path that we could bind leaves room for it. */
#define SPARE "%s.spare"

bool
listener_keep(const char *path, const struct listener_file *ours)
{
	struct stat st, second;
	bool there = lstat(path, &st) == 0, spared;
	char spare[PATH_MAX];

	(void)snprintf(spare, sizeof(spare), SPARE, path);
	spared = lstat(spare, &second) == 0;
	if (there && !file_is_ours(&st, ours)) {
		log_warnx("%s: another file took the place of our socket, which"
			  " no client reaches any more",
		    path);
	} else if (there && (!spared || !file_is_ours(&second, ours))) {
		/* A socket there is what a daemon that was killed left. */
		if (spared && S_ISSOCK(second.st_mode))
			(void)unlink(spare);
		if (link(path, spare) == -1)
			log_debug("link %s: %m", spare);
	} else if (!there && spared && file_is_ours(&second, ours)) {
		/* The next time needs a second name, too. */
		if (link(spare, path) == 0 || rename(spare, path) == 0) {
			log_warnx("%s was removed by somebody, and is there "
				  "again",
			    path);
			return true;
		}
	}
	return false;
}

/*
 * Makes the file, which listener_fini() removes, and listens there. Between
 * bind(2) and listen(2) the file is there and refuses connects, so that its
 * rights are in force for the first.
 */
static int
file_bind(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	struct sockaddr_un addr;
	struct stat st;

	if (address_of_path(spec->path, &addr) == 0) {
		errno = ENAMETOOLONG;
		*why_out = "the path is too long";
		return -1;
	}
	if (file_make_way(spec->path, why_out) == -1)
		return -1;
	*why_out = "bind";
	if (bind(l->fd, (const void *)&addr, sizeof(addr)) == -1 ||
	    lstat(spec->path, &st) == -1)
		return -1;
	l->file = (struct listener_file){ st.st_dev, st.st_ino };
	if (listener_protect(spec->path, &l->file, spec->uid, spec->gid,
		spec->mode, why_out) == -1)
		return -1;
	*why_out = "listen";
	if (listen(l->fd, spec->backlog) == -1)
		return -1;
	/* Before listen(2) it looked like a socket that nobody has. */
	if (lstat(spec->path, &st) == -1 || !file_is_ours(&st, &l->file)) {
		*why_out = "another process listens there";
		errno = EADDRINUSE;
		return -1;
	}
	return 0;
}

/* --- sockets that outlive us --------------------------------------------- */

/* The name is made of the address, or of the numbers of the socket's file. */
static void
store_name(struct listener *l, const struct sockaddr *addr, socklen_t addrlen,
    bool v6only)
{
	char where[80];

	if (l->kind == LISTENER_UNIX) {
		(void)snprintf(l->stored, sizeof(l->stored),
		    STORE_PREFIX "unix-%jx-%jx", (uintmax_t)l->file.dev,
		    (uintmax_t)l->file.ino);
		return;
	}
	(void)address_format(addr, addrlen, where, sizeof(where));
	/* A colon separates names. */
	for (char *c = where; (c = strchr(c, ':')) != NULL;)
		*c = '_';
	(void)snprintf(l->stored, sizeof(l->stored), STORE_PREFIX "tcp%s-%s",
	    v6only ? "6" : "", where);
}

/* Takes over what a daemon that was killed had there; false: nothing. */
static bool
open_stored(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const int on = 1;
	struct stat st;

	if (spec->path != NULL) {
		if (lstat(spec->path, &st) == -1)
			return false;
		l->kind = LISTENER_UNIX;
		l->file = (struct listener_file){ st.st_dev, st.st_ino };
	}
	store_name(l, spec->addr, spec->addrlen, spec->v6only);
	l->fd = activation_take(l->stored);
	/* That daemon may have been about to close it. */
	if (l->fd != -1)
		listener_unshut(l);
	if (l->fd != -1 && ioctl(l->fd, FIONBIO, &on) == 0 &&
	    listen(l->fd, spec->backlog) == 0 && !listener_is_broken(l) &&
	    (spec->path == NULL ||
		((l->path = strdup(spec->path)) != NULL &&
		    listener_protect(spec->path, &l->file, spec->uid, spec->gid,
			spec->mode, why_out) == 0)))
		return true;
	/* The file may be another's: nothing here may remove it. */
	if (l->fd == -1)
		l->stored[0] = '\0';
	listener_fini(l);
	l->file = (struct listener_file){ 0 };
	return false;
}

/* --- opening ------------------------------------------------------------- */

static int
open_tcp(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const int family = spec->addr->sa_family;
	const int on = 1, v6only = spec->v6only;

	*why_out = "socket";
	l->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd == -1 ||
	    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1)
		return -1;
	if (family == AF_INET6 &&
	    setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only,
		sizeof(v6only)) == -1)
		return -1;
	*why_out = "bind";
	if (bind(l->fd, spec->addr, spec->addrlen) == -1)
		return -1;
	*why_out = "listen";
	return listen(l->fd, spec->backlog);
}

static int
open_unix(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const struct listener_file *unless = spec->unless;
	struct stat st;
	int lock, rc, error;

	l->kind = LISTENER_UNIX;
	if (unless != NULL && lstat(spec->path, &st) == 0 &&
	    file_is_ours(&st, unless)) {
		*why_out = "it is there already";
		errno = EEXIST;
		return -1;
	}
	*why_out = "socket";
	l->path = strdup(spec->path);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd == -1 || l->path == NULL)
		return -1;
	if (spec->folder != NULL && mkdir(spec->folder, 0755) == 0) {
		log_info("made %s", spec->folder);
	} else if (spec->folder != NULL && errno != EEXIST) {
		*why_out = "make its folder";
		return -1;
	}
	lock = file_lock_folder(spec->path);
	rc = file_bind(l, spec, why_out);
	error = errno;
	if (lock != -1) {
		/* A child being spawned may have a copy of it just now. */
		(void)flock(lock, LOCK_UN);
		(void)close(lock);
	}
	errno = error;
	return rc;
}

static int
open_inherited(
    struct listener *l, const struct listener_spec *spec, const char **why_out)
{
	const int fd = spec->inherited_fd, on = 1;
	socklen_t len = sizeof(int);
	int domain, type, listens;

	l->inherited = true;
	*why_out = "not a listening stream socket";
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1)
		return -1;
	if (type != SOCK_STREAM || !listens) {
		errno = EINVAL;
		return -1;
	}
	*why_out = "fcntl";
	if (ioctl(fd, FIONBIO, &on) == -1 ||
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

	assert((spec->addr != NULL) + (spec->path != NULL) +
		(spec->inherited_fd != -1) ==
	    1);

	*l = (struct listener){ .fd = -1 };
	(void)snprintf(l->name, sizeof(l->name), "%s", spec->name);
	if (spec->inherited_fd != -1)
		rc = open_inherited(l, spec, why_out);
	else if (open_stored(l, spec, why_out))
		rc = 0;
	else if (spec->addr != NULL)
		rc = open_tcp(l, spec, why_out);
	else
		rc = open_unix(l, spec, why_out);
	if (rc == 0) {
		*why_out = "getsockname";
		l->addrlen = sizeof(l->addr);
		rc = getsockname(l->fd, (void *)&l->addr, &l->addrlen);
	}
	if (rc == 0 && !l->inherited) {
		store_name(l, (const void *)&l->addr, l->addrlen, spec->v6only);
		if (!notify_store(l->fd, l->stored))
			l->stored[0] = '\0';
	}
	if (rc == -1) {
		saved_errno = errno;
		listener_fini(l);
		errno = saved_errno;
	}
	return rc;
}

const char *
listener_explain(const struct listener_spec *spec, char *buf, size_t size)
{
	int error = errno;
	const char *more = "";

	if (error == EADDRINUSE)
		more = spec->path != NULL ? "; ss -lxp tells by whom"
					  : "; ss -ltnp tells by whom";
	else if (error == EACCES && spec->addr != NULL)
		more = "; ports under 1024 are for root";
	(void)snprintf(buf, size, "%s%s", strerror(error), more);
	errno = error;
	return buf;
}

int
listener_probe(const struct listener_spec *spec, const char **why_out)
{
	int error;

	if (spec->path != NULL) {
		error = file_ask(spec->path, SOCK_DGRAM, why_out);
		if (error == ENOTSOCK) {
			errno = error;
			return -1;
		}
		if (error != 0 && error != EPROTOTYPE)
			return 0;
	} else if (spec->addr == NULL ||
	    !sockets_tcp_taken(spec->addr, spec->v6only)) {
		return 0;
	}
	*why_out = "another process listens there";
	errno = EADDRINUSE;
	return -1;
}

/* --- a socket that others have, too -------------------------------------- */

/*
 * A program that has the socket can hold its lock for ever, while it reads its
 * own memory in setsockopt(2). Of TCP listen, accept, shutdown, setsockopt,
 * getsockname and, once it does not listen any more, TCP_INFO wait for that,
 * but not poll, SO_ACCEPTCONN, and a close that is not the last. A Unix
 * socket's setsockopt alone takes that lock.
 */
int
listener_share(struct listener *l, bool share, bool blocks)
{
	const int nonblocking = !share || !blocks;

	l->shared = l->shared || share;
	/* F_SETFL would take that lock where somebody has changed O_ASYNC. */
	return l->shared ? ioctl(l->fd, FIONBIO, &nonblocking) : 0;
}

bool
listener_is_broken(const struct listener *l)
{
	struct pollfd pfd = { .fd = l->fd, .events = POLLRDHUP };
	socklen_t len = sizeof(int);
	int listens;

	if (l->kind == LISTENER_UNIX)
		return poll(&pfd, 1, 0) == 1 &&
		    (pfd.revents & (POLLRDHUP | POLLHUP)) != 0;
	return getsockopt(l->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) ==
	    0 &&
	    !listens;
}

/* --- looking ------------------------------------------------------------- */

/* Which sockets to count; or the one to look for, and its queue. */
struct queue_look {
	uint32_t inode; /* 0: all */
	long n;
};

static bool
queue_found(void *arg, const struct socket_seen *seen)
{
	struct queue_look *q = arg;

	if (q->inode == 0)
		q->n++;
	else if (seen->inode == q->inode)
		q->n = seen->queue;
	return q->inode == 0 || seen->inode != q->inode;
}

long
listener_half_open(const struct listener *l)
{
	/* The port has the same place in both families. */
	const struct sockaddr_in *in = (const void *)&l->addr;
	struct queue_look q = { 0 };

	if (l->kind == LISTENER_UNIX)
		return 0;
	return sockets_tcp(1U << TCP_SYN_RECV, ntohs(in->sin_port),
		   SOCKETS_SOME, queue_found, &q)
	    ? q.n
	    : -1;
}

bool
listener_is_empty(const struct listener *l)
{
	struct pollfd pfd = { .fd = l->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

long
listener_depth(const struct listener *l)
{
	const struct sockaddr_in *in = (const void *)&l->addr;
	struct queue_look q = { .n = -1 };
	struct tcp_info info;
	socklen_t len = sizeof(info);
	struct stat st;

	if (listener_is_empty(l))
		return 0;
	if (l->kind == LISTENER_UNIX)
		return sockets_unix_queue(l->fd, (const void *)&l->addr);
	if (!l->shared)
		/* Of a socket that listens this has the length of the queue. */
		return getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) ==
			    0 &&
			info.tcpi_state == TCP_LISTEN
		    ? (long)info.tcpi_unacked
		    : -1;
	/* A shared socket's state may change any time: see listener_share(). */
	if (fstat(l->fd, &st) == 0) {
		q.inode = (uint32_t)st.st_ino;
		(void)sockets_tcp(1U << TCP_LISTEN, ntohs(in->sin_port),
		    SOCKETS_SOME, queue_found, &q);
	}
	return q.n;
}

void
listener_fini(struct listener *l)
{
	char spare[PATH_MAX];
	struct stat st;

	/* The second name goes first: nobody puts the file back meanwhile. */
	if (l->path != NULL) {
		(void)snprintf(spare, sizeof(spare), SPARE, l->path);
		if (lstat(spare, &st) == 0 && file_is_ours(&st, &l->file))
			(void)unlink(spare);
		if (lstat(l->path, &st) == 0 && file_is_ours(&st, &l->file))
			(void)unlink(l->path);
	}
	if (l->stored[0] != '\0')
		notify_unstore(l->stored);
	l->stored[0] = '\0';
	if (l->fd != -1 && !l->inherited)
		(void)close(l->fd);
	free(l->path);
	l->path = NULL;
	l->fd = -1;
}
