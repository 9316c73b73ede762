#ifndef CONF_OPTIONS_H
#define CONF_OPTIONS_H

/* All options of pool.conf, in the order in which they are printed. */

#include "conf/type.h"

extern const struct option options_global[];
extern const size_t options_global_len;

extern const struct option options_app[];
extern const size_t options_app_len;

/*
 * Finds an option of apps, or a global one. NULL: there is none of that name.
 */
const struct option *options_find(bool in_app, const char *name);

/* The known name nearest to an unknown one, or NULL. */
const char *options_nearest(bool in_app, const char *name);

/* The place of the option in its table. */
size_t options_index(const struct option *o);

/* True if apps of that handoff may set the option. */
bool options_allowed(const struct option *o, enum conf_handoff handoff);

/* Sets all fields of base, a conf_app or a conf, to their defaults. */
void options_preset(bool in_app, void *base, struct arena *a);

#endif
