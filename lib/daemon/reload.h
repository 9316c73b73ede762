#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

/*
 * Putting another configuration into force: read and checked as a whole in
 * the slow lane, its new listeners opened, and only then made true.
 */

#include <stdbool.h>

#include "daemon/state.h"

/*
 * How a reload ended. text: lines for people, each mistake on its own, or
 * what was done; ok: it is in force.
 */
typedef void reload_done(void *arg, bool ok, const char *text);

/*
 * Starts a reload, or, while a file is being read, asks for another one after
 * it. done (may be NULL) is called from the loop when it has ended.
 */
void reload_request(
    struct supervisor *s, reload_done *done, void *arg, tstamp now);

/* The caller of reload_request() with this arg is not called any more. */
void reload_forget(struct supervisor *s, void *arg);

#endif
