#ifndef SYS_PIDFILE_H
#define SYS_PIDFILE_H

/*
 * The pid file: a lock while we run, and our number in it. libbsd has one, but
 * that follows links and truncates what it finds before it looks.
 */

#include <sys/types.h>

#include "sys/lane.h"
#include "sys/ownfile.h"

struct pidfile {
	int fd; /* CLOEXEC; -1: closed */
	char *path; /* owned */
	/* Of pidfile_fill_later(): */
	struct lane *lane;
	struct lane_job job;
	struct timer again;
	int error; /* of the latest job; 0: the number is written */
};

/*
 * Opens and locks the file. 0; or -1 and errno, and why has a text if it was
 * refused: see ownfile.h. EEXIST: another process has the lock, whose number,
 * as far as it is known, is in *other_out, else 0.
 */
int pidfile_lock(
    struct pidfile *p, const char *path, char *why, pid_t *other_out);

/*
 * Writes our number. Returns 0; or -1 and errno, and the file stays empty.
 */
int pidfile_fill(struct pidfile *p);

/*
 * Tries once a second, in the lane, until the number is written, which is
 * logged. The struct must stay as long as the lane.
 */
void pidfile_fill_later(struct pidfile *p, struct lane *lane, tstamp now);

/* Removes and closes the file. */
void pidfile_fini(struct pidfile *p);

#endif
