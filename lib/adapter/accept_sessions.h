#ifndef ADAPTER_ACCEPT_SESSIONS_H
#define ADAPTER_ACCEPT_SESSIONS_H

/* The connections the program holds. */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds on a clock that never goes back. */
typedef int64_t nanoseconds;

#define MILLISECONDS(n) ((nanoseconds)(n)*1000000)

struct given {
	uint64_t serial; /* the daemon's number for it */
	pid_t tid; /* the thread that accepted it */
	int fd; /* as the program numbers it */
	ino_t inode; /* of the socket */
	nanoseconds began;
	nanoseconds look_at; /* when to look whether it is closed */
	bool closed; /* so it was when we looked last */
};

/* Unordered, and without gaps. */
struct sessions {
	struct given *list;
	size_t len;
	size_t room;
};

/* Makes room for one more.  false: no memory. */
bool sessions_reserve(struct sessions *s);

/* There is room for it. */
void sessions_add(struct sessions *s, const struct given *g);

/* Its last one comes into the place of the one removed. */
void sessions_remove(struct sessions *s, size_t i);

/* When the next look is due; INT64_MAX: never. */
nanoseconds sessions_next(const struct sessions *s);

#endif
