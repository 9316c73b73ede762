#ifndef DAEMON_OUTPUT_H
#define DAEMON_OUTPUT_H

/*
 * The output of a worker: read from a pipe, cut into lines, and logged behind
 * the app and the worker's id. At most OUTPUT_TURN bytes a turn are read, so
 * that a flood of output does not hold up the loop.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"
#include "sys/loop.h"

#define OUTPUT_TURN 65536
#define OUTPUT_LINE_MAX 65536

struct output {
	struct loop_io io; /* fd -1: its output is not ours to read */
	struct loop *loop;
	const char *app; /* for the log; not owned, lasts longer */
	const char *id; /* likewise */
	char *line; /* a line without its end so far; NULL: none */
	size_t len;
	bool cutting; /* the rest of a line that was too long is left out */
};

/* An output that is not read. */
void output_init(struct output *o);

/*
 * Opens the pipe and reads it in the loop from now on. owner: the user that
 * may open /dev/stderr; (uid_t)-1: ours. Gives the end for the worker, which
 * the caller closes, or -1 and errno.
 */
int output_open(struct output *o, struct loop *loop, const char *app,
    const char *id, uid_t owner);

/* Reads what is still there, logs it, and closes. */
void output_fini(struct output *o);

#endif
