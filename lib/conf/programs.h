#ifndef CONF_PROGRAMS_H
#define CONF_PROGRAMS_H

/* Things of this machine that an app names: program, folders, output. */

#include "conf/build.h"

/* Reports what is not there, and what the app's user may not use. */
void programs_check(struct build *b, const struct conf_app *app);

#endif
