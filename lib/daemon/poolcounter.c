/*
 * apppool-counter as a process of the daemon's. The listeners are opened here,
 * and a copy of each stays: so a counter that takes the place of one that died
 * finds its clients in the same backlogs. What the counter has to be told is
 * kept beside the listeners until it is sent; see sys/counter_wire.h.
 */

#include <sys/socket.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/carry.h"
#include "daemon/counter.h"
#include "sys/address.h"
#include "sys/fdpass.h"
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
	struct counter_listeners listeners;
	struct counter_listeners fresh; /* prepared, and not committed */
	struct counter_listeners leaving; /* that the counter is to close */
	unsigned number; /* of the latest listener */
	unsigned max_clients;
	unsigned own; /* clients that limits of apps may be, at a time */
	bool limits_told;
	struct helper h; /* its page is struct counter_figures */
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
	acceptor_discard(&all->h.sup->closer, &l->listener);
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

	counter_tune(
	    l->listener.fd, COUNTER_VANISHED_IDLE, COUNTER_VANISHED_MOST);
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
	if (fdpass_send(all->h.io.fd, what, strlen(what), fd) != -1)
		return true;
	timer_set(&all->h.sup->loop.timers, &all->rest,
	    loop_now(&all->h.sup->loop) + TELL_AGAIN);
	return false;
}

static void
poolcounter_tell(struct timer *t, tstamp now)
{
	struct poolcounter *all = TIMER_OWNER(t, struct poolcounter, rest);
	struct counter_listener *l;
	char what[COUNTER_TOLD_MAX];

	(void)now;
	if (all->h.io.fd == -1)
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
	if (all->h.io.fd == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		ends) == -1)
		return -1;
	n = fdpass_send(all->h.io.fd, "JOIN", 4, ends[1]);
	(void)close(ends[1]);
	if (n != -1)
		return ends[0];
	(void)close(ends[0]);
	return -1;
}

/* --- the process ---------------------------------------------------------- */

/* The process is dead, or did not start: another is started, soon. */
static void
counter_process_lose(struct poolcounter *all, tstamp now)
{
	if (now - all->h.began >= LIFE_MIN)
		all->pause = 0;
	timer_set(&all->h.sup->loop.timers, &all->again, now + all->pause);
	all->pause =
	    all->pause == 0 ? PAUSE_MIN : tstamp_min(2 * all->pause, PAUSE_MAX);
	helper_end(&all->h);
	counter_listeners_free(all, &all->leaving);
}

static void
counter_started(struct helper *h, tstamp now)
{
	struct poolcounter *all = LOOP_OWNER(h, struct poolcounter, h);
	bool failed = h->result.error != 0;
	char why[256];

	if (failed && !all->ails)
		log_warnx("counter: %s",
		    child_explain(&h->spec, &h->result, why, sizeof(why)));
	all->ails = failed;
	if (failed || h->dead)
		counter_process_lose(all, now);
}

/* The counter has lines for the log, each with its level as "<4>". */
static void
counter_process_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct poolcounter *all = LOOP_OWNER(io, struct poolcounter, h.io);
	char said[4096], *line, *rest = said;
	struct logline l = { .level = LOG_LEVEL_ERROR };
	ssize_t n = recv(io->fd, said, sizeof(said) - 1, MSG_DONTWAIT);

	(void)events;
	(void)now;
	/* The cause is told when the process has been reaped. */
	if (n == 0 || (n == -1 && !fdpass_is_later(errno)))
		(void)loop_set(&all->h.sup->loop, io, 0);
	if (n <= 0)
		return;
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
	static char *const argv[] = { title, NULL };
	struct counter_listener *l;
	struct listener_spec spec;
	const char *why;

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
	if (!helper_start(
		&all->h, all->h.sup->config->counter_program, argv, now))
		timer_set(&all->h.sup->loop.timers, t, now + PAUSE_MAX);
	poolcounter_tell(&all->rest, now);
}

void
poolcounter_exited(
    struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct poolcounter *all = s->counter;
	char how[128];

	if (all->h.io.fd == -1 || all->h.result.pid != death->pid)
		return;
	all->h.dead = true;
	/* The lane still has it. */
	if (all->h.starting)
		return;
	/* The last lines of the process come first. */
	counter_process_ready(&all->h.io, EPOLLIN, now);
	if (!all->ended && !TAILQ_EMPTY(&all->listeners))
		log_warnx("counter (pid %ld) %s: another is started, all "
			  "locks are lost",
		    (long)death->pid, reap_explain(death, how, sizeof(how)));
	counter_process_lose(all, now);
}

