#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#include "conf/build.h"

/*
 * Reports values that are right by themselves and wrong together, within an app
 * and between apps. A value that is the default only because of a mistake is
 * compared with none.
 */
void check_conf(struct build *b);

#endif
