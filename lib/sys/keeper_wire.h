#ifndef SYS_KEEPER_WIRE_H
#define SYS_KEEPER_WIRE_H

/*
 * What the daemon and a keeper say to each other, over a pair of
 * SOCK_SEQPACKET sockets. The first byte of a packet is its verb.
 */

/* The keeper's socket. */
#define KEEPER_FD 3

/* Bytes of the identifier of a worker, without a NUL. */
#define KEEPER_ID_LEN 8

/* A verb and an identifier. */
#define KEEPER_HEAD (1 + KEEPER_ID_LEN)

/* The longest line; the rest of a longer one is left out. */
#define KEEPER_LINE_MAX 65536

/*
 * Down: an identifier, and both ends of two pipes, for standard output and for
 * standard error; the read end of each first.
 */
#define KEEPER_HOLD 'H'
#define KEEPER_HOLD_FDS 4

/* Down: identifiers whose pipes are read to their end and closed. */
#define KEEPER_LEAVE 'L'
#define KEEPER_LEAVE_MAX 64

/*
 * Down: an identifier, and the worker's end of its channel. Up: for each packet
 * unread in that an identifier and the packet, cut after KEEPER_TAKEN_MAX
 * bytes, with its descriptor; then KEEPER_EMPTY and the identifier.
 */
#define KEEPER_TAKE 'T'
#define KEEPER_TAKEN 'T'
#define KEEPER_TAKEN_MAX 64
#define KEEPER_EMPTY 'E'

/*
 * Down: for each of up to FDPASS_MAX descriptors, which come with it, how it is
 * closed; KEEPER_DRAIN: a Unix socket, after what lies in it has been read.
 * They are closed at KEEPER_CLOSED: when the daemon has closed its own.
 */
#define KEEPER_CLOSE 'C'
#define KEEPER_PLAIN '-'
#define KEEPER_DRAIN 'd'
#define KEEPER_CLOSED 'D'

/* Down; the answer to it, and to KEEPER_HOLD, is KEEPER_PONG. */
#define KEEPER_PING 'P'
#define KEEPER_PONG 'P'

/*
 * Up: an identifier and whole lines of standard output or standard error, with
 * a newline between two: one line of at most KEEPER_LINE_MAX bytes, or at most
 * KEEPER_LINES of KEEPER_TEXT bytes.
 */
#define KEEPER_OUTPUT 'O'
#define KEEPER_ERRORS 'R'
#define KEEPER_LINES 32
#define KEEPER_TEXT (8192 - KEEPER_HEAD)

/*
 * Down: an identifier. The answer, after all that it has printed on standard
 * error: the identifier and the last line there that is not blank, without
 * blanks around it and cut after KEEPER_WORDS_MAX bytes.
 */
#define KEEPER_WORDS 'W'
#define KEEPER_WORDS_MAX 128

/*
 * Of what a dead worker has left in a pipe so much is passed on. Up: an
 * identifier, and the number of the other bytes, a uint32_t.
 */
#define KEEPER_LAST_LINES 1024
#define KEEPER_LAST_TEXT 65536
#define KEEPER_LEFT_OUT 'X'

#endif
