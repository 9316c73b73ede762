/* The watch over the turns of the loop, and our side of it. */

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/futex.h>

#include <string.h>
#include <unistd.h>

#include "sys/log.h"
#include "sys/loop.h"

/* Ignored where nobody handles it, and ours is not used for anything else. */
#define SIGNAL SIGURG

/* After so long without a turn the watch sleeps until the next one. */
#define DOZE_AFTER TSPAN_MSECONDS(100)

/* Between two starts, should the watch end again and again. */
#define START_PACE TSPAN_SECONDS(1)

/* Until another attempt, where there was no room for a process. */
#define RETRY_AFTER TSPAN_SECONDS(60)

/* Between two looks at what a daemon that was killed has left. */
#define ORPHANS_PACE TSPAN_MSECONDS(20)

/* How long a process is looked at that has been killed. */
#define ORPHANS_STUCK TSPAN_SECONDS(5)

struct watch_page {
	struct turn turn;
	_Atomic uint32_t children_len; /* beyond it none was ever told */
	struct watch_child children[WATCH_CHILDREN];
	/* Written by the watch: what it saw, and then how often it sent. */
	_Atomic uint32_t app;
	const char *_Atomic call;
	_Atomic uint32_t signals;
};

/* --- the process -------------------------------------------------------- */

/* Each is the leader of a session, so that another process is hardly met. */
static bool
orphan_is_there(pid_t pid)
{
	return pid != 0 && getsid(pid) == pid && kill(pid, 0) == 0;
}

/*
 * The daemon is gone, and did not end by itself. Its processes end as they do
 * when it stops; those that have a channel see its end.
 */
static _Noreturn void
end_orphans(struct watch_page *page)
{
	uint32_t len = atomic_load(&page->children_len);
	tstamp began = clock_now();
	bool some = true;

	for (uint32_t i = 0; i < len; i++)
		if (page->children[i].signal != 0 &&
		    orphan_is_there(page->children[i].pid))
			(void)kill(
			    page->children[i].pid, page->children[i].signal);
	while (some) {
		tspan since = clock_now() - began;

		some = false;
		for (uint32_t i = 0; i < len; i++) {
			struct watch_child *c = &page->children[i];

			/* SIGKILL does not end a process that is stuck. */
			if (!orphan_is_there(c->pid) ||
			    since >= c->wait + c->grace + ORPHANS_STUCK)
				continue;
			some = true;
			if (since >= c->wait + c->grace)
				(void)kill(-c->pid, SIGKILL);
			else if (since >= c->wait && !c->told)
				c->told = kill(c->pid, SIGTERM) == 0;
		}
		(void)nanosleep(
		    &(struct timespec){ .tv_nsec = ORPHANS_PACE }, NULL);
	}
	_exit(0);
}

static struct watch_page *watched; /* by this process; NULL: it is no watch */

/* The daemon has died: a sleep that is about to begin ends, too. */
static void
wake(int sig)
{
	(void)sig;
	atomic_store(&watched->turn.dozing, 0);
}

/* Looks once, and sleeps until it is worth looking again. */
static void
watch_look(struct watch_page *page, pid_t daemon)
{
	struct turn *t = &page->turn;
	/* In this order: a time that is too late does no harm. */
	bool busy = atomic_load(&t->busy) != 0;
	tspan since = clock_now() - atomic_load(&t->began), rest = WATCH_LIMIT;

	if (!busy && since >= DOZE_AFTER) {
		atomic_store(&t->dozing, 1);
		/* From here on the daemon's death ends the sleep: wake(). */
		if (atomic_load(&t->busy) == 0 && getppid() == daemon)
			(void)syscall(SYS_futex, &t->dozing, FUTEX_WAIT, 1,
			    NULL, NULL, 0);
		else
			atomic_store(&t->dozing, 0);
		return;
	}
	if (busy && since >= WATCH_LIMIT) {
		/* Without its parent the number may be somebody else's. */
		if (getppid() != daemon)
			return;
		atomic_store(&page->app, atomic_load(&t->app));
		atomic_store(&page->call, atomic_load(&t->call));
		atomic_fetch_add(&page->signals, 1);
		/* The first thread has the number of the process. */
		(void)syscall(SYS_tgkill, daemon, daemon, SIGNAL);
	} else if (busy && since > 0) {
		rest = WATCH_LIMIT - since;
	}
	(void)nanosleep(&(struct timespec){ .tv_nsec = (long)rest }, NULL);
}

