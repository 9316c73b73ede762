#ifndef SYS_FILEMARK_H
#define SYS_FILEMARK_H

/*
 * What a path named when it was looked at last, so that a later look tells
 * whether it names something else or newer.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum filemark_state {
	FILEMARK_UNKNOWN, /* never looked at, or it could not be seen */
	FILEMARK_ABSENT,
	FILEMARK_THERE,
};

/* All zero: never looked at. */
struct filemark {
	uint8_t state; /* enum filemark_state */
	int error; /* errno of why it could not be seen; 0: it could */
	dev_t device; /* this and the rest: if it is there */
	ino_t inode;
	struct timespec mtime;
};

/* Looks, through symbolic links. Blocks as long as the file system does. */
void filemark_look(const char *path, struct filemark *out);

/*
 * Brings what is known up to date. True if it appeared, or became another
 * file or a newer one, since it was known; what is seen for the first time
 * is no news, and neither is what goes, or what cannot be seen.
 */
bool filemark_update(struct filemark *known, const struct filemark *seen);

#endif
