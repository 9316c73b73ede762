/*
 * The daemon's loop: facts in, actions out; its signals, its word to whoever
 * waits for it to be ready, and its end.
 */

#include <sys/param.h>
#include <sys/prctl.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/counter.h"
#include "daemon/worker.h"
#include "sys/background.h"
#include "sys/descriptors.h"
#include "sys/manager.h"
#include "sys/procinfo.h"
#include "sys/sockets.h"

/* How long helpers, and the lanes, are waited for at the end. */
#define COUNTER_END TSPAN_MSECONDS(500)
#define KEEPER_END TSPAN_MSECONDS(500)
#define LANE_END TSPAN_MSECONDS(500)

/* For the last steps of a stop, once no process is left. */
#define END_TIME TSPAN_SECONDS(5)

/* How long the service manager shall go on waiting for a start, at least. */
#define START_TIME TSPAN_SECONDS(30)

/* Between two texts of status for the service manager. */
#define STATUS_PACE TSPAN_SECONDS(1)

/* --- the end ------------------------------------------------------------- */

/* SIGTERM is sent so long before the end. */
static tspan
supervisor_grace(const struct conf *conf)
{
	tspan grace = 0;

	for (size_t i = 0; i < conf->apps_len; i++)
		grace = MAX(grace, conf->apps[i].pool.kill_timeout);
	return grace;
}

/* close_delay is over, or 0: clients that come from now on are too late. */
static void
supervisor_close(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, close);
	const struct conf *conf = s->config;

	pool_stop(&s->pool, conf->stop_timeout - conf->close_delay,
	    supervisor_grace(conf), now);
	apps_close_unneeded(s, now);
}

void
supervisor_stop(struct supervisor *s, bool at_once, tstamp now)
{
	const struct conf *conf = s->config;
	tspan grace = supervisor_grace(conf), delay = conf->close_delay;
	struct group *g = NULL;
	struct template *t;
	char closes[64] = "";

	if (at_once ? s->pool.phase == POOL_ENDING : s->stopping)
		return;
	if (delay > 0)
		(void)snprintf(closes, sizeof(closes),
		    "; clients are accepted for %g s of that",
		    tspan_to_seconds(delay));
	if (at_once)
		tell_daemon(s, LOG_LEVEL_INFO, EVENT_STOP,
		    "stopping now, within %g s; the same signal again kills",
		    tspan_to_seconds(grace));
	else
		tell_daemon(s, LOG_LEVEL_INFO, EVENT_STOP,
		    "stopping, within %g s%s",
		    tspan_to_seconds(conf->stop_timeout), closes);
	(void)notify_send(
	    "STOPPING=1\nSTATUS=Stopping%s\nEXTEND_TIMEOUT_USEC=%lld",
	    at_once ? " now" : "",
	    (long long)((at_once ? grace : conf->stop_timeout) + END_TIME) /
		1000);
	s->stopping = true;
	if (!at_once && delay == 0) {
		supervisor_close(&s->close, now);
		return;
	}
	timer_set(
	    &s->loop.timers, &s->close, at_once ? TSTAMP_NEVER : now + delay);
	while ((g = group_next(s, g)) != NULL) {
		if (at_once) {
			g->closing = true;
			timer_set(
			    &s->loop.timers, &g->hold.close, TSTAMP_NEVER);
			listeners_close_all(&g->listeners);
			template_update(g, now);
		} else if (s->pool.apps[g->app].phase == APP_RUNNING) {
			pool_app_hold_soon(&s->pool, g->app, END_SHUTDOWN, now);
		}
	}
	if (!at_once)
		return;
	TAILQ_FOREACH(t, &s->templates.all, next)
		worker_signal(t->w, SIGKILL);
	pool_stop_now(&s->pool, grace, now);
}

