#ifndef DAEMON_CHANNEL_H
#define DAEMON_CHANNEL_H

/* The worker protocol, from the daemon's side; see apppool-worker(7). */

#include "daemon/worker.h"

/* Packets read from one process in one turn at most. */
#define CHANNEL_TURN 16

/* Packets read from a dead process: more than a socket holds. */
#define CHANNEL_LAST 1024

/* EVENT and STATUS of one process that are kept in one second at most. */
#define CHANNEL_TEXTS 100

/*
 * Messages about no connection that a process may send in a second, and so
 * many more for each session it ends.
 */
#define CHANNEL_LOOSE 10000
#define CHANNEL_LOOSE_EACH 4

/* ready() of worker.channel: reads what the process says. */
void channel_ready(struct loop_io *io, uint32_t events, tstamp now);

/* Reads what a dead process said last. */
void channel_read_rest(struct worker *w, tstamp now);

/* ACTION_HAND: 0, or -1 and errno. */
int channel_hand(struct worker *w, uint32_t conn, tstamp now);

/* ACTION_STOP. */
void channel_stop(struct worker *w);

/* The connection a CONN message is about; ILIST_NONE: it is none. */
uint32_t channel_conn(
    const struct supervisor *s, const char *message, size_t len);

/* A protocol error: logs it, and has the process killed. */
void channel_misbehaved(struct worker *w, tstamp now, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