/*
 * The life of the watch, from fork(2) on, until the daemon ends. The process it
 * was forked from may have threads: so it makes system calls only, and sets its
 * title, for which libbsd takes neither memory nor a lock.
 */
static _Noreturn void
be_watch(struct watch_page *page, pid_t daemon)
{
	sigset_t all;

	/* Signals to the daemon's group must not end the watch. */
	sigfillset(&all);
	sigdelset(&all, SIGNAL);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "apppool-watch");
	/* In ps(1), libbsd leaves a dot behind a title shorter than argv[0]. */
	setproctitle("%-*s", (int)strlen(program_invocation_name), "watch");
	watched = page;
	(void)signal(SIGNAL, wake);
	(void)prctl(PR_SET_PDEATHSIG, SIGNAL);
	(void)close_range(0, ~0U, 0);
	while (getppid() == daemon)
		watch_look(page, daemon);
	end_orphans(page);
}

/* --- our side ----------------------------------------------------------- */

/* The signal interrupts a call because there is a handler. */
static void
nothing(int sig)
{
	(void)sig;
}

static void
watch_start(struct timer *t, tstamp now)
{
	struct watch *w = TIMER_OWNER(t, struct watch, timer);
	pid_t daemon = getpid(), pid = fork();

	if (pid == 0)
		be_watch(w->page, daemon);
	w->started = now;
	if (pid != -1) {
		w->pid = pid;
		return;
	}
	log_warn("cannot start the watch over the loop");
	timer_set(&w->loop->timers, t, tstamp_add(now, RETRY_AFTER));
}

int
watch_init(struct watch *w, struct loop *loop)
{
	const struct sigaction action = { .sa_handler = nothing };
	void *map = mmap(NULL, sizeof(*w->page), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memset(w, 0, sizeof(*w));
	if (map == MAP_FAILED)
		return -1;
	(void)sigaction(SIGNAL, &action, NULL);
	w->loop = loop;
	w->page = map;
	w->own = turn_now;
	timer_init(&w->timer, watch_start);
	turn_now = &w->page->turn;
	watch_start(&w->timer, loop_now(loop));
	return 0;
}

void
watch_fini(struct watch *w)
{
	if (w->page == NULL)
		return;
	timer_set(&w->loop->timers, &w->timer, TSTAMP_NEVER);
	if (w->pid != 0)
		(void)kill(w->pid, SIGKILL);
	w->pid = 0;
	turn_now = w->own;
	(void)signal(SIGNAL, SIG_DFL);
	(void)munmap(w->page, sizeof(*w->page));
	w->page = NULL;
}

void
watch_child(struct watch *w, uint32_t n, const struct watch_child *child)
{
	if (n >= WATCH_CHILDREN || w->page == NULL)
		return;
	w->page->children[n] = *child;
	if (n >= atomic_load(&w->page->children_len))
		atomic_store(&w->page->children_len, n + 1);
}

bool
watch_exited(struct watch *w, pid_t pid, tstamp now)
{
	tstamp next = tstamp_add(w->started, START_PACE);

	if (pid != w->pid)
		return false;
	w->pid = 0;
	log_warnx("the watch over the loop has ended: another one is started");
	timer_set(&w->loop->timers, &w->timer, next > now ? next : now);
	return true;
}

bool
watch_saw(struct watch *w, struct watch_sight *out)
{
	uint32_t signals = atomic_load(&w->page->signals);

	if (signals == w->reported)
		return false;
	w->reported = signals;
	out->app = atomic_load(&w->page->app);
	out->call = atomic_load(&w->page->call);
	return true;
}
