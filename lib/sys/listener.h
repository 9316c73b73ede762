#ifndef SYS_LISTENER_H
#define SYS_LISTENER_H

/* Sockets that connections are accepted from; and acceptors, in the loop. */

#include <sys/socket.h>

#include "sys/lane.h"
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

/* The result of listener_accept() without a connection. */
enum {
	LISTENER_EMPTY = -1, /* no connection waits */
	LISTENER_RESTING = -2, /* until rest_until */
	/* The socket was shut down; found at the second empty accept. */
	LISTENER_BROKEN = -3,
};

/* The rest of a listener when descriptors or memory have run out. */
#define LISTENER_REST TSPAN_MSECONDS(50)

/* And when another process has it block again and again. */
#define LISTENER_LONG_REST TSPAN_SECONDS(1)

/* The socket to open: exactly one of addr, path and inherited_fd says where. */
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
	struct sockaddr_storage addr; /* as it was opened; the port is known */
	socklen_t addrlen;
	char name[128];
	char *path; /* owned; NULL unless we made the socket file */
	struct listener_file file; /* the file of path; no other is unlinked */
	char stored[96]; /* its name with the service manager; "": not there */
	tstamp rest_until; /* accepting is of no use before */
	struct log_rate rate;
};

/*
 * Opens what spec says, and has the service manager keep a copy: a socket that
 * a killed daemon had there is taken over. A socket file that nobody listens on
 * any more is replaced; a Unix socket cannot be connected to before its owner
 * and mode are in force. The descriptor of an inherited one stays the caller's.
 * Returns 0; or -1 with errno and in *why_out what did not work, as words to
 * set before the text of errno: EADDRINUSE (somebody listens there), ENOTSOCK
 * (another kind of file is there), EINVAL (the inherited one does not listen).
 */
int listener_open(
    struct listener *l, const struct listener_spec *spec, const char **why_out);

/* The text of errno after that has failed, and what to do. Keeps errno. */
const char *listener_explain(
    const struct listener_spec *spec, char *buf, size_t size);

/*
 * Whether listener_open() would find the address in use: fails like that, but
 * for rights. Binds nothing, connects to nobody.
 */
int listener_probe(const struct listener_spec *spec, const char **why_out);

/*
 * Gives our socket file these rights (uid, gid -1: as they are), and never more
 * than both the old and the new. EADDRINUSE: it is not ours any more.
 */
int listener_protect(const char *path, const struct listener_file *ours,
    uid_t uid, gid_t gid, mode_t mode, const char **why_out);

/*
 * Gives our socket file a second name, path.spare; and puts it back by that one
 * if somebody has removed it, with all who have the socket still listening
 * there: true. Logs what was done. listener_fini() removes both.
 */
bool listener_keep(const char *path, const struct listener_file *ours);

/*
 * share: from now on programs that were given a copy accept from it themselves,
 * and it blocks, as most of them expect, or not. Else it is ours again: they
 * may still make it block, and each listener_accept() undoes that, but for a
 * moment. Returns 0, or -1 and errno.
 */
int listener_share(struct listener *l, bool share, bool blocks);

/* Whether the socket, which is shared, has been shut down by somebody. */
bool listener_is_broken(const struct listener *l);

/* Handshakes with our port that are half done; 0 for Unix; -1: unknown. */
long listener_half_open(const struct listener *l);

bool listener_is_empty(const struct listener *l);

/* How many connections wait; -1: unknown, as sockets_unix_queue(). */
long listener_depth(const struct listener *l);

/* Closes it, and removes our socket file, unless somebody has replaced it. */
void listener_fini(struct listener *l);

/* --- acceptor.c: accepting ---------------------------------------------- */

/*
 * Returns a connection the caller now owns, or one of the enum above.
 * Never O_NONBLOCK: that flag would travel with the socket to the worker.
 */
int listener_accept(struct listener *l, tstamp now);

/*
 * Closes the listener for newcomers (Unix: refused at once; TCP: no answer, and
 * refused after listener_fini()), while connections stay in the queue. So
 * accept until LISTENER_EMPTY and, for TCP, until listener_half_open() is 0 or
 * a second or two are over: a client whose connect(2) succeeded may have the
 * end of its handshake on the way. An inherited one stays open for the service
 * manager. Returns 0, or -1 and errno.
 */
