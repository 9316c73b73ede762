#ifndef SIM_POLICY_H
#define SIM_POLICY_H

/*
 * The rules of the peers, each a manager of its own, for simulate --compare.
 *
 * Each has the defaults of its documentation, the number of processes scaled
 * to the app's min_processes and max_processes; the top of each file says how.
 * What these tools do not know is left out: max_requests, max_memory, limits,
 * prefetch, queue_timeout, and a ceiling over several apps (mod_fastcgi knows
 * one).  Their processes start and serve exactly as ours do.
 */

#include <stdint.h>

#include "conf/conf.h"
#include "sim/manager.h"

enum policy {
	POLICY_STATIC,
	POLICY_FPM_DYNAMIC,
	POLICY_FPM_ONDEMAND,
	POLICY_PREFORK,
	POLICY_UWSGI,
	POLICY_FASTCGI,
	POLICY_ANYEVENT,
	POLICIES
};

/*
 * NULL and errno: no memory. conf has an app and must outlive it; the caller
 * undoes it with m->ops->fini(m).  seed: where in their periods its timers
 * begin.
 */
struct manager *policy_new(
    enum policy policy, const struct conf *conf, uint64_t seed);

/* The one of each; callers use policy_new(). */
struct manager *policy_static_new(const struct conf *conf, uint64_t seed);
struct manager *policy_fpm_dynamic_new(const struct conf *conf, uint64_t seed);
struct manager *policy_fpm_ondemand_new(const struct conf *conf, uint64_t seed);
struct manager *policy_prefork_new(const struct conf *conf, uint64_t seed);
struct manager *policy_uwsgi_new(const struct conf *conf, uint64_t seed);
struct manager *policy_fastcgi_new(const struct conf *conf, uint64_t seed);
struct manager *policy_anyevent_new(const struct conf *conf, uint64_t seed);

#endif
