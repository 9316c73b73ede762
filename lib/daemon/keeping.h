#ifndef DAEMON_KEEPING_H
#define DAEMON_KEEPING_H

/* The tasks of keepers: kept.h, retake.h, closing.h. */

#include "daemon/keeper.h"

/* For supervisor.keeper_ops. */
extern const struct keeper_ops keeping_ops;

#endif
