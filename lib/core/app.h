#ifndef CORE_APP_H
#define CORE_APP_H

/* A process, and an app: options, states, and what it has of each feature. */

#include "core/ilist.h"
#include "core/prng.h"
#include "core/promise.h"
#include "core/window.h"

/* --- a process ------------------------------------------------------------ */

enum process_state {
	PROCESS_GONE, /* this number is free */
	PROCESS_STARTING, /* asked for, not yet ready */
	PROCESS_IDLE, /* ready, without a session */
	PROCESS_ACTIVE, /* ready, with sessions */
	PROCESS_DETACHED, /* finishing its sessions, and then told to stop */
	PROCESS_RETIRING, /* told to stop, finishing its sessions */
	PROCESS_STOPPING, /* told to stop, without a session */
	PROCESS_DYING, /* dead; what it never received is being taken back */
	PROCESS_STATES
};

enum process_event {
	PROCESS_STARTED,
	PROCESS_READY,
	PROCESS_GIVEN, /* a connection */
	PROCESS_DONE, /* a session ended, others remain */
	PROCESS_EMPTIED, /* the last session ended */
	PROCESS_RELEASED, /* it is given no more, and not told to stop yet */
	PROCESS_TOLD, /* to stop */
	PROCESS_DIED,
	PROCESS_FREED,
	PROCESS_EVENTS
};

/* How far the stopping of a process has come. */
enum process_step {
	STEP_NONE,
	STEP_STOP, /* asked politely */
	STEP_TERM, /* SIGTERM sent */
	STEP_KILL, /* SIGKILL sent to its group */
	STEP_STUCK, /* and still there kill_timeout later */
};

/* Why a process ended: by itself, up to END_OOM, or because we asked. */
enum process_end {
	END_EXIT, /* exit 0 */
	END_FAILURE, /* another exit status */
	END_SIGNAL, /* killed, not by us */
	END_OOM, /* killed by the kernel, for want of memory */
	END_RETIRED, /* it asked to retire */
	END_IDLE, /* max_idle_time */
	END_LOAD, /* not needed, by the load estimate */
	END_EVICTED, /* its place is for another app */
	END_REQUESTS, /* max_requests */
	END_LIFETIME, /* max_lifetime */
	END_MEMORY, /* max_memory */
	END_KEEPER, /* nobody reads its output any more */
	END_RESIZED, /* over a lowered ceiling */
	END_DETACHED, /* an operator had it leave */
	END_RESTARTED, /* replaced by a newer generation */
	END_DRAINED, /* its app was drained */
	END_STOPPED, /* its app was stopped */
	END_CLOSED, /* its app left the configuration */
	END_SHUTDOWN, /* the daemon stops */
	END_START_TIMEOUT, /* not ready within start_timeout */
	END_PICKUP_TIMEOUT, /* did not receive what it was handed */
	END_REQUEST_TIMEOUT, /* a session over request_timeout old */
	END_NONSENSE, /* broke the worker protocol */
	END_FAIL, /* said FAIL */
	END_SPAWN, /* could not be started */
	PROCESS_ENDS
};

struct process {
	uint8_t state; /* enum process_state */
	uint8_t step; /* enum process_step */
	uint8_t end; /* enum process_end, if asked */
	bool asked; /* we asked for its end */
	bool launched; /* its ACTION_SPAWN was taken out */
	bool queued; /* launched, but others are started first */
	bool stuck; /* SIGKILL did not end it */
	bool apart; /* no ceiling counts it: stuck, or detached */
	bool ready; /* READY was said, or ready_after has passed */
	bool cooling; /* no room until it speaks or cool_until */
	bool expiring; /* its last allowed session is running */
	bool single; /* started for one session only */
	bool exited; /* if dying: ended by exit() */
	bool blind; /* when its sessions end cannot be known */
	uint8_t outdated; /* enum process_end: to be replaced for it; or 0 */
	uint32_t app;
	uint32_t generation; /* of the app when it was started */
	uint32_t concurrency; /* likewise */
	uint32_t places; /* further sessions that there is room for */
	uint32_t home; /* enum app_home: the list of its app it is on */
	struct ilist conns; /* its sessions: assigned and handed, in order */
	uint32_t prefetched; /* the first such of them; ILIST_NONE: none */
	uint32_t busy; /* its part in its app's load, of room.whole */
	uint64_t stamp; /* unique over the pool's life */
	uint64_t requests; /* sessions that ended */
	uint64_t handed; /* sessions begun, retaken ones not counted */
	uint64_t request_limit; /* 0: none */
	tstamp started;
	tstamp since; /* the beginning of its state */
	tstamp used; /* last hand-over or end of a session */
	tstamp executed; /* without sessions: the exec; 0: not yet */
	tstamp step_at; /* when the present step of stopping began */
	tstamp cool_until;
	uint32_t jitter; /* of all that varies by process, in 2^-32 */
};

