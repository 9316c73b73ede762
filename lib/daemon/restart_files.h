#ifndef DAEMON_RESTART_FILES_H
#define DAEMON_RESTART_FILES_H

/*
 * Files whose change restarts an app: restart.txt and always_restart.txt in
 * its restart_dir, and those of watch. They are looked at when a connection
 * arrives, and, if there is anything to be seen, also without one; at most
 * once a second, in a lane of their own, for file systems may be slow or dead.
 * At most one look of an app is under way.
 */

#include "daemon/group.h"

/*
 * Makes g->restart_files as the group's configuration wants it; what is there
 * at the first look is not new. old: the former configuration, with the same
 * files of which all that was known stays; NULL: none.
 */
void restart_files_configure(
    struct group *g, const struct conf_app *old, tstamp now);
void restart_files_free(struct group *g);

/* A connection has arrived. */
void restart_files_arrived(struct group *g, tstamp now);

#endif
