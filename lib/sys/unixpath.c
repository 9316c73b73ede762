/* The file of a listening Unix socket. */

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/tstamp.h"
#include "sys/address.h"
#include "sys/unixpath.h"

/* Many times what a daemon does under the lock. */
#define LOCK_WAIT TSPAN_MSECONDS(1)

static tstamp
monotonic(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

/*
 * Locks the folder: two daemons that find the same stale socket must not
 * remove each other's new one. A daemon has the lock for a few system calls,
 * but any process that can read the folder can hold it for ever: so it is
 * asked for without sleeping, and given up soon. Without it only that race is
 * open. Returns a descriptor, or -1 without a lock.
 */
static int
lock_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	if (slash != NULL) {
		size_t len = slash == path ? 1 : (size_t)(slash - path);

		if (len >= sizeof(folder))
			return -1;
		memcpy(folder, path, len);
		folder[len] = '\0';
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	for (tstamp end = monotonic() + LOCK_WAIT;;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		/* On busy processors it may take long to get one back. */
		if (monotonic() >= end)
			break;
		(void)sched_yield();
	}
	(void)close(fd);
	return -1;
}

static void
unlock_folder(int fd)
{
	int saved_errno = errno;

	if (fd != -1) {
		/* A child being spawned may have a copy of fd just now. */
		(void)flock(fd, LOCK_UN);
		(void)close(fd);
	}
	errno = saved_errno;
}

/* Connects and closes. Returns the errno of the connect, 0: it succeeded. */
static int
try_connect(const struct sockaddr_un *addr, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd == -1)
		return errno;
	if (connect(fd, (const void *)addr, sizeof(*addr)) == -1)
		error = errno;
	(void)close(fd);
	return error;
}

/*
 * Whether the path is a socket. 1, or 0 if nothing is there; or -1, with
 * ENOTSOCK if it is something else.
 */
static int
look(const char *path, const char **why_out)
{
	struct stat st;

	if (lstat(path, &st) == -1) {
		*why_out = "look for an old socket";
		return errno == ENOENT ? 0 : -1;
	}
	if (!S_ISSOCK(st.st_mode)) {
		*why_out = "a file that is no socket is in the way";
		errno = ENOTSOCK;
		return -1;
	}
	return 1;
}

/*
 * The question is put by a datagram socket: a stream socket refuses it as one
 * of the wrong type, and its owner notices nothing.
 */
int
unixpath_probe(const char *path, const char **why_out)
{
	struct sockaddr_un addr;
	int error;

	switch (look(path, why_out)) {
	case 0:
		return 0;
	case -1:
		return errno == ENOTSOCK ? -1 : 0;
	}
	if (address_of_path(path, &addr) == 0)
		return 0;

	error = try_connect(&addr, SOCK_DGRAM);
	if (error != 0 && error != EPROTOTYPE)
		return 0;
	*why_out = "another process listens there";
	errno = EADDRINUSE;
	return -1;
}

/* Removes a socket without a listener, and nothing else. */
static int
make_way(const struct sockaddr_un *addr, const char **why_out)
{
	int found = look(addr->sun_path, why_out);
	int error;

	if (found != 1)
		return found;

	error = try_connect(addr, SOCK_DGRAM);
	/* A daemon that is stopping still has it, but takes no connection. */
	if (error == EPROTOTYPE)
		error = try_connect(addr, SOCK_STREAM);

	switch (error) {
	case ECONNREFUSED:
		*why_out = "remove the old socket";
		if (unlink(addr->sun_path) == -1 && errno != ENOENT)
			return -1;
		return 0;
	case ENOENT:
		return 0;
	case 0:
	case EAGAIN:
	case EPROTOTYPE:
		*why_out = "another process listens there";
		errno = EADDRINUSE;
		return -1;
	default:
		*why_out = "ask who has the old socket";
		errno = error;
		return -1;
	}
}

