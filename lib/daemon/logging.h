#ifndef DAEMON_LOGGING_H
#define DAEMON_LOGGING_H

/* The log as the configuration and the command line want it. */

#include <stdbool.h>
#include <stdio.h>

#include "daemon/state.h"

/* For each -v: the log has one level more than the configuration says. */
void logging_verbose(void);

struct logsink;

/*
 * Opens the log, which lines go to after logging_commit(); see log_prepare().
 * NULL and errno: told as by logging_tell(). May be called in a lane.
 */
struct logsink *logging_prepare(const struct conf *conf, FILE *answer);
void logging_commit(const struct conf *conf, struct logsink *);

/*
 * Opens the log's file anew, in a lane: another one may have its name by now.
 * s->reopening is not NULL until that is done, also for a request meanwhile;
 * then s->reopen_failure is "", or why the log goes on into the former file.
 */
void logging_reopen(struct supervisor *s);

/*
 * Logs a line, as an error unless ok, and writes it to answer, for the client
 * whose command led to it; NULL: nowhere.
 */
void logging_tell(FILE *answer, bool ok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
