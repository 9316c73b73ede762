#ifndef DAEMON_GROUP_H
#define DAEMON_GROUP_H

/* An app as the daemon sees it; the core knows it by its number. */

#include <string.h>

#include "daemon/state.h"
#include "sys/listener.h"

TAILQ_HEAD(app_listeners, app_listener);
TAILQ_HEAD(parkeds, parked);

/*
 * What a change needs opened: noted first, and then opened by a lane, for any
 * user who can read a socket's folder can make a call wait that makes a file.
 */
struct openings {
	struct lane_job job;
	struct lane *lane;
	STAILQ_HEAD(, opening) list;
	FILE *answer; /* is told of failures, too; NULL: nobody */
	int error; /* errno of the latest failure; 0: none */
	int expects; /* errno of failures that are none; 0: of no others */
};

struct app_listener {
	TAILQ_ENTRY(app_listener) next; /* in its group's listeners */
	struct acceptor acceptor; /* paused while it leaves */
	struct group *group; /* NULL: not in use */
	struct conf_listen where; /* strings owned; see conf.h */
	char address[160]; /* where it really listens, for people */
	tstamp rebound; /* bound anew then; 0: never */
	bool rebinds; /* the lane has rebinding; see listeners_close() */
	struct openings rebinding;
	bool awaits; /* not open: processes of another app have its address */
	tspan pause; /* before the latest attempt to open it then */
	bool leaving; /* shut; what is in its backlog is still served */
	bool last_look; /* when it is empty now it can be closed */
	struct timer leave_timer; /* next look at it while it leaves */
	tstamp leave_until; /* closed then at the latest */
	tstamp serve_until; /* likewise, if the processes are to empty it */
};

struct group_size {
	uint32_t min;
	uint32_t max;
};

struct group_resizing {
	bool set; /* by an operator */
	struct group_size now; /* the one in force, */
	struct group_size of_file; /* and what the file said then */
};

/* The measured use of its processes; see autosize.c. */
struct group_autosize {
	struct autosize fit;
	uint64_t own; /* bytes, of all that have been measured */
	uint64_t most; /* the same at their most, of those that have served */
	uint32_t measured; /* number of these */
	double ran; /* seconds on a processor, and in sessions */
	double busy;
};

/* The operator's hold on the app; see hold.c. */
struct hold {
	bool muted; /* drained: its listeners stay out of the loop */
	bool stopped; /* its listeners are closed */
	struct timer close; /* set: close_delay is under way, and then */
	enum process_end why; /* it is held for this */
	struct hold_start *starting; /* under way, while stopped; or NULL */
	int error; /* of the latest start that failed */
};

/* Workers that are to be started; see start.c. */
struct starts {
	struct workers queued; /* not empty: the group is in start_queue */
	unsigned n; /* in the spawner lane, or being forked */
	struct timer rest; /* set: workers queued are not needed until then */
};

struct group_failure {
	char why[256]; /* "": none yet */
	tstamp at;
	uint32_t generation; /* which was coming, if there was one */
};

/* Why a rollout is given up that `rollback` has ended. */
#define GROUP_ROLLED_BACK "it was rolled back"

/* Connections that processes accept themselves, as far as known. */
struct backlog {
	struct timer timer; /* next look */
	long depth; /* at the latest look */
	tstamp calm_at; /* no more looks from then on */
	bool awaited; /* the first process that accepts */
	tstamp awaited_since; /* one waits, none was accepted yet; 0: not so */
	struct backlog_look *look; /* at open sockets, under way; or NULL */
	bool falls; /* a connection was accepted since the app was changed */
	tstamp opened; /* when the latest of these began; 0: none yet */
	tstamp open_at; /* the next one not before */
	char wrong_port[160]; /* where processes listen instead; "": nowhere */
	uint32_t wrong_generation; /* of the app, of which that tells */
};

/* Connections that no process has, and that no room is taken by. */
struct parking {
	struct parkeds idle; /* the longest first */
	struct parkeds stirred; /* with a request, and no room for it yet */
	unsigned n; /* of both */
	struct timer timer; /* set while some are parked */
};

/* Of its limit. */
struct limiter_figures {
	unsigned held; /* locks that connections or waiters have */
	unsigned asked; /* requests that are not answered yet */
	uint64_t granted;
	uint64_t full; /* answers QUEUE_FULL */
	uint64_t timed_out; /* answers TIMEOUT */
	uint64_t unreachable; /* requests without an answer */
	uint64_t lost; /* locks, with their connections */
	unsigned down; /* servers that are passed over */
};

/* Its cgroup, if apps have one; see app_cgroup.c. */
struct app_cgroup {
	int events; /* its file memory.events; -1: there is none */
	uint64_t oom_kills; /* in there, whose deaths were seen */
	struct cgroup_figures figures; /* at the latest look */
};

