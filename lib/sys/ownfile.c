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

enum trust {
	GUARDED,
	SHARED,
	REFUSED
};

/* On the way: what is in a folder is looked at before it is entered. */
struct walk {
	int folder; /* O_PATH */
	enum trust trust; /* in the folder */
	char at[PATH_MAX]; /* path of the folder, as it was entered */
	char name[NAME_MAX + 1]; /* the step from there; "": none is left */
	char rest[PATH_MAX]; /* what comes after the name */
	unsigned links; /* followed so far */
	uid_t root_owner; /* of the root directory */
	enum ownfile_kind kind;
	char *why;
};

static int walk_refuse(struct walk *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int
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

static enum trust
walk_judge(const struct walk *w, const struct stat *st)
{
	bool others = (st->st_mode & S_IWOTH) != 0;

	if (!walk_is_own(w, st) || (others && (st->st_mode & S_ISVTX) == 0))
		return REFUSED;
	if (others ||
	    ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0 &&
		st->st_gid != getegid()))
		return SHARED;
	return GUARDED;
}

/* Takes the folder over as the one that we are in. */
static void
walk_be_in(struct walk *w, int folder, const struct stat *st)
{
	if (w->folder != -1)
		(void)close(w->folder);
	w->folder = folder;
	w->trust = walk_judge(w, st);
}

static int
walk_enter_root(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd == -1)
		return -1;
	(void)fstat(fd, &st);
	w->root_owner = st.st_uid;
	w->at[0] = '\0';
	walk_be_in(w, fd, &st);
	return 0;
}

/* Takes the next name from the rest. Returns 0, or -1 and errno. */
static int
walk_next_name(struct walk *w)
{
	size_t slashes = strspn(w->rest, "/");
	size_t len = strcspn(w->rest + slashes, "/");

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(w->name, w->rest + slashes, len);
	w->name[len] = '\0';
	memmove(w->rest, w->rest + slashes + len,
	    strlen(w->rest + slashes + len) + 1);
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

static bool
walk_is_last(const struct walk *w)
{
	return w->rest[strspn(w->rest, "/")] == '\0';
}

/* Refuses a folder for what others could put there. */
static int
walk_refuse_folder(struct walk *w, const struct stat *st)
{
	const char *at = w->at[0] == '\0' ? "/" : w->at;

	if (!walk_is_own(w, st))
		return walk_refuse(w,
		    "folder %s belongs to user %u, who could put any file "
		    "there: it must belong to root or to the daemon's user",
		    at, (unsigned)st->st_uid);
	return walk_refuse(w,
	    "folder %s may be written by everybody, who could put any file "
	    "there: take that right away, or name another folder",
	    at);
}

/*
 * Whether what has the name may be used or, where there is none yet, get it: 0,
 * or -1 and errno.
 */
static int
walk_examine(struct walk *w, const struct stat *st)
{
	bool link = S_ISLNK(st->st_mode);
	bool file = walk_is_last(w) && w->kind == OWNFILE_REGULAR;
	bool strict = w->trust == SHARED || file;
	struct stat folder;

	if (w->trust == REFUSED) {
		(void)fstat(w->folder, &folder);
		return walk_refuse_folder(w, &folder);
	}
	if (st->st_mode == 0)
		return 0;
	if (!walk_is_own(w, st) && (link || strict))
		return walk_refuse(w, "%s/%s is a %s of user %u: remove it",
		    w->at, w->name, link ? "symbolic link" : "file or folder",
		    (unsigned)st->st_uid);
	if (!strict)
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

/* Opens what has the name, itself. O_DIRECTORY has a file system mounted. */
static int
open_step(const struct walk *w)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1;

	if (!walk_is_last(w))
		fd = openat(w->folder, w->name, flags | O_DIRECTORY);
	if (fd != -1 || (!walk_is_last(w) && errno != ENOTDIR))
		return fd;
	return openat(w->folder, w->name, flags);
}

/*
 * Goes as far as the folder of the file; w->name is the file's name there. Its
 * status is in *st, of mode 0 if there is no file. Returns 0, or -1 and errno.
 */
static int
walk(struct walk *w, struct stat *st)
{
	struct statfs fs;
	size_t len;
	int fd, rc;

	for (;;) {
		if (walk_next_name(w) == -1)
			return -1;
		fd = open_step(w);
		if (fd == -1 && errno == ENOENT && walk_is_last(w)) {
			memset(st, 0, sizeof(*st));
			return walk_examine(w, st);
		}
		if (fd == -1)
			return -1;
		rc = fstat(fd, st);
		if (rc == 0)
			rc = walk_examine(w, st);
		if (rc == 0 && !S_ISLNK(st->st_mode) && !walk_is_last(w)) {
			/* The text of where we are may be cut. */
			len = strlen(w->at);
			(void)snprintf(
			    w->at + len, sizeof(w->at) - len, "/%s", w->name);
			walk_be_in(w, fd, st);
			continue;
		}
		/* The last may be a link of the kernel's, as in /proc/self/fd.
		 */
		if (rc == -1 || !S_ISLNK(st->st_mode) ||
		    (walk_is_last(w) && fstatfs(w->folder, &fs) == 0 &&
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

static int
walk_begin(struct walk *w, const char *path, enum ownfile_kind kind, char *why)
{
	w->folder = -1;
	w->links = 0;
	w->kind = kind;
	w->why = why;
	why[0] = '\0';
	if (strlen(path) >= sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	(void)strcpy(w->rest, path);
	return walk_enter_root(w);
}

static void
walk_end(struct walk *w)
{
	int saved_errno = errno;

	if (w->folder != -1)
		(void)close(w->folder);
	errno = saved_errno;
}

/* Opens what walk() found. EAGAIN: it is not there any more. */
static int
open_last(struct walk *w, const struct stat *found, int flags, mode_t mode)
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
	struct walk w;
	struct stat st;
	int fd = -1;

	for (int tries = 0; tries < TRIES; tries++) {
		fd = walk_begin(&w, path, kind, why);
		if (fd == 0)
			fd = walk(&w, &st);
		if (fd == 0)
			fd = open_last(&w, &st, flags | O_CLOEXEC, mode);
		walk_end(&w);
		if (fd != -1 || errno != EAGAIN)
			break;
	}
	return fd;
}

int
ownfile_check(const char *path, enum ownfile_kind kind, char *why)
{
	struct walk w;
	struct stat st;
	int rc = walk_begin(&w, path, kind, why);

	if (rc == 0)
		rc = walk(&w, &st);
	walk_end(&w);
	return rc;
}
