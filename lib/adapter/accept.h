#ifndef ADAPTER_ACCEPT_H
#define ADAPTER_ACCEPT_H

/*
 * The parts of apppool-accept as they know each other, lowest part first. The
 * loop, accept.c, is above all of them; functions are grouped by the file that
 * defines them, accept_NAME.c.
 */

#include <sys/socket.h>

#include "sys/loop.h"

/* --- view: the program's descriptors, threads and memory ---------------- */

/*
 * The view of the program from outside shows as much as the kernel lets a
 * debugger see. A thread must have been seen to wait just before, or another
 * one could have its number.
 */
enum view {
	VIEW_NO,
	VIEW_YES,
	VIEW_DENIED, /* we may not look, or there is no /proc */
};

/* A process whose memory was opened while that was allowed. */
struct view_memory {
	pid_t pid;
	int fd; /* -1: none */
};

/*
 * Whether the thread's descriptor is the open file behind ours; or, with an
 * inode other than 0, still the socket of that, whatever is behind ours.
 */
enum view view_has(pid_t tid, int its_fd, int our_fd, ino_t inode);

bool view_lives(pid_t tid);

/* Whether a signal for the thread or its process waits to be handled. */
bool view_has_signals(pid_t tid);

/*
 * Whether the process behind this descriptor of pidfd_open(2) has been killed,
 * if only just now: until it is scheduled to die, it still looks as if it were
 * waiting. Not so for -1: it is gone, or only a thread of one, or the kernel is
 * old.
 */
bool view_is_killed(int pidfd);

/*
 * Opens the memory of a process that is about to hide it, or might: it can be
 * reached from now on, until the process runs another program.
 */
void view_keep_memory(struct view_memory *m, pid_t pid);

/* Bytes at one place of that memory, and of ours. */
struct view_part {
	uint64_t there;
	void *here;
	size_t len;
};

#define VIEW_PARTS 2

/*
 * Copies up to VIEW_PARTS between the thread's memory and ours. Returns 0, or
 * -1: EFAULT, there is no such memory, or not all of it; EPERM, we may not;
 * ESRCH, the thread is gone.
 */
int view_copy_memory(const struct view_memory *m, pid_t tid, bool write,
    const struct view_part *parts, size_t n);

/* --- inherited: options of a socket of TCP that its connections have ----- */

#define OPTIONS 6

/* 0 where a socket has none. */
struct inherited {
	int values[OPTIONS];
};

void inherited_read(int fd, struct inherited *out);

/*
 * Sets on the connection the options of a listening socket that are not what
 * they were before: accept() would have returned it so.
 */
void inherited_pass(
    const struct inherited *before, const struct inherited *now, int conn);

/* --- program: the socket that it listens on, and our child --------------- */

/*
 * The program's own listening socket. No client connects to it, so that a
 * program that polls sees it readable only when we ring its doorbell, by
 * connecting. Nothing is ever accepted from it: those calls are ours to answer.
 */
struct listener {
	int fd; /* CLOEXEC; whether it blocks the program decides */
	int bell; /* a socket connected to it; -1: not ringing */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	struct inherited options; /* before the program ran */
};

/* family: AF_UNIX, AF_INET or AF_INET6. Returns 0, or -1 and errno. */
int listener_make(struct listener *l, int family);

/* Makes it readable, until listener_silence(). */
void listener_ring(struct listener *l);

/* Makes it not readable, even if some other process has connected. */
void listener_silence(struct listener *l);

/*
 * Makes it descriptors 0 and 3, and the environment what sd_listen_fds(3)
 * reads. Returns false and errno if that cannot be.
 */
bool listener_inherit(const struct listener *l);

/* Our descriptors are above this number, the program's below. */
#define HIGH 10

struct program {
	pid_t pid; /* 0: not started, or reaped: no signal may be sent */
	int pidfd; /* see view_is_killed() */
	int notify; /* where its calls of accept() are reported */
};

struct adapter;

