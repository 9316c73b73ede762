#ifndef DAEMON_RESTART_LOOK_H
#define DAEMON_RESTART_LOOK_H

/*
 * A look at the files that restart an app, made in the looker's lane; before
 * it, the kernel is asked to tell of changes in the app's restart_dir.  A look
 * may outlive the app: a dead file server does not let it go.
 */

#include <stdbool.h>

#include "daemon/group.h"
#include "sys/filemark.h"
#include "sys/lane.h"

#define RESTART_TXT "restart.txt"
#define ALWAYS_RESTART_TXT "always_restart.txt"

struct restart_files;

struct restart_look {
	struct lane_job job;
	struct supervisor *sup;
	struct restart_files *files; /* NULL: the result is of no use */
	struct config *config; /* a reference while it is under way */
	const struct conf_app *conf; /* lies in it; NULL: to end watching */
	bool deaf; /* nothing is to be told */
	int folder; /* watched; -1: none */
	int parent; /* likewise, where restart_dir is not there */
	bool there; /* restart_dir is */
	struct filemark restart;
	struct filemark always;
	struct filemark watch[]; /* by the list of watch */
};

/* NULL: no memory. */
struct restart_look *restart_look_new(struct supervisor *s, size_t nwatch,
    void (*done)(struct lane_job *, tstamp now));

/* deaf: the kernel is to tell nothing. done() follows. */
void restart_look_begin(
    struct restart_look *l, const struct group *g, bool deaf);

/* To be called by done(). */
void restart_look_over(struct restart_look *l);

/*
 * Nothing is told any more.  That takes a lane: done() may be called again, and
 * shall call this again.
 */
void restart_look_free(struct restart_look *l);

#endif
