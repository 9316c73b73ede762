/*
 * apppool-counter as a process of the daemon's. The listeners are opened here,
 * and a copy of each stays: so a counter that takes the place of one that died
 * finds its clients in the same backlogs. What the counter has to be told is
 * kept beside the listeners until it is sent; see sys/counter_wire.h.
 */

#include <sys/mman.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/counter.h"
#include "daemon/group.h"
#include "sys/address.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/manager.h"
#include "sys/sockets.h"

/*
 * A counter that has lived so long is replaced at once when it dies; one that
 * dies again and again after pauses that double.
 */
#define LIFE_MIN TSPAN_SECONDS(10)
#define PAUSE_MIN TSPAN_MSECONDS(100)
#define PAUSE_MAX TSPAN_SECONDS(10)

/* Until a counter is told again that had no room in its socket. */
#define TELL_AGAIN TSPAN_MSECONDS(10)

struct counter_listener {
	TAILQ_ENTRY(counter_listener) next;
	struct listener listener;
	const struct conf_listen *where; /* in force, or prepared */
	unsigned number; /* as the counter is told */
	bool told; /* the counter has it */
	struct counter_address address;
};

TAILQ_HEAD(counter_listeners, counter_listener);

struct poolcounter {
	struct supervisor *sup;
	struct counter_listeners listeners;
	struct counter_listeners fresh; /* prepared, and not committed */
	struct counter_listeners leaving; /* that the counter is to close */
	unsigned number; /* of the latest listener */
	unsigned max_clients;
	unsigned own; /* clients that limits of apps may be, at a time */
	bool limits_told;
	/* The process, and its start in the lane; io.fd -1: there is none. */
	struct loop_io io; /* our end of its socket */
	tstamp began;
	bool starting; /* in the lane */
	bool dead; /* meanwhile */
	struct lane_job job;
	struct conf *config; /* a reference while it starts */
	int fds[2]; /* its end while it starts, and the memory of the page */
	struct counter_figures *page; /* the process writes there */
	struct child_spec spec;
	struct child_result result;
	struct timer rest; /* set: the counter is to be told the rest */
	struct timer again; /* the next start */
	tspan pause; /* before it, if the process dies soon */
	bool ails; /* the latest start failed, and that was told */
	bool ended; /* by poolcounter_stop() */
};

/* --- listeners ------------------------------------------------------------ */

static void
counter_listener_free(struct poolcounter *all, struct counter_listener *l)
{
	acceptor_discard(&all->sup->closer, &l->listener);
	free(l);
}

static void
counter_listeners_free(struct poolcounter *all, struct counter_listeners *list)
{
	struct counter_listener *l;

	while ((l = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, l, next);
		counter_listener_free(all, l);
	}
}

/*
 * The listener is open: names its address. A process of this machine cannot
 * connect to "any".
 */
static void
counter_listener_begin(struct counter_listener *l)
{
	union sockets_address at = { .storage = l->listener.addr };
	socklen_t len = l->listener.addrlen;
	in_port_t port = at.in6.sin6_port;

	counter_tune(l->listener.fd);
	(void)address_format(
	    &at.any, len, l->address.listens, sizeof(l->address.listens));
	if (at.any.sa_family == AF_INET6 &&
	    IN6_IS_ADDR_UNSPECIFIED(&at.in6.sin6_addr)) {
		if (l->where->kind == CONF_LISTEN_TCP && !l->where->v6only) {
			at.in = (struct sockaddr_in){ .sin_family = AF_INET,
				.sin_port = port };
			len = sizeof(at.in);
		} else {
			at.in6.sin6_addr = in6addr_loopback;
		}
	}
	if (at.any.sa_family == AF_INET && at.in.sin_addr.s_addr == INADDR_ANY)
		at.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)address_format(
	    &at.any, len, l->address.reach, sizeof(l->address.reach));
}

static void
counter_listener_spec(
    const struct counter_listener *l, int inherited, struct listener_spec *out)
{
	conf_listen_spec(l->where, out);
	out->inherited_fd = inherited;
	out->backlog = COUNTER_BACKLOG;
	out->mode = COUNTER_MODE;
}

/* --- what the counter is told --------------------------------------------- */

/*
 * Sends a packet; false: it is to be sent again. Where the counter is about to
 * die, its successor is told all.
 */
static bool
poolcounter_say(struct poolcounter *all, int fd, const char *what)
{
	if (fdpass_send(all->io.fd, what, strlen(what), fd) != -1)
		return true;
	timer_set(&all->sup->loop.timers, &all->rest,
	    loop_now(&all->sup->loop) + TELL_AGAIN);
	return false;
}

