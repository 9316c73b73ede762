#ifndef WORKER_CHANNEL_H
#define WORKER_CHANNEL_H

/* The messages of the worker protocol, over the socket to the daemon. */

#include <stddef.h>
#include <stdint.h>

#include "worker/session.h"

enum channel_kind {
	CHANNEL_CONN,
	CHANNEL_STOP, /* or the end of file */
};

struct channel_message {
	enum channel_kind kind;
	/* Of a CONN. */
	struct session session;
	int fd; /* the receiver's, CLOEXEC; -1: it was lost on its way */
};

/*
 * Sends one message, waiting for the daemon to read if there are too many: it
 * counts on each of them, so none may be lost.  Returns 0, or -1: ESHUTDOWN,
 * the daemon is gone, or another errno of send(2).
 */
int channel_say(int sock, const char *message, size_t len);
int channel_say_serial(int sock, const char *verb, uint64_t serial);

/*
 * Receives one message; flags: 0 or MSG_DONTWAIT.  Returns 0, or -1: EPROTO,
 * it is not one of those above, or another errno of recvmsg(2).
 */
int channel_receive(int sock, int flags, struct channel_message *out);

#endif
