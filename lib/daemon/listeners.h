#ifndef DAEMON_LISTENERS_H
#define DAEMON_LISTENERS_H

/* The listening sockets of apps. See accepting.h for their connections. */

#include "daemon/group.h"
#include "sys/acceptor.h"

struct app_listener {
	TAILQ_ENTRY(app_listener) next; /* in its group's listeners */
	struct acceptor acceptor; /* paused while it leaves */
	struct group *group; /* NULL: not in use */
	struct conf_listen where; /* strings owned; see conf.h */
	char address[160]; /* where it really listens, for people */
	tstamp rebound; /* bound anew then; 0: never */
	struct listeners_opening *opening; /* under way; NULL: none */
	bool awaits; /* not open: processes of another app have its address */
	tspan pause; /* before the latest attempt to open it then */
	bool leaving; /* shut; what is in its backlog is still served */
	bool last_look; /* when it is empty now it can be closed */
	struct timer leave_timer; /* next look at it while it leaves */
	tstamp leave_until; /* closed then at the latest */
	tstamp serve_until; /* likewise, if the processes are to empty it */
};

/*
 * Opens listeners at this address of an app (several where the service
 * manager gave several sockets of one name) and appends them to out: bound
 * and listening, but not in use. None where the app is broken because its
 * host has no address. 0; or -1 and errno, logged, and then out is as it was.
 * EINPROGRESS is that of openings_open(), and not logged.
 */
int listeners_open(struct supervisor *s, const struct conf_app *conf,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out);

/*
 * Appends one listener to be opened when processes of another app, which have
 * a socket there, leave that. Returns 0, or -1 without memory.
 */
int listeners_await(struct supervisor *s, const struct conf_listen *where,
    struct app_listeners *out);

/* Tries to open all that await that, at once and from then on. */
void listeners_open_awaited(struct supervisor *s, tstamp now);

/* Puts a listener, which is on no list, into use; see accepting_begin(). */
void listeners_attach(struct app_listener *l, struct group *g);

/* Takes it out of use and off its group: as listeners_open() gave it. */
void listeners_detach(struct app_listener *l);

/* Closes and frees it at once; it may be out of use. */
void listeners_close(struct app_listener *l);
void listeners_close_all(struct app_listeners *all);

/* Takes all listeners of the group out of the loop, or back into it. */
void listeners_pause(struct group *g);
void listeners_resume(struct group *g);

/* Binds another socket in the place of a socket that was shut down. */
void listeners_rebind(struct app_listener *l, tstamp now);

/* Owner, mode and backlog as its group's configuration has them. */
void listeners_update(struct app_listener *l);

/* False: it leaves, while its app goes on with others. */
bool listeners_serves(const struct app_listener *l);

#endif
