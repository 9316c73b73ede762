#ifndef DAEMON_TABLES_H
#define DAEMON_TABLES_H

/* The size of all tables for a configuration, and its descriptors. */

#include "daemon/state.h"

/*
 * Tables large enough for the configuration and for what runs now. 0, or -1
 * and errno, and then nothing has changed.
 */
int tables_reserve(struct supervisor *s, const struct conf *conf);

/*
 * Lowers max_parked of all apps to what descriptors are left for, and warns of
 * it.
 */
void tables_fit_parked(const struct supervisor *s, struct conf *conf);

/*
 * Whether all descriptors that `conf` may need can be had. Logs what is
 * missing.
 */
bool tables_afford(const struct supervisor *s, const struct conf *conf);

/* Descriptors that are left when `conf` has all it needs. */
uint32_t tables_spare(const struct supervisor *s, const struct conf *conf);

#endif