/* Whether nothing is left but processes that SIGKILL does not end. */
static bool
supervisor_is_over(const struct supervisor *s)
{
	const struct template *t;

	if (!s->stopping || s->refusals.n > 0)
		return false;
	/* Nothing is left of the apps, but for processes that are stuck. */
	for (uint32_t app = 0; app < s->pool.napps; app++)
		if (s->pool.apps[app].phase != APP_FREE &&
		    s->pool.apps[app].phase < APP_STUCK)
			return false;
	TAILQ_FOREACH(t, &s->templates.all, next)
		if (t->state != TEMPLATE_STUCK)
			return false;
	return true;
}

/* --- signals ------------------------------------------------------------ */

/* Between a SIGHUP that may be of the terminal's end, and that end. */
#define HANGUP_TIME TSPAN_MSECONDS(100)

/* The terminal at our start, and who would tell us of its end. */
static struct {
	bool had;
	pid_t shell;
	pid_t parent;
} terminal;

/* To open /dev/tty would tell as well, but takes a lock of the terminal. */
static bool
supervisor_has_terminal(void)
{
	struct procinfo info;

	return procinfo_read(getpid(), false, &info) == 0 && info.terminal != 0;
}

/*
 * A SIGHUP tells that the terminal is gone, or asks for something. The shell is
 * told a moment before we lose the terminal, and may have passed the signal on
 * by then: so the terminal is looked at again a moment later (info NULL).
 */
static void
supervisor_hung_up(
    struct supervisor *s, const struct signalfd_siginfo *info, tstamp now)
{
	bool kernel = info != NULL && info->ssi_code == SI_KERNEL;
	bool told = info == NULL || (pid_t)info->ssi_pid == terminal.shell ||
	    (pid_t)info->ssi_pid == terminal.parent;

	if (terminal.had && (kernel || (told && !supervisor_has_terminal()))) {
		log_info("the terminal has hung up");
		supervisor_stop(s, false, now);
	} else if (terminal.had && told && info != NULL) {
		timer_set(&s->loop.timers, &s->hangup, now + HANGUP_TIME);
	} else {
		logging_reopen(s);
		reload_forget(reload_request(s, now));
	}
}

static void
supervisor_look_at_terminal(struct timer *t, tstamp now)
{
	supervisor_hung_up(
	    TIMER_OWNER(t, struct supervisor, hangup), NULL, now);
}

static void
supervisor_signalled(void *arg, const struct signalfd_siginfo *info, tstamp now)
{
	struct supervisor *s = arg;

	switch (info->ssi_signo) {
	case SIGCHLD:
		death_signalled(s, (pid_t)info->ssi_pid, now);
		break;
	case SIGHUP:
		supervisor_hung_up(s, info, now);
		break;
	case SIGUSR1:
		s->control->dump(s->control_arg, now);
		break;
	case SIGUSR2:
		reload_forget(upgrade_request(s, now));
		break;
	case SIGTERM:
	case SIGQUIT:
	case SIGINT:
		/* SIGINT, and another one, stop at once; and the next kills. */
		if (s->pool.phase != POOL_ENDING) {
			supervisor_stop(
			    s, s->stopping || info->ssi_signo == SIGINT, now);
			break;
		}
		tell_daemon(
		    s, LOG_LEVEL_INFO, EVENT_STOP, "killing what is left");
		pool_stop_now(&s->pool, 0, now);
		break;
	}
}

/* --- the terminal of -D, and the service manager -------------------------- */

/*
 * Whether every app has had min_processes ready; or also has failed, which is
 * no reason to keep the others waiting, unless a terminal is to be told.
 */
static bool
supervisor_is_ready(const struct supervisor *s)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_RUNNING && !a->announced &&
		    (s->background || !a->failed))
			return false;
	}
	return true;
}

