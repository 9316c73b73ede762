#ifndef WORKER_LOCK_H
#define WORKER_LOCK_H

/* A connection to the PoolCounter service: lines out, lines in. */

#include <stdbool.h>
#include <stddef.h>

/* Longest line, with its LF. */
#define LOCK_LINE_MAX 1024

struct lock_line {
	int fd; /* -1: none */
	int pid; /* of the process that connected */
	unsigned held; /* locks */
};

/* Connects within a second or so.  0, or -1 and errno. */
int lock_connect(struct lock_line *l, const char *address);

/* Also forgets the locks. */
void lock_close(struct lock_line *l);

/*
 * Sends len bytes, of which the last is LF, and waits up to `timeout`
 * milliseconds for the answer, a line, of which reply is left without its LF.
 * 0, or -1 and errno: ECONNRESET at the end of the stream, ETIMEDOUT, EPROTO
 * for a line that is too long.
 */
int lock_ask(struct lock_line *l, const char *line, size_t len, long timeout,
    char *reply, size_t size);

#endif