/* The words of status and logs. */
extern const char *const process_state_names[];
extern const char *const process_end_names[];

/* --- an app --------------------------------------------------------------- */

/* How many starts each step of growth makes. */
enum app_growth {
	GROWTH_DOUBLE, /* one, then two, then four, ... */
	GROWTH_LINEAR, /* one, and no other for start_delay */
	GROWTH_ALL, /* all that the waiters need */
};

/* A span that the app's starts decide: see app_time_stops(). */
#define APP_AUTO ((tspan)-1)

/* Of the estimate, struct load, and what is decided by it. */
struct load_options {
	tspan update_interval; /* longer than 0 */
	double gain; /* over 0, at most 1 */
	double grow_threshold; /* percent, as the next two */
	double multi_threshold;
	double single_threshold;
	tspan kill_interval; /* longer than 0 */
};

/* Of a rollout that begins with a few processes, and looks at them. */
struct canary_options {
	uint32_t processes; /* 0: it does not */
	tspan time; /* for which they are looked at */
};

/* The part of an app's configuration that the core knows; see pool.conf(5). */
struct app_options {
	uint32_t min_processes;
	uint32_t max_processes; /* at least 1 and min_processes */
	uint32_t min_idle;
	uint32_t concurrency; /* at least 1; see struct pool_limits */
	uint32_t prefetch;
	bool prefetch_auto; /* if it pays; both are 1, no queue private */
	uint32_t max_queue;
	uint32_t retry_limit;
	uint32_t start_limit; /* at least 1 */
	uint64_t max_requests; /* and up to a tenth more; 0: no limit */
	uint64_t max_memory; /* resident bytes; 0: no limit */
	bool sessions; /* connections are handed over; READY, DONE are said */
	bool listens; /* handoff = listen: accepts itself; not with sessions */
	bool exit_ends; /* a process has one session, and its exit ends that */
	bool numbered; /* a process has a port or the like by its slot */
	bool private_queue; /* queue = private; prefetch is at least 1 */
	bool close_when_full; /* on_full is not wait */
	bool limited; /* a lock is taken before each hand-over */
	tspan queue_timeout; /* 0: none */
	tspan start_delay;
	enum app_growth growth;
	tspan stop_delay; /* or APP_AUTO */
	tspan max_idle_time; /* or APP_AUTO; 0: never */
	struct load_options load;
	struct canary_options canary;
	/*
	 * 99 of 100 connections are to wait no longer, and the thresholds are
	 * without effect; 0, also without app_has_need(): no such promise.
	 */
	tspan target_wait;
	tspan max_lifetime; /* and up to a tenth more; 0: none */
	tspan request_timeout; /* 0: none */
	tspan slow_timeout; /* 0: none */
	tspan start_timeout;
	tspan ready_after; /* without sessions: a process that old is ready */
	tspan pickup_timeout;
	tspan restart_delay;
	tspan restart_delay_max;
	tspan min_server_life;
	tspan stop_timeout;
	tspan kill_timeout;
};

/*
 * The lists of an app's processes.  A ready process that has room is on the
 * room list of as many sessions as it has: HOME_ROOM + sessions, HOME_ROOM
 * being the idle ones.  The most recently used process stands first; but on
 * HOME_PREFETCH, and with a private queue on all lists but that of the idle
 * ones, it stands last.  Outdated processes stand last on any list.
 */
