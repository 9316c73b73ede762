#ifndef SYS_KEEPER_WIRE_H
#define SYS_KEEPER_WIRE_H

/*
 * The dialogue of the daemon and its keeper, over a pair of SOCK_SEQPACKET
 * sockets. The first byte of a packet is its verb. The daemon says one thing at
 * a time, and the next when that is answered: so a keeper that waits for
 * somebody has one packet unread at most, which the daemon takes back.
 */

#include <stdatomic.h>
#include <stdint.h>

/* The keeper's socket, and the memory of struct keeper_page. */
#define KEEPER_FD 3
#define KEEPER_PAGE_FD 4

/* Bytes of the identifier of a worker, without a NUL. */
#define KEEPER_ID_LEN 8

/* Bytes of the name of an app, with its NUL; a longer name is cut. */
#define KEEPER_APP_SIZE 256

/* A verb and an identifier; and the longest such head with a name behind it. */
#define KEEPER_HEAD (1 + KEEPER_ID_LEN)
#define KEEPER_HEAD_MAX (KEEPER_HEAD + KEEPER_APP_SIZE)

/* The daemon's longest packet; each has a name, or NULs in place of a head. */
#define KEEPER_SAID_MAX 512

/* The longest line; the rest of a longer one is left out. */
#define KEEPER_LINE_MAX 65536

/* The answer, behind all others, to whatever the daemon says. */
#define KEEPER_DONE 'D'

/*
 * Down: the identifier of a worker and the name of its app, and the ends to
 * read of two pipes, standard output and standard error.
 */
#define KEEPER_HOLD 'H'
#define KEEPER_HOLD_FDS 2

/*
 * Down: the same of a dead worker, whose pipes are read to their end. The
 * daemon has them, too: so this is not their last close.
 */
#define KEEPER_LEAVE 'L'

/*
 * Down: an identifier and a name, and the worker's end of its channel; for a
 * living worker KEEPER_ONE. Up: for each packet unread in that, or the oldest
 * alone, an identifier and the packet, cut after KEEPER_TAKEN_MAX bytes, with
 * its descriptor.
 */
#define KEEPER_TAKE 'T'
#define KEEPER_ONE "1"
#define KEEPER_TAKEN 'T'
#define KEEPER_TAKEN_MAX 64

/*
 * Down: NULs for an identifier, the name of an app, and for each of up to
 * KEEPER_CLOSE_FDS descriptors, which come with it, how it is closed;
 * KEEPER_DRAIN: a Unix socket, after what lies in it has been read. They are
 * closed at the next one, which may have none, when the daemon has closed its
 * own; the keeper does nothing else before.
 */
#define KEEPER_CLOSE 'C'
#define KEEPER_CLOSE_FDS 32
#define KEEPER_PLAIN '-'
#define KEEPER_DRAIN 'd'

/*
 * Up: an identifier, the name of the app, and whole lines of standard output or
 * standard error, with a newline between two: one line of at most
 * KEEPER_LINE_MAX bytes, or at most KEEPER_LINES of KEEPER_TEXT bytes.
 */
#define KEEPER_OUTPUT 'O'
#define KEEPER_ERRORS 'R'
#define KEEPER_LINES 32
#define KEEPER_TEXT (8192 - KEEPER_HEAD_MAX)

/*
 * Of what a dead worker has left in a pipe so much is passed on, and the last
 * line. Up: an identifier, a name, and the number of the other bytes, a
 * uint32_t.
 */
#define KEEPER_LAST_LINES 1024
#define KEEPER_LAST_TEXT 65536
#define KEEPER_LEFT_OUT 'X'

/* Up: the keeper has something to do, and nobody looks whether it goes on. */
#define KEEPER_BUSY 'B'

/*
 * Whether the keeper goes on, for the daemon to see at no cost: a keeper that
 * is busy with one thing and does not move waits for whom this concerns. The
 * daemon looks while something is under way, and not at other times.
 */
struct keeper_page {
	_Atomic uint32_t watched; /* by the daemon; else it is told to */
	_Atomic uint32_t moves; /* steps of the keeper */
	_Atomic uint32_t busy; /* verb of what it does; 0: it waits for more */
	char id[KEEPER_ID_LEN + 1]; /* of the worker, if it is one's */
	char app[KEEPER_APP_SIZE]; /* whom it does that for */
};

#endif
