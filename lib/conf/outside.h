#ifndef CONF_OUTSIDE_H
#define CONF_OUTSIDE_H

#include "conf/build.h"

/*
 * Checks what the file refers to on this machine: programs, folders, limits and
 * addresses, if the flags of the load ask for that. Binds, connects to and
 * writes nothing. is_ours may be NULL: see conf_load().
 */
void outside_check(
    struct build *b, bool (*is_ours)(const struct conf_listen *));

#endif
