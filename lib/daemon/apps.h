#ifndef DAEMON_APPS_H
#define DAEMON_APPS_H

/*
 * The apps of a configuration, and their listeners: opened at the start,
 * added, changed and closed by a reload.
 */

#include <stdio.h>

#include "daemon/group.h"

struct action;
struct openings;

/*
 * At the start: opens all listeners, and then adds the apps. 0, or an exit
 * status of sysexits.h, the reason having been logged.
 */
int apps_open(struct supervisor *s);

/*
 * At a reload: opens the listeners that only the new configuration has. Gives
 * them by app of conf, for apps_change() or apps_abandon(). NULL and errno:
 * that failed, and is logged and written to answer (NULL: nowhere) as
 * logging_tell() does, unless it is EINPROGRESS of openings_open() alone.
 */
struct app_listeners *apps_prepare(struct supervisor *s,
    const struct conf *conf, struct openings *openings, FILE *answer);
void apps_abandon(const struct conf *conf, struct app_listeners *prepared);

/*
 * Makes the apps those of the configuration, which s->config is by now. What
 * is done is logged and written to answer.
 */
void apps_change(struct supervisor *s, struct app_listeners *prepared,
    FILE *answer, tstamp now);

/*
 * ACTION_OVER: frees the group if nothing of it is left. Called again when the
 * refusal of the last connection is over.
 */
void apps_over(struct supervisor *s, const struct action *a, tstamp now);

#endif
