#ifndef CTL_CTL_STATUS_H
#define CTL_CTL_STATUS_H

/* `apppoolctl status` without more words: all apps, a line each. */

#include "ctl/ask.h"

/*
 * Asks the daemon and prints the table, cut to the width of a terminal; what
 * is no terminal gets whole lines. An exit status; failures have been told.
 */
int ctl_status(const struct ask *daemon);

#endif
