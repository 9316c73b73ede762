#ifndef TESTS_BENCH_PEERS_POLICIES_H
#define TESTS_BENCH_PEERS_POLICIES_H

/*
 * The rules of the peers, each a manager of its own, for `make pareto`.
 *
 * Each has the defaults of its documentation, the number of workers scaled to
 * the app's min_processes and max_processes; the top of each file says how.
 * What these tools do not know is left out: max_requests, max_memory, limits,
 * prefetch, queue_timeout, and a ceiling over several apps (mod_fastcgi knows
 * one).  Their workers start and serve exactly as ours do.
 */

#include <stdint.h>

#include "conf/conf.h"
#include "sim/engine.h"

enum policies {
	POLICIES_STATIC,
	POLICIES_FPM_DYNAMIC,
	POLICIES_FPM_ONDEMAND,
	POLICIES_PREFORK,
	POLICIES_UWSGI,
	POLICIES_FASTCGI,
	POLICIES_ANYEVENT,
	POLICIES_LEN
};

/*
 * NULL and errno: no memory. conf has an app and must outlive it; the caller
 * undoes it with m->ops->fini(m).  seed: where in their periods its timers
 * begin.
 */
struct manager *policies_new(
    enum policies policy, const struct conf *conf, uint64_t seed);

#endif
