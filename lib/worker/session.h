#ifndef WORKER_SESSION_H
#define WORKER_SESSION_H

/*
 * The connections this process holds, found by their descriptor.  Finding
 * takes the same time however many there are and whatever their numbers.
 * Safe to use from several threads.
 */

#include <stdbool.h>
#include <stdint.h>

struct session {
	/* The daemon's number for it. */
	uint64_t serial;
	/* Microseconds from accept to hand-over. */
	uint64_t waited;
};

/*
 * Remembers a session under fd, in the place of one that was there.  Returns
 * false, nothing changed, if there is no memory.
 */
bool session_put(int fd, const struct session *s);

/* Finds a session; false, and *out untouched, if fd has none. */
bool session_get(int fd, struct session *out);

/* Finds and forgets a session; false, and *out untouched, if fd has none. */
bool session_take(int fd, struct session *out);

#endif
