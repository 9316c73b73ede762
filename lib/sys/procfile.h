#ifndef SYS_PROCFILE_H
#define SYS_PROCFILE_H

/* Small files of proc(5), each read at one go. */

#include <stddef.h>

/*
 * What fits into buf, with a NUL.  The path is one in the folder, if it is
 * not absolute.  0; or -1 and errno, and buf is "".
 */
int procfile_read(int folder, const char *path, char *buf, size_t size);

/*
 * The same for a file "stat": gives what follows its second field, the name
 * of the program, which may hold spaces and parentheses.  NULL and errno:
 * ESRCH if there is no such process.
 */
const char *procfile_stat(int folder, const char *path, char *buf, size_t size);

#endif
