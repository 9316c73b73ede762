#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

/*
 * Processes as the daemon sees them. The core knows a worker by its number; a
 * template, which forks workers, it does not know.
 */

#include "core/request.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "sys/procinfo.h"

#define WORKER_ID_LEN KEEPER_ID_LEN /* characters of an identifier */
#define WORKER_TEMPLATE UINT32_MAX /* as process and slot: a template */

/* The start of a worker, until it has a number; see start.c. */
struct worker_start {
	TAILQ_ENTRY(worker) next; /* in its group's queued, or starting */
	bool queued; /* not begun yet; others are before it */
	struct child_result *result; /* under way in the lane; else NULL */
	struct fork *fork; /* it is being forked; else NULL */
	int signal; /* to be sent when it is started; 0: none */
};

/* How much a worker has said lately; see channel.c. */
struct worker_pace {
	tstamp since; /* messages are counted from here, for one second */
	unsigned texts; /* EVENT and STATUS among them */
	unsigned extra; /* those about no connection */
};

/* The receipts of a worker for what it was sent; see channel.c. */
struct pickup {
	uint64_t sent; /* bytes, through the channel */
	uint64_t received; /* of them, at the latest look */
	tstamp unread_since; /* it has received no more; NEVER: all there was */
	struct timer timer; /* the next look; not set: all was received */
};

/* The use at the latest measurement; see autosize.c. */
struct worker_usage {
	tstamp at; /* 0: never */
	bool under_way;
	uint64_t requests; /* that had ended then */
	struct procinfo_usage found; /* most 0: it had served nobody */
};

/* A worker from its death to the end of its struct; see worker.c. */
struct leaving {
	unsigned step; /* the next one */
	struct reap_death death; /* all zero before */
	bool oom; /* the kernel has killed it for want of memory */
	bool starved; /* perhaps so, where it has no cgroup */
	bool asked; /* for the last lines that it has printed */
	bool backs_off; /* NEWS_BACKOFF is told after its end */
};

struct worker {
	RB_ENTRY(worker) by_pid; /* in supervisor.pids, from start to death */
	TAILQ_ENTRY(worker) next; /* in its group's workers */
	struct supervisor *sup;
	struct group *group; /* NULL: it is a template, and the app is gone */
	struct template *template; /* owned; NULL: it is a worker */
	uint32_t process; /* number in the pool */
	uint32_t slot;
	char id[WORKER_ID_LEN + 1];
	pid_t pid; /* 0: not started yet, or reaped */
	bool adapted; /* started with accept: its child is the program */
	bool parks; /* it was started with keep_alive */
	int slow_signal; /* it was started with; 0: none */
	bool keeps; /* what it has not received is not taken back */
	struct retake retake; /* of what it has not received; end NULL: none */
	uint32_t taken; /* by that, of a living process; ILIST_NONE: nothing */
	bool lost; /* some of that could not be taken back */
	int child_end; /* of the channel; -1 without one */
	struct loop_io channel; /* our end; fd -1 likewise */
	bool refuses; /* no descriptors can lie unread in our end */
	struct output *output; /* NULL: no keeper reads it */
	struct worker_start start;
	struct pickup pickup;
	struct worker_pace pace;
	struct timeout_report *report; /* being made; NULL: none */
	int memory_fd; /* tells its resident size; -1: not open yet */
	tstamp memory_at; /* when it was asked last */
	tspan cpu; /* processor time it had used, */
	tstamp cpu_at; /* ... by then; 0: not looked at yet */
	double processors; /* it kept busy before that */
	struct worker_usage usage;
	bool accepts; /* it is known to accept; see backlog.c */
	char *status; /* text of its last STATUS, owned; NULL: none */
	struct leaving leaving;
};

/* --- worker.c ---------------------------------------------------------- */

/*
 * A worker not started yet, or a template; NULL and errno. Freed when the core
 * has let the number go, or does next.
 */
struct worker *worker_new(struct group *g, uint32_t process);
void worker_free(struct worker *w);

/* Before a start: no channel and output, and a new identifier. */
void worker_disown(struct worker *w);

/* Between them a worker or template has its pid, and its packets are read. */
void worker_started(struct worker *w, pid_t pid, tstamp now);
void worker_died(struct worker *w, const struct reap_death *);

/*
 * The process of this pid, or (worker.pid 0) the one that has it in the lane
 * where it is being started; NULL: none.
 */
struct worker *worker_find(struct supervisor *s, pid_t pid);

/*
 * 0 is no signal. SIGKILL is for the whole group. Until the start is over the
 * signal is kept, and SIGKILL sent, too. A process that was reaped gets none.
 */
void worker_signal(struct worker *w, int sig);

/* "web: worker ab12cd34 (pid 4711)" for the log. Returns buf. */
const char *worker_name(const struct worker *w, char *buf, size_t size);

/* The request of its oldest session; NULL: not known, or not to be told. */
static inline const char *
worker_request(const struct worker *w)
{
	uint32_t conn = w->sup->pool.processes[w->process].conns.first;

	return conn == ILIST_NONE || !w->group->conf->log_requests
	    ? NULL
	    : w->sup->accepted[conn].request;
}

/* ", request "GET / HTTP/1.1"" for the log; or "". Returns buf. */
#define WORKER_REQUEST (REQUEST_SIZE + 16)
const char *worker_tell_request(
    const struct worker *w, char buf[WORKER_REQUEST]);

/* fire() of reaping.timer. */
void death_reap_some(struct timer *t, tstamp now);

/*
 * SIGCHLD, which tells of this child: it and all others that are dead are
 * reaped, a few now and the others in the next turns.
 */
