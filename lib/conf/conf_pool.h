#ifndef CONF_CONF_POOL_H
#define CONF_CONF_POOL_H

/* A configuration in the words of the core, for the daemon and the simulator.
 */

#include "conf/conf.h"
#include "core/pool.h"

/*
 * The most connections that a process is handed ahead; with prefetch = auto as
 * many as that may come to.
 */
unsigned conf_pool_prefetch(const struct conf_app *app);

void conf_pool_options(const struct conf_app *app, struct app_options *out);

/*
 * Makes *out at least as large as the apps of the configuration need. Room
 * for apps that are there already is the caller's to add.
 */
void conf_pool_limits(const struct conf *conf, struct pool_limits *out);

#endif
