#ifndef SYS_LOGSINK_H
#define SYS_LOGSINK_H

/*
 * Where lines of the log end up: standard error, a file, or syslog's socket.
 * One thread at a time. Nothing that goes wrong there is an error for the
 * caller: lines are lost and counted, and the count is written as soon as
 * something can be written again.
 */

#include <stdbool.h>
#include <stddef.h>

#include "sys/log.h"
#include "sys/logline.h"

/* A line of at most this size is one write(2), and so whole in a pipe. */
#define LOGSINK_BUFFER 4096

struct logsink {
	enum log_dest dest;
	char *path; /* owned; NULL: STDERR */
	int fd; /* -1: closed; not ours if STDERR */
	struct logline_style style;
	/*
	 * Asked now and then while the reader is slow: false gives up what is
	 * in the buffer. NULL is never.
	 */
	bool (*patient)(void *arg);
	void *arg;

	char buf[LOGSINK_BUFFER];
	size_t len;
	bool skipping; /* the rest of this line is not wanted any more */
	bool fresh; /* the buffer begins where a line does */
	bool torn; /* what was written last is not the end of a line */
	bool telling; /* the buffer begins with the count of the lost */
	unsigned long lost; /* lines, since that was last written */
	int error; /* errno of the latest loss; 0: we were not patient */
};

/* Returns 0, or -1 and errno. */
int logsink_init(struct logsink *s, const struct log_spec *spec);

/* Opens the file anew; where that fails it says so in the old one. */
void logsink_reopen(struct logsink *s);

/* Closes it; what is still in the buffer is lost. */
void logsink_fini(struct logsink *s);

/* Adds a line; writes when the buffer is full, or for syslog at once. */
void logsink_write(struct logsink *s, const struct logline *line);

/*
 * Writes what is there. A point of cancellation while it waits, and the only
 * one here.
 */
void logsink_flush(struct logsink *s);

#endif