/* Tells the daemon that we cannot go on, kills the program, and exits. */
_Noreturn void daemon_fail(struct adapter *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Starts the program with these signals blocked, and waits until it runs.
 * notify: where its calls are reported already; -1: the filter is installed
 * first. Whatever fails, here or in the child, is told by daemon_fail().
 */
void program_start(
    struct adapter *a, char **argv, const sigset_t *signals, int notify);

/* --- calls: the program's calls of accept() ----------------------------- */

/*
 * A system call of the program that waits for our answer. It may be gone at
 * any moment, for its thread can be killed or interrupted by a signal; then
 * answers fail with ENOENT and nothing has happened.
 */
struct call {
	uint64_t id;
	pid_t tid; /* the thread */
	int fd; /* the socket, as the program numbers it */
	int flags; /* of accept4() */
	/* Where the peer's address and its length shall go; 0: nowhere. */
	uint64_t address;
	uint64_t length;
	uint32_t room; /* bytes there are for the address */
	/*
	 * When to look whether its thread has seen a signal; until then it is
	 * given nothing. 0 and less: not in doubt.
	 */
	tstamp doubted;
};

/* The calls that wait to be answered, in the order they came. */
struct calls {
	struct call *list;
	size_t len;
	size_t room;
};

/* --- what all parts above share ----------------------------------------- */

/*
 * The program does not say when a session is over. What shows it depends on
 * the manner in which the program goes on:
 *
 *	returns		the thread that accepted it accepts again
 *	polls		it polls first, so that we must ring for that
 *	hands on	it accepts further ones meanwhile, so that we must look
 *			from time to time whether it has closed the connection
 */
enum manner {
	MANNER_UNKNOWN,
	MANNER_RETURNS,
	MANNER_POLLS,
	MANNER_HANDS_ON,
};

/*
 * A connection received and not given yet. Unless the daemon takes connections
 * back while we live, its message stays in the channel until it is given: if
 * we end before, the daemon finds it there and has it served elsewhere.
 */
struct received {
	int fd; /* -1: none */
	bool stays; /* its message is still the first in the channel */
	uint64_t serial;
	bool nonblocking;
	struct sockaddr_storage peer;
	socklen_t peer_len;
};

/* A connection the program has. */
struct session {
	uint64_t serial; /* the daemon's number for it */
	pid_t tid; /* the thread that accepted it */
	int fd; /* as the program numbers it */
	ino_t inode; /* of the socket */
	tstamp began;
	tstamp look_at; /* when to look whether it is closed */
	bool closed; /* found so at the latest look */
};

/* Unordered, without gaps. */
struct sessions {
	struct session *list;
	size_t len;
	size_t room;
};

struct adapter {
	int channel; /* to the daemon */
	struct listener listener;
	struct program program;
	struct view_memory memory; /* the program's */
	struct calls calls;
	struct sessions sessions;
	enum manner manner;
	bool blocks; /* the latest accept() that found nothing */
	bool blind; /* we may not look at the program's descriptors */
	bool looked_for; /* the bell rings to see whether it polls */
	bool warned; /* of a socket that could not be recognised */
	bool ready; /* READY has been said */
	bool retired; /* RETIRE has been said */
	bool shut; /* the program has shut its socket down */
	bool stopped; /* no connection will come any more */
	bool raced; /* the daemon may take connections back while we live */
	bool maybe; /* there may be a message in the channel */
	struct received received;
	tstamp now; /* of this turn */
	tstamp term_at; /* when to ask the program to end */
	unsigned terms; /* how often that was asked */
	int stop_signal; /* by this signal */
};

/* --- serve: connections for calls --------------------------------------- */

/*
 * Between the daemon, which hands out connections, and the program, which
 * calls accept(): a connection is received when a thread waits for it and is
 * given at once; what the program did not get the daemon finds in the channel.
 */

/* Gives the connections there are to the calls that wait. */
void serve(struct adapter *a);

/*
 * Facts about the program: it has called accept(); it has shut its socket down;
 * it was sent a signal; it has ended with this wait status.
 */
void serve_call(struct adapter *a);
void serve_shut(struct adapter *a);
void serve_signal(struct adapter *a, int sig);
void serve_ended(struct adapter *a, int status);

/* Does what is due, and when something is due next; or TSTAMP_NEVER. */
void serve_tick(struct adapter *a);
tstamp serve_next(const struct adapter *a);

#endif
