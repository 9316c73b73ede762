#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

/*
 * The process's end of the worker protocol: its socket, which the environment
 * names, and the messages over it. For libapppool and the adapters.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets errno, and gives -1. */
static inline int
worker_error(int error)
{
	errno = error;
	return -1;
}

/* --- channel.c ---------------------------------------------------------- */

/* The socket and the names that the environment gives a process. */
struct channel {
	int fd; /* the socket to the daemon */
	int slot; /* -1: the process is a template and has none */
	bool keep_alive; /* PARK may be said */
	int stop_signal; /* asks the program of an adapter to end */
	char *app; /* allocated, the caller's, as is id */
	char *id;
};

/*
 * Reads the variables and checks that fd is a socket of the right kind; changes
 * nothing. Returns 0, or -1 and an errno of apppool_open(), *out untouched.
 */
int channel_find(struct channel *out);

/*
 * Removes the variables, which a program we run would take for its own; those
 * with the names of app, process and slot may stay.
 */
void channel_forget(bool names_stay);

enum channel_kind {
	CHANNEL_CONN,
	CHANNEL_STOP, /* or the end of file */
	CHANNEL_FORK,
};

/* Bytes for an identifier, with its NUL. */
#define CHANNEL_ID_SIZE 64

/*
 * A message of the daemon. Descriptors are the receiver's, CLOEXEC, above the
 * standard ones, and -1 where there is none.
 */
struct channel_message {
	enum channel_kind kind;
	uint64_t serial; /* the daemon's number for what it asks */
	/* The connection of a CONN, a FORK's socket; -1: lost on its way. */
	int fd;
	uint64_t waited; /* CONN: microseconds from accept to hand-over */
	int load; /* CONN: of the app, in thousandths; -1: not told */
	int output[2]; /* FORK: standard output and standard error to be */
	int slot; /* FORK: of the process to be; -1: it is a template */
	char id[CHANNEL_ID_SIZE]; /* FORK: likewise */
};

/*
 * Sends one message, waiting for the daemon to read if there are too many: the
 * daemon counts on each of them, so none may be lost. Returns 0, or -1:
 * ESHUTDOWN, the daemon is gone, or another errno of send(2).
 */
int channel_say(int sock, const char *message);
int channel_say_serial(int sock, const char *verb, uint64_t serial);

/*
 * Receives one message; flags: 0, MSG_DONTWAIT, and MSG_PEEK to leave it there.
 * Returns 0, or -1: EPROTO, an unknown message, or another errno of recvmsg(2).
 */
int channel_receive(int sock, int flags, struct channel_message *out);

/* --- apppool.c ---------------------------------------------------------- */

/* Does the same as apppool_open(), with what channel_find() has found. */
void worker_open(const struct channel *c, bool names_stay);

/*
 * Carries out a FORK. Returns 0 here, and in each worker that comes of it, once
 * that is ready; or -1 and an errno of apppool_template().
 */
int worker_serve_fork(const struct channel_message *m);

#endif