/* Tells the service manager of readiness, and now and then the status text. */
static void
supervisor_report(struct supervisor *s, tstamp now)
{
	unsigned processes = 0, active = 0, failed = 0, apps = 0;
	unsigned long waiting = 0;
	char text[sizeof(s->told.text)];

	if (s->stopping)
		return;
	if (!s->told.ready && supervisor_is_ready(s)) {
		s->told.ready = notify_send("READY=1") == 0;
		if (s->told.ready)
			background_report(EX_OK);
		else /* The message must not be lost. */
			timer_advance(
			    &s->loop.timers, &s->told.timer, now + STATUS_PACE);
	}
	if (notify_watchdog() == -1)
		return;
	if (now < s->told.at) {
		/* Changes of this turn are told when it is time. */
		timer_advance(&s->loop.timers, &s->told.timer, s->told.at);
		return;
	}
	s->told.at = now + STATUS_PACE;
	if (!s->told.ready) {
		(void)notify_send(
		    "EXTEND_TIMEOUT_USEC=%lld", (long long)(START_TIME / 1000));
		timer_advance(&s->loop.timers, &s->told.timer, s->told.at);
	}
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct app *a = &s->pool.apps[app];

		if (a->phase == APP_FREE)
			continue;
		apps++;
		failed += a->failed ? 1 : 0;
		processes += app_processes(a);
		active += a->in_state[PROCESS_ACTIVE];
		waiting += app_waiting(a);
	}
	(void)snprintf(text, sizeof(text),
	    "%u apps (%u failed), %u of %u processes, %u active, %lu waiting",
	    apps, failed, processes, (unsigned)s->pool.max_processes, active,
	    waiting);
	if (strcmp(text, s->told.text) == 0)
		return;
	if (notify_send("STATUS=%s", text) == -1)
		timer_advance(&s->loop.timers, &s->told.timer, s->told.at);
	else
		(void)snprintf(s->told.text, sizeof(s->told.text), "%s", text);
}

/*
 * Answers the manager's watchdog: that the loop turns is the proof. An answer
 * that the manager has no room for is made up for by the next.
 */
static void
supervisor_say_alive(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, told.alive);

	(void)notify_send("WATCHDOG=1");
	timer_set(&s->loop.timers, t, tstamp_add(now, notify_watchdog() / 3));
}

/* --- the loop ----------------------------------------------------------- */

static void
supervisor_turn(struct supervisor *s)
{
	static struct log_rate long_turn_rate;
	struct watch_sight at;
	const struct group *g;
	tstamp now;

	if (loop_turn(&s->loop, pool_deadline(&s->pool)) == -1 &&
	    errno != EINTR)
		log_warn("epoll_wait");
	now = loop_now(&s->loop);
	if (pool_deadline(&s->pool) <= now)
		pool_tick(&s->pool, now);
	settle_actions(s);
	s->control->turn(s->control_arg, now);
	supervisor_report(s, now);
	upgrade_turn(s, now);
	/* The watch had to interrupt this turn. */
	if (!watch_saw(&s->watch, &at))
		return;
	g = at.app < s->pool.napps ? s->groups[at.app] : NULL;
	log_limited(&long_turn_rate, now, LOG_LEVEL_WARN,
	    "a turn of the loop lasted %.3f s and was interrupted at %s%s%s",
	    tspan_to_seconds(loop_lasts(&s->loop)),
	    at.call == NULL ? "work" : at.call, g == NULL ? "" : " for ",
	    g == NULL ? "" : g->conf->name);
}

/* --- beginning and end -------------------------------------------------- */

/* Returns false if a job is stuck, which may still use what it was given. */
static bool
supervisor_stop_lanes(struct supervisor *s)
{
	tstamp until = loop_now(&s->loop) + LANE_END;

	return lane_stop(&s->spawner, until) == 0 &&
	    lane_stop(&s->closer, until) == 0 &&
	    lane_stop(&s->looker, until) == 0 &&
	    (s->autosize.lane.loop == NULL ||
		lane_stop(&s->autosize.lane, until) == 0);
}

