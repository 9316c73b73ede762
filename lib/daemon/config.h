#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

/*
 * A configuration that is shared by the supervisor while it is in force, by the
 * groups that run under it, and by the starts under way in a lane.
 */

#include "conf/conf.h"

struct config {
	struct conf *conf; /* owned */
	unsigned refs; /* the main thread's to change */
};

/* Takes conf over, with one reference. NULL: no memory, conf is untouched. */
struct config *config_new(struct conf *conf);
struct config *config_ref(struct config *c);
void config_unref(struct config *c);

#endif