void death_signalled(struct supervisor *s, pid_t pid, tstamp now);

/*
 * The process is reaped, with its group. The steps of leaving begin, and go on
 * with what they wait for; or it is a template, and no more.
 */
void death_begin(struct worker *w, const struct reap_death *death, tstamp now);
void death_go_on(struct worker *w, tstamp now);

/* --- start.c ----------------------------------------------------------- */

/* Starts of one app under way at a time. */
#define START_MAX_EACH 4

/* ACTION_SPAWN queues a worker; start_call_off() frees it, not started. */
void start_process(struct supervisor *s, const struct action *a, tstamp now);
void start_call_off(struct worker *w, tstamp now);
void start_queue(struct worker *w, tstamp now);

/*
 * After the actions of each turn: begins what starts there may be. True: there
 * were some, and the core may want more.
 */
bool start_queued(struct supervisor *s, tstamp now);

/*
 * Starts the program of the worker or template, in a lane. 0; or -1 and errno:
 * EAGAIN if none of the listeners of an app that accepts itself is open.
 */
int start_program(struct worker *w);

/* It was not forked, and is started by itself, unless it is to end anyway. */
void start_unforked(struct worker *w, tstamp now);

/* --- channel.c: the worker protocol; see apppool-worker(7) ------------- */

/* 0 where processes of the app have none; -1 and errno. */
int channel_open(struct worker *w);
void channel_close(struct worker *w); /* our end */

/* ready() of worker.channel; and what a dead process said last. */
void channel_ready(struct loop_io *io, uint32_t events, tstamp now);
void channel_read_rest(struct worker *w, tstamp now);

/* ACTION_HAND; our copy is closed, or left to keep_alive. And ACTION_STOP. */
void channel_hand(struct supervisor *s, const struct action *a, tstamp now);
void channel_stop(struct worker *w);

/* fire() of pickup.timer: since when what was handed over lies unread. */
void pickup_look(struct timer *t, tstamp now);

/* ACTION_TAKE: has the keeper receive the oldest message in its place. */
void channel_take(struct supervisor *s, const struct action *a, tstamp now);

/*
 * The same without any condition; or, of a dead process, all messages. Then its
 * leaving goes on.
 */
void channel_take_back(struct worker *w, bool living);

/* The connection a CONN message is about; ILIST_NONE: it is none. */
uint32_t channel_conn(
    const struct supervisor *s, const char *message, size_t len);

/* --- template.c -------------------------------------------------------- */

/*
 * An app with template = true has a process that loads its program once and
 * forks its workers; see apppool-worker(7). With refork_after a worker that has
 * served so many requests forks the next template, which so begins with what
 * that one has loaded.
 *
 * An app has one template at a time, of its newest generation. Workers wait for
 * the first one of a generation; while no other one can be relied on, they are
 * started by themselves.
 */

enum template_state {
	TEMPLATE_STARTING,
	TEMPLATE_READY,
	TEMPLATE_LEAVING, /* has been asked to end, or killed */
	TEMPLATE_STUCK, /* is still there after that */
};

/* A process that is a template. */
struct template
{
	TAILQ_ENTRY(template) next; /* in templates.all */
	struct worker *w; /* the process, which is ours */
	enum template_state state;
	char from[WORKER_ID_LEN + 1]; /* of the worker that forked it; or "" */
	bool silent; /* it has shut its end of the channel */
	tstamp begun;
	struct timer timer; /* the end of our patience with it */
};

/* The templates of an app. */
struct templating {
	struct group *group;
	struct template *current; /* forks workers; NULL: none */
	struct template *coming; /* not ready yet; NULL: none */
	bool begun; /* there was one of this generation of the app */
	uint32_t generation;
	bool failed; /* a template of this generation has */
	bool told; /* of a failure; recovery will be, too */
	struct backoff backoff;
	struct prng prng;
	struct timer timer; /* of the next start; see template_update() */
	tstamp refork_at; /* no worker is asked to fork one before */
	uint64_t forked; /* processes */
	uint64_t failures;
	char failure[256]; /* the last one; "": none yet */
};

/* The group is new, has other options, or (closing) is freed next. */
void template_configure(struct group *g, tstamp now);

/* A template of the newest generation, or none where there are no workers. */
void template_update(struct group *g, tstamp now);

/* Whether there are some, of those that are not stuck. */
bool template_leaves(const struct group *g);

/* Its program runs (why NULL), does not start, or has ended. */
void template_tried(struct template *t, const char *why, tstamp now);

/*
 * For a worker with a channel and no output yet: worker_started() or
 * start_unforked() follows. False: there is no template for it, or no room.
 */
bool template_fork(struct worker *w);

/* The core knows that a session of this worker, which may be warm, is over. */
void template_served(struct worker *w, tstamp now);

/* Behind FORKED was "SERIAL PID"; pid 0: it could not. False: not asked. */
bool fork_answered(struct worker *by, const char *text, size_t len, tstamp now);

/* The worker was asked and has not answered; or it is being freed. */
bool fork_is_asked(const struct worker *by);
void fork_forget(const struct worker *by);

/* To what was named, if it is a child of ours of that session. */
void fork_signal(const struct fork *f, int sig);

/*
 * There is no process (pid 0), or a wrong one, which sees the end of its
 * channel: start_unforked() follows, and the template is blamed.
 */
void fork_refuse(struct fork *f, pid_t pid, const char *what, tstamp now);

/* Reaps a child that nobody knows, with its group if it may be a fork. */
void fork_reap(
    struct supervisor *s, const struct reap_death *death, tstamp now);

#endif
