#ifndef DAEMON_OUTPUT_H
#define DAEMON_OUTPUT_H

/*
 * The output of workers: read from a pipe for each, cut into lines, and logged
 * behind the app and the worker's id. All workers together have OUTPUT_WORK in
 * a period; those that print more than that get turns, and the pipe is full
 * meanwhile. Nothing is left out, but for what a dead worker has left beyond
 * OUTPUT_LAST_LINES.
 */

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"
#include "sys/loop.h"

/* A line is one of these; a read is as many, however little it brings. */
#define OUTPUT_WORK 128
#define OUTPUT_READ_WORK 8
#define OUTPUT_PERIOD TSPAN_MSECONDS(1)

/* What is read at once, and logged of it before it is another one's turn. */
#define OUTPUT_READ 4096
#define OUTPUT_LINES 32

#define OUTPUT_LINE_MAX 65536

/* Of a dead worker's output, so much is still logged. */
#define OUTPUT_LAST_LINES 1024
#define OUTPUT_LAST_READS 16

TAILQ_HEAD(output_list, output);

/* The outputs of all workers. */
struct outputs {
	struct loop *loop;
	struct timer timer; /* the next period; set while some are busy */
	struct output_list busy; /* have more to say; not in the loop */
	tstamp began; /* the period */
	int work; /* left in it; may be exceeded by one turn */
};

struct output {
	struct loop_io io; /* fd -1: its output is not ours to read */
	struct outputs *all;
	TAILQ_ENTRY(output) next; /* in all->busy */
	bool busy;
	const char *app; /* for the log; not owned, lasts longer */
	const char *id; /* likewise */
	char *rest; /* was read and is not taken yet; NULL: nothing */
	size_t rest_at, rest_end;
	char *line; /* a line without its end so far; NULL: none */
	size_t len;
	bool cutting; /* the rest of a line that was too long is left out */
};

void outputs_init(struct outputs *all, struct loop *loop);

/* An output that is not read. */
void output_init(struct output *o);

/*
 * Opens the pipe and reads it in the loop from now on. owner: the user that
 * may open /dev/stderr; (uid_t)-1: ours. Gives the end for the worker, which
 * the caller closes, or -1 and errno.
 */
int output_open(struct output *o, struct outputs *all, const char *app,
    const char *id, uid_t owner);

/* Reads what is still there, logs it, and closes; says what is left out. */
void output_fini(struct output *o);

#endif
