#ifndef CONTROL_ROOM_H
#define CONTROL_ROOM_H

/*
 * The room of the control socket, by the file that defines each function; a
 * file calls those before it. A client says one line and is given the answer as
 * fast as it reads; see apppoolctl(8). Nothing waits for a client, and its
 * costs have a bound. A user but root and the daemon's own is a stranger, who
 * can keep nobody out.
 */

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/action.h"
#include "core/app.h"
#include "core/pool.h"
#include "core/window.h"
#include "daemon/counter.h"
#include "daemon/group.h"
#include "daemon/state.h"
#include "daemon/worker.h"
#include "sys/commands.h"
#include "sys/emit.h"
#include "sys/listener.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/text.h"

struct control;
struct dump;

/* --- status.c: one snapshot of everything ------------------------------- */

enum status_format {
	STATUS_JSON,
	STATUS_JSON_APPS, /* the same without the workers */
	STATUS_TEXT, /* the same without quotes, for the log */
	STATUS_METRICS, /* the text format of Prometheus, 0.0.4 */
	STATUS_OPENMETRICS, /* OpenMetrics 1.0 */
};

/* A string of the snapshot is its offset in status.strings, or this. */
#define STATUS_NO_STRING SIZE_MAX

/* Figures of a daemon, an app or a worker; others are null. */
enum status_has {
	HAS_SHARE = 1 << 0, /* of a processor, measured */
	HAS_SESSIONS = 1 << 1, /* connections are handed over */
	HAS_CLIENTS = 1 << 2, /* it, or it accepts them itself */
	HAS_WAITING = 1 << 3,
	HAS_BACKLOG = 1 << 4,
	HAS_WINDOWS = 1 << 5, /* the last minute is known */
	HAS_TARGET = 1 << 6,
	HAS_NEED = 1 << 7,
	HAS_KEPT = 1 << 8,
	HAS_RESIZED = 1 << 9,
	HAS_ROLLOUT = 1 << 10,
	HAS_GIVEN_UP = 1 << 11,
	HAS_LIMIT = 1 << 12,
	HAS_START_TIME = 1 << 13,
	HAS_FAILURE_AGE = 1 << 14,
	HAS_TEMPLATE = 1 << 15,
	HAS_SLOT = 1 << 16,
	HAS_PID = 1 << 17, /* of the worker, or the template of the app */
	HAS_PROCINFO = 1 << 18, /* likewise */
	HAS_COUNTER = 1 << 19, /* of the daemon */
	HAS_IDLE = 1 << 19, /* of a worker */
	HAS_BUSY = 1 << 20, /* likewise */
	HAS_CANARY = 1 << 20, /* of an app */
	HAS_OUTPUT = 1 << 21,
	HAS_CLOSING = 1 << 22, /* its close_delay is under way */
	HAS_READY = 1 << 23, /* it has not left the file */
	HAS_AUTO = 1 << 24,
	HAS_SIZE = 1 << 25, /* of its processes, measured */
	/* As enum cgroup_has, in its order: */
	HAS_CGROUP = 1 << 26,
	HAS_CGROUP_MEMORY = 1 << 27,
	HAS_CGROUP_PEAK = 1 << 28,
	HAS_CGROUP_TASKS = 1 << 29,
	HAS_CGROUP_PRESSURE = 1 << 30,
};

struct status_worker {
	uint32_t process; /* its number in the pool */
	uint32_t has;
	uint32_t slot;
	uint32_t generation;
	uint32_t sessions;
	pid_t pid; /* 0: not started yet */
	uint64_t requests;
	const char *state;
	size_t id; /* string */
	size_t text; /* string: its own words, or none */
	size_t request; /* string: of its oldest session, or none */
	tspan age;
	tspan in_state; /* idle, or busy, for so long */
	/* Measured as it is written: */
	uint64_t rss;
	tspan cpu;
};

