#ifndef DAEMON_RESTART_FILES_H
#define DAEMON_RESTART_FILES_H

/*
 * Files whose change restarts an app: restart.txt and always_restart.txt in
 * its restart_dir, and those of watch. The kernel tells of changes in
 * restart_dir at once. All are looked at when a connection arrives, and, if
 * there is anything to be seen, also without one; at most once a second, in a
 * lane of their own, for file systems may be slow or dead, and those of others
 * are not told of. At most one look of an app is under way.
 */

struct supervisor;

void restart_files_init(struct supervisor *s);
void restart_files_fini(struct supervisor *s);

#include "daemon/group.h"

/*
 * Makes g->restart_files as the group's configuration wants it; what is there
 * at the first look is not new. old: the former configuration, with the same
 * files of which all that was known stays; NULL: none.
 */
void restart_files_configure(
    struct group *g, const struct conf_app *old, tstamp now);
void restart_files_free(struct group *g);

/*
 * A connection has arrived, and is yet unknown to the core: what happened to
 * restart_dir before is in force when this returns.
 */
void restart_files_arrived(struct group *g, tstamp now);

/* Looks at the files of all apps now. */
void restart_files_await(struct supervisor *s, tstamp now);

/* Whether such a look has not come back, and may still. */
bool restart_files_are_awaited(const struct group *g, tstamp now);

#endif
