#ifndef SYS_LISTENER_H
#define SYS_LISTENER_H

/*
 * A socket that connections are accepted from: TCP, Unix, or one that was
 * given to us listening already (socket activation).
 */

#include <sys/socket.h>
#include <sys/types.h>

#include <stdbool.h>

#include "core/tstamp.h"
#include "sys/log.h"
#include "sys/unixpath.h"

struct sockdiag;

enum listener_kind {
	LISTENER_TCP,
	LISTENER_UNIX,
};

/* What listener_accept() returns where it has no connection. */
enum {
	LISTENER_EMPTY = -1, /* no connection waits */
	/*
	 * Until rest_until: we lack descriptors or memory, or somebody has it
	 * block again and again.
	 */
	LISTENER_RESTING = -2,
	/*
	 * Somebody shut the socket down: open it anew. Found at the second
	 * attempt without a connection; at the first it may look empty.
	 */
	LISTENER_BROKEN = -3,
};

/* The rest of a listener when descriptors or memory have run out. */
#define LISTENER_REST TSPAN_MSECONDS(50)

/* And when another process has it block again and again. */
#define LISTENER_LONG_REST TSPAN_SECONDS(1)

/*
 * The socket to open. Exactly one of addr (TCP), path (Unix) and inherited_fd
 * says where.
 */
struct listener_spec {
	const char *name; /* for the log; copied */
	const struct sockaddr *addr; /* AF_INET or AF_INET6, or NULL */
	socklen_t addrlen;
	bool v6only; /* AF_INET6: no IPv4 on it */
	const char *path; /* absolute, or NULL */
	int inherited_fd; /* -1: none */
	int backlog; /* of what we open ourselves */
	uid_t uid; /* of a Unix socket; (uid_t)-1: ours */
	gid_t gid; /* likewise */
	mode_t mode; /* of a Unix socket */
	bool beside; /* another one is there: see listener_succeed() */
	const char *folder; /* of path; made if it is missing; NULL: not */
	/* While this file is at path: EEXIST. NULL: none. */
	const struct unixpath *unless;
};

struct listener {
	int fd; /* O_NONBLOCK unless shared, CLOEXEC; -1: closed */
	enum listener_kind kind;
	bool inherited; /* not ours: never closed, shut nor unlinked */
	bool shut; /* by listener_shut() or listener_hide() */
	bool marks; /* connections inherit a mark, which accepting takes off */
	bool dry; /* the latest accept found the queue empty */
	bool shared; /* by listener_share(), now or before */
	bool blocked; /* accepting was found to block, once or more */
	bool v6only; /* TCP over IPv6 */
	struct sockaddr_storage addr; /* as it was opened */
	socklen_t addrlen;
	int diversion; /* if hidden: newcomers go there; fd open, -1: none */
	char *name; /* owned */
	char *path; /* owned; NULL unless we made the socket file */
	struct unixpath file; /* the file of path; no other is unlinked */
	tstamp rest_until; /* accepting is of no use before */
	struct log_rate rate;
};

/*
 * Opens what spec says. A socket file that nobody listens on any more is
 * replaced; a Unix socket cannot be connected to before its owner and mode
 * are in force. The descriptor of an inherited one stays the caller's.
 * Returns 0; or -1 with errno and in *why_out what did not work, as words to
 * set before the text of errno. Among others: EADDRINUSE (somebody listens
 * there), ENOTSOCK (another kind of file, or descriptor, is there), EINVAL
 * (the inherited one is no listening stream socket), ENAMETOOLONG.
 */
int listener_open(
    struct listener *l, const struct listener_spec *spec, const char **why_out);

/*
 * Whether listener_open() would find the address in use. Binds nothing,
 * connects to nobody. Returns and fails like listener_open(), but for
 * rights: that a port or a folder may be used is not tried.
 */
int listener_probe(const struct listener_spec *spec, const char **why_out);

/*
 * Changes backlog, owner and mode to those of spec, in place; the queue stays.
 * Does nothing to an inherited one, nor to the backlog of a shared TCP one.
 * Returns like listener_open().
 */
int listener_update(
    struct listener *l, const struct listener_spec *spec, const char **why_out);

/* The same, but for the file of a Unix socket. */
int listener_set_backlog(struct listener *l, int backlog, const char **why_out);

/*
 * Returns a connection the caller now owns, or one of the enum above.
 * Never O_NONBLOCK: that flag would travel with the socket to the worker.
 * Trouble that can repeat is logged here, once a minute with a count.
 */
int listener_accept(struct listener *l, tstamp now);

/*
 * Closes the listener for newcomers: from now on a connect gets nothing (Unix:
 * refused at once; TCP: no answer, and refused after listener_fini()), while
 * the connections in the queue stay there. So accept until LISTENER_EMPTY,
 * and, for TCP, until listener_half_open() is 0 or a second or two are over: a
 * client whose connect(2) succeeded may still have its last packet of the
 * handshake on the way. Then listener_fini(). An inherited one is left alone:
 * it stays open for the service manager that gave it to us. Returns 0, or -1
 * and errno.
 */
int listener_shut(struct listener *l);

/*
 * share: from now on programs that were given a copy of the socket accept from
 * it themselves, and it blocks, as they expect. Else it is ours again, which
 * an inherited one alone should ever be (see listener_succeed()): as they may
 * still have it and change that, each listener_accept() sees to it that it
 * does not block, but they may do so in between. Returns 0, or -1 and errno.
 */
int listener_share(struct listener *l, bool share);

/*
 * Takes the place of a shared socket, which is not ours alone any more: l was
 * opened with `beside` at the same address, and nobody has come to it so far.
 * From now on newcomers do, without a moment in which they are refused; those
 * in the queue of the other socket are left to the programs that have it.
 * getsockname(2) says of a Unix socket that its path ends in ".new". Returns
 * 0; or -1 with errno and *why_out, like listener_open(), and then the other
 * one stays in its place.
 */
int listener_succeed(struct listener *l, struct listener *old, int backlog,
    struct sockdiag *d, const char **why_out);

/*
 * As listener_shut() for a shared socket, without a sign to the programs that
 * have it, nor a call that they could hold up. Unix: its file is removed. TCP:
 * newcomers go to a socket of our own. Returns 0, or -1 and errno.
 */
int listener_hide(struct listener *l, struct sockdiag *d);

/* Whether the socket, which is shared, has been shut down by somebody. */
bool listener_is_broken(const struct listener *l);

/* Handshakes with our port that are half done; 0 for Unix; -1: unknown. */
long listener_half_open(const struct listener *l, struct sockdiag *d);

/* Connections that wait to be accepted; -1: unknown. */
long listener_depth(const struct listener *l, struct sockdiag *d);

/*
 * The address it listens on, with the port that the kernel may have chosen.
 * Returns its length, 0 where there is none.
 */
socklen_t listener_address(
    const struct listener *l, struct sockaddr_storage *out);

/*
 * Closes it and removes our socket file, unless that has been replaced by
 * somebody else's. For one never opened, fd must be -1, name and path NULL.
 */
void listener_fini(struct listener *l);

#endif