enum app_home {
	HOME_NONE, /* on no list: the number is free */
	HOME_STARTING,
	HOME_BUSY, /* ready without room: full, cooling or expiring */
	HOME_PREFETCH, /* ready with room for prefetch alone */
	HOME_LEAVING, /* detached, retiring, stopping, dying */
	HOME_ROOM,
};

/* The life of an app: phases and events form a table (app.c). */
enum app_phase {
	APP_FREE, /* no app has this number */
	APP_RUNNING,
	APP_EMPTYING, /* held: serves what waits and what is in its backlog */
	APP_HOLDING, /* held: serves what waits, and accepts nothing */
	APP_HELD, /* nothing waits; its processes leave, or have left */
	APP_CLOSING, /* serves what waits and what is in its backlog */
	APP_DRAINED, /* serves what waits; its backlog is empty */
	APP_STOPPING, /* refuses what waits; its processes are leaving */
	APP_STUCK, /* over, but for processes that SIGKILL did not end */
	APP_OVER, /* nothing left; ACTION_OVER has been taken out */
	APP_PHASES
};

enum app_event {
	APP_ADDED,
	APP_MUTED, /* held by an operator, and accepts nothing */
	APP_SHUT, /* likewise, once its backlog is empty */
	APP_RESUMED, /* held no longer, or it comes back */
	APP_CLOSED, /* the app leaves the configuration, or the pool stops */
	APP_EMPTIED, /* the backlog is empty, the listeners are closed */
	APP_SERVED, /* drained or held, and no connection waits any more */
	APP_RETURNED, /* connections have come back from a process */
	APP_ENDED, /* the pool stops at once */
	APP_LEFT, /* ACTION_OVER is taken out */
	APP_LEFT_STUCK, /* the same, while processes are stuck */
	APP_UNSTUCK, /* the last stuck process is gone */
	APP_FREED,
	APP_EVENTS
};

/* Whether connections are accepted for the app. */
enum app_accepting {
	ACCEPTING_OPEN, /* also without listeners */
	ACCEPTING_PENDING, /* paused; connections wait in the backlog */
	ACCEPTING_RESUMING, /* the same; an ACTION_RESUME is under way */
};

enum rollout_state {
	ROLLOUT_NONE,
	ROLLOUT_UNDER_WAY, /* a newer generation is coming */
	ROLLOUT_GIVEN_UP, /* the newer generation did not live */
};

/* Whether min_idle processes are idle or starting. */
enum app_spare {
	SPARE_ENOUGH,
	SPARE_SHORT, /* one is missing */
	SPARE_DENIED, /* the same, and there was no place for it */
};

/*
 * Changes of an app since it was settled last, marked by the code that makes
 * them: settle.c runs the steps that depend on them.
 */
enum app_mark {
	MARK_WAITER = 1 << 0, /* a connection has come to wait */
	MARK_EMPTIED = 1 << 1, /* no connection waits any more */
	MARK_PREFETCH = 1 << 2, /* prefetched connections have come or gone */
	MARK_ROOM = 1 << 3, /* a process has gained room; idle ones changed */
	MARK_LOAD = 1 << 4, /* the load may be at rest no longer */
	MARK_COUNT = 1 << 5, /* processes start, leave, expire, are marked */
	MARK_FAILURE = 1 << 6, /* failed starts, or the time of the next */
	MARK_GROWTH = 1 << 7, /* processes are wanted and were not started */
	MARK_ALL = (1 << 8) - 1,
};

/*
 * Always: accepted = completed + refused + timed_out + abandoned + lost +
 * waiting (app_waiting()) + sessions + parked.
 */
struct app_figures {
	uint64_t accepted; /* told by pool_arrived() or pool_held() */
	uint64_t completed;
	uint64_t refused;
	uint64_t timed_out;
	uint64_t abandoned; /* their client left while they waited */
	uint64_t lost; /* with a process that had received them */
	uint64_t retaken; /* taken back from a process that had not, yet */
	uint64_t spawned;
	uint64_t spawn_failures;
	uint64_t exits[PROCESS_ENDS];
	uint32_t sessions; /* assigned and handed connections */
	uint32_t parked; /* the caller has them, until there is a request */
	uint32_t max_waiting; /* largest queue so far */
};