static bool
is_ours(const struct stat *st, const struct unixpath *ours)
{
	return S_ISSOCK(st->st_mode) && st->st_dev == ours->dev &&
	    st->st_ino == ours->ino;
}

/* The file behind an O_PATH descriptor; fchmod(2) does not take those. */
static int
change_mode(int file, mode_t mode)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	return chmod(name, mode & 0777);
}

static int
change_rights(
    int file, const struct unixpath_rights *rights, const char **why_out)
{
	struct stat st;
	bool moves;

	if (fstat(file, &st) == -1)
		return -1;
	moves = (rights->uid != (uid_t)-1 && rights->uid != st.st_uid) ||
	    (rights->gid != (gid_t)-1 && rights->gid != st.st_gid);
	if (moves) {
		*why_out = "change the owner of the socket";
		if (change_mode(file, st.st_mode & rights->mode) == -1 ||
		    fchownat(file, "", rights->uid, rights->gid,
			AT_EMPTY_PATH) == -1)
			return -1;
	}
	*why_out = "change the mode of the socket";
	return change_mode(file, rights->mode);
}

/* By descriptor: another file may be put there as soon as we have looked. */
int
unixpath_protect(const char *path, const struct unixpath *ours,
    const struct unixpath_rights *rights, const char **why_out)
{
	int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = -1, error;
	struct stat st;

	*why_out = "look at our socket";
	if (file == -1)
		return -1;
	if (fstat(file, &st) == -1 || !is_ours(&st, ours)) {
		*why_out = "another process took the place of our socket";
		errno = EADDRINUSE;
	} else {
		rc = change_rights(file, rights, why_out);
	}
	error = errno;
	(void)close(file);
	errno = error;
	return rc;
}

/* Between bind(2) and listen(2) the file is there and refuses connects. */
static int
bind_and_listen(int fd, const struct sockaddr_un *addr, int backlog,
    const struct unixpath_rights *rights, struct unixpath *out,
    const char **why_out)
{
	const char *path = addr->sun_path;
	struct stat st;

	*why_out = "bind";
	if (bind(fd, (const void *)addr, sizeof(*addr)) == -1)
		return -1;
	if (lstat(path, &st) == -1)
		return -1;
	out->dev = st.st_dev;
	out->ino = st.st_ino;

	if (unixpath_protect(path, out, rights, why_out) == -1)
		goto fail;
	*why_out = "listen";
	if (listen(fd, backlog) == -1)
		goto fail;
	/* Before listen(2) it looked like a socket that nobody has. */
	if (lstat(path, &st) == -1 || !is_ours(&st, out)) {
		*why_out = "another process listens there";
		errno = EADDRINUSE;
		goto fail;
	}
	return 0;

fail:
	unixpath_remove(path, out);
	return -1;
}

int
unixpath_listen(int fd, const char *path, int backlog,
    const struct unixpath_rights *rights, struct unixpath *out,
    const char **why_out)
{
	struct sockaddr_un addr;
	int lock;
	int rc;

	if (address_of_path(path, &addr) == 0) {
		errno = ENAMETOOLONG;
		*why_out = "the path is too long";
		return -1;
	}
	lock = lock_folder(path);
	rc = make_way(&addr, why_out);
	if (rc == 0)
		rc = bind_and_listen(fd, &addr, backlog, rights, out, why_out);
	unlock_folder(lock);
	return rc;
}

int
unixpath_replace(const char *from, const char *to, const struct unixpath *old,
    const char **why_out)
{
	struct stat st;

	if (lstat(to, &st) == 0 && !is_ours(&st, old)) {
		*why_out = "another process took the place of our socket";
		errno = EADDRINUSE;
		return -1;
	}
	*why_out = "rename the socket";
	return rename(from, to);
}

void
unixpath_remove(const char *path, const struct unixpath *ours)
{
	int saved_errno = errno;
	struct stat st;

	if (lstat(path, &st) == 0 && is_ours(&st, ours))
		(void)unlink(path);
	errno = saved_errno;
}
