#ifndef SYS_UNIXPATH_H
#define SYS_UNIXPATH_H

/*
 * The file of a listening Unix socket: whether a process has it, making it,
 * owner and mode, removing it. Functions that return -1 set errno, and say in
 * *why_out what did not work.
 */

#include <sys/types.h>

/* Names the file: no other file has these numbers while the socket is open. */
struct unixpath {
	dev_t dev;
	ino_t ino;
};

struct unixpath_rights {
	uid_t uid; /* (uid_t)-1: leave as it is */
	gid_t gid; /* (gid_t)-1: likewise */
	mode_t mode;
};

/*
 * Returns 0 if the path is free, or a socket that no process has; -1 with
 * EADDRINUSE if a process has it, ENOTSOCK if it is no socket. A path that may
 * not be looked at counts as free. Makes no connection.
 */
int unixpath_probe(const char *path, const char **why_out);

/*
 * Makes fd, a fresh stream socket, listen there, in place of a socket that
 * nobody listens on any more. The first connect is possible when the rights
 * are in force. Returns 0; or -1, and then the file is removed again.
 */
int unixpath_listen(int fd, const char *path, int backlog,
    const struct unixpath_rights *rights, struct unixpath *out,
    const char **why_out);

/*
 * Gives our file these rights; meanwhile only rights that both the old and the
 * new ones give are in force. EADDRINUSE if it is not ours any more.
 */
int unixpath_protect(const char *path, const struct unixpath *ours,
    const struct unixpath_rights *rights, const char **why_out);

/*
 * Moves the socket at `from` to `to`, in the place of our file `old` there, as
 * one act. EADDRINUSE if that is not ours any more.
 */
int unixpath_replace(const char *from, const char *to,
    const struct unixpath *old, const char **why_out);

/* Removes our file. Does nothing if another one has taken its place. */
void unixpath_remove(const char *path, const struct unixpath *ours);

#endif
