/* Names of what the core wants done. */

#include "core/action.h"

const char *
action_name(enum action_kind kind)
{
	static const char *const names[] = {
		[ACTION_SPAWN] = "spawn",
		[ACTION_HAND] = "hand",
		[ACTION_TAKE] = "take",
		[ACTION_REFUSE] = "refuse",
		[ACTION_STOP] = "stop",
		[ACTION_TERM] = "term",
		[ACTION_KILL] = "kill",
		[ACTION_SLOW] = "slow",
		[ACTION_RESUME] = "resume",
		[ACTION_LOCK] = "lock",
		[ACTION_UNLOCK] = "unlock",
		[ACTION_OVER] = "over",
		[ACTION_TELL] = "tell",
	};

	return names[kind];
}

const char *
action_cause_name(enum action_cause cause)
{
	static const char *const names[] = {
		[CAUSE_FULL] = "the queue is full",
		[CAUSE_TIMED_OUT] = "it waited for queue_timeout",
		[CAUSE_APP_FAILED] = "the app has failed",
		[CAUSE_LIMIT] = "its limit does not let it in",
		[CAUSE_RETRIES] = "retry_limit processes died under it",
		[CAUSE_STOPPING] = "the daemon stops",
	};

	return names[cause];
}
