#ifndef DAEMON_RESTART_FILES_H
#define DAEMON_RESTART_FILES_H

/*
 * Files whose change restarts an app: restart.txt and always_restart.txt in
 * its restart_dir, and those of watch. Once a second all of them are looked at
 * in the looker's lane, those of all apps in one wakeup of the loop. A look at
 * a file server that is dead does not come back, and may outlive its app; at
 * most one of an app is under way.
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

/* Looks at the files of all apps: from now on once a second, by a timer. */
void restart_files_look(struct timer *t, tstamp now);

/* Looks at them at once, for somebody who waits for what that brings. */
void restart_files_await(struct supervisor *s, tstamp now);

/* Whether such a look has not come back, and may still. */
bool restart_files_are_awaited(const struct group *g, tstamp now);

#endif