int listener_shut(struct listener *l);

/* Lets newcomers in again, whichever process had shut it. */
void listener_unshut(struct listener *l);

/*
 * An acceptor accepts within a budget in each turn, and rests when descriptors
 * run out. While it is paused, one acceptor_take() fills a place that becomes
 * free, at the cost of an accept() and no epoll_ctl().
 */

struct acceptor;
struct listener_job;

/* The user of the acceptor closes it in none of these. */
struct acceptor_ops {
	/*
	 * Asked before each accept; false: there is no room. May pause the
	 * acceptor. NULL: there is always room.
	 */
	bool (*admits)(struct acceptor *, tstamp now);
	/* A connection, which is the user's from now on. */
	void (*arrived)(struct acceptor *, int fd, tstamp now);
	/* Descriptors or memory have run out: a rest begins. May be NULL. */
	void (*resting)(struct acceptor *);
	/*
	 * The listener was shut down, or it is closed and has rested.
	 * The user closes and opens it and calls acceptor_start() or
	 * acceptor_rest(). NULL: it stays out of the loop.
	 */
	void (*reopen)(struct acceptor *, tstamp now);
};

struct acceptor {
	struct listener listener; /* fd -1: closed; its user's to open */
	struct loop *loop;
	struct lane *lane; /* NULL: none, files are touched in the loop */
	const struct acceptor_ops *ops;
	struct loop_io io; /* in the loop unless paused or resting */
	struct timer rest; /* set while it rests */
	unsigned budget; /* accepts in the next turn, 1 … most */
	unsigned most;
	bool paused;
	struct listener_job *hiding; /* newcomers still come; NULL: not so */
	struct listener_job *keeping; /* the file; NULL: not now */
	bool keep_again; /* when that is done */
	uint64_t restored; /* how often the file was put back */
};

/* The result of acceptor_take(). */
enum acceptor_got {
	ACCEPTOR_ONE, /* a connection, and arrived() has it */
	ACCEPTOR_EMPTY, /* no connection waits */
	ACCEPTOR_FULL, /* admits() said no */
	ACCEPTOR_AWAY, /* it rests now, or reopen() was called */
};

/* Closed, and out of the loop. most: accepts in one turn, a power of 2. */
void acceptor_init(struct acceptor *a, struct loop *loop, struct lane *lane,
    const struct acceptor_ops *ops, unsigned most);

/* Accepts from the listener, which is open, from now on, unless paused. */
void acceptor_start(struct acceptor *a);

/* Stays away from the listener until then, paused or not. */
void acceptor_rest(struct acceptor *a, tstamp until);

/* Out of the loop, or into it: while it rests, from the end of the rest on. */
void acceptor_pause(struct acceptor *a, bool paused);

/* Takes one connection, whether in the loop or not. */
enum acceptor_got acceptor_take(struct acceptor *a, tstamp now);

/* Out of the loop, and the listener closed. May be called twice. */
void acceptor_close(struct acceptor *a);

/*
 * hidden: has a lane close a shared listener for newcomers, without a sign to
 * the programs that have it, too, which accept what is in its queue: the file
 * of a Unix socket is removed, SYNs to a TCP one are dropped. Where that cannot
 * be done, it stays open. Else a TCP listener that was shut or hidden lets
 * newcomers in again.
 */
void acceptor_hide(struct acceptor *a, bool hidden);

/*
 * Changes backlog (not of an inherited socket, nor of a shared one of TCP),
 * owner and mode; these in a lane, which logs if that fails. Returns like
 * listener_open().
 */
int acceptor_update(
    struct acceptor *a, const struct listener_spec *spec, const char **why_out);

/* Does listener_keep() in the lane, if the listener has a socket file. */
void acceptor_keep(struct acceptor *a);

/*
 * Closes a listener. That of a Unix socket lets no newcomer in from now on,
 * unless processes share it, and is closed in the lane: any user who can read
 * its folder can make the removal of its file wait.
 */
void acceptor_discard(struct lane *, struct listener *);

#endif
