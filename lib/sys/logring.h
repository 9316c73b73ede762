#ifndef SYS_LOGRING_H
#define SYS_LOGRING_H

/*
 * Lines on their way to the thread that writes them, in the order in which
 * they came. The memory is fixed, and only the used part of it is taken from
 * the system. The caller locks every call, but may read the line that
 * logring_peek() gave without the lock until logring_pop().
 */

#include <stdbool.h>
#include <stddef.h>

#include "sys/logsink.h"

#define LOGRING_SIZE (512 * 1024)

struct logring {
	char *mem; /* LOGRING_SIZE bytes */
	size_t head; /* where the next line goes */
	size_t tail; /* where the oldest line is */
	size_t lines; /* how many there are */
	size_t high; /* how much of mem has been written to */
	unsigned long dropped; /* lines, since one last found room */
};

/* Returns 0, or -1 and errno. */
int logring_init(struct logring *r);
void logring_fini(struct logring *r);

/*
 * Copies the line in. Without room the line is dropped and counted; the count
 * goes in as a line of its own before the next line that finds room. Returns
 * false if the line was dropped.
 */
bool logring_put(struct logring *r, const struct logline *line);

/* Puts in the count of dropped lines, if any, though no line follows. */
void logring_report_dropped(struct logring *r);

/* Gives the oldest line; returns false if there is none. */
bool logring_peek(const struct logring *r, struct logline *out);

/*
 * Forgets the oldest line; after the last of very many their memory goes back
 * to the system.
 */
void logring_pop(struct logring *r);

#endif
