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

/* Names a file: no other has these numbers while the socket is open. */
struct listener_file {
	dev_t dev;
	ino_t ino;
};

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
	const char *folder; /* of path; made if it is missing; NULL: not */
	/* While this file is at path: EEXIST. NULL: none. */
	const struct listener_file *unless;
};

struct listener {
	int fd; /* O_NONBLOCK unless shared, CLOEXEC; -1: closed */
	enum listener_kind kind;
	bool inherited; /* not ours: never closed, shut nor unlinked */
	bool shut; /* by listener_shut() or acceptor_hide() */
	bool marks; /* connections inherit a mark, which accepting takes off */
	bool dry; /* the latest accept found the queue empty */
	bool shared; /* by listener_share(), now or before */
	bool blocked; /* accepting was found to block, once or more */
	struct sockaddr_storage addr; /* as it was opened */
	socklen_t addrlen;
	char *name; /* owned */
	char *path; /* owned; NULL unless we made the socket file */
	struct listener_file file; /* the file of path; no other is unlinked */
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
 * The text of errno, which it keeps, after that has failed: with what tells the
 * process that has the address, or the right that is missing. Returns buf.
 */
const char *listener_explain(
    const struct listener_spec *spec, char *buf, size_t size);

/*
 * Whether listener_open() would find the address in use. Binds nothing,
 * connects to nobody. Returns and fails like listener_open(), but for
 * rights: that a port or a folder may be used is not tried.
 */
int listener_probe(const struct listener_spec *spec, const char **why_out);

/*
 * Gives our socket file these rights (uid, gid -1: left as they are); meanwhile
 * only rights that both the old and the new ones give are in force. Returns
 * like listener_open(); EADDRINUSE if it is not ours any more.
 */
int listener_protect(const char *path, const struct listener_file *ours,
    uid_t uid, gid_t gid, mode_t mode, const char **why_out);

/*
 * Changes the backlog in place; the queue stays. Does nothing to an inherited
 * socket, nor to a shared one of TCP. Returns like listener_open().
 */
int listener_set_backlog(struct listener *l, int backlog, const char **why_out);

/*
 * share: from now on programs that were given a copy of the socket accept from
 * it themselves, and it blocks, as they expect. Else it is ours again, which
 * an inherited one alone should ever be: as they may still have it and change
 * that, each listener_accept() sees to it that it does not block, but they may
 * do so in between. Returns 0, or -1 and errno.
 */
int listener_share(struct listener *l, bool share);

/* Whether the socket, which is shared, has been shut down by somebody. */
bool listener_is_broken(const struct listener *l);

/* Handshakes with our port that are half done; 0 for Unix; -1: unknown. */
long listener_half_open(const struct listener *l);

/* Whether no connection waits to be accepted. */
bool listener_is_empty(const struct listener *l);

/*
 * How many connections wait; -1: unknown, because this kernel has no monitor of
 * sockets, sock_diag(7), and the machine has too many sockets to go through.
 */
long listener_depth(const struct listener *l);

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