static void
poolcounter_tell(struct timer *t, tstamp now)
{
	struct poolcounter *all = TIMER_OWNER(t, struct poolcounter, rest);
	struct counter_listener *l;
	char what[COUNTER_TOLD_MAX];

	(void)now;
	if (all->io.fd == -1)
		return;
	(void)snprintf(
	    what, sizeof(what), "LIMIT %u %u", all->max_clients, all->own);
	if (!all->limits_told && !poolcounter_say(all, -1, what))
		return;
	all->limits_told = true;
	TAILQ_FOREACH(l, &all->listeners, next) {
		if (l->told || l->listener.fd == -1)
			continue;
		(void)snprintf(what, sizeof(what), "%s %u %s",
		    l->listener.inherited ? "INHERIT" : "LISTEN", l->number,
		    l->address.listens);
		if (!poolcounter_say(all, l->listener.fd, what))
			return;
		l->told = true;
	}
	while ((l = TAILQ_FIRST(&all->leaving)) != NULL) {
		(void)snprintf(what, sizeof(what), "LEAVE %u", l->number);
		if (!poolcounter_say(all, -1, what))
			return;
		TAILQ_REMOVE(&all->leaving, l, next);
		counter_listener_free(all, l);
	}
}

int
poolcounter_join(struct supervisor *s)
{
	const struct poolcounter *all = s->counter;
	int ends[2];
	ssize_t n;

	errno = ECONNREFUSED;
	if (all->io.fd == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		ends) == -1)
		return -1;
	n = fdpass_send(all->io.fd, "JOIN", 4, ends[1]);
	(void)close(ends[1]);
	if (n != -1)
		return ends[0];
	(void)close(ends[0]);
	return -1;
}

/* --- the process ---------------------------------------------------------- */

/* In the lane. */
static void
counter_start_work(struct lane_job *job)
{
	struct poolcounter *all = LOOP_OWNER(job, struct poolcounter, job);

	(void)child_spawn(&all->spec, &all->result);
}

static void
counter_process_close(struct poolcounter *all)
{
	(void)loop_set(&all->sup->loop, &all->io, 0);
	(void)close(all->io.fd);
	all->io.fd = -1;
	all->result = (struct child_result){ 0 };
}

/* The process is dead, or did not start: another is started, soon. */
static void
counter_process_lose(struct poolcounter *all, tstamp now)
{
	if (now - all->began >= LIFE_MIN)
		all->pause = 0;
	timer_set(&all->sup->loop.timers, &all->again, now + all->pause);
	all->pause = all->pause == 0 ? PAUSE_MIN : 2 * all->pause;
	if (all->pause > PAUSE_MAX)
		all->pause = PAUSE_MAX;
	counter_process_close(all);
	memset(all->page, 0, sizeof(*all->page));
	counter_listeners_free(all, &all->leaving);
}

static void
counter_start_done(struct lane_job *job, tstamp now)
{
	struct poolcounter *all = LOOP_OWNER(job, struct poolcounter, job);
	bool failed = all->result.error != 0;
	char why[256];

	all->starting = false;
	(void)close(all->fds[0]);
	if (failed && !all->ails)
		log_warnx("counter: %s",
		    child_explain(&all->spec, &all->result, why, sizeof(why)));
	conf_free(all->config);
	all->ails = failed;
	if (failed || all->dead)
		counter_process_lose(all, now);
}

/* The counter has lines for the log, each with its level as "<4>". */
static void
counter_process_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct poolcounter *all = LOOP_OWNER(io, struct poolcounter, io);
	char said[4096], *line, *rest = said;
	struct logline l = { .level = LOG_LEVEL_ERROR };
	ssize_t n = recv(io->fd, said, sizeof(said) - 1, MSG_DONTWAIT);

	(void)events;
	(void)now;
	if (n == -1 && fdpass_is_later(errno))
		return;
	if (n <= 0) {
		/* The cause is told when the process has been reaped. */
		(void)loop_set(&all->sup->loop, io, 0);
		return;
	}
	said[n] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		/* A line without one is the last word of an assert(3). */
		if (line[0] == '<' && line[1] >= '0' && line[1] <= '7' &&
		    line[2] == '>') {
			l.level = line[1] < '4' ? LOG_LEVEL_ERROR
			    : line[1] == '4'    ? LOG_LEVEL_WARN
			    : line[1] < '7'     ? LOG_LEVEL_INFO
						: LOG_LEVEL_DEBUG;
			line += 3;
		}
		l.text = line;
		l.len = strlen(line);
		if (l.len > 0)
			log_put(&l);
	}
}

/*
 * Starts the counter. An administrator may have shut down a listener of TCP,
 * and the counter has ended for that: it is bound anew.
 */
