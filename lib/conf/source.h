#ifndef CONF_SOURCE_H
#define CONF_SOURCE_H

/* Files that are read as a whole, and paths. */

#include <sys/stat.h>
#include <sys/types.h>

#include <stddef.h>

#include "conf/arena.h"

/* The longest file of configuration. */
#define SOURCE_MAX (1024 * 1024)

/* A file of configuration. */
struct source {
	struct source *next;
	const char *path; /* as it is shown in messages */
	const char *dir; /* absolute; relative paths in the file start here */
	size_t order; /* in which files were read, from 0 */
	dev_t dev;
	ino_t ino;
	const char *text;
	size_t len;
	int lines;
};

/* NULL and errno if it cannot be read, which source_why() explains. */
struct source *source_read(struct arena *a, const char *path);

/*
 * Reads a regular file of at most max bytes. NULL and errno if it cannot be
 * read. Never waits, as a FIFO would have it.
 */
char *source_bytes(struct arena *a, const char *path, size_t max,
    struct stat *st_out, size_t *len_out);

/* Explains the errno of reading a file of at most max bytes. */
const char *source_why(struct arena *a, size_t max);

/* The absolute form of path seen from dir, without "//" and "/./". */
char *source_join(struct arena *a, const char *dir, const char *path);

/* The absolute folder of path, seen from the working directory. */
char *source_dir(struct arena *a, const char *path);

#endif
