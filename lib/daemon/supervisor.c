/* The daemon's loop: facts in, actions out. */

#include <sys/prctl.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "daemon/accepting.h"
#include "daemon/death.h"
#include "daemon/pickup.h"
#include "daemon/readiness.h"
#include "daemon/reload.h"
#include "daemon/sampling.h"
#include "daemon/supervisor.h"
#include "daemon/waiters.h"
#include "sys/activation.h"
#include "sys/background.h"
#include "sys/descriptors.h"
#include "sys/log.h"
#include "sys/notify.h"

/* How long the lanes are waited for at the end. */
#define SUPERVISOR_LANE_END TSPAN_MSECONDS(500)

struct group *
supervisor_group(const struct supervisor *s, const char *name)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *g = s->groups[app];

		if (g != NULL && !g->closing &&
		    strcmp(g->conf->name, name) == 0)
			return g;
	}
	return NULL;
}

void
supervisor_close(struct supervisor *s, int fd)
{
	lane_close(&s->closer, fd);
}

/* --- signals ------------------------------------------------------------ */

/* Stops now; who asks again does not wait for those who ignore SIGTERM. */
static void
supervisor_hurry(struct supervisor *s, tstamp now)
{
	if (s->pool.phase != POOL_ENDING) {
		supervisor_stop_now(s, now);
		return;
	}
	log_info("killing what is left");
	pool_stop_now(&s->pool, 0, now);
}

static void
supervisor_signalled(void *arg, const struct signalfd_siginfo *info, tstamp now)
{
	struct supervisor *s = arg;

	switch (info->ssi_signo) {
	case SIGCHLD:
		death_reap_all(s, now);
		break;
	case SIGHUP:
		log_reopen();
		reload_request(s, NULL, NULL, now);
		break;
	case SIGUSR1:
		if (s->services.dump != NULL)
			s->services.dump(s->services.dump_arg, now);
		break;
	case SIGTERM:
	case SIGQUIT:
		if (s->stopping)
			supervisor_hurry(s, now);
		else
			supervisor_stop(s, now);
		break;
	case SIGINT:
		supervisor_hurry(s, now);
		break;
	default:
		log_warnx("SIG%s is reserved and does nothing",
		    sigabbrev_np((int)info->ssi_signo));
		break;
	}
}

static int
supervisor_listen_to_signals(struct supervisor *s)
{
	static const int signals[] = { SIGCHLD, SIGHUP, SIGUSR1, SIGUSR2,
		SIGTERM, SIGQUIT, SIGINT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -1;
	return loop_signals(&s->loop, &set, supervisor_signalled, s);
}

/* --- stopping ----------------------------------------------------------- */

/* How long before the end SIGTERM comes: as the slowest app wants it. */
static tspan
supervisor_grace(const struct conf *conf)
{
	tspan grace = 0;

	for (size_t i = 0; i < conf->apps_len; i++)
		if (conf->apps[i].kill_timeout > grace)
			grace = conf->apps[i].kill_timeout;
	return grace;
}

void
supervisor_stop(struct supervisor *s, tstamp now)
{
	const struct conf *conf = s->config->conf;

	if (s->stopping)
		return;
	log_info("stopping, within %g s", (double)conf->stop_timeout / 1e9);
	(void)notify_send("STOPPING=1\nSTATUS=Stopping");
	s->stopping = true;
	pool_stop(&s->pool, conf->stop_timeout, supervisor_grace(conf), now);
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		s->groups[app]->closing = true;
		accepting_leave_all(s->groups[app], now);
	}
}

void
supervisor_stop_now(struct supervisor *s, tstamp now)
{
	tspan grace = supervisor_grace(s->config->conf);

	if (s->pool.phase == POOL_ENDING)
		return;
	log_info("stopping now, within %g s; the same signal again kills",
	    (double)grace / 1e9);
	(void)notify_send("STOPPING=1\nSTATUS=Stopping now");
	s->stopping = true;
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		s->groups[app]->closing = true;
		listeners_close_all(&s->groups[app]->listeners);
	}
	pool_stop_now(&s->pool, grace, now);
}