static void
poolcounter_start(struct timer *t, tstamp now)
{
	struct poolcounter *all = TIMER_OWNER(t, struct poolcounter, again);
	static char title[] = "apppoold: counter";
	static char *argv[] = { title, NULL };
	const struct conf *conf = all->sup->config;
	struct counter_listener *l;
	struct listener_spec spec;
	const char *why;
	int ends[2];

	if (TAILQ_EMPTY(&all->listeners) || all->ended)
		return;
	TAILQ_FOREACH(l, &all->listeners, next) {
		l->told = false;
		if (l->listener.inherited || l->listener.kind != LISTENER_TCP ||
		    !listener_is_broken(&l->listener))
			continue;
		log_warnx("counter: %s is bound anew", l->address.listens);
		listener_fini(&l->listener);
		counter_listener_spec(l, -1, &spec);
		if (listener_open(&l->listener, &spec, &why) == -1)
			log_error("counter: %s: %s", l->address.listens, why);
		else
			counter_listener_begin(l);
	}
	all->limits_told = false;
	timer_set(&all->sup->loop.timers, t, now + PAUSE_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		return;
	all->io =
	    (struct loop_io){ .fd = ends[0], .ready = counter_process_ready };
	if (loop_set(&all->sup->loop, &all->io, EPOLLIN) == -1) {
		(void)close(ends[1]);
		counter_process_close(all);
		return;
	}
	timer_set(&all->sup->loop.timers, t, TSTAMP_NEVER);
	all->fds[0] = ends[1];
	all->began = now;
	/* No user's processes are to look into those that have its clients. */
	all->spec = (struct child_spec){ .path = conf->counter_program,
		.opened = true,
		.argv = argv,
		.stdio = { -1, ends[1], ends[1] },
		.fds = all->fds,
		.nfds = 2,
		.directory = "/",
		.set_identity = conf->keeper_changes,
		.uid = conf->keeper_uid,
		.gid = conf->keeper_gid,
		.no_new_privs = true };
	all->config = conf_ref(all->sup->config);
	all->starting = true;
	all->dead = false;
	all->job.work = counter_start_work;
	all->job.done = counter_start_done;
	lane_submit(&all->sup->spawner, &all->job);
	poolcounter_tell(&all->rest, now);
}

bool
poolcounter_exited(
    struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct poolcounter *all = s->counter;
	char how[128];

	if (all->io.fd == -1 || all->result.pid != death->pid)
		return false;
	all->dead = true;
	/* The lane still has it. */
	if (all->starting)
		return true;
	/* The last lines of the process come first. */
	counter_process_ready(&all->io, EPOLLIN, now);
	if (!all->ended && !TAILQ_EMPTY(&all->listeners))
		log_warnx("counter (pid %ld) %s: another is started, all "
			  "locks are lost",
		    (long)death->pid, reap_explain(death, how, sizeof(how)));
	counter_process_lose(all, now);
	return true;
}

/* --- the service under a configuration ------------------------------------ */

/* With `counter` alone: files, and so this memory, may not grow everywhere. */
static bool
poolcounter_map(struct poolcounter *all)
{
	void *page = MAP_FAILED;

	if (all->page != NULL)
		return true;
	/* A page that the counter cut off would kill us when read. */
	all->fds[1] =
	    memfd_create("apppool-counter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (all->fds[1] != -1 &&
	    ftruncate(all->fds[1], sizeof(*all->page)) == 0 &&
	    fcntl(all->fds[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
		page = mmap(NULL, sizeof(*all->page), PROT_READ | PROT_WRITE,
		    MAP_SHARED, all->fds[1], 0);
	if (page != MAP_FAILED)
		all->page = page;
	else if (all->fds[1] != -1)
		(void)close(all->fds[1]);
	return all->page != NULL;
}

int
poolcounter_init(struct supervisor *s)
{
	struct poolcounter *all = calloc(1, sizeof(*all));

	s->counter = all;
	if (all == NULL)
		return -1;
	all->sup = s;
	all->io.fd = -1;
	TAILQ_INIT(&all->listeners);
	TAILQ_INIT(&all->fresh);
	TAILQ_INIT(&all->leaving);
	timer_init(&all->rest, poolcounter_tell);
	timer_init(&all->again, poolcounter_start);
	return 0;
}

static struct counter_listener *
poolcounter_find(const struct counter_listeners *list, const char *text)
{
	struct counter_listener *l;

	TAILQ_FOREACH(l, list, next)
		if (strcmp(l->where->text, text) == 0)
			return l;
	return NULL;
}

void
poolcounter_prepare(
    struct supervisor *s, const struct conf *conf, struct openings *openings)
{
	struct poolcounter *all = s->counter;
	int fds[INHERITED_MAX];

	if (conf->counter_len > 0 && !poolcounter_map(all))
		openings_fail(openings, errno, "counter: a page of memory: %s",
		    strerror(errno));
	for (size_t i = 0; i < conf->counter_len; i++) {
		const struct conf_listen *where = &conf->counter[i];
		size_t n = 0;

		if (poolcounter_find(&all->listeners, where->text) == NULL)
			n = openings_inherited(openings, where, "counter", fds);
		/* Several, if they are sockets of the service manager. */
		for (size_t k = 0; k < n; k++) {
			struct counter_listener *l = calloc(1, sizeof(*l));
			struct listener_spec spec;

			if (l == NULL) {
				openings_fail(openings, ENOMEM,
				    "counter: %s: no memory", where->text);
				return;
			}
			l->where = where;
			l->address.where = where->text;
			l->listener.fd = -1;
			l->number = ++all->number;
			TAILQ_INSERT_TAIL(&all->fresh, l, next);
			counter_listener_spec(l, fds[k], &spec);
			openings_add(openings, &l->listener, &spec,
			    "counter: %s", where->text);
		}
	}
}

void
poolcounter_abort(struct supervisor *s)
{
	counter_listeners_free(s->counter, &s->counter->fresh);
}

void
poolcounter_commit(struct supervisor *s, const struct conf *conf, tstamp now)
{
	struct poolcounter *all = s->counter;
	struct counter_listeners sorted = TAILQ_HEAD_INITIALIZER(sorted);
	struct counter_listener *l;

	TAILQ_FOREACH(l, &all->fresh, next)
		counter_listener_begin(l);
	TAILQ_CONCAT(&all->listeners, &all->fresh, next);
	/* In the order of the file: processes are told the first address. */
	for (size_t i = 0; i < conf->counter_len; i++) {
		const char *text = conf->counter[i].text;

		while ((l = poolcounter_find(&all->listeners, text)) != NULL) {
			TAILQ_REMOVE(&all->listeners, l, next);
			TAILQ_INSERT_TAIL(&sorted, l, next);
			l->where = &conf->counter[i];
			l->address.where = text;
		}
	}
	/* The other listeners are no longer in the file: the counter closes
	 * them. */
	while ((l = TAILQ_FIRST(&all->listeners)) != NULL) {
		TAILQ_REMOVE(&all->listeners, l, next);
		if (l->told && all->io.fd != -1)
			TAILQ_INSERT_TAIL(&all->leaving, l, next);
		else
			counter_listener_free(all, l);
	}
	TAILQ_CONCAT(&all->listeners, &sorted, next);
	all->max_clients = conf->counter_max_clients;
	all->own = 0;
	/* A lock that is given back has a connection beside the next one's. */
	for (size_t i = 0; i < conf->apps_len; i++)
		if (conf->apps[i].limit.local)
			all->own += 2 * limiter_descriptors(&conf->apps[i]);
	all->limits_told = false;
	if (all->io.fd == -1 && all->again.at == TSTAMP_NEVER)
		poolcounter_start(&all->again, now);
	else
		poolcounter_tell(&all->rest, now);
}

void
poolcounter_stop(struct supervisor *s, tspan limit)
{
	struct poolcounter *all = s->counter;
	tstamp until = loop_now(&s->loop);

	all->ended = true;
	for (int i = 0; i < 2 && all->io.fd != -1; i++) {
		/* While it starts, the end of its socket is its end, too. */
		(void)shutdown(all->io.fd, SHUT_WR);
		if (all->result.pid != 0)
			(void)kill(all->result.pid, i == 0 ? SIGTERM : SIGKILL);
		until += limit / 2;
		while (all->io.fd != -1 && loop_now(&s->loop) < until)
			(void)loop_turn(&s->loop, until);
	}
	poolcounter_abort(s);
	counter_listeners_free(all, &all->leaving);
	counter_listeners_free(all, &all->listeners);
}

void
poolcounter_fini(struct supervisor *s)
{
	struct poolcounter *all = s->counter;

	if (all->io.fd != -1)
		counter_process_close(all);
	/* The loop closes no memory: its descriptor ends with the daemon. */
	if (all->page != NULL)
		(void)munmap(all->page, sizeof(*all->page));
	timer_set(&s->loop.timers, &all->rest, TSTAMP_NEVER);
	timer_set(&s->loop.timers, &all->again, TSTAMP_NEVER);
	free(all);
	s->counter = NULL;
}

const struct counter_address *
poolcounter_address(const struct supervisor *s, size_t i)
{
	const struct counter_listener *l = TAILQ_FIRST(&s->counter->listeners);

	for (; l != NULL && i > 0; i--)
		l = TAILQ_NEXT(l, next);
	return l == NULL ? NULL : &l->address;
}

bool
poolcounter_figures(const struct supervisor *s, struct counter_figures *out)
{
	const struct poolcounter *all = s->counter;

	if (all->io.fd == -1 && TAILQ_EMPTY(&all->listeners))
		return false;
	*out = (struct counter_figures){ .max_clients = all->max_clients };
	if (all->io.fd != -1 && !all->starting)
		*out = *all->page;
	return true;
}