struct status_template {
	const char *state;
	bool ready;
	pid_t pid; /* 0: none */
	size_t id; /* string, or none */
	size_t from; /* string: the worker that forked it, or none */
	size_t failure; /* string: the last one, or none */
	tspan age;
	uint64_t forked;
	uint64_t failures;
	uint64_t rss; /* measured as it is written */
};

struct status_rollout {
	const char *state;
	uint32_t generation;
	uint32_t done;
	uint32_t of;
	uint32_t outdated; /* not replaced yet */
	bool given_up;
	size_t given_up_for; /* string: the failure that ended it, or none */
	tspan age; /* of that */
	uint32_t canary; /* its processes, */
	tspan canary_left; /* and what is left of canary_time */
};

/* max_processes = auto. */
struct status_auto {
	uint64_t memory; /* of the box, and what is left free of it */
	uint64_t reserve;
	double processors;
	struct autosize fit;
};

struct status_limit {
	size_t server; /* string */
	size_t key; /* string */
	uint32_t workers;
	struct limiter_figures locks;
};

/* Measured as the app is written: */
struct status_measured {
	uint64_t backlog;
	const char *no_backlog; /* why it cannot be known; or NULL */
	double kept; /* percent of connections within target_wait */
	double rate; /* connections that processes were given in a second */
	const struct window *queue_wait;
	const struct window *session_time;
};

struct status_app {
	uint32_t number; /* in the pool */
	uint32_t has;
	uint32_t first; /* index of its first worker in status.workers */
	uint32_t count;
	size_t name; /* string */
	size_t listen; /* strings, of which the last is empty */
	uint64_t restored; /* socket files of these, put back */
	size_t failure; /* string: the last failure, or none */
	tspan failure_age;
	const char *state;
	tspan state_for; /* so long */
	tspan closing_in;
	bool ready;
	const char *handoff;
	struct app_options options; /* as they are in force now */
	struct group_resizing size;
	bool rolled_back;
	struct status_auto autosize;
	const char *accept_by; /* NULL: it is not accept */
	uint32_t processes;
	uint32_t stuck;
	uint32_t in_state[PROCESS_STATES]; /* the killed are stopping, too */
	double load; /* percent */
	double work; /* processes */
	struct status_rollout rollout;
	uint64_t waiting;
	tspan oldest_wait; /* 0: none waits */
	tspan backoff; /* from now; 0: none */
	tspan idle_while_waiting;
	tspan start_time;
	uint32_t need; /* processes for that; 0: unknown */
	struct app_figures figures;
	struct buckets queue_wait; /* since the app is there */
	struct buckets session_time;
	struct keeper_sight keepers[KEEPER_SIGHTS];
	uint32_t nkeepers;
	struct status_template template;
	struct status_limit limit;
	struct cgroup_figures cgroup;
	struct status_measured measured;
};

struct status {
	struct supervisor *sup; /* to measure; outlives the snapshot */
	size_t size; /* bytes of memory it takes */
	enum status_format format;
	tstamp at; /* of the snapshot */
	uint32_t has;
	const char *version;
	pid_t pid;
	const char *state;
	tspan uptime;
	size_t config; /* string: the file */
	uint64_t generation;
	uint32_t max_processes;
	struct status_auto autosize;
	uint32_t processes;
	uint32_t living;
	uint32_t active;
	uint32_t waiting;
	size_t counter_listen; /* strings, likewise */
	struct counter_figures counter;
	struct status_app *apps;
	size_t napps;
	struct status_worker *workers; /* by app */
	size_t nworkers;
	struct text strings; /* each with its NUL */
	/* How far the snapshot is written: */
	bool begun;
	bool ended;
	size_t figure; /* of metrics, */
	uint32_t within; /* and what its object needs */
	size_t app;
	bool app_begun;
	size_t worker;
	struct text piece;
	struct text words; /* of it */
	struct emit json;
};

static inline const char *
status_string(const struct status *st, size_t string)
{
	return string == STATUS_NO_STRING ? NULL : st->strings.data + string;
}

