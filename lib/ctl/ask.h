#ifndef CTL_ASK_H
#define CTL_ASK_H

/* Asks a running daemon something, over its control socket. */

#include <sys/time.h>

#include <stdbool.h>
#include <stdio.h>

#include "core/tstamp.h"

/* Exit status: the daemon refused, or a check is not passed. */
#define ASK_REFUSED 1

/* The daemon, and the form of its answer. */
struct ask {
	const char *file; /* -c; NULL: not given */
	const char *socket; /* -s; NULL: not given */
	bool json;
	tspan appears; /* a daemon that is not there yet may come within this */
	FILE *errors; /* NULL: stderr */
	tspan timeout; /* the whole answer has to come within this; 0: none */
};

/* Of the clock that deadlines are measured by. */
tstamp ask_clock(void);

/*
 * Says the words to the daemon; its answer goes to `to`, while it comes. An
 * exit status; the reason of a failure has been said.
 */
int ask_daemon(const struct ask *daemon, char *const *words, FILE *to);

/* The same into memory, which the caller frees; NULL unless EX_OK. */
int ask_text(const struct ask *daemon, char *const *words, char **answer_out);

/*
 * Connects to the control socket at path. patience, if not NULL, is the
 * longest time of each call, this one among them. A blocking descriptor, which
 * is the caller's; or -1 and errno.
 */
int ask_connect(const char *path, const struct timeval *patience);

#endif
