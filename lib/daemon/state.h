#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

/*
 * The state of the daemon. Facts from the loop go into the pool, whose actions
 * settle_actions() carries out once in each turn: no handler acts by itself.
 */

#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>

#include "conf/conf.h"
#include "core/autosize.h"
#include "core/pool.h"
#include "sys/cgroup.h"
#include "sys/child.h"
#include "sys/lane.h"
#include "sys/log.h"
#include "sys/loop.h"

struct carry_state;
struct group;
struct openings;

/* An accepted connection that is in our hands. */
struct accepted {
	int fd; /* -1: no longer; with keep_alive a process has it, too */
	bool tcp;
	/*
	 * Taken back from a process that may have it still: no call is made
	 * that takes a lock which that can hold. For TCP these are all but a
	 * close and poll(2), for a Unix socket all that read.
	 */
	bool handed;
	uint8_t len; /* bytes of the message that handed it last */
	struct parked *parked; /* it has been parked before; or NULL */
	char *request; /* its text, owned; NULL: none, or not known */
};

/* --- refusal.c ----------------------------------------------------------- */

/* Refusals that are open at a time; further ones are closed once answered. */
#define REFUSAL_MAX 256

/*
 * Refuses the client at fd, which is taken over, as its app does. tcp, handed:
 * as in struct accepted.
 */
void refusal_begin(struct group *g, int fd, bool tcp, bool handed, tstamp now);

/* Whether this app answers at all. */
static inline bool
refusal_answers(const struct conf_app *conf)
{
	return conf->refusal.on_full == CONF_ON_FULL_REPLY ||
	    (conf->refusal.on_full != CONF_ON_FULL_CLOSE &&
		conf->refusal.protocol != CONF_PROTOCOL_RAW);
}

/* --- the daemon --------------------------------------------------------- */

/* A round over all workers, in pieces; see sampling.c. */
struct sampling {
	struct timer timer; /* its next piece, or the next round */
	tstamp cgroups_at; /* a lane looks at cgroups from then on; or has */
	uint32_t next; /* process that the piece begins with */
};

/* Ceilings by memory and processors; see autosize.c. */
struct autosizing {
	struct lane lane; /* measures processes; loop NULL: nothing is auto */
	struct timer timer; /* set where something is auto */
	uint32_t next; /* process that is measured next */
	struct lane_job job; /* looks at the box */
	bool under_way;
	struct machine found;
	struct autosize_box box;
	struct autosize all;
};

/* The end of a child that nobody knows. */
struct unknown_exit {
	struct reap_death death; /* pid 0: none yet */
	tstamp at;
};

#define TEMPLATE_EXITS 32

/* Templates of all apps, and what they and others were asked to fork. */
struct templates {
	TAILQ_HEAD(, template) all;
	TAILQ_HEAD(, fork) forks;
	uint64_t serial; /* of the latest FORK */
	struct unknown_exit exits[TEMPLATE_EXITS];
	unsigned next_exit; /* place of the next one */
};

/* Dead children, known and suspected; see worker.c. */
struct reaping {
	struct timer timer; /* set: some that are dead may be left */
	bool waits; /* one that is dead is among `starting` */
	pid_t looked_at; /* pid of the worker that was looked at last then */
	tstamp look_at; /* no look at all children before then */
	unsigned long oom_kills; /* of the machine, as last looked at */
	tstamp starved_until; /* a SIGKILL may belong to the latest of them */
};

/*
 * A process of ours that is told over a pair of SOCK_SEQPACKET sockets and
 * shares a page with us. The user sets the first five. The copy of its end
 * stays while it runs, for what it has not read is taken back from there; of
 * its death SIGCHLD tells.
 */
struct helper {
	struct supervisor *sup;
	struct loop_io io; /* our end; fd -1: there is none */
	size_t page_size;
	bool talks; /* its errors go to the socket; else to our stderr */
	/* It runs, or could not be started (result.error). May free it. */
	void (*started)(struct helper *, tstamp now);
	void *page; /* zero at first; NULL unless it runs */
	int fds[2]; /* its end, of which we keep a copy, and the page */
	tstamp began;
	bool starting; /* the lane has all this */
	bool dead; /* by then; the user's */
	struct lane_job job;
	struct conf *config; /* a reference */
	struct child_spec spec;
	struct child_result result; /* its pid stays */
};

TAILQ_HEAD(groups, group);
TAILQ_HEAD(workers, worker);
RB_HEAD(pids, worker);

/* The latest events, and lines of processes, oldest first; see tell.c. */
struct events {
	char *mem; /* EVENTS_SIZE bytes; NULL: there is none */
	size_t len; /* of what is kept there */
	uint64_t last[2]; /* number of the latest event, and of the line */
	uint64_t moves; /* times that some were forgotten */
};