/* app NULL: all. NULL and errno (ENOENT: no such app). */
struct status *status_take(struct supervisor *s, const char *app,
    enum status_format format, tstamp now);

void status_free(struct status *st);

/* --- figures.c: how it is written --------------------------------------- */

/*
 * Gives the next piece, of a bounded size, so that the status of thousands of
 * workers holds up no hand-over; it stays until the next call. NULL: no more.
 */
const char *figures_next(struct status *st, size_t *len_out);

/* --- dump.c: the snapshot, written to dump_file or to the log ----------- */

/* Begins a dump, which c->dump is until it has ended; unless one is there. */
void dump_start(struct control *c, tstamp now);

/* --- follow.c: a client's way through events, or through output ---------- */

struct follow {
	const struct events *events;
	char *of; /* app or worker, not owned; NULL: the daemon and all apps */
	uint64_t last; /* so many of the newest */
	bool on; /* and what happens later */
	bool json;
	uint64_t found; /* of all that there was at first */
	uint64_t owed; /* of these, still to be told */
	uint64_t later; /* number of the first that was not there then */
	struct events_place place; /* of the next one */
	bool said; /* something, so far */
	struct text piece;
};

/*
 * args: "[APP|ID] [-n N] [-f]" in any order, and NULL; they are to stay.
 * output: lines of output instead of events. NULL, and what is wrong.
 */
struct follow *follow_new(const struct events *events, bool output,
    char *const *args, bool json, const char **why_out);

void follow_free(struct follow *f);

/*
 * Gives the next piece, which may be empty and stays until the next call; NULL:
 * no more, up to now if it follows.
 */
const char *follow_next(struct follow *f, size_t *len_out);

/* Whether there are more, or were since follow_next() gave all. */
static inline bool
follow_has_more(const struct follow *f)
{
	return f->place.number <= f->events->last[f->place.output] &&
	    (f->on || f->place.number < f->later);
}

/* --- control.c ----------------------------------------------------------- */

#define CLIENT_LINE_MAX 4096 /* without its newline */

/* A line, taken apart. */
struct command_line {
	bool json; /* the line began so, */
	bool progress; /* or so, and not in JSON: words that are left out */
	char *words[COMMAND_WORDS_MAX + 1]; /* of the line; and NULL */
	size_t nwords; /* at least 1 */
};

enum client_state {
	CLIENT_READING,
	CLIENT_WAITING, /* for what `waits` says, or for memory */
	CLIENT_WRITING,
};

enum client_wait {
	WAIT_NOTHING,
	WAIT_APPS, /* as long as its goes_on says so */
	WAIT_EVENTS, /* for the next, or a line, after the answer so far */
	WAIT_END, /* for the end of the daemon; likewise */
	WAIT_MEMORY, /* for other snapshots to be read to their end */
};

/* "3 of 8 ready" */
struct progress {
	uint32_t done;
	uint32_t of; /* 0: nothing to be told */
	const char *what; /* a constant */
};

struct client {
	TAILQ_ENTRY(client) next;
	struct control *all;
	struct loop_io io;
	struct timer deadline; /* cuts it off */
	tstamp came; /* or has asked to wait */
	uid_t uid; /* of who connected; -1: not known */
	enum client_state state;
	enum client_wait waits;
	bool counted; /* in nwaiting */
	char line[CLIENT_LINE_MAX + 2]; /* with newline, and one too many */
	size_t len; /* of what has come; then, of the line without newline */
	bool again; /* another program of the daemon's has run the command */
	struct command_line said; /* in the line */
	enum command_id id; /* of the command in it */
	const char *app; /* of status and wait; NULL: all */
	struct targets *targets; /* of what it waits for; owned; or NULL */
	bool (*goes_on)(struct client *, struct progress *out);
	struct reload_answer *reload; /* a reference; NULL: waits for none */
	struct progress shown;
	struct text out; /* the answer, but for a status */
	struct emit json; /* of it */
	bool wants; /* a status, not yet taken, */
	enum status_format format; /* in this form */
	struct status *status; /* NULL: none, or no more */
	struct follow *follow; /* behind out; NULL: none */
	const char *data; /* being sent; lies in out, status or follow */
	size_t data_len;
	size_t sent;
	tstamp until; /* the whole answer has to be taken */
};