/* --- what an app has for each of its features ---------------------------- */

/* The app's processes by what can be done with them; see enum app_home. */
struct app_room {
	struct ilist homes[HOME_ROOM - 1];
	uint32_t lists; /* room lists that there are by its options */
	uint32_t whole; /* parts of which a process is busy with so many */
	uint32_t lowest; /* no room list below this one has a process */
	uint32_t places; /* further sessions that there is room for */
};

/* The app's listeners, as the core sees them. */
struct app_intake {
	uint8_t accepting; /* enum app_accepting */
	bool full; /* NEWS_FULL has been told; until the queue empties */
	uint32_t backlog; /* connections in it, if the app listens itself */
	tstamp pending_since; /* if not ACCEPTING_OPEN */
};

/* The locks of its limit. */
struct app_limit {
	uint32_t requests; /* asked for and not answered */
	tstamp after; /* no lock is asked for before; 0: at any time */
	tstamp free_until; /* no lock is needed until then (limit_fail) */
};

/* The latest failed start, and what came of it. */
struct app_failure {
	uint8_t how; /* enum process_end */
	bool ready; /* the same process had been ready */
	bool called; /* connected to since the last start, if failed */
	uint32_t refused; /* connections, since a process was ready */
	uint32_t jobs_done; /* jobs that ended well since then */
	tstamp rest_until; /* no start before: the system had no room */
};

/* Faults of the new processes that a rollout has begun with. */
enum canary_fault {
	CANARY_WELL,
	CANARY_FAILED, /* one of them has failed */
	CANARY_LOST, /* more of their sessions are lost */
	CANARY_SLOW, /* more of their sessions take long */
	CANARY_CALLED_OFF, /* by pool_app_roll_back() */
};

/* Sessions of processes of the old or the new generation. */
struct canary_sessions {
	uint32_t all;
	uint32_t lost;
	uint32_t slow; /* longer than app_canary.slow */
};

/* A look at the first processes of a rollout, while no old one leaves. */
struct app_canary {
	uint32_t processes; /* 0: there is none */
	tstamp until; /* 0: not all of them are ready yet */
	tspan slow; /* 0: it is unknown how long sessions take */
	struct canary_sessions old, new;
	uint8_t fault; /* enum canary_fault; stays when the look is over */
};

/* The replacement of its processes by those of a newer generation. */
struct app_rollout {
	uint8_t state; /* enum rollout_state, of the latest */
	uint32_t size; /* processes that it is to replace */
	uint32_t ready; /* ready processes when it began */
	uint32_t surge; /* processes beyond the ceilings; 0 but under way */
	uint64_t stamp; /* those that replace others have higher ones */
	struct app_canary canary;
};

/* Starts: for connections that wait, for the beginning, and of spare ones. */
struct app_growing {
	uint32_t pace; /* starts at the next step */
	tstamp stepped; /* the last step; 0: none since the queue was empty */
	uint32_t first; /* processes to begin with; 0: the app has begun */
	uint8_t spare; /* enum app_spare */
	tstamp short_since; /* if not SPARE_ENOUGH; or the last spare start */
	bool denied; /* a start for the need; until the next estimate */
};

/* Stops of processes that are not needed. */
struct app_shrinking {
	tspan idle_time; /* how long a process may be idle; 0: for ever */
	tstamp looked; /* told by pool_looked(); 0: never */
	tspan stop_delay; /* from one stop of an idle process to the next */
	uint32_t marked; /* processes that are not needed, by load */
	uint32_t victims; /* of them, to be stopped now, one by one */
	tstamp kill_at; /* when marked processes become victims */
	tstamp origin; /* intervals of stops for want of load count from here */
};

/* Its state in the word of status. */
struct app_state {
	const char *name; /* app_state_name() */
	tstamp since;
};

/* How an app is held, or leaves. */
struct app_leaving {
	uint8_t soon; /* will be held, or the pool stop, for this; 0: no */
	uint8_t why; /* if held: enum process_end of its processes */
	bool at_rest; /* held, and no process is left but stuck ones */
	bool ended; /* its time, `by`, has come */
	tstamp by; /* when it leaves: ends what is left then */
	uint64_t over; /* stamp of the ACTION_OVER under way; 0: none */
};