void
supervisor_over(struct supervisor *s, uint32_t app)
{
	struct group *g = s->groups[app];
	const struct app *a = &s->pool.apps[app];

	if (g == NULL || a->phase != APP_OVER || a->stuck > 0)
		return;
	listeners_close_all(&g->listeners);
	if (!s->stopping)
		log_info("%s: gone", g->conf->name);
	group_free(g);
	pool_app_free(&s->pool, app);
}

/*
 * Whether nothing is left but processes that SIGKILL does not end. Whoever was
 * turned away may still be reading why.
 */
static bool
supervisor_is_over(const struct supervisor *s)
{
	if (!s->stopping || refusals_any(&s->refusals))
		return false;
	for (uint32_t app = 0; app < s->pool.napps; app++)
		if (s->pool.apps[app].phase != APP_FREE &&
		    s->pool.apps[app].phase != APP_OVER)
			return false;
	return true;
}

/* --- time --------------------------------------------------------------- */

/* Whether there is a connection that must be looked at now and then. */
static bool
supervisor_watches(const struct supervisor *s)
{
	return s->pool.nconns > s->pool.free_conns.count;
}

static void
supervisor_second(struct supervisor *s, tstamp now)
{
	if (s->second_at == TSTAMP_NEVER) {
		if (supervisor_watches(s))
			s->second_at = now + TSPAN_SECONDS(1);
		return;
	}
	if (s->second_at > now)
		return;
	pickup_check(s, now);
	waiters_sweep(s, now);
	s->second_at =
	    supervisor_watches(s) ? now + TSPAN_SECONDS(1) : TSTAMP_NEVER;
}

static tstamp
supervisor_deadline(struct supervisor *s)
{
	tstamp at = pool_deadline(&s->pool);

	return tstamp_min(at, s->second_at);
}

static void
supervisor_tick(struct supervisor *s, tstamp now)
{
	if (pool_deadline(&s->pool) <= now)
		pool_tick(&s->pool, now);
	supervisor_second(s, now);
}

int
supervisor_run(struct supervisor *s)
{
	supervisor_settle(s);
	/* With a counter alone nothing may happen for a long time. */
	readiness_turn(s, loop_now(&s->loop));
	while (!supervisor_is_over(s)) {
		if (loop_turn(&s->loop, supervisor_deadline(s)) == -1 &&
		    errno != EINTR)
			log_warn("epoll_wait");
		supervisor_tick(s, loop_now(&s->loop));
		supervisor_settle(s);
		readiness_turn(s, loop_now(&s->loop));
	}
	return s->exit_status;
}

/* --- beginning and end -------------------------------------------------- */

static int
supervisor_start_lanes(struct supervisor *s)
{
	if (lane_start(&s->spawner, &s->loop, "spawner",
		"starting a process takes long (a dead file server?): "
		"another thread helps") == -1 ||
	    lane_start(&s->closer, &s->loop, "closer", NULL) == -1)
		return -1;
	return lane_start(&s->looker, &s->loop, "looker",
	    "looking at a file takes long (a dead file server?): "
	    "another thread helps");
}

int
supervisor_refused(int error)
{
	return error == EACCES || error == EPERM ? EX_NOPERM : EX_CANTCREAT;
}

/* Opens every listener of every app; 0 or an exit status. */
static int
supervisor_open_listeners(struct supervisor *s, struct app_listeners *listeners)
{
	const struct conf *conf = s->config->conf;
	int status = EX_OK;

	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		for (size_t k = 0; k < app->listen_len; k++) {
			if (listeners_open(
				s, app, &app->listen[k], &listeners[i]) == 0)
				continue;
			status = supervisor_refused(errno);
		}
	}
	return status;
}