/* --- the service under a configuration ------------------------------------ */

int
poolcounter_init(struct supervisor *s)
{
	struct poolcounter *all = calloc(1, sizeof(*all));

	s->counter = all;
	if (all == NULL)
		return -1;
	all->h.sup = s;
	all->h.io =
	    (struct loop_io){ .fd = -1, .ready = counter_process_ready };
	all->h.fds[0] = all->h.fds[1] = -1;
	all->h.page_size = sizeof(struct counter_figures);
	all->h.talks = true;
	all->h.started = counter_started;
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
	/* The others are no longer in the file: the counter closes them. */
	while ((l = TAILQ_FIRST(&all->listeners)) != NULL) {
		TAILQ_REMOVE(&all->listeners, l, next);
		if (l->told && all->h.io.fd != -1)
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
	if (all->h.io.fd == -1 && all->again.at == TSTAMP_NEVER)
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
	for (int i = 0; i < 2 && all->h.io.fd != -1; i++) {
		/* While it starts, the end of its socket is its end, too. */
		(void)shutdown(all->h.io.fd, SHUT_WR);
		if (all->h.result.pid != 0)
			(void)kill(
			    all->h.result.pid, i == 0 ? SIGTERM : SIGKILL);
		until += limit / 2;
		while (all->h.io.fd != -1 && loop_now(&s->loop) < until)
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

	helper_end(&all->h);
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

	if (all->h.io.fd == -1 && TAILQ_EMPTY(&all->listeners))
		return false;
	*out = (struct counter_figures){ .max_clients = all->max_clients };
	if (all->h.io.fd != -1 && !all->h.starting)
		memcpy(out, all->h.page, sizeof(*out));
	return true;
}

/* --- carried over --------------------------------------------------------- */

static bool
counter_listener_restore(struct carry *c, struct group *g, void *record)
{
	struct counter_listener *l = record;
	const struct conf *conf = c->sup->config;
	char *text = (char *)l->address.where;
	size_t i = 0;

	(void)g;
	while (i < conf->counter_len && text != NULL &&
	    strcmp(conf->counter[i].text, text) != 0)
		i++;
	if (i == conf->counter_len || l->listener.fd == -1)
		return false;
	free(text);
	l->where = &conf->counter[i];
	l->address.where = l->where->text;
	counter_listener_begin(l);
	TAILQ_INSERT_TAIL(&c->sup->counter->listeners, l, next);
	return true;
}

static const struct carry_field counter_listener_fields[] = {
	CARRY_LISTENER(struct counter_listener, listener),
	CARRY_OWNED(struct counter_listener, address.where),
	CARRY(struct counter_listener, number),
	CARRY(struct counter_listener, told)
};

CARRY_KIND(carry_counter_listener, "counter_listener", struct counter_listener,
    counter_listener_fields, .made = true, .restore = counter_listener_restore);

static bool
counter_restore(struct carry *c, struct group *g, void *record)
{
	struct poolcounter *all = c->sup->counter;

	(void)g;
	if (!carry_copy(c, all, record))
		return false;
	if (all->h.io.fd != -1)
		return helper_map(&all->h);
	timer_set(&c->sup->loop.timers, &all->again, c->now + all->pause);
	return true;
}

#define F(m) CARRY(struct poolcounter, m)
static const struct carry_field counter_fields[] = { CARRY_HELPER(
							 struct poolcounter, h),
	F(number), F(max_clients), F(own), F(limits_told), F(pause) };
#undef F

static void
poolcounter_carry(struct carry *c)
{
	const struct poolcounter *all = c->sup->counter;
	const struct counter_listener *l;

	TAILQ_FOREACH(l, &all->listeners, next)
		carry_put(c, CARRIED_COUNTER_LISTENER, 0, l);
	carry_put(c, CARRIED_COUNTER, 0, all);
}

static const char *
poolcounter_busy(const struct supervisor *s)
{
	const struct poolcounter *all = s->counter;

	return all->h.starting || !TAILQ_EMPTY(&all->leaving) ||
		!TAILQ_EMPTY(&all->fresh) || all->rest.at != TSTAMP_NEVER
	    ? "the counter is starting or changing"
	    : NULL;
}

CARRY_KIND(carry_counter, "counter", struct poolcounter, counter_fields,
    .restore = counter_restore, .put = poolcounter_carry,
    .busy = poolcounter_busy);
