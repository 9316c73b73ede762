#ifndef SYS_STDFD_H
#define SYS_STDFD_H

/* Standard input, output and error. */

/*
 * Opens /dev/null wherever 0, 1 or 2 is closed, so that nothing of ours
 * becomes somebody's standard error. To be called first of all. Returns 0,
 * or -1 and errno.
 */
int stdfd_fix(void);

#endif