/* How long sessions take, decayed; 0: unknown. */
struct app_session {
	tspan mean;
	tspan usual; /* half of them take longer */
};

/* Time in which a connection waited beside an idle process. */
struct app_idle_waiting {
	tspan sum; /* of closed intervals */
	tstamp since; /* of the open interval; 0: none is open */
};

/*
 * One connection in a hundred may wait for so many times target_wait, or
 * start_delay, if that is less, before a process is started for it.
 */
#define APP_TOLERANCE 10

struct app {
	struct app_options options;
	uint64_t stamp; /* unique over the pool's life */
	uint8_t phase; /* enum app_phase */
	struct app_state state;
	bool failed; /* start_limit failed starts in a row, none is ready */
	bool announced; /* NEWS_READY told since it was added or restarted */
	uint8_t touched; /* enum app_mark, several */
	tstamp taking; /* an ACTION_TAKE is under way, since then; 0: none */
	bool renewing; /* each connection has a process of its own */
	uint32_t news; /* bit of each enum action_news that is under way */
	/* The app's processes: */
	uint32_t in_state[PROCESS_STATES]; /* number of processes */
	uint32_t expiring; /* number of processes */
	uint32_t outdated; /* number of ready processes */
	uint32_t stuck; /* number of processes */
	uint32_t apart; /* number of processes */
	uint32_t busy; /* sum of the processes' busy */
	uint32_t generation;
	uint32_t proven; /* the newest that has served or lived on; or 0 */
	uint32_t failed_starts; /* since a process served or lived on */
	uint32_t places_wanted; /* if not 0 the app is in line for so many */
	struct app_room room;
	struct app_failure failure;
	struct backoff backoff;
	struct app_rollout rollout;
	struct app_growing growing;
	struct app_shrinking shrinking;
	struct app_leaving leaving;
	/* The app's connections: */
	struct ilist queue; /* waiters, in order of arrival */
	struct ilist cleared; /* waiters with a lock, if limited; likewise */
	struct ilist prefetched; /* prefetched connections, oldest first */
	struct app_intake intake;
	struct app_limit limit;
	/* Measures: */
	tspan start_time; /* from start to READY, decayed; 0: unknown */
	struct app_session session;
	struct load load;
	struct promise promise;
	struct app_idle_waiting idle_waiting;
	struct app_figures figures;
	struct window queue_wait;
	struct window session_time;
};

/* Starting, idle and active processes: what min and max bound. */
static inline uint32_t
app_processes(const struct app *a)
{
	return a->in_state[PROCESS_STARTING] + a->in_state[PROCESS_IDLE] +
	    a->in_state[PROCESS_ACTIVE];
}

/* Whether the processes of the app leave, and none is started. */
static inline bool
app_is_ending(const struct app *a)
{
	return a->phase == APP_HELD || a->phase >= APP_STOPPING;
}

/* Whether connections in its backlog are not accepted any more. */
static inline bool
app_is_shut(const struct app *a)
{
	return a->phase == APP_HOLDING || app_is_ending(a);
}

static inline uint32_t
app_ready(const struct app *a)
{
	return a->in_state[PROCESS_IDLE] + a->in_state[PROCESS_ACTIVE];
}

/* handoff = none: no connections at all. */
static inline bool
app_has_jobs(const struct app *a)
{
	return !a->options.sessions && !a->options.listens;
}

/* Whether the app has the processes that it keeps; a job may be done. */
static inline bool
app_is_ready(const struct app *a)
{
	return a->renewing || a->failure.jobs_done > 0 ||
	    app_ready(a) >= a->options.min_processes;
}

/* Whether a newer generation is coming. */
static inline bool
app_rolling(const struct app *a)
{
	return a->rollout.state == ROLLOUT_UNDER_WAY;
}

/* Whether a balancer should send the app connections. */
static inline bool
app_is_open(const struct app *a)
{
	return a->phase == APP_RUNNING && a->leaving.soon == 0 && !a->failed &&
	    (a->announced || app_rolling(a)) &&
	    (app_ready(a) > 0 || app_is_ready(a));
}