int
supervisor_init(struct supervisor *s, struct conf *config, bool dry)
{
	static const int signals[] = { SIGCHLD, SIGHUP, SIGUSR1, SIGUSR2,
		SIGTERM, SIGQUIT, SIGINT };
	const char *slow_start =
	    "starting a process takes long (a dead file server?): "
	    "another thread helps";
	const char *slow_look =
	    "looking at a file takes long (a dead file server?): "
	    "another thread helps";
	sigset_t set;

	memset(s, 0, sizeof(*s));
	s->config = config;
	TAILQ_INIT(&s->start_queue);
	TAILQ_INIT(&s->starting.list);
	TAILQ_INIT(&s->templates.all);
	TAILQ_INIT(&s->templates.forks);
	timer_init(&s->second, NULL);
	timer_init(&s->files_timer, NULL);
	timer_init(&s->close, supervisor_close);
	timer_init(&s->hangup, supervisor_look_at_terminal);
	timer_init(&s->reaping.timer, death_reap_some);
	timer_init(&s->sampling.timer, NULL);
	timer_init(&s->autosize.timer, NULL);
	timer_init(&s->told.timer, NULL);
	timer_init(&s->told.alive, supervisor_say_alive);
	if (dry)
		return keeper_init(s) == 0 && poolcounter_init(s) == 0 &&
			loop_init(&s->loop, NULL) == 0
		    ? EX_OK
		    : EX_OSERR;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	if (descriptors_raise_limit(&s->nofile) == -1)
		log_warn("cannot raise the limit of descriptors");
	if (procinfo_init() == -1)
		log_debug(
		    "cannot mount a /proc of our own: %s", strerror(errno));
	(void)procinfo_oom_kills(&s->reaping.oom_kills);
	terminal.had = supervisor_has_terminal();
	terminal.shell = getsid(0);
	terminal.parent = getppid();
	/* Orphans of workers come to us, and not to a stranger. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* A reader that is gone, or a file that may not grow, ends no write. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    signal(SIGXFSZ, SIG_IGN) == SIG_ERR || keeper_init(s) == -1 ||
	    poolcounter_init(s) == -1 ||
	    (s->events.mem = malloc(EVENTS_SIZE)) == NULL ||
	    loop_init(&s->loop, NULL) == -1 ||
	    watch_init(&s->watch, &s->loop) == -1 ||
	    loop_signals(&s->loop, &set, supervisor_signalled, s) == -1 ||
	    lane_start(&s->spawner, &s->loop, "spawner", slow_start) == -1 ||
	    lane_start(&s->closer, &s->loop, "closer", NULL) == -1 ||
	    lane_start(&s->looker, &s->loop, "looker", slow_look) == -1) {
		log_error("cannot start");
		return EX_OSERR;
	}
	sockets_init();
	s->started = loop_now(&s->loop);
	return EX_OK;
}

int
supervisor_open(struct supervisor *s)
{
	int status = reload_first(s);

	if (status != EX_OK) {
		/* The files of the sockets go with them, in the lanes. */
		poolcounter_stop(s, COUNTER_END);
		s->control->close(s->control_arg);
		(void)supervisor_stop_lanes(s);
		return status;
	}
	if (log_start() == -1)
		log_warn("cannot start the log's thread");
	return EX_OK;
}

int
supervisor_run(struct supervisor *s)
{
	settle_actions(s);
	if (notify_watchdog() > 0)
		timer_set(&s->loop.timers, &s->told.alive, loop_now(&s->loop));
	/* Without apps the loop may not turn for a long time. */
	supervisor_report(s, loop_now(&s->loop));
	while (!supervisor_is_over(s))
		supervisor_turn(s);
	reload_stop(s);
	upgrade_stop();
	poolcounter_stop(s, COUNTER_END);
	keeper_hear_out(s, loop_now(&s->loop) + KEEPER_END);
	log_info("stopped");
	s->control->close(s->control_arg);
	if (supervisor_stop_lanes(s)) {
		keeper_fini(s);
		poolcounter_fini(s);
		free(s->pool_memory);
		conf_free(s->config);
	}
	watch_fini(&s->watch);
	loop_fini(&s->loop);
	free(s->events.mem);
	return s->exit_status;
}