struct control {
	struct supervisor *sup;
	void (*run)(struct client *, tstamp now);
	TAILQ_HEAD(client_list, client) list;
	unsigned n;
	unsigned max; /* at a time */
	unsigned nwaiting; /* clients that wait, but for memory; and those
			      that follow events, even while they read */
	size_t status_bytes; /* of all snapshots together */
	bool worked; /* the expensive step of this turn has been done */
	struct log_rate refused_rate; /* of command.c */
	tstamp looked; /* at those that wait */
	struct timer wake; /* there may be something to do then */
	struct acceptor acceptor; /* closed: there is no control socket */
	mode_t mode; /* of its file */
	gid_t gid;
	/* Of a change that is neither committed nor aborted: */
	struct listener fresh; /* in place of the acceptor's; fd -1: none */
	uint32_t spare; /* descriptors */
	struct dump *dump; /* of the state, under way; NULL: none */
	tstamp busy_since; /* clients keep an upgrade waiting; 0: not so */
};

/*
 * Registers the control socket with the supervisor as a service, and as what
 * SIGUSR1 calls; run: command_run(). False, logged: no memory.
 */
bool control_register(
    struct supervisor *s, void (*run)(struct client *, tstamp now));

/* Of an app, and why. */
#define GIVEN_UP "%s: the new processes fail, the old ones stay: %s"

/* False: too many wait, and the client was told so. */
bool client_may_wait(struct client *cl);

/*
 * Has the client wait as long as goes_on returns true, which is asked at once
 * and at the end of turns of the loop; goes_on tells the client the end.
 */
void client_wait_while(
    struct client *cl, bool (*goes_on)(struct client *, struct progress *out));

/* Adds to the answer: lines of text, in JSON one object. */
void client_tell(struct client *cl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the last line of an unsuccessful answer. */
void client_error(struct client *cl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether a rollout is under way, or the reason of its end not yet told. */
static inline bool
wait_is_rolling(const struct app *a)
{
	return app_rolling(a) || (a->news & 1u << NEWS_GIVEN_UP) != 0;
}

/* --- steer.c: the commands that steer apps and workers ------------------- */

struct target {
	uint32_t app; /* its number in the pool */
	uint64_t app_stamp; /* tells it from a later one of that number */
	uint32_t process; /* likewise; ILIST_NONE: the app as a whole */
	uint64_t stamp;
	uint32_t of; /* processes or sessions that the command waits for */
	pid_t pid; /* of the worker */
	char id[WORKER_ID_LEN + 1];
	char name[EVENTS_APP_MAX + 1]; /* of the app; if need be cut */
};

struct targets {
	size_t len;
	struct target list[];
};

/* If need be one that is leaving. */
struct group *target_lookup(const struct supervisor *s, const char *name);

/* Tells the client that there is no such thing, and which app may be meant. */
void target_none(struct client *cl, const char *what, const char *name);

/* The one app that all of these words, or workers among them, are of. */
const struct group *target_subject(
    const struct supervisor *s, char *const *words);

/* Does what a command wants; the answer is one line, when it is done. */
void steer_run(struct client *cl);

/* --- command.c: the commands of the socket, see apppoolctl(8) ------------ */

/*
 * Takes a line of len bytes apart; line[len] is there and may be written to.
 * Words stand apart by blanks or tabs. NULL, or what is wrong with it.
 */
const char *command_split(char *line, size_t len, struct command_line *out);

/*
 * Does what the line of a client says. Afterwards its waits, wants and out say
 * how it goes on.
 */
void command_run(struct client *, tstamp now);

#endif
