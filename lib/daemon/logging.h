#ifndef DAEMON_LOGGING_H
#define DAEMON_LOGGING_H

/* The log as the configuration and the command line want it. */

#include "conf/conf.h"

/* Each -v: one level more than the configuration says. */
void logging_verbose(void);

/* 0, or -1 and errno, logged, and then the log is as it was. */
int logging_open(const struct conf *conf);

#endif
