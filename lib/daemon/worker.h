#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

/*
 * Processes as the daemon sees them, from the two ends of their channel until
 * what they never received has been taken back. The core knows a worker by its
 * number; a template, which forks workers, it does not know.
 */

#include <sys/queue.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "sys/loop.h"
#include "sys/reap.h"

struct action;
struct child_result;
struct fork;
struct template;
struct timeout_report;

/* Characters of an identifier. */
#define WORKER_ID_LEN KEEPER_ID_LEN

/* Longest text of a STATUS that is kept. */
#define WORKER_STATUS_MAX 128

/* The start of a worker, until it has a number; see start.c and spawn.c. */
struct worker_start {
	TAILQ_ENTRY(worker) next; /* in its group's queued, or starting */
	bool queued; /* not begun yet; others are before it */
	struct child_result *result; /* under way in the lane; else NULL */
	struct fork *fork; /* it is being forked; else NULL */
	int signal; /* to be sent when it is started; 0: none */
	bool to_group; /* to the whole group */
};

/* What a worker has received of what it was sent; see pickup.h. */
struct pickup {
	uint64_t sent; /* bytes, through the channel */
	uint64_t received; /* of them, at the latest look */
	tstamp unread_since; /* it has received no more; NEVER: all there was */
	struct timer timer; /* the next look; not set: all was received */
};

void pickup_init(struct pickup *p);

struct worker {
	RB_ENTRY(worker) by_pid; /* in supervisor.pids, from start to death */
	TAILQ_ENTRY(worker) next; /* in its group's workers */
	struct supervisor *sup;
	struct group *group; /* NULL: it is a template, and the app is gone */
	struct template *template; /* owned; NULL: it is a worker */
	uint32_t process; /* number in the pool */
	uint32_t slot;
	uint32_t generation; /* of its app when it was started */
	char id[WORKER_ID_LEN + 1];
	pid_t pid; /* 0: not started yet, or reaped */
	bool one_session; /* it was started with handoff = stdio */
	bool adapted; /* with accept: its child is the program */
	bool parks; /* it was started with keep_alive */
	bool keeps; /* what it has not received is not taken back */
	int child_end; /* of the channel; -1 without one */
	struct loop_io channel; /* our end; fd -1 likewise */
	bool refuses; /* no descriptors can lie unread in our end */
	struct kept *output; /* NULL: no keeper reads it */
	struct worker_start start;
	uint64_t fork_serial; /* of the FORK it was sent last; 0: none */
	struct timeout_report *report; /* being made; NULL: none */
	struct pickup pickup;
	int memory_fd; /* tells its resident size; -1: not open yet */
	tstamp memory_at; /* when it was asked last */
	tspan cpu; /* processor time it had used, */
	tstamp cpu_at; /* ... by then; 0: not looked at yet */
	double processors; /* it kept busy before that */
	bool accepts; /* it is known to accept; see backlog.h */
	struct retake retake; /* once it is dead */
	bool unread_lost; /* some of it could not be taken back */
	struct reap_death death; /* likewise; all zero before */
	bool starved; /* killed, perhaps for want of memory */
	bool asked; /* for its last line on stderr */
	bool backs_off; /* NEWS_BACKOFF is told after its end */
	char *words; /* that line, owned; NULL: not known, or none */
	char *status; /* text of its last STATUS, owned; NULL: none */
	tstamp second; /* messages are counted from here, for one second */
	unsigned messages; /* EVENT and STATUS in that second */
	unsigned loose; /* messages about no connection, likewise */
};

/* --- worker.c ------------------------------------------------------------ */

/* No number in the pool, and no slot: it is a template. */
#define WORKER_TEMPLATE UINT32_MAX

/*
 * A worker not started yet, in the place of its number; or a template of the
 * group. NULL and errno.
 */
struct worker *worker_new(struct group *g, uint32_t process);

/* Opens its channel, if processes of its app have one. 0, or -1 and errno. */
int worker_open_channel(struct worker *w);

/* Closes our end of the channel. */
void worker_hang_up(struct worker *w);

/*
 * A worker that is not started has no channel and no output any more, and
 * another identifier: a process may have had them.
 */
void worker_disown(struct worker *w);

/* Frees the worker; the core has let its number go, or does next. */
void worker_free(struct worker *w);

/*
 * From its start to its death a process can be found by its pid, and signalled;
 * its packets are read. A dead worker is kept while what it never received is
 * taken back.
 */
void worker_started(struct worker *w, pid_t pid);
void worker_died(struct worker *w, const struct reap_death *);

/* The process of this pid; the one with the next higher pid; NULL: none. */
struct worker *worker_find(struct supervisor *s, pid_t pid);
struct worker *worker_after(struct supervisor *s, pid_t pid);

/* Whether one whose start is in the lane has it. */
bool worker_is_starting(const struct supervisor *s, pid_t pid);

/*
 * The folder in /proc of its program, which is not always the process itself:
 * a descriptor, or -1 and errno.
 */
int worker_program(const struct worker *w);

/*
 * Until the start is over the signal is kept; but SIGKILL is sent at once. A
 * process that was reaped gets none.
 */
void worker_signal(struct worker *w, int sig, bool group);

/* "web: worker ab12cd34 (pid 4711)" for the log. Returns buf. */
const char *worker_name(const struct worker *w, char *buf, size_t size);

/* --- start.c: the start of a program -------------------------------------- */

/*
 * Starts the program of the worker or template, in a lane. done() is called in
 * the loop when that is over: with NULL, and the worker has its pid; or with
 * the reason why not, and whether it is that the system had no room. 0; or -1
 * and errno: EAGAIN if none of the listeners of an app that accepts itself is
 * open.
 */
int start_program(struct worker *w,
    void (*done)(struct worker *w, const char *why, bool no_room, tstamp now));

/* --- spawn.c: which worker is started next ---------------------------------
 */

/* Starts under way at a time, of all apps and of one. */
#define SPAWN_MAX 16
#define SPAWN_MAX_EACH 4

/* The group is new. */
void spawn_init(struct group *g);

/* ACTION_SPAWN. */
void spawn_process(struct supervisor *s, const struct action *a, tstamp now);

/* A queued worker is told to stop: it is never started, and freed. */
void spawn_call_off(struct worker *w, tstamp now);

/*
 * A worker that a template was to fork is killed, and cannot be found: it sees
 * the end of its channel, and is freed.
 */
void spawn_abandon(struct worker *w, tstamp now);

/*
 * After the actions of each turn: begins what starts there may be. Whether it
 * has: the core may want more then.
 */
bool spawn_queued(struct supervisor *s, tstamp now);

#endif