/* The listeners, and then the apps behind them. */
static int
supervisor_open_apps(struct supervisor *s)
{
	const struct conf *conf = s->config->conf;
	struct app_listeners *listeners =
	    calloc(conf->apps_len + 1, sizeof(*listeners));
	struct app_listener *l;
	int status;

	if (listeners == NULL)
		return EX_OSERR;
	for (size_t i = 0; i < conf->apps_len; i++)
		TAILQ_INIT(&listeners[i]);
	status = supervisor_open_listeners(s, listeners);
	for (size_t i = 0; i < conf->apps_len; i++) {
		struct group *g = NULL;

		if (status == EX_OK)
			g = group_new(
			    s, s->config, &conf->apps[i], loop_now(&s->loop));
		if (status == EX_OK && g == NULL)
			status = EX_OSERR;
		while ((l = TAILQ_FIRST(&listeners[i])) != NULL) {
			TAILQ_REMOVE(&listeners[i], l, next);
			if (g == NULL)
				listeners_close(l);
			else
				accepting_begin(l, g);
		}
	}
	free(listeners);
	return status;
}

static void
supervisor_zero(struct supervisor *s, struct config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = config;
	TAILQ_INIT(&s->start_queue);
	TAILQ_INIT(&s->starting);
	RB_INIT(&s->pids);
	sampling_init(s);
	readiness_init(s);
	s->second_at = TSTAMP_NEVER;
}

int
supervisor_init(struct supervisor *s, struct config *config)
{
	supervisor_zero(s, config);
	if (descriptors_raise_limit(&s->nofile) == -1)
		log_warn("cannot raise the limit of descriptors");
	/* Orphans of workers come to us, and not to a stranger. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (loop_init(&s->loop, NULL) == -1 ||
	    retriever_init(&s->retriever, &s->loop, &death_retriever_ops, s) ==
		-1 ||
	    supervisor_listen_to_signals(s) == -1 ||
	    supervisor_start_lanes(s) == -1 ||
	    refusals_init(&s->refusals, &s->loop, &s->closer) == -1) {
		log_error("cannot start");
		return EX_OSERR;
	}
	(void)sockdiag_init(&s->diag);
	s->started = loop_now(&s->loop);
	return EX_OK;
}

int
supervisor_open(struct supervisor *s)
{
	const struct conf *conf = s->config->conf;
	const char *refusal;
	int status;

	if (!supervisor_affords(s, conf))
		return EX_OSERR;
	if (supervisor_reserve(s, conf) == -1) {
		log_error("cannot start");
		return EX_OSERR;
	}
	pool_resize(
	    &s->pool, conf->max_processes, conf->process_slack, s->started);
	status = services_prepare(
	    &s->services, conf, supervisor_spare(s, conf), &refusal);
	if (status == EX_OK) {
		services_commit(&s->services, conf, s->started);
		status = supervisor_open_apps(s);
	}
	if (status != EX_OK) {
		/* The files of their sockets go with them. */
		services_close(&s->services, s->started);
		return status;
	}
	if (log_start() == -1)
		log_warn("cannot start the log's thread");
	return EX_OK;
}

void
supervisor_fini(struct supervisor *s)
{
	tstamp until = loop_now(&s->loop) + SUPERVISOR_LANE_END;

	services_close(&s->services, loop_now(&s->loop));
	refusals_close(&s->refusals);
	retriever_fini(&s->retriever);
	sockdiag_fini(&s->diag);
	/* What is stuck in a lane may still use what it was given. */
	if (lane_stop(&s->spawner, until) == 0 &&
	    lane_stop(&s->closer, until) == 0 &&
	    lane_stop(&s->looker, until) == 0) {
		free(s->pool_memory);
		free(s->groups);
		free(s->workers);
		free(s->accepted);
		refusals_fini(&s->refusals);
		config_unref(s->config);
	}
	loop_fini(&s->loop);
}
