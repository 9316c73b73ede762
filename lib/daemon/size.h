#ifndef DAEMON_SIZE_H
#define DAEMON_SIZE_H

/*
 * How many processes an app keeps and may have: as its file says, or as an
 * operator has set it, which survives a reload until the file says otherwise.
 */

#include <stdio.h>

#include "core/app.h"
#include "daemon/group.h"

/* Room for why a size is refused. */
#define SIZE_WHY 192

/* Room for a size in words. */
#define SIZE_TEXT 48

/* "2 to 8 processes", or "1 process". Returns buf. */
const char *size_format(struct group_size size, char buf[SIZE_TEXT]);

/* The options of the app for the core, with the size that it has now. */
void size_options(const struct group *g, struct app_options *out);

/*
 * Sets another size, or that of the file again. False: why says what would be
 * valid.
 */
bool size_set(struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY],
    tstamp now);

/*
 * The group has the options of a new configuration: tells, as logging_tell()
 * does, which size holds if an operator has set one.
 */
void size_reloaded(struct group *g, FILE *answer);

#endif