/*
 * Whether the newer generation that is coming has failed: until a process of it
 * has served or lived for min_server_life, no old process leaves for it.
 */
static inline bool
app_is_doubtful(const struct app *a)
{
	return app_rolling(a) && a->failed_starts > 0;
}

/* A list of processes, from HOME_STARTING to HOME_LEAVING. */
static inline const struct ilist *
app_home(const struct app *a, enum app_home home)
{
	return &a->room.homes[home - HOME_STARTING];
}

/* All processes that exist, leaving ones included. */
static inline uint32_t
app_living(const struct app *a)
{
	return app_processes(a) + app_home(a, HOME_LEAVING)->count;
}

static inline uint32_t
app_waiting(const struct app *a)
{
	return a->queue.count + a->cleared.count;
}

/*
 * Connections that may wait.  With private queues none wait in common, unless
 * no process is ready to queue with.
 */
static inline uint32_t
app_max_queue(const struct app *a)
{
	uint32_t n = a->options.max_queue;

	if (a->options.private_queue &&
	    (!a->options.close_when_full || app_ready(a) > 0))
		n = 0;
	/* A connection must come in for a lock or process to be asked for. */
	if (n == 0 &&
	    (a->options.limited || a->renewing ||
		(a->options.close_when_full && app_ready(a) == 0)))
		n = 1;
	return n;
}

/* Connections that have or want a process; waiters for locks do not yet. */
static inline uint32_t
app_present(const struct app *a)
{
	return a->figures.sessions + a->cleared.count +
	    (a->options.limited ? 0 : a->queue.count);
}

/* Waiters that go to the next process with room. */
static inline const struct ilist *
app_servable(const struct app *a)
{
	return a->options.limited ? &a->cleared : &a->queue;
}

/*
 * Connections that want a process: waiters, what busy processes prefetched,
 * and one for a paused listener, unless it wants a process younger than
 * itself.  While locks are asked for, more processes would be of no use.
 */
static inline uint32_t
app_demand(const struct app *a)
{
	uint32_t prefetched = a->room.places > 0 ? 0 : a->prefetched.count;

	if (a->options.limited && a->room.places > 0)
		return a->cleared.count;
	if (a->options.listens)
		return a->intake.backlog;
	return app_waiting(a) + prefetched +
	    (a->intake.accepting != ACCEPTING_OPEN && !a->renewing ? 1 : 0);
}

/* Changes the phase by its table; asserts that the event can be in it. */
void app_enter(struct app *a, enum app_event e);

/* A session that ends well has taken so long. */
void app_measure(struct app *a, tspan took, tstamp now);

/* Whether busy processes are handed connections ahead of need. */
bool app_prefetches(const struct app *a);

/*
 * Computes shrinking.idle_time and stop_delay from options and start_time.
 * APP_AUTO: keeping a process is worth what a start costs, so that an app whose
 * processes start fast lets go of them soon.
 */
void app_time_stops(struct app *a);

/* Time in which a connection waited beside an idle process, until now. */
static inline tspan
app_idle_waiting(const struct app *a, tstamp now)
{
	const struct app_idle_waiting *w = &a->idle_waiting;

	return w->sum + (w->since == 0 ? 0 : now - w->since);
}

/* Whether it can be estimated how many processes the app needs. */
static inline bool
app_has_need(const struct app *a)
{
	return a->options.sessions && !a->options.private_queue;
}

/* The wait for which that is estimated. */
static inline tspan
app_target(const struct app *a)
{
	tspan target = a->options.target_wait;

	return target > 0 ? target : PROMISE_USUAL;
}

/* The process has served: failed starts are not in a row any more. */
void app_served(struct app *a, const struct process *x);

/* The app begins anew, or a process has lived on: failures are forgotten. */
void app_forgive(struct app *a);

/* The load estimate: processes busy, and percent of those that are ready. */
double app_work(const struct app *a, tstamp now);
double app_load(const struct app *a, tstamp now);

/* The word of status and logs: running, starting, failed, stopping, …. */
const char *app_state_name(const struct app *a);

#endif