struct group {
	struct supervisor *sup;
	uint32_t app; /* number in the pool */
	tstamp since; /* has been in the pool since then */
	struct conf *config; /* a reference; conf lies in it */
	const struct conf_app *conf;
	struct {
		struct conf *config; /* a reference; NULL: there is none */
		uint32_t generation; /* that replaces its processes */
		bool in_force; /* until the file is loaded anew */
	} former;
	struct hold hold;
	struct group_resizing size;
	struct group_autosize autosize;
	bool closing; /* left the configuration, or everything stops */
	bool drained; /* the core knows that no listener is left */
	struct app_listeners listeners;
	bool paused; /* its listeners are out of the loop */
	struct workers workers; /* all, by slot; no template */
	TAILQ_ENTRY(group) start_next; /* in supervisor.start_queue */
	struct starts starts;
	struct templating *templating; /* owned; NULL: it has no template */
	uint32_t unfit; /* generation + 1 that the library cannot serve; 0 */
	bool none_ahead; /* `prefetch = auto` is 0: of a program by accept() */
	unsigned leaves; /* processes in a row that left after one session */
	struct backlog backlog;
	struct keeper_app *keeper; /* a reference */
	struct parking parking;
	unsigned refused; /* connections whose refusal is not over */
	bool over; /* the app is, and waits for them */
	struct limiter *limiter; /* NULL: it has no limit */
	struct limiter_figures locks;
	struct app_cgroup cgroup;
	struct restart_files *restart_files; /* NULL: no file restarts it */
	struct group_failure failure; /* the latest */
	struct group_failure given_up; /* of the latest rollout that was */
	tstamp reports_since; /* slow processes are counted from here, */
	unsigned reports; /* for one second */
	struct log_rate full_rate;
	struct log_rate refuse_rate;
	struct log_rate no_room_rate;
};

/*
 * A group without listeners for an app of the configuration in force, which the
 * pool knows by this number, or (ILIST_NONE) from now on; NULL and errno.
 * pool_app_free() comes behind group_free().
 */
struct group *group_new(struct supervisor *s, const struct conf_app *conf,
    uint32_t app, tstamp now);
void group_free(struct group *g);

/* Whether its ceiling is found by max_processes = auto. */
static inline bool
group_is_auto(const struct group *g)
{
	return g->conf->max_auto && !g->size.set && !g->closing;
}

/* The group of this name that is not closing; NULL: none. */
struct group *group_find(const struct supervisor *s, const char *name);

/* The apps in order of their numbers: the first (g NULL), the next, or NULL. */
static inline struct group *
group_next(const struct supervisor *s, const struct group *g)
{
	uint32_t n = g == NULL ? 0 : g->app + 1;

	while (n < s->pool.napps && s->groups[n] == NULL)
		n++;
	return n < s->pool.napps ? s->groups[n] : NULL;
}

/* Whether a balancer should send it connections; see `ready` in the status. */
bool group_is_ready(const struct group *g);

/* The title of the daemon in ps(1), with the number of its apps. */
void apps_set_title(const struct supervisor *s);

