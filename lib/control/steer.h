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

/* words: an app. */
void steer_drain(struct client *cl, char *const *words, tstamp now);
void steer_resume(struct client *cl, char *const *words, tstamp now);
void steer_stop(struct client *cl, char *const *words, tstamp now);
void steer_start(struct client *cl, char *const *words, tstamp now);

/*
 * Sets the target of the client to the app of this name. False: it was told why
 * not, or that nothing can be begun now.
 */
bool steer_choose_app(struct client *cl, char *name);

/* The app that the client has chosen; NULL: it leaves, and was told so. */
const struct app *steer_app(struct client *cl);

/* words: a worker. */
void steer_detach(struct client *cl, char *const *words, tstamp now);

#endif
