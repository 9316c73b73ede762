#ifndef SYS_BACKGROUND_H
#define SYS_BACKGROUND_H

/*
 * Going to the background in a way that tells whoever started us whether it
 * worked: the first process waits for the report of the second, and exits
 * with what that says.
 */

/*
 * Returns 0 in the second process: leader of a session of its own, with the
 * standard descriptors it had, so that messages still reach the terminal.
 * The first process never returns: it exits with what is reported, or, if
 * the second one ends before it reports, with that one's exit status (69 if
 * that was 0 or a signal). To be called before there is any thread. Returns
 * -1 and errno in the only process where there was no second one to be had.
 */
int background_start(void);

/*
 * Lets the first process exit with status, and, if that is 0, writes what
 * was logged so far (see log_flush(); a second at most) and puts /dev/null in
 * place of the standard descriptors. Does nothing where
 * background_start() was not called, or the second time.
 */
void background_report(int status);

#endif