void group_failed(struct group *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Its processes take connections in another way: it is another app of the same
 * name. The former one serves what it has, without the listeners of both.
 * Processes of native and accept receive many connections from us.
 */
static inline bool
group_is_another(const struct group *g, const struct conf_app *app)
{
	return g->conf->handoff != app->handoff &&
	    (g->conf->handoff > CONF_HANDOFF_ACCEPT ||
		app->handoff > CONF_HANDOFF_ACCEPT);
}

/* Whether the group stays the one of this app, which may be of another name. */
static inline bool
group_remains(const struct group *g, const struct conf_app *app)
{
	return strcmp(g->conf->name, app->name) == 0 &&
	    !group_is_another(g, app);
}

/*
 * What is started from now on is as it was before the latest change that
 * replaced processes, until the file is loaded anew. False: there was no such
 * change, or it changed addresses, too.
 */
bool group_roll_back(struct group *g, tstamp now);

/*
 * Logs when the next process of the app is started. A program without a file
 * that has never been ready is not started again.
 */
void group_tell_backoff(struct group *g, tstamp now);

/*
 * The last failure; of an app that was never ready, with what its handoff
 * expects of the program. "" before the first one, and as soon as a later
 * generation has served, or lived for min_server_life. Returns buf.
 */
#define GROUP_FAILURE_MAX 384
const char *group_failure(const struct group *g, char buf[GROUP_FAILURE_MAX]);

static inline bool
group_accepts_itself(const struct group *g)
{
	return g->conf->handoff == CONF_HANDOFF_LISTEN;
}

/* Whether the library has its programs accept, not the adapter. */
static inline bool
group_has_library(const struct group *g)
{
	return g->conf->program.library != NULL &&
	    g->unfit != g->sup->pool.apps[g->app].generation + 1;
}

/*
 * The library cannot serve what the process is: if accept_by allows it, the
 * adapter has all of its generation accept from now on.
 */
bool group_leave_library(const struct worker *w, const char *why, tstamp now);

/* The program accepts while it has a session, or by the adapter. */
void group_hand_none_ahead(struct group *g, tstamp now);

/* Whether its processes have a channel to us. */
static inline bool
group_has_channels(const struct conf_app *conf)
{
	return conf->handoff != CONF_HANDOFF_NONE &&
	    conf->handoff != CONF_HANDOFF_LISTEN;
}

/* Whether it may have connections parked. */
static inline bool
group_may_park(const struct conf_app *conf)
{
	return conf->parking.keep_alive || conf->parking.wait_for_data;
}

/* --- reload.c ----------------------------------------------------------- */

void openings_init(struct openings *all, FILE *answer);

/*
 * Notes a listener, which stays closed and where it is until openings_end(), as
 * the strings of spec do. The text stands before the reason of a failure.
 */
void openings_add(struct openings *all, struct listener *l,
    const struct listener_spec *spec, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Gives the sockets of the service manager at the address, or -1 for one that
 * is to be opened. 0, a failure: the manager gave none of that name.
 */
#define INHERITED_MAX 64
size_t openings_inherited(struct openings *all, const struct conf_listen *where,
    const char *of, int fds[INHERITED_MAX]);

/* The change fails for this reason, which is told as by logging_tell(). */
void openings_fail(struct openings *all, int error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Has the lane open what was noted, and then done() called. */
void openings_submit(struct openings *all, struct lane *lane,
    void (*done)(struct lane_job *, tstamp now));

/*
 * Gives the listeners what was opened for them, if that was done. False:
 * something failed. _now(): after it has been opened here and now.
 */
bool openings_end(struct openings *all);
bool openings_now(struct openings *all);

/* The listeners go before openings_end(), which closes what it has for them. */
void openings_forget(struct openings *all);

/* --- listeners.c -------------------------------------------------------- */

/*
 * Notes the listeners at this address of an app that none has yet, nor out, to
 * which they are appended, not in use: several where the service manager gave
 * several sockets of one name.
 */
void listeners_open_missing(struct supervisor *s, const struct conf_app *app,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out);

/*
 * Gives the group the listeners of its app, if need be from another one, and
 * those that were opened for it: whether there were any of these two kinds,
 * which its processes do not have. update: their options are others now.
 */
bool listeners_claim(
    struct group *g, struct app_listeners *opened, bool update);

/* Tries to open all that await that, at once and from then on. */
void listeners_open_awaited(struct supervisor *s, tstamp now);

/* Closes and frees all at once; they may be out of use. */
void listeners_close_all(struct app_listeners *all);

/* All listeners of the group leave the loop, or come back. */
void listeners_pause(struct group *g);
void listeners_resume(struct group *g);

/*
 * False: it leaves, while its app goes on with others. The file of a Unix
 * socket is gone then: processes may have it until its backlog is served.
 */
bool listeners_serves(const struct app_listener *l);

/*
 * ACTION_RESUME: there is room again. Without it an app's listeners are out of
 * the loop: at saturation a connection costs one accept() and no epoll_ctl().
 */
void accepting_resume(struct supervisor *s, const struct action *a, tstamp now);

/*
 * Leaves listeners at addresses that the app does not have any more, and all of
 * one that accepts no more: closed for newcomers, and freed when what is in
 * their backlogs is accepted.
 */
void accepting_leave(struct group *g, tstamp now);

/* --- backlog.c ---------------------------------------------------------- */

/* fire() of backlog.timer. */
void backlog_time_to_look(struct timer *t, tstamp now);

/* The group goes. */
void backlog_fini(struct group *g);

/* A connection waits, or a listener was shut down. */
void backlog_woken(struct group *g, tstamp now);

void backlog_look(struct group *g, tstamp now);

/* How long a program that is to say that it is ready is not looked at. */
#define BACKLOG_SILENCE TSPAN_SECONDS(2)

/*
 * The process uses no processor: has the core told if it, or another one, holds
 * a connection; not where the app has no more of them than it must.
 */
void backlog_sampled(struct worker *w, tstamp now);

/* "it listens on :3000 itself: ...", of the newest processes; or "". */
const char *backlog_wrong_port(const struct group *g);

/* --- apps.c -------------------------------------------------------------- */

/* Notes the listeners that the configuration lacks by now. */
void apps_prepare(struct supervisor *s, const struct conf *conf,
    struct openings *openings, struct app_listeners *prepared);

/* The apps are those of s->config from now on. Told as by logging_tell(). */
void apps_change(struct supervisor *s, struct app_listeners *prepared,
    FILE *answer, tstamp now);

/* ACTION_OVER, or a refusal has ended: frees a group when nothing is left. */
void apps_over(struct supervisor *s, const struct action *a, tstamp now);

/* Everything stops: closes the apps that none that is left needs. */
void apps_close_unneeded(struct supervisor *s, tstamp now);

/* "2 to 8 processes", or "1 process". Returns buf. */
#define SIZE_TEXT 48
static inline const char *
size_format(struct group_size size, char buf[SIZE_TEXT])
{
	if (size.min == size.max)
		(void)snprintf(buf, SIZE_TEXT, "%u process%s",
		    (unsigned)size.max, size.max == 1 ? "" : "es");
	else
		(void)snprintf(buf, SIZE_TEXT, "%u to %u processes",
		    (unsigned)size.min, (unsigned)size.max);
	return buf;
}

/* Sets another size, or the file's. False: why says what would be valid. */
#define SIZE_WHY 192
bool size_set(struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY],
    tstamp now);

/* The app gets the ceiling that max_processes = auto has found. */
void size_follow(struct group *g, tstamp now);
/* --- app_cgroup.c --------------------------------------------------------- */

/* A lane makes its cgroup, before the processes that are started from now. */
void app_cgroup_make(struct group *g);

/*
 * If it has no process, nor a template, of its own any more, a lane ends what
 * these have left behind, and removes the cgroup.
 */
void app_cgroup_leave(struct group *g);

/* --- hold.c -------------------------------------------------------------- */

/*
 * Apps that an operator holds, across reloads, too. A drained app leaves its
 * clients in the backlog of its listeners; a stopped app closes its listeners.
 * Both serve what they have accepted, and have no process then.
 */

/*
 * END_DRAINED: an app that runs is drained. END_STOPPED: any one is stopped,
 * and a start under way comes to nothing. One that runs goes on doing so for
 * its close_delay, after which hold.close fires hold_close().
 */
void hold_close(struct timer *t, tstamp now);
void hold_begin(struct group *g, enum process_end why, tstamp now);

/*
 * The app runs again, or goes on running; a stopped one, which has no listener
 * left, when a lane has opened those, if that did not fail (hold.error, which
 * is logged) and no stop or reload has come meanwhile.
 */
void hold_resume(struct group *g, tstamp now);

/* --- restart_files.c ----------------------------------------------------- */

/*
 * Files whose change restarts an app: restart.txt and always_restart.txt in
 * its restart_dir, and those of watch. Once a second a lane looks at all, which
 * wakes the loop once. A look at a dead file server does not come back, and may
 * outlive its app; at most one of an app is under way.
 */

/* None of a group that closes; of the same files all that is known stays. */
void restart_files_configure(struct group *g, tstamp now);

/*
 * Whether a look that began since then has come back, or a second is over; else
 * one is begun.
 */
bool restart_files_seen(const struct group *g, tstamp since, tstamp now);

/* --- parking.c ----------------------------------------------------------- */

/*
 * The process parks the connection, which the caller closes where nothing is
 * parked any more. False: the process does not hold it.
 */
bool parking_park(struct worker *w, uint32_t conn, tstamp now);

/* Under wait_for_data: parks a connection that the pool does not know. */
bool parking_hold(struct group *g, int fd, bool tcp, tstamp now);

/* Hands over what has a request; false: there is no room for all. */
bool parking_serve(struct group *g, tstamp now);

/*
 * The app is drained, stops, leaves, or keeps no connections any more: serves
 * those with a request, and closes the others; if it is over, all.
 */
void parking_leave(struct group *g, tstamp now);

/* The connection goes elsewhere with its descriptor: the loop forgets it. */
void parking_forget(struct supervisor *s, struct accepted *c);

/* The connection has come to its end: closes our copy, if there is one. */
void parking_close(struct group *g, struct accepted *c);

/* --- sampling.c ---------------------------------------------------------- */

/* For another group, other options, or another process. */
void sampling_begin(struct group *g, tstamp now);

/* Tells the core how large it is, for max_memory. */
void sampling_memory(struct worker *w, tstamp now);

/* --- autosize.c ---------------------------------------------------------- */

/* An app, or the ceiling over all, is auto. */
void autosize_begin(struct supervisor *s, tstamp now);

/* Another configuration is in force: the ceiling over all apps, by it. */
void autosize_configure(struct supervisor *s, tstamp now);

#endif
