#ifndef SYS_BACKGROUND_H
#define SYS_BACKGROUND_H

/* The daemon among other processes: background, pid file. */

#include "sys/lane.h"
#include "sys/ownfile.h"

/*
 * Returns 0 in the second process: leader of a session of its own, with the
 * standard descriptors unchanged, so that messages still reach the terminal.
 * The first process never returns: it exits with the status reported, or, if
 * the second ends without a report, with its exit status (69 if that was 0 or
 * a signal). To be called before there is any thread. Returns -1 and the errno
 * of socketpair(2) or fork(2) where there is no second process.
 */
int background_start(void);

/*
 * Lets the first process exit with status, after a flush of the log (see
 * log_flush(); one second at most), of which no more is echoed. If status is 0,
 * puts /dev/null in the place of the standard descriptors. Does nothing without
 * background_start(), or when called again.
 */
void background_report(int status);

/*
 * The pid file: a lock while we run, and our number in it. libbsd has one, but
 * that follows links and truncates what it finds before it looks.
 */
struct pidfile {
	int fd; /* CLOEXEC; -1: closed */
	char *path; /* owned */
	struct lane *lane;
	struct lane_job job;
	struct timer again;
	int error; /* of the latest attempt; 0: the number is written */
};

/*
 * Opens and locks the file. 0; or -1 and errno, and why has a text if it was
 * refused: see ownfile.h. EEXIST: another process has the lock, whose number,
 * as far as it is known, is in *other_out, else 0.
 */
int pidfile_lock(
    struct pidfile *p, const char *path, char *why, pid_t *other_out);

/*
 * Writes our number. Returns 0; or -1 and errno, and the file stays empty: then
 * that is tried once a second, in the lane unless that is NULL, until it is
 * done, which is logged. The struct must stay as long as the lane.
 */
int pidfile_fill(struct pidfile *p, struct lane *lane, tstamp now);

/* Removes and closes the file. */
void pidfile_fini(struct pidfile *p);

#endif
