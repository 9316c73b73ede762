/* Files that the daemon writes by a name. */

#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/ownfile.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* How often a file is looked at that is replaced meanwhile. */
#define TRIES 8

/* On the way: what is in a folder is looked at before it is entered. */
struct walk {
	int folder; /* O_PATH; -1: none yet */
	struct stat in; /* of the folder */
	char at[PATH_MAX]; /* path of the folder, as it was entered */
	char name[NAME_MAX + 1]; /* the step from there; "": none is left */
	char rest[PATH_MAX]; /* what comes after the name */
	unsigned links; /* followed so far */
	uid_t root_owner; /* of the root directory */
	enum ownfile_kind kind;
	char *why;
};

static int __attribute__((format(printf, 2, 3)))
walk_refuse(struct walk *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(w->why, OWNFILE_WHY, fmt, ap);
	va_end(ap);
	errno = EPERM;
	return -1;
}

static bool
walk_is_own(const struct walk *w, const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid() ||
	    st->st_uid == w->root_owner;
}

static int
walk_enter_root(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	if (w->folder != -1)
		(void)close(w->folder);
	w->folder = fd;
	(void)fstat(fd, &w->in);
	w->root_owner = w->in.st_uid;
	w->at[0] = '\0';
	return 0;
}

/* Puts the path that the link holds before the rest. */
static int
walk_follow(struct walk *w, int link)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	size_t rest = strlen(w->rest);

	if (n == -1)
		return -1;
	if (++w->links > LINKS_MAX || (size_t)n + rest >= sizeof(w->rest)) {
		errno = w->links > LINKS_MAX ? ELOOP : ENAMETOOLONG;
		return -1;
	}
	memmove(w->rest + n, w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)n);
	return target[0] == '/' ? walk_enter_root(w) : 0;
}

/* Whether what has the name may be used, or be made: 0, or -1 and errno. */
static int
walk_examine(struct walk *w, const struct stat *st, bool last)
{
	const struct stat *in = &w->in;
	const char *at = w->at[0] == '\0' ? "/" : w->at;
	bool others = (in->st_mode & S_IWOTH) != 0;
	bool group = (in->st_mode & S_IWGRP) != 0 && in->st_gid != 0 &&
	    in->st_gid != getegid();
	bool file = last && w->kind == OWNFILE_REGULAR;
	bool link = S_ISLNK(st->st_mode);

	if (!walk_is_own(w, in))
		return walk_refuse(w,
		    "folder %s belongs to user %u, who could put any file "
		    "there: it must belong to root or to the daemon's user",
		    at, (unsigned)in->st_uid);
	if (others && (in->st_mode & S_ISVTX) == 0)
		return walk_refuse(w,
		    "folder %s may be written by everybody, who could put any "
		    "file there: take that right away, or name another folder",
		    at);
	if (st->st_mode == 0)
		return 0;
	if (!walk_is_own(w, st) && (link || others || group || file))
		return walk_refuse(w, "%s/%s is a %s of user %u: remove it",
		    w->at, w->name, link ? "symbolic link" : "file or folder",
		    (unsigned)st->st_uid);
	if (!others && !group && !file)
		return 0;
	if (link)
		return walk_refuse(w,
		    "%s/%s is a symbolic link, which is not followed here: "
		    "remove it, or name the file it leads to",
		    w->at, w->name);
	if (!S_ISDIR(st->st_mode) &&
	    (!S_ISREG(st->st_mode) || st->st_nlink != 1))
		return walk_refuse(w,
		    "%s/%s is not a regular file with one name: remove it",
		    w->at, w->name);
	if (file && (st->st_mode & S_IWOTH) != 0)
		return walk_refuse(w,
		    "%s/%s may be written by everybody: remove it", w->at,
		    w->name);
	return 0;
}

/*
 * Goes as far as the folder of the file; w->name is the file's name there. Its
 * status is in *st, of mode 0 if there is no file. Returns 0, or -1 and errno.
 */
static int
walk(struct walk *w, struct stat *st)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	struct statfs fs;
	size_t at, len;
	bool last;
	int fd, rc;

	for (;;) {
		at = strspn(w->rest, "/");
		len = strcspn(w->rest + at, "/");
		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(w->name, w->rest + at, len);
		w->name[len] = '\0';
		at += len;
		memmove(w->rest, w->rest + at, strlen(w->rest + at) + 1);
		last = w->rest[strspn(w->rest, "/")] == '\0';
		/* The file of this name itself; O_DIRECTORY mounts it first. */
		fd =
		    last ? -1 : openat(w->folder, w->name, flags | O_DIRECTORY);
		if (last || (fd == -1 && errno == ENOTDIR))
			fd = openat(w->folder, w->name, flags);
		if (fd == -1 && errno == ENOENT && last) {
			memset(st, 0, sizeof(*st));
			return walk_examine(w, st, last);
		}
		if (fd == -1)
			return -1;
		rc = fstat(fd, st);
		if (rc == 0)
			rc = walk_examine(w, st, last);
		if (rc == 0 && !S_ISLNK(st->st_mode) && !last) {
			/* The text of where we are may be cut. */
			len = strlen(w->at);
			(void)snprintf(
			    w->at + len, sizeof(w->at) - len, "/%s", w->name);
			(void)close(w->folder);
			w->folder = fd;
			w->in = *st;
			continue;
		}
		/* The last may be a link of the kernel's: /proc/self/fd. */
		if (rc == -1 || !S_ISLNK(st->st_mode) ||
		    (last && fstatfs(w->folder, &fs) == 0 &&
			fs.f_type == PROC_SUPER_MAGIC)) {
			(void)close(fd);
			return rc;
		}
		rc = walk_follow(w, fd);
		(void)close(fd);
		if (rc == -1)
			return -1;
	}
}

/* Opens what walk() found. EAGAIN: it is not there any more. */
static int
walk_open_last(struct walk *w, const struct stat *found, int flags, mode_t mode)
{
	struct stat st;
	int fd;

	if (found->st_mode == 0 || (flags & O_EXCL) != 0) {
		fd = openat(w->folder, w->name,
		    flags | O_NOFOLLOW | (flags & O_CREAT ? O_EXCL : 0), mode);
		if (fd == -1 && errno == EEXIST && (flags & O_EXCL) == 0)
			errno = EAGAIN;
		return fd;
	}
	flags &= ~O_CREAT;
	if (S_ISLNK(found->st_mode))
		return openat(w->folder, w->name, flags);
	fd = openat(w->folder, w->name, flags | O_NOFOLLOW);
	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == found->st_dev &&
	    st.st_ino == found->st_ino)
		return fd;
	(void)close(fd);
	errno = EAGAIN;
	return -1;
}

int
ownfile_open(
    const char *path, enum ownfile_kind kind, int flags, mode_t mode, char *why)
{
	int fd = -1, error = EAGAIN;

	for (int tries = 0; tries < TRIES && error == EAGAIN; tries++) {
		struct walk w = { .folder = -1, .kind = kind, .why = why };
		struct stat st;

		why[0] = '\0';
		errno = ENAMETOOLONG;
		if (strlcpy(w.rest, path, sizeof(w.rest)) < sizeof(w.rest))
			fd = walk_enter_root(&w);
		if (fd == 0)
			fd = walk(&w, &st);
		if (fd == 0 && flags != OWNFILE_LOOK)
			fd = walk_open_last(&w, &st, flags | O_CLOEXEC, mode);
		error = fd == -1 ? errno : 0;
		if (w.folder != -1)
			(void)close(w.folder);
	}
	if (fd == -1)
		errno = error;
	return fd;
}
