#ifndef SYS_LOGRING_H
#define SYS_LOGRING_H

/*
 * Lines on their way to the thread that writes them, in the order in which
 * they came, in a fixed amount of memory of which only what is used is
 * really taken. Locking is the caller's, but for one thing: what
 * logring_peek() gave may be read without the lock until logring_pop().
 */

#include <stdbool.h>
#include <stddef.h>

#include "sys/logline.h"

#define LOGRING_SIZE (512 * 1024)

struct logring {
	char *mem; /* LOGRING_SIZE bytes */
	size_t head; /* where the next line goes */
	size_t tail; /* where the oldest line is */
	size_t lines; /* how many there are */
	size_t high; /* how much of mem has been written to */
	unsigned long dropped; /* since the last that found room */
};

/* Returns 0, or -1 and errno. */
int logring_init(struct logring *r);
void logring_fini(struct logring *r);

/*
 * Copies the line in. Without room it is dropped and counted; the count goes
 * in as a line of its own before the next one that finds room. False if it
 * was dropped.
 */
bool logring_put(struct logring *r, const struct logline *line);

/*
 * Puts the count of what was dropped in, if there is one, though no line
 * follows.
 */
void logring_say_dropped(struct logring *r);

/* The oldest line; false if there is none. */
bool logring_peek(const struct logring *r, struct logline *out);

/* Forgets the oldest line. Memory of a great many is given back at the end. */
void logring_pop(struct logring *r);

#endif
