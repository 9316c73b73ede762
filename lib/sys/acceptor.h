#ifndef SYS_ACCEPTOR_H
#define SYS_ACCEPTOR_H

/*
 * A listener in the loop: accepts within a budget in each turn, rests when
 * descriptors run out, and can be paused. Its user says where connections go,
 * and opens the listener anew when somebody has shut it down.
 *
 * The apps' listeners, the counter's and the control socket's have one each.
 * An app without room pauses all its acceptors from admits(); while they are
 * paused, a place that becomes free is filled by one acceptor_take(), which
 * costs one accept() and no epoll_ctl().
 */

#include <sys/queue.h>

#include <stdbool.h>

#include "core/tstamp.h"
#include "sys/lane.h"
#include "sys/listener.h"
#include "sys/loop.h"

/*
 * A listener in the loop: accepts within a budget in each turn, rests when
 * descriptors run out, and can be paused. Its user says where connections go,
 * and opens the listener anew when somebody has shut it down.
 *
 * The apps' listeners, the counter's and the control socket's have one each.
 * An app without room pauses all its acceptors from admits(); while they are
 * paused, a place that becomes free is filled by one acceptor_take(), which
 * costs one accept() and no epoll_ctl().
 */

struct acceptor;
struct listener_job;

/* None of these closes the acceptor. */
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
	 * Somebody shut the listener down, or it is closed and has rested.
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

/* Out of the loop and into it; while it rests, from the end of the rest on. */
void acceptor_pause(struct acceptor *a);
void acceptor_resume(struct acceptor *a);

/* Takes one connection, whether in the loop or not. */
enum acceptor_got acceptor_take(struct acceptor *a, tstamp now);

/* Out of the loop, and the listener closed. May be called twice. */
void acceptor_close(struct acceptor *a);

/*
 * Has a lane close a shared listener for newcomers, without a sign to the
 * programs that have it, too, which accept what is in its queue: the file of a
 * Unix socket is removed, SYNs to a TCP one are dropped. Where that cannot be
 * done, it stays open.
 */
void acceptor_hide(struct acceptor *a);

/* A TCP listener that was shut or hidden lets newcomers in again. */
void acceptor_show(struct acceptor *a);

/*
 * Changes backlog, owner and mode to those of spec. A lane changes owner and
 * mode, and logs if that fails. Returns like listener_open().
 */
int acceptor_update(
    struct acceptor *a, const struct listener_spec *spec, const char **why_out);

/*
 * Closes a listener. That of a Unix socket lets no newcomer in from now on,
 * unless processes share it, and is closed in the lane, with its file removed:
 * any user who can read its folder can make a removal wait.
 */
void acceptor_discard(struct lane *, struct listener *);

/* --- a listener outside of the loop ------------------------------------ */

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

/* A TCP listener that was shut lets newcomers in again. */
void listener_unshut(struct listener *l);

/*
 * A part of listener_shut() of TCP, for a lane where others have the socket,
 * too, and may hold its lock: nothing can come any more, what is in the queue
 * stays. Needs a privilege on newer kernels: -1 and EPERM.
 */
int listener_drop_newcomers(int fd);

#endif
