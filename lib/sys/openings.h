#ifndef SYS_OPENINGS_H
#define SYS_OPENINGS_H

/*
 * Unix listeners that a lane opens for a change of which the loop decides: any
 * user who can read their folder can make a call wait that makes a file there.
 * The change is tried: what openings_open() does not have is noted, and the
 * change put off. When openings_work() has opened what was noted, it is tried
 * again. Others are opened at once, but not before openings_work() was called
 * once, so that the first attempt opens nothing.
 */

#include <sys/queue.h>

#include <stdbool.h>

#include "sys/lane.h"
#include "sys/listener.h"

STAILQ_HEAD(openings_list, opening);

struct openings {
	struct openings_list list;
	bool planned; /* openings_work() was called */
};

void openings_init(struct openings *all);

/* The result of a part of the change that is put off; no exit status. */
#define OPENINGS_LATER (-1)

/*
 * As listener_open(), which it is if all is NULL. EINPROGRESS: it is noted; the
 * strings of spec must stay until openings_fini().
 */
int openings_open(struct openings *all, struct listener *l,
    const struct listener_spec *spec, const char **why_out);

/* Opens what was noted. May be called in a lane, while nothing else is. */
void openings_work(struct openings *all);

/* Closes, in the lane, what nobody took. */
void openings_fini(struct openings *all, struct lane *lane);

#endif
