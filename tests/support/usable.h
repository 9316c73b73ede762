#ifndef SUPPORT_USABLE_H
#define SUPPORT_USABLE_H

#include "core/app.h"

/* Options with which a pool works as they are: an app of one process. */
static inline struct app_options
usable_options(void)
{
	return (struct app_options){
		.max_processes = 1,
		.concurrency = 1,
		.max_queue = 100,
		.retry_limit = 10,
		.start_limit = 5,
		.sessions = true,
		.load.update_interval = TSPAN_SECONDS(10),
		.load.gain = 0.5,
		.load.grow_threshold = 90,
		.load.kill_interval = TSPAN_SECONDS(60),
		.start_timeout = TSPAN_SECONDS(30),
		.pickup_timeout = TSPAN_SECONDS(10),
		.restart_delay = TSPAN_SECONDS(1),
		.restart_delay_max = TSPAN_SECONDS(60),
		.stop_timeout = TSPAN_SECONDS(30),
		.kill_timeout = TSPAN_SECONDS(5),
	};
}

#endif
