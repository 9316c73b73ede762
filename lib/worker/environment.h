#ifndef WORKER_ENVIRONMENT_H
#define WORKER_ENVIRONMENT_H

/* What the daemon tells a process in its environment. */

struct environment {
	/* The worker's end of the socket pair. */
	int fd;
	int slot;
	/* Allocated, the caller's. */
	char *app;
	char *id;
};

/*
 * Reads all of it and checks that fd is a socket of the right kind; changes
 * nothing.  Returns 0, or -1 and an errno of apppool_open(), *out untouched.
 */
int environment_read(struct environment *out);

/* Removes it, so that programs this process runs do not take it for theirs. */
void environment_clear(void);

#endif
