#ifndef SIM_POOL_DRIVER_H
#define SIM_POOL_DRIVER_H

/*
 * Our manager: the core itself, as the daemon drives it, with a backlog in
 * front of each app such as the kernel has.
 */

#include <stdint.h>

#include "conf/conf.h"
#include "sim/manager.h"

/*
 * NULL and errno: no memory. conf must outlive it; the caller undoes it with
 * m->ops->fini(m).  seed is that of the core's own jitters.
 */
struct manager *pool_driver_new(const struct conf *conf, uint64_t seed);

#endif
