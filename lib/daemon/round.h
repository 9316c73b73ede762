#ifndef DAEMON_ROUND_H
#define DAEMON_ROUND_H

/*
 * Rounds over all workers, a piece in each turn of the loop, so that
 * thousands do not hold it up.
 */

#include "daemon/worker.h"

/*
 * Goes on with the process *next, and visits who is due. True: the round is
 * over, and *next begins another one; else there is more for the next turn,
 * which should come at once.
 */
bool round_go_on(struct supervisor *s, uint32_t *next,
    bool (*is_due)(const struct worker *, tstamp now),
    void (*visit)(struct worker *, tstamp now), tstamp now);

#endif
