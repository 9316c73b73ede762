#ifndef CONTROL_STEER_H
#define CONTROL_STEER_H

/*
 * The commands that steer apps and workers. Each answers when it is done, with
 * one line that says what has happened.
 */

#include "control/client.h"

/* words: apps and workers; none: all apps. */
void steer_restart(struct client *cl, char *const *words, tstamp now);

/* words: an app, and the least and most processes that it may have. */
void steer_resize(struct client *cl, char *const *words, tstamp now);

/* words: a worker. */
void steer_detach(struct client *cl, char *const *words, tstamp now);

#endif
