#ifndef DAEMON_TOUCH_H
#define DAEMON_TOUCH_H

/*
 * Files whose change restarts an app: restart.txt and always_restart.txt in
 * its restart_dir, and those of watch. They are looked at when a connection
 * arrives, and, if there is anything to be seen, also without one; at most
 * once a second, in a lane of their own, for file systems may be slow or dead.
 * One look of an app is under way at most.
 */

#include "daemon/group.h"

struct touch;

/*
 * Makes g->touch as the group's configuration wants it; what is there at the
 * first look is not new. old: the former one, with the same files of which
 * all that was known stays; NULL: none.
 */
void touch_configure(struct group *g, const struct conf_app *old, tstamp now);
void touch_free(struct group *g);

/* A connection has arrived. */
void touch_arrived(struct group *g, tstamp now);

/* When touch_tick() is due; TSTAMP_NEVER: nothing is to be looked at. */
tstamp touch_deadline(const struct supervisor *s);
void touch_tick(struct supervisor *s, tstamp now);

#endif
