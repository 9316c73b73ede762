#ifndef DAEMON_OUTPUT_H
#define DAEMON_OUTPUT_H

/*
 * The output of workers, in packets of lines from the keepers of their apps.
 * All apps together have OUTPUT_WORK in a period; keepers that say more than
 * that get turns, and their workers wait meanwhile. Nothing is left out.
 */

#include <sys/queue.h>

#include <stdbool.h>

#include "core/tstamp.h"
#include "sys/loop.h"

/* A line is one of these; a packet is as many, however little it brings. */
#define OUTPUT_WORK 128
#define OUTPUT_PACKET_WORK 8
#define OUTPUT_PERIOD TSPAN_MSECONDS(1)

/* Results of output.take() beside a number of lines. */
#define OUTPUT_NOTHING (-1) /* for now */
#define OUTPUT_ENDED (-2)
#define OUTPUT_NO_ROOM (-3) /* for the next packet */

TAILQ_HEAD(output_list, output);

/* The outputs of all apps. */
struct outputs {
	struct loop *loop;
	struct timer timer; /* the next period; set while some are busy */
	struct output_list busy; /* have more to say; not in the loop */
	tstamp began; /* the period */
	int work; /* left in it; may be exceeded by one turn */
};

/* The socket of a keeper, embedded there. */
struct output {
	struct loop_io io;
	struct outputs *all;
	TAILQ_ENTRY(output) next; /* in all->busy */
	bool busy;
	/* Takes a packet: the lines in it, or one of the above. */
	int (*take)(struct output *o, tstamp now);
	/* The socket is at its end; may close the output. */
	void (*end)(struct output *o, tstamp now);
};

void outputs_init(struct outputs *all, struct loop *loop);

/* Takes packets from fd, from now on. 0, or -1 and errno. */
int output_open(struct output *o, struct outputs *all, int fd);

/* Closes the descriptor, too. */
void output_close(struct output *o);

#endif
