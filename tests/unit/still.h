#ifndef TESTS_UNIT_STILL_H
#define TESTS_UNIT_STILL_H

/* A clock for loops that handle what is ready, while time stands still. */

#include "sys/loop.h"

static tstamp now;

static inline tstamp
still_now(void *arg)
{
	(void)arg;
	return now;
}

static inline int
still_wait(void *arg, int epfd, struct epoll_event *ev, int n, tspan timeout)
{
	(void)arg;
	(void)timeout;
	return epoll_wait(epfd, ev, n, 0);
}

static const struct loop_clock still_clock = { still_now, still_wait, NULL };

#endif
