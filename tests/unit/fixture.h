#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

/*
 * A supervisor with one app, web, whose workers are children of the test:
 * real sockets, lanes and processes, and time that only fixture.now makes
 * pass.
 */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/worker.h"
#include "sys/fdpass.h"
#include "sys/log.h"

#include "../support/usable.h"

#include "check.h"

#define FIXTURE_MAX 512
#define FIXTURE_SECONDS 10

static struct supervisor sup;

static struct {
	tstamp now;
	struct conf conf;
	struct conf_app web;
	struct group *group;
	char log[64];
	char text[65536]; /* of the log */
} fixture;

static char fixture_name[] = "web";
static char *fixture_none[] = { NULL };

/* Options of the app, unless a test says something else. */
static inline void
fixture_defaults(void)
{
	fixture.web = (struct conf_app){
		.name = fixture_name,
		.handoff = CONF_HANDOFF_NATIVE,
		.program.output = CONF_OUTPUT_NULL,
		.watch = fixture_none,
		.pool = usable_options(),
	};
	fixture.web.pool.max_processes = FIXTURE_MAX;
}

static inline tstamp
fixture_clock(void *arg)
{
	(void)arg;
	return fixture.now;
}

/* Lets real time pass, for lanes to work in, but none of fixture.now. */
static inline int
fixture_wait(
    void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	(void)arg;
	(void)timeout;
	return epoll_wait(epfd, events, n, 10);
}

/* Ends what was begun and has not been ended. */
static inline void
fixture_end(void)
{
	tstamp limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);

	if (sup.groups == NULL)
		return;
	for (uint32_t n = 0; n < FIXTURE_MAX; n++) {
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
	backlog_fini(fixture.group);
	/* Descriptors that a keeper would close are closed here. */
	keeper_hear_out(&sup, fixture.now);
	group_free(fixture.group);
	keeper_fini(&sup);
	free(sup.groups);
	sup.groups = NULL;
	free(sup.workers);
	free(sup.accepted);
	free(sup.pool_memory);
	loop_fini(&sup.loop);
	(void)unlink(fixture.log);
}

/* Begins, with fixture.web as the app is to be. */
static inline void
fixture_begin(void)
{
	static const struct pool_limits limits = {
		.apps = 1, .processes = FIXTURE_MAX, .conns = 64, .sessions = 16
	};
	static const struct loop_clock clock = { .now = fixture_clock,
		.wait = fixture_wait };
	struct log_spec spec = { .dest = LOG_DEST_FILE,
		.path = fixture.log,
		.level = LOG_LEVEL_DEBUG };

	fixture_end();
	memset(&sup, 0, sizeof(sup));
	fixture.now = TSPAN_SECONDS(1000);
	(void)snprintf(fixture.log, sizeof(fixture.log), "/tmp/fixture.%ld",
	    (long)getpid());
	(void)unlink(fixture.log);
	CHECK_EQ(0, log_open(&spec));
	fixture.conf =
	    (struct conf){ .max_processes = FIXTURE_MAX, .refs = 100000 };
	sup.config = &fixture.conf;
	CHECK_EQ(0, keeper_init(&sup));
	RB_INIT(&sup.pids);
	TAILQ_INIT(&sup.start_queue);
	TAILQ_INIT(&sup.starting.list);
	TAILQ_INIT(&sup.templates.all);
	TAILQ_INIT(&sup.templates.forks);
	CHECK_EQ(0, loop_init(&sup.loop, &clock));
	CHECK_EQ(0, lane_start(&sup.closer, &sup.loop, "closer", NULL));
	CHECK_EQ(0, lane_start(&sup.looker, &sup.loop, "looker", NULL));
	sup.groups = calloc(limits.apps, sizeof(struct group *));
	sup.workers = calloc(limits.processes, sizeof(struct worker *));
	sup.accepted = calloc(limits.conns, sizeof(struct accepted));
	sup.pool_memory = calloc(1, pool_memory(&limits));
	pool_init(
	    &sup.pool, &limits, sup.pool_memory, FIXTURE_MAX, 1, fixture.now);
	timer_init(&sup.sampling.timer, NULL);
	fixture.group = group_new(&sup, &fixture.web, ILIST_NONE, fixture.now);
}

/* A ready worker: a process that does this; NULL: the test itself. */
static inline struct worker *
fixture_join(uint32_t process, void (*work)(void))
{
	struct worker *w = worker_new(fixture.group, process);
	int ends[2];
	pid_t pid;

	CHECK(w != NULL &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	w->channel.fd = ends[0];
	w->channel.ready = channel_ready;
	w->refuses = true;
	w->child_end = ends[1];
	pid = work == NULL ? getpid() : fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		work();
		_exit(0);
	}
	if (work != NULL) {
		worker_started(w, pid, fixture.now);
	} else {
		w->pid = pid;
		pool_spawned(&sup.pool, process, fixture.now);
	}
	/* Processes that accept themselves say nothing. */
	if (fixture.web.handoff != CONF_HANDOFF_LISTEN)
		CHECK(pool_ready(&sup.pool, process, fixture.now));
	return w;
}

/* What a process does that only has to be there. */
static inline void
fixture_sleep(void)
{
	sleep(1000);
}

/* All that the pool wants to be started, likewise. */
static inline void
fixture_join_all(void (*work)(void))
{
	struct action a;

	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			(void)fixture_join(a.process, work);
}

/* The lines logged so far. */
static inline const char *
fixture_log(void)
{
	int fd = open(fixture.log, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, fixture.text, sizeof(fixture.text) - 1);

	close(fd);
	fixture.text[n > 0 ? n : 0] = '\0';
	return fixture.text;
}

static inline bool
fixture_said(const char *text)
{
	if (strstr(fixture_log(), text) != NULL)
		return true;
	fprintf(stderr, "not said: %s\n%s", text, fixture.text);
	return false;
}

/* Turns the loop until a job of a lane is done. */
static inline void
fixture_collect(void)
{
	tstamp limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);
	int called;

	do
		called = loop_turn(&sup.loop, TSTAMP_NEVER);
	while (called == 0 && clock_now() < limit);
	CHECK(called > 0);
}

#endif
