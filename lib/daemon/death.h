#ifndef DAEMON_DEATH_H
#define DAEMON_DEATH_H

/*
 * The death of a process: what it said last is read, what it never received
 * is taken back, and how it ended is logged.
 */

#include "daemon/worker.h"

/*
 * SIGCHLD: reaps this child, of which the signal tells, and all others that are
 * dead, a few of them now and the others in the next turns.
 */
void death_signalled(struct supervisor *s, pid_t pid, tstamp now);

/* A worker that was known by its death alone, and is reaped. */
void death_taken(struct worker *w, const struct reap_death *death, tstamp now);

void death_init(struct supervisor *s);

#endif
