#ifndef SYS_FILEMARK_H
#define SYS_FILEMARK_H

/*
 * The file that a path named at the latest look, so that a later look tells
 * whether the path names another file, or a newer one.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum filemark_state {
	FILEMARK_UNKNOWN, /* never looked at, or stat(2) failed */
	FILEMARK_ABSENT,
	FILEMARK_THERE,
};

/* All zero: never looked at. */
struct filemark {
	uint8_t state; /* enum filemark_state */
	int error; /* errno of stat(2), if UNKNOWN; 0: never looked at */
	dev_t device; /* of the file, as are inode and mtime, if THERE */
	ino_t inode;
	struct timespec mtime;
};

/* Looks at the file, through symbolic links. May block, as stat(2) does. */
void filemark_look(const char *path, struct filemark *out);

/*
 * Brings *known up to date. Returns true if the file has appeared, or become
 * another or a newer one, since then; not at the first look, and not if the
 * file is gone or cannot be seen.
 */
bool filemark_update(struct filemark *known, const struct filemark *seen);

#endif
