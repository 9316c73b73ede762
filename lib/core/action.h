#ifndef CORE_ACTION_H
#define CORE_ACTION_H

/*
 * Actions: what the core wants done.  The caller of pool_next_action() carries
 * each out, or tells that it could not, as by pool_hand_failed().
 */

#include <stdint.h>

enum action_kind {
	ACTION_SPAWN, /* start a process under this number */
	ACTION_HAND, /* give the connection to the process */
	ACTION_TAKE, /* take back what the process has not received */
	ACTION_REFUSE, /* turn the connection away and close it; see cause */
	ACTION_STOP, /* tell the process to finish and exit */
	ACTION_TERM, /* SIGTERM to the process */
	ACTION_KILL, /* SIGKILL to its whole group */
	ACTION_SLOW, /* report that its oldest session is slow */
	ACTION_RESUME, /* accept again where accepting is paused */
	ACTION_LOCK, /* ask for a lock of the app's limit */
	ACTION_UNLOCK, /* give a lock back */
	ACTION_OVER, /* the closed app has nothing left; see pool_app_free() */
	ACTION_TELL, /* the app has news; see news */
};

/* Why a connection is refused. */
enum action_cause {
	CAUSE_FULL,
	CAUSE_TIMED_OUT,
	CAUSE_APP_FAILED,
	CAUSE_RETRIES,
	CAUSE_LIMIT,
	CAUSE_STOPPING,
};

/* News of an app, told by ACTION_TELL. */
enum action_news {
	NEWS_BACKOFF, /* the next start waits until app.backoff.until */
	NEWS_FAILED, /* start_limit failed starts in a row */
	NEWS_RECOVERED, /* a process is ready again */
	NEWS_READY, /* min_processes are ready, for the first time */
	NEWS_FULL, /* max_queue is reached */
	NEWS_GIVEN_UP, /* the new generation fails, the old one stays */
	NEWS_AT_REST, /* the app is held, and has no process any more */
	NEWS_STUCK, /* the process is still there after SIGKILL */
};

struct action {
	uint8_t kind; /* enum action_kind */
	uint8_t cause; /* enum action_cause, or enum action_news */
	uint32_t app;
	uint32_t process; /* ILIST_NONE where the action has none */
	uint32_t conn; /* likewise */
	uint32_t lock; /* ACTION_UNLOCK: the lock */
	uint64_t stamp; /* tells a stale action from a valid one */
};

/* A ring; its memory is the caller's. */
struct actions {
	struct action *ring;
	uint32_t capacity;
	uint32_t first;
	uint32_t count;
};

#endif