struct supervisor {
	struct loop loop;
	struct watch watch;
	struct lane spawner;
	struct lane closer; /* of descriptors that strangers sent us */
	struct lane looker; /* at files, of ours and of others */
	struct timer files_timer; /* next look at files that restart apps */
	struct events events;
	struct conf *config; /* in force; a reference */
	struct pool pool;
	void *pool_memory; /* the next three are in it, too */
	struct group **groups; /* by app number; NULL: none */
	struct worker **workers; /* by process number; NULL: none */
	struct accepted *accepted; /* by connection number */
	struct {
		LIST_HEAD(, refusal) list; /* clients that may still read why */
		unsigned n;
	} refusals;
	struct groups start_queue; /* groups with queued workers, in turn */
	struct {
		struct workers list; /* in the spawner lane, templates, too */
		unsigned n; /* the workers among them */
	} starting;
	struct keepers *keepers; /* owned; see keeper.h */
	struct pids pids; /* of all workers that have one */
	struct templates templates;
	struct reaping reaping;
	const struct control_ops *control; /* of control_arg */
	struct control *control_arg;
	struct poolcounter *counter; /* owned; see counter.h */
	struct reload *reload; /* under way; NULL: none */
	struct upgrade *upgrade; /* likewise */
	struct pidfile *pid_file; /* not owned; NULL: none */
	struct {
		struct lane_job job;
		struct conf *config; /* a reference; NULL: not under way */
		struct logsink *sink; /* NULL: it cannot be opened */
		bool again; /* asked for meanwhile */
		char failure[256]; /* of the latest; "": it had none */
	} reopening; /* of the log */
	struct rlimit nofile; /* of the children, as it was given to us */
	tstamp started;
	uint64_t generation; /* reloads that came into force */
	struct sampling sampling;
	struct autosizing autosize;
	struct timer second; /* set while there are connections; settle.c's */
	struct timer close; /* set: close_delay before the apps close */
	struct timer hangup; /* set: a SIGHUP may be of the terminal's end */
	bool background; /* -D: report when all are ready */
	bool exit_on_failed; /* for all apps */
	bool stopping;
	int exit_status;
	struct {
		bool ready; /* that the daemon is */
		char text[128]; /* its status, as the manager knows it */
		tstamp at; /* no new one before then */
		struct timer timer; /* but then */
		struct timer alive; /* set where there is a watchdog */
	} told; /* to the service manager, or the terminal of -D */
};

/* The control socket; see control_register(). */
struct control_ops {
	/*
	 * A change to what conf says. prepare() does all that may fail, and
	 * nothing that a client could notice; spare: descriptors that conf
	 * leaves. After openings_end(), commit() or abort() follows. openings
	 * NULL: the socket is another daemon's, and carried over.
	 */
	void (*prepare)(struct control *, const struct conf *, uint32_t spare,
	    struct openings *openings);
	void (*commit)(struct control *, const struct conf *);
	void (*abort)(struct control *);
	/* A turn of the loop ends, and all connections are on their way. */
	void (*turn)(struct control *, tstamp now);
	void (*dump)(struct control *, tstamp now); /* SIGUSR1 */
	/* The daemon ends; frees it. */
	void (*close)(struct control *);
};

/* The exit status where something could not be opened, for this errno. */
static inline int
opening_status(int error)
{
	return error == EACCES || error == EPERM ? EX_NOPERM : EX_CANTCREAT;
}

/* --- supervisor.c: the loop: facts in, actions out ----------------------- */

/*
 * All but _stop() return an exit status of sysexits.h, the reason having been
 * logged. _init() takes config over; no thread may be there yet, for it forks.
 * dry: for a dry run, it makes neither processes nor threads.
 * _open() opens all that is listened on, and _run() runs until everything has
 * stopped, and frees all.
 */
int supervisor_init(struct supervisor *s, struct conf *config, bool dry);
int supervisor_open(struct supervisor *s);
int supervisor_run(struct supervisor *s);

/*
 * The apps go on for close_delay, and then serve what waits, within
 * stop_timeout of now; at_once: the processes end within their kill_timeout.
 */
void supervisor_stop(struct supervisor *s, bool at_once, tstamp now);

/* --- helper.c ------------------------------------------------------------ */

/*
 * Begins to start the program; what it is told meanwhile waits in its socket.
 * path is of the configuration in force. False: it has not begun.
 */
bool helper_start(
    struct helper *h, const char *path, char *const *argv, tstamp now);

/* Closes the sockets and the page, as at first. */
void helper_end(struct helper *h);

/* Maps the page of fds[1]. False, and errno. */
bool helper_map(struct helper *h);

/* --- settle.c ------------------------------------------------------------ */

void settle_actions(struct supervisor *s);

/*
 * The app has failed, or cannot serve: whether that ends the daemon, which then
 * tells why and is stopping.
 */
bool settle_ends(struct group *g, bool at_once, const char *why, tstamp now);

/* --- reload.c ------------------------------------------------------------ */

/* The first configuration comes into force. Returns as supervisor_open(). */
int reload_first(struct supervisor *s);

/* How a reload ended. */
struct reload_answer {
	unsigned refs; /* of the reload, and of all who asked for it */
	bool over;
	bool ok; /* it is in force */
	tstamp began;
	char *text; /* lines for people; NULL: no memory. Owned */
};

/*
 * Starts a reload, or, while a file is being read, asks for another one after
 * it. Gives a reference to its answer, for reload_forget(); NULL: no memory.
 */
