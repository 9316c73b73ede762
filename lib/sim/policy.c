/* All policies; and the simplest of them: always max_processes. */

#include <assert.h>

#include "sim/backlog.h"
#include "sim/policy.h"

static uint32_t
static_first(const struct conf_app *app)
{
	return app->max_processes;
}

struct manager *
policy_static_new(const struct conf *conf, uint64_t seed)
{
	static const struct backlog_ops ops = { .name = "static",
		.first = static_first };

	return (struct manager *)backlog_new(
	    sizeof(struct backlog), &ops, conf, seed);
}

struct manager *
policy_new(enum policy policy, const struct conf *conf, uint64_t seed)
{
	static struct manager *(*const makers[])(
	    const struct conf *, uint64_t) = {
		[POLICY_STATIC] = policy_static_new,
		[POLICY_FPM_DYNAMIC] = policy_fpm_dynamic_new,
		[POLICY_FPM_ONDEMAND] = policy_fpm_ondemand_new,
		[POLICY_PREFORK] = policy_prefork_new,
		[POLICY_UWSGI] = policy_uwsgi_new,
		[POLICY_FASTCGI] = policy_fastcgi_new,
		[POLICY_ANYEVENT] = policy_anyevent_new,
	};

	assert(policy < POLICIES);
	return makers[policy](conf, seed);
}
