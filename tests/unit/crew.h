#ifndef TESTS_UNIT_CREW_H
#define TESTS_UNIT_CREW_H

/*
 * A supervisor with one app, web, whose workers are children of the test,
 * as the parts of the daemon see them: real sockets, lanes and processes, and
 * time that only crew.now makes pass.
 */

#include <sys/prctl.h>
#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "conf/conf_pool.h"
#include "daemon/backlog.h"
#include "daemon/sampling.h"
#include "daemon/spawn.h"
#include "daemon/supervisor.h"
#include "sys/fdpass.h"
#include "sys/log.h"

#include "check.h"

#define CREW_MAX 512
#define CREW_SECONDS 10

static struct supervisor sup;

static struct {
	tstamp now;
	struct conf conf;
	struct conf_app web;
	struct config config;
	struct group *group;
	char log[64];
	char text[65536]; /* of the log */
} crew;

static char crew_name[] = "web";
static char *crew_none[] = { NULL };

/* What an app has if nobody says something else. */
static inline void
crew_defaults(void)
{
	crew.web = (struct conf_app){
		.name = crew_name,
		.handoff = CONF_HANDOFF_NATIVE,
		.watch = crew_none,
		.min_processes = 0,
		.max_processes = CREW_MAX,
		.concurrency = 1,
		.max_queue = 100,
		.retry_limit = 10,
		.start_limit = 5,
		.update_interval = TSPAN_SECONDS(10),
		.gain = 0.5,
		.grow_threshold = 90,
		.multi_threshold = 0,
		.kill_interval = TSPAN_SECONDS(60),
		.start_timeout = TSPAN_SECONDS(30),
		.pickup_timeout = TSPAN_SECONDS(10),
		.restart_delay = TSPAN_SECONDS(1),
		.restart_delay_max = TSPAN_SECONDS(60),
		.stop_timeout = TSPAN_SECONDS(30),
		.kill_timeout = TSPAN_SECONDS(5),
	};
}

static inline tstamp
crew_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

static inline tstamp
crew_clock(void *arg)
{
	(void)arg;
	return crew.now;
}

/* Lets real time pass, for lanes to work in, but none of crew.now. */
static inline int
crew_wait(void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	(void)arg;
	(void)timeout;
	return epoll_wait(epfd, events, n, 10);
}

/* Begins, with crew.web as the app is to be. */
static inline void
crew_begin(void)
{
	static const struct pool_limits limits = {
		.apps = 1, .processes = CREW_MAX, .conns = 64, .sessions = 16
	};
	static const struct loop_clock clock = { .now = crew_clock,
		.wait = crew_wait };
	struct log_spec spec = { .dest = LOG_DEST_FILE,
		.path = crew.log,
		.level = LOG_LEVEL_DEBUG };
	struct app_options o;

	memset(&sup, 0, sizeof(sup));
	crew.now = TSPAN_SECONDS(1000);
	(void)snprintf(
	    crew.log, sizeof(crew.log), "/tmp/crew.%ld", (long)getpid());
	(void)unlink(crew.log);
	CHECK_EQ(0, log_open(&spec));
	crew.conf = (struct conf){ .max_processes = CREW_MAX };
	crew.config = (struct config){ .conf = &crew.conf, .refs = 100000 };
	sup.config = &crew.config;
	RB_INIT(&sup.pids);
	sup.second_at = TSTAMP_NEVER;
	sampling_init(&sup);
	CHECK_EQ(0, loop_init(&sup.loop, &clock));
	CHECK_EQ(0, lane_start(&sup.closer, &sup.loop, "closer", NULL));
	CHECK_EQ(0, lane_start(&sup.looker, &sup.loop, "looker", NULL));
	sup.groups = calloc(limits.apps, sizeof(struct group *));
	sup.workers = calloc(limits.processes, sizeof(struct worker *));
	sup.accepted = calloc(limits.conns, sizeof(struct accepted));
	sup.pool_memory = calloc(1, pool_memory(&limits));
	pool_init(&sup.pool, &limits, sup.pool_memory, CREW_MAX, 1, crew.now);
	crew.group = calloc(1, sizeof(*crew.group));
	crew.group->sup = &sup;
	crew.group->config = &crew.config;
	crew.group->conf = &crew.web;
	TAILQ_INIT(&crew.group->listeners);
	TAILQ_INIT(&crew.group->queued);
	spawn_init(crew.group);
	backlog_init(crew.group);
	conf_pool_options(&crew.web, &o);
	crew.group->app = pool_app_add(&sup.pool, &o, crew.now);
	sup.groups[0] = crew.group;
}

static inline void
crew_end(void)
{
	tstamp limit = crew_monotonic() + TSPAN_SECONDS(CREW_SECONDS);

	for (uint32_t n = 0; n < CREW_MAX; n++) {
		struct worker *w = sup.workers[n];

		if (w == NULL)
			continue;
		if (w->pid != 0 && w->pid != getpid()) {
			kill(w->pid, SIGKILL);
			(void)waitpid(w->pid, NULL, 0);
		}
		worker_free(w);
	}
	CHECK_EQ(0, lane_stop(&sup.looker, limit));
	CHECK_EQ(0, lane_stop(&sup.closer, limit));
	for (uint32_t c = 0; c < sup.pool.nconns; c++)
		if (sup.accepted[c].fd > 0)
			close(sup.accepted[c].fd);
	backlog_fini(crew.group);
	free(crew.group->slots);
	free(crew.group);
	free(sup.groups);
	free(sup.workers);
	free(sup.accepted);
	free(sup.pool_memory);
	loop_fini(&sup.loop);
	(void)unlink(crew.log);
}

/* A ready worker: a process that does this; NULL: the test itself. */
static inline struct worker *
crew_join(uint32_t process, void (*work)(void))
{
	struct worker *w = worker_new(&sup, process);
	int ends[2];

	CHECK(w != NULL && fdpass_pair(ends) == 0);
	w->channel.fd = ends[0];
	w->child_end = ends[1];
	w->pid = work == NULL ? getpid() : fork();
	if (w->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		work();
		_exit(0);
	}
	pool_spawned(&sup.pool, process, crew.now);
	/* Those that listen themselves say nothing. */
	if (crew.web.handoff != CONF_HANDOFF_LISTEN)
		CHECK(pool_ready(&sup.pool, process, crew.now));
	return w;
}

/* What was logged so far. */
static inline const char *
crew_log(void)
{
	int fd = open(crew.log, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, crew.text, sizeof(crew.text) - 1);

	close(fd);
	crew.text[n > 0 ? n : 0] = '\0';
	return crew.text;
}

static inline bool
crew_said(const char *text)
{
	if (strstr(crew_log(), text) != NULL)
		return true;
	fprintf(stderr, "not said: %s\n%s", text, crew.text);
	return false;
}

/* Turns the loop until a lane has told something. */
static inline void
crew_collect(void)
{
	tstamp limit = crew_monotonic() + TSPAN_SECONDS(CREW_SECONDS);
	int called;

	do
		called = loop_turn(&sup.loop, TSTAMP_NEVER);
	while (called == 0 && crew_monotonic() < limit);
	CHECK(called > 0);
}

#endif