struct reload_answer *reload_request(struct supervisor *s, tstamp now);
void reload_forget(struct reload_answer *a);

/* The daemon ends: what a lane still opens for a reload goes nowhere. */
void reload_stop(struct supervisor *s);

/* --- upgrade.c ----------------------------------------------------------- */

/*
 * Starts an upgrade, or joins the one under way. Gives a reference to its
 * answer, which comes from the new program or, where that does not serve, from
 * the former; NULL: no memory. _answer(): NULL also where none is under way.
 */
struct reload_answer *upgrade_request(struct supervisor *s, tstamp now);
struct reload_answer *upgrade_answer(struct supervisor *s);

/* A turn of the loop ends, and all actions are carried out. */
void upgrade_turn(struct supervisor *s, tstamp now);

/* The former program's watch, guardian and file leave, if they are there. */
void upgrade_stop(void);

/* Whether nothing new is to be begun that could be put off. */
bool upgrade_waits(const struct supervisor *s);

/* A child is dead: whether it was the dry run. */
bool upgrade_exited(
    struct supervisor *s, const struct reap_death *death, tstamp now);

/*
 * Early in main(), with what this program was started with: what another daemon
 * has left to this one, for s; NULL: nothing. 0, or -1 and errno.
 */
int upgrade_past(
    struct supervisor *s, char *const *argv, const struct carry_state **out);

/*
 * It cannot be restored: the former program goes on. Does not return, as in a
 * dry run, which ends with the reason.
 */
_Noreturn void upgrade_fail(const char *why);

/*
 * Restores all in the supervisor, which has been initialised; in a dry run in
 * memory alone, and says what there is. An exit status.
 */
int upgrade_inherit(struct supervisor *s);

/* --- tell.c -------------------------------------------------------------- */

/* Events, and lines of output: lines of the log, too, that are kept. */

#define EVENTS_SIZE ((size_t)512 * 1024)

/* Longer texts, and names of apps, are cut. */
#define EVENTS_TEXT_MAX 1024
#define EVENTS_APP_MAX 255

enum event_kind {
	EVENT_START, /* of the daemon */
	EVENT_SPAWN, /* of a process */
	EVENT_READY,
	EVENT_EXIT,
	EVENT_FAILURE,
	EVENT_RECOVERY,
	EVENT_REFUSAL, /* of connections */
	EVENT_SLOW, /* slow_timeout or request_timeout has passed */
	EVENT_RESTART,
	EVENT_RELOAD,
	EVENT_UPGRADE, /* by another program of the daemon's */
	EVENT_COMMAND, /* by the control socket */
	EVENT_STOP, /* of the daemon; or an app that is held has no process */
	EVENT_WORKER, /* an EVENT of the worker protocol */
	EVENT_STDOUT, /* from here on no events, but lines that it printed */
	EVENT_STDERR,
	EVENT_KINDS
};

struct event {
	uint64_t number; /* from 1 on, without gaps; lines have their own */
	struct timespec at; /* of the wall clock */
	enum event_kind kind;
	enum log_level level;
	const char *reason; /* process_end_names[], a constant; NULL: none */
	pid_t pid; /* of the process; 0: it is about none */
	const char *app; /* "": it is about the daemon */
	const char *id; /* of the process; "": it is about none */
	const char *text; /* ended by a NUL, and may have others before */
	size_t len;
};

/* Copies the event in, and gives it its number. */
void events_put(struct events *, struct event *event);

/* A reader's place. */
struct events_place {
	bool output; /* the lines of output are read; else the events */
	uint64_t number; /* none below this one; others may be gone */
	size_t at; /* not before this byte, */
	uint64_t moves; /* unless there were others since */
};

/* Gives the next event; its strings stay until events_put(). False: none. */
bool events_next(
    const struct events *, struct events_place *place, struct event *out);

extern const char *const event_kind_names[];

/*
 * Tells of the worker, of the group, or, where both are NULL, of the daemon:
 * "APP: worker ID (pid N) " or "APP: " stands before the text, but not before
 * that of a command, and behind it the reason in brackets.
 */
void tell_event(struct supervisor *s, const struct group *g,
    const struct worker *w, enum log_level level, enum event_kind kind,
    const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

#define tell_worker(w, ...) tell_event((w)->sup, (w)->group, w, __VA_ARGS__)
#define tell_app(g, ...) tell_event((g)->sup, g, NULL, __VA_ARGS__)
#define tell_daemon(s, level, kind, ...) \
	tell_event(s, NULL, NULL, level, kind, NULL, __VA_ARGS__)

/* A worker has printed a line, or said it in an EVENT. */
void tell_said(struct supervisor *s, struct event *event);

/* For each -v: the log has one level more than the configuration says. */
void logging_verbose(void);

/*
 * Opens the log that conf asks for, in a lane, too. NULL and errno; told as by
 * logging_tell().
 */
struct logsink *logging_prepare(const struct conf *conf, FILE *answer);

/* Has a lane open the log's file anew; see s->reopening. */
void logging_reopen(struct supervisor *s);

/* Logs a line, and writes it for a client (answer NULL: for none). */
void logging_tell(FILE *answer, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
