#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

/*
 * A process as the daemon sees it, from the two ends of its channel until
 * what it never received has been taken back. The core knows it by its
 * number.
 */

#include <sys/queue.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "daemon/group.h"
#include "daemon/kept.h"
#include "daemon/retake.h"
#include "sys/loop.h"
#include "sys/reap.h"

/* Characters of an identifier. */
#define WORKER_ID_LEN KEEPER_ID_LEN

/* Longest text of a STATUS that is kept. */
#define WORKER_STATUS_MAX 128

struct child_result;
struct forking;
struct timeout_report;

struct worker {
	RB_ENTRY(worker) by_pid; /* in supervisor.pids, from start to death */
	struct supervisor *sup;
	struct group *group;
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
	struct kept output;
	TAILQ_ENTRY(worker) start_next; /* in its group's queued, or starting */
	bool queued; /* not started yet; others are before it */
	struct child_result *starting; /* its start is under way; else NULL */
	uint64_t fork_serial; /* of the FORK it was sent last; 0: none */
	struct forking *forking; /* owned; NULL: it is not being forked */
	struct timeout_report *report; /* being made; NULL: none */
	int pending_signal; /* to be sent when it is started; 0: none */
	bool pending_group; /* to the whole group */
	uint64_t sent; /* bytes, through the channel */
	uint64_t received; /* of them, at the latest look; see pickup.h */
	tstamp unread_since; /* it has received no more; NEVER: all there was */
	tstamp look_at; /* the next look at that; NEVER: all was received */
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

/* Draws an identifier: WORKER_ID_LEN characters and a NUL. */
void worker_make_id(char *id);

/* A worker not started yet, in the place of its number; NULL: no memory. */
struct worker *worker_new(struct supervisor *s, uint32_t process);

/*
 * A worker that is not started has no channel and no output any more, and
 * another identifier: a process may have had them.
 */
void worker_disown(struct worker *w);

/* The template is not being forked any more. */
void worker_end_forking(struct worker *w);

/* Frees the worker; the core has let its number go, or does next. */
void worker_free(struct worker *w);

/*
 * From its start to its death a worker can be found by its pid, and signalled.
 * A dead one is kept while what it never received is taken back.
 */
void worker_started(struct worker *w, pid_t pid);
void worker_died(struct worker *w, const struct reap_death *);

/* The worker of this pid; NULL: none. */
struct worker *worker_find(struct supervisor *s, pid_t pid);

/* The worker with the next higher pid; NULL: none. */
struct worker *worker_after(struct supervisor *s, pid_t pid);

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

/* Closes our end of the channel. */
void worker_hang_up(struct worker *w);

/* "web: worker ab12cd34 (pid 4711)" for the log. Returns buf. */
const char *worker_name(const struct worker *w, char *buf, size_t size);

#endif
