#ifndef SYS_BACKGROUND_H
#define SYS_BACKGROUND_H

/*
 * Going to the background, and telling the shell whether that worked: the first
 * process waits for the report of the second, and exits with its status.
 */

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

#endif
