#ifndef DAEMON_LISTENERS_H
#define DAEMON_LISTENERS_H

/* The listening sockets of apps, and the connections that come by them. */

#include <sys/queue.h>

#include <stdio.h>

#include "daemon/group.h"
#include "daemon/worker.h"
#include "sys/listener.h"

struct action;

struct app_listener {
	TAILQ_ENTRY(app_listener) next; /* in its group's listeners */
	struct acceptor acceptor; /* paused while it leaves */
	struct group *group; /* NULL: not in use */
	struct conf_listen where; /* strings owned; see conf.h */
	char address[160]; /* where it really listens, for people */
	tstamp rebound; /* bound anew then; 0: never */
	bool rebinds; /* the lane has the next five; see listeners_close() */
	struct lane_job rebinding;
	struct listener_spec spec;
	struct listener fresh;
	const char *why;
	int error; /* errno; 0: fresh is open */
	bool awaits; /* not open: processes of another app have its address */
	tspan pause; /* before the latest attempt to open it then */
	bool leaving; /* shut; what is in its backlog is still served */
	bool last_look; /* when it is empty now it can be closed */
	struct timer leave_timer; /* next look at it while it leaves */
	tstamp leave_until; /* closed then at the latest */
	tstamp serve_until; /* likewise, if the processes are to empty it */
};

/* --- reload.c ----------------------------------------------------------- */

/*
 * What a change needs opened: noted first, while nobody could notice, and then
 * opened by a lane, for any user who can read the folder of a socket can make a
 * call wait that makes a file there.
 */
struct openings {
	struct lane_job job;
	struct lane *lane;
	STAILQ_HEAD(, opening) list;
	FILE *answer; /* is told of failures, too; NULL: nobody */
	int error; /* errno of the latest failure; 0: none */
};

void openings_init(struct openings *all, FILE *answer);

/*
 * Notes a listener. It stays closed and where it is until openings_end(), as
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

/* The change fails for this reason, which is logged and written to answer. */
void openings_fail(struct openings *all, int error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Has the lane open what was noted, and then done() called. */
void openings_submit(struct openings *all, struct lane *lane,
    void (*done)(struct lane_job *, tstamp now));

/*
 * Gives the listeners what was opened for them, if that was done. False:
 * something failed.
 */
bool openings_end(struct openings *all);

/* Both here and now. An exit status of sysexits.h. */
int openings_now(struct openings *all);

/* The listeners go before openings_end(), which closes what it has for them. */
void openings_forget(struct openings *all);

/* --- listeners.c -------------------------------------------------------- */

/*
 * Notes listeners at this address of an app (several where the service manager
 * gave several sockets of one name) and appends them to out, not in use. None
 * where the app is broken because its host has no address.
 */
void listeners_open(struct supervisor *s, const struct conf_app *conf,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out);

/* The same, if the app needs that and out has none yet at this address. */
void listeners_open_missing(struct supervisor *s, const struct conf_app *app,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out);

/*
 * Gives the group the listeners of its app, if need be from another one, and
 * those that were opened for it. update: their options are others now.
 */
void listeners_claim(
    struct group *g, struct app_listeners *opened, bool update);

/* Tries to open all that await that, at once and from then on. */
void listeners_open_awaited(struct supervisor *s, tstamp now);

/* Closes and frees all at once; they may be out of use. */
void listeners_close_all(struct app_listeners *all);

/* Takes all listeners of the group out of the loop, or back into it. */
void listeners_pause(struct group *g);
void listeners_resume(struct group *g);

/* Binds another socket in the place of a socket that was shut down. */
void listeners_rebind(struct app_listener *l, tstamp now);

/* False: it leaves, while its app goes on with others. */
bool listeners_serves(const struct app_listener *l);

/*
 * Connections: from the listeners into the pool. Listeners are in the loop
 * while their app has room. When it has none, all listeners of the app are
 * paused, and the core calls (ACTION_RESUME) when there is room again: so at
 * saturation a connection costs one accept() and no epoll_ctl().
 */

/* Accepts for the group from all of a list, which is empty then, from now on.
 */
void accepting_begin_all(struct app_listeners *opened, struct group *g);

/* ACTION_RESUME: there is room again. */
void accepting_resume(struct supervisor *s, const struct action *a, tstamp now);

/*
 * Leaves listeners at addresses that the app does not have any more: closed for
 * newcomers, and freed when what is in their backlogs is accepted.
 */
void accepting_leave_others(struct group *g, tstamp now);

/* The app accepts no more: leaves all its listeners. */
void accepting_leave_all(struct group *g, tstamp now);

/* --- backlog.c ---------------------------------------------------------- */

/*
 * Apps whose processes accept connections themselves (handoff = listen). The
 * daemon keeps their sockets: it waits in the loop for a connection, and then
 * looks now and then how many wait, until none has waited for a while.
 *
 * A process is starting until it is known to accept: the backlog has become
 * shorter, it has been seen to hold a connection, or start_timeout is over. So
 * long one of the connections that wait is for it.
 *
 * A lane looks at the sockets that the processes have open. Those that hold
 * connections are in use, without using a processor. Where connections wait and
 * none has been accepted, or a program under native says nothing, it may listen
 * on a port of its own instead: its users are told.
 */

/* The group is new, or goes. */
void backlog_init(struct group *g);
void backlog_fini(struct group *g);

/* A connection waits, or a listener was shut down. */
void backlog_woken(struct group *g, tstamp now);

/* Looks at once. */
void backlog_look(struct group *g, tstamp now);

/* How long a program that is to say that it is ready is not looked at. */
#define BACKLOG_SILENCE TSPAN_SECONDS(2)

/*
 * The process uses no processor: asks whether it, or another one, holds a
 * connection, if the app has more of them than it must; the core is told.
 */
void backlog_sampled(struct worker *w, tstamp now);

/* "it listens on :3000 itself: ...", of the newest processes; "": it is not so.
 */
const char *backlog_wrong_port(const struct group *g);

#endif
