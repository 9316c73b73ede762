/*
 * apppool-counter(8): the service as a program, alone or run by apppoold(8).
 *
 * The daemon opens listeners, gives them to us, and keeps a copy of each: a
 * counter that takes the place of one that died finds clients in the same
 * backlogs. What is said over the socket is in sys/counter_wire.h.
 */

#include <sys/mman.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "counter/counter.h"
#include "sys/descriptors.h"
#include "sys/fdpass.h"
#include "sys/listener.h"
#include "sys/manager.h"

#define CLIENTS_DEFAULT 10000
#define CLIENTS_MAX 1000000

/* Keys that are locked at a time, and those of the daemon's own beside them. */
#define KEYS_MAX 100000
#define KEYS_OWN 4096

/* Descriptors for other things than clients: listeners, and our own. */
#define DESCRIPTORS_OURS 96

/* Accepts of one listener in one turn at most, and when it is closed. */
#define ACCEPTS 64
#define ACCEPTS_LAST 65536

/* The daemon says within this that it is the one who shut a listener down. */
#define BROKEN_MAX TSPAN_MSECONDS(200)

/* Sockets of one name that the service manager may give. */
#define INHERITED_MAX 64

/* At the end, for closing and for the log. */
#define END_MAX TSPAN_MSECONDS(250)

struct service_listener {
	TAILQ_ENTRY(service_listener) next;
	struct acceptor acceptor;
	struct service *service;
	unsigned number; /* the daemon's for it; 0: we are alone */
	bool broken; /* it was found to be shut down */
	bool leaves; /* what waits there is taken in, and that is all */
};

struct service {
	struct loop loop;
	struct lane closer;
	struct lockers lockers;
	struct counter_figures *figures;
	struct loop_io daemon; /* fd -1: we are alone */
	TAILQ_HEAD(, service_listener) listeners;
	bool leaves; /* the configuration has no counter any more */
	bool ends;
	int status; /* of the exit */
};

/* --- listeners ------------------------------------------------------------ */

static void
service_arrived(struct acceptor *a, int fd, tstamp now)
{
	struct service_listener *l =
	    LOOP_OWNER(a, struct service_listener, acceptor);

	lockers_add(&l->service->lockers, fd, a->listener.kind == LISTENER_TCP,
	    LOCKERS_STRANGERS, now);
}

static void
service_resting(struct acceptor *a)
{
	LOOP_OWNER(a, struct service_listener, acceptor)
	    ->service->figures->connect_errors++;
}

/*
 * The listener is shut down: by the daemon, which says so, or else by an
 * administrator of the machine, who cuts off all clients on its port with it.
 * Then we end, and whoever runs us binds it anew. A socket of the service
 * manager cannot be, and is left alone.
 */
static void
service_broken(struct acceptor *a, tstamp now)
{
	struct service_listener *l =
	    LOOP_OWNER(a, struct service_listener, acceptor);

	if (l->leaves)
		return;
	if (!l->broken) {
		l->broken = true;
		acceptor_rest(a, now + BROKEN_MAX);
		return;
	}
	log_warnx("counter: %s was shut down by somebody", a->listener.name);
	if (a->listener.inherited)
		return;
	l->service->ends = true;
	l->service->status = EX_UNAVAILABLE;
}

/* Opens what spec says and begins to accept from it; false and errno. */
static bool
service_listen(struct service *s, const struct listener_spec *spec, bool shared,
    unsigned number, const char **why_out)
{
	static const struct acceptor_ops ops = {
		.arrived = service_arrived,
		.resting = service_resting,
		.reopen = service_broken,
	};
	struct service_listener *l = calloc(1, sizeof(*l));

	*why_out = "remember it";
	if (l == NULL)
		return false;
	acceptor_init(&l->acceptor, &s->loop, NULL, &ops, ACCEPTS);
	if (listener_open(&l->acceptor.listener, spec, why_out) == -1) {
		free(l);
		return false;
	}
	/* Listeners of the daemon are ours to close and to shut down. */
	l->acceptor.listener.inherited = shared;
	l->service = s;
	l->number = number;
	counter_tune(l->acceptor.listener.fd, COUNTER_VANISHED_IDLE,
	    COUNTER_VANISHED_MOST);
	if (l->acceptor.listener.kind == LISTENER_UNIX)
		(void)fdpass_refuse(l->acceptor.listener.fd);
	acceptor_start(&l->acceptor);
	TAILQ_INSERT_TAIL(&s->listeners, l, next);
	return true;
}

/* The connections of its backlog become clients before. */
static void
service_leave(struct service *s, struct service_listener *l, tstamp now)
{
	struct listener *at = &l->acceptor.listener;
	int fd = at->inherited ? at->fd : -1;

	l->leaves = true;
	if (!at->inherited && listener_shut(at) == 0)
		for (unsigned n = 0; n < ACCEPTS_LAST; n++)
			if (acceptor_take(&l->acceptor, now) != ACCEPTOR_ONE)
				break;
	acceptor_close(&l->acceptor);
	if (fd != -1)
		(void)close(fd);
	TAILQ_REMOVE(&s->listeners, l, next);
	free(l);
}

/* --- ceilings ------------------------------------------------------------- */

/* As many clients as wanted, as far as there are descriptors. */
static void
service_limit(struct service *s, uint32_t wanted, uint32_t own)
{
	uint32_t have = (uint32_t)getdtablesize();
	uint32_t taken = DESCRIPTORS_OURS + own;
	uint32_t room = have > taken ? have - taken : 1;
	struct counter_limits limits;

	if (wanted > room)
		log_warnx("counter: counter_max_clients %u is more than there "
			  "are descriptors left for: it is %u (raise the "
			  "limit: LimitNOFILE, ulimit -n)",
		    wanted, room);
	limits.clients =
	    MIN(MIN(wanted, room), s->lockers.counter.limits.clients);
	limits.keys = MIN(KEYS_MAX, limits.clients * COUNTER_STACK);
	counter_limit(&s->lockers.counter, &limits);
}

/*
 * Tables for as many clients as there can ever be descriptors: pages of them
 * that are not touched take no memory, and no table has to grow. Where even the
 * addresses are scarce, for fewer.
 */
static bool
service_reserve(struct service *s)
{
	struct counter_limits tables = {
		.clients = MIN((uint32_t)getdtablesize(), CLIENTS_MAX),
		.keys = KEYS_MAX + KEYS_OWN,
	};

	while (!lockers_init(
	    &s->lockers, &s->loop, &s->closer, &tables, s->figures)) {
		tables.clients /= 2;
		if (tables.clients < DESCRIPTORS_OURS)
			return false;
	}
	return true;
}

/* --- under the daemon ----------------------------------------------------- */

static void
service_told(struct service *s, const char *what, int fd, tstamp now)
{
	struct listener_spec spec = { .inherited_fd = fd };
	struct service_listener *l, *next;
	const char *why;
	unsigned number, own;
	char verb[16];
	int at = 0;

	if (sscanf(what, "LIMIT %u %u", &number, &own) == 2) {
		service_limit(s, number, own);
	} else if (strcmp(what, "JOIN") == 0 && fd != -1) {
		lockers_add(&s->lockers, fd, false, LOCKERS_OWN, now);
	} else if (sscanf(what, "LEAVE %u", &number) == 1) {
		TAILQ_FOREACH_SAFE(l, &s->listeners, next, next)
			if (l->number == number)
				service_leave(s, l, now);
		s->leaves = TAILQ_EMPTY(&s->listeners);
	} else if (sscanf(what, "%15s %u %n", verb, &number, &at) == 2 &&
	    at > 0 && fd != -1) {
		spec.name = what + at;
		if (!service_listen(
			s, &spec, strcmp(verb, "INHERIT") == 0, number, &why)) {
			log_error("counter: %s: %s", spec.name, why);
			(void)close(fd);
		}
	} else {
		log_errorx("counter: the daemon said: %s", what);
	}
}

static void
service_daemon_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct service *s = LOOP_OWNER(io, struct service, daemon);
	char what[COUNTER_TOLD_MAX];
	int fd;
	ssize_t n =
	    fdpass_recv_one(io->fd, what, sizeof(what) - 1, MSG_DONTWAIT, &fd);

	(void)events;
	if (n > 0) {
		what[n] = '\0';
		service_told(s, what, fd, now);
	} else if (n == 0 || !fdpass_is_later(errno)) {
		s->ends = true;
	}
}

/* --- alone ---------------------------------------------------------------- */

/* The sockets of that name; each is the service manager's, too. */
static bool
service_take_inherited(struct service *s, const char *text)
{
	struct listener_spec spec = { .name = text };
	int fds[INHERITED_MAX];
	size_t n = activation_find(text + strlen("fd:"), INHERITED_MAX, fds);
	const char *why = "find a socket of that name (LISTEN_FDNAMES)";

	errno = ENOENT;
	for (size_t i = 0; i < n; i++) {
		spec.inherited_fd = fds[i];
		if (!service_listen(s, &spec, true, 0, &why))
			n = 0;
	}
	if (n == 0)
		log_error("counter: %s: %s", text, why);
	return n > 0;
}

/* HOST:PORT, [ADDRESS]:PORT or *:PORT; NULL: the reason is logged. */
static struct addrinfo *
service_resolve(struct listener_spec *spec)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE,
		.ai_socktype = SOCK_STREAM };
	const char *text = spec->name, *port = strrchr(text, ':');
	const char *wrong = "invalid";
	bool any = strncmp(text, "*:", 2) == 0;
	struct addrinfo *info;
	char host[256];
	int error;

	if (port != NULL && port != text)
		(void)strtonum(port + 1, 0, 65535, &wrong);
	if (wrong != NULL) {
		log_errorx(
		    "counter: %s: no HOST:PORT, unix:PATH or fd:NAME", text);
		return NULL;
	}
	(void)snprintf(host, sizeof(host), "%.*s", (int)(port - text), text);
	if (any)
		(void)snprintf(host, sizeof(host), "%s",
		    access("/proc/net/if_inet6", F_OK) == 0 ? "::" : "0.0.0.0");
	else if (host[0] == '[' && port[-1] == ']')
		(void)snprintf(host, sizeof(host), "%.*s",
		    (int)(port - text - 2), text + 1);
	error = getaddrinfo(host, port + 1, &hints, &info);
	if (error != 0) {
		log_errorx("counter: %s: %s", text, gai_strerror(error));
		return NULL;
	}
	spec->addr = info->ai_addr;
	spec->addrlen = info->ai_addrlen;
	spec->v6only = !any;
	return info;
}

/* An address in the words of pool.conf(5); false: the reason is logged. */
static bool
service_open(struct service *s, const char *text)
{
	struct listener_spec spec = { .name = text,
		.inherited_fd = -1,
		.backlog = COUNTER_BACKLOG,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.mode = COUNTER_MODE };
	struct addrinfo *info = NULL;
	const char *why;
	char reason[128];
	bool opened;

	if (strncmp(text, "fd:", 3) == 0)
		return service_take_inherited(s, text);
	if (strncmp(text, "unix:", 5) == 0)
		spec.path = text + 5;
	else if ((info = service_resolve(&spec)) == NULL)
		return false;
	opened = service_listen(s, &spec, false, 0, &why);
	if (!opened)
		log_errorx("counter: %s: %s: %s", text, why,
		    listener_explain(&spec, reason, sizeof(reason)));
	if (info != NULL)
		freeaddrinfo(info);
	return opened;
}

/* --- the program ---------------------------------------------------------- */

static void
service_signalled(void *arg, const struct signalfd_siginfo *info, tstamp now)
{
	struct service *s = arg;

	(void)info;
	(void)now;
	s->ends = true;
}

/* All but listeners; with the daemon's page of figures if that runs us. */
static bool
service_init(struct service *s, bool alone)
{
	static struct counter_figures figures;
	struct rlimit before;
	sigset_t set;

	TAILQ_INIT(&s->listeners);
	s->daemon = (struct loop_io){ .fd = alone ? -1 : COUNTER_FD,
		.ready = service_daemon_ready };
	s->figures = alone ? &figures
			   : mmap(NULL, sizeof(figures), PROT_READ | PROT_WRITE,
				 MAP_SHARED, COUNTER_PAGE_FD, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (s->figures == MAP_FAILED || signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    descriptors_raise_limit(&before) == -1 ||
	    loop_init(&s->loop, NULL) == -1 ||
	    loop_signals(&s->loop, &set, service_signalled, s) == -1 ||
	    lane_start(&s->closer, &s->loop, "closer", NULL) == -1 ||
	    !service_reserve(s) ||
	    (!alone && loop_set(&s->loop, &s->daemon, EPOLLIN) == -1)) {
		log_error("counter: cannot start");
		return false;
	}
	return true;
}

/* Until a signal, or the end of the daemon. */
static void
service_run(struct service *s)
{
	const struct counter *c = &s->lockers.counter;
	struct service_listener *l;

	if (log_start() == -1)
		log_warn("counter: cannot start the log's thread");
	(void)notify_send("READY=1");
	while (!s->ends) {
		if (loop_turn(&s->loop, TSTAMP_NEVER) == -1 && errno != EINTR)
			log_warn("counter: epoll_wait");
		lockers_turn(&s->lockers, loop_now(&s->loop));
		s->ends = s->ends ||
		    (s->leaves && TAILQ_EMPTY(&s->listeners) &&
			c->nclients == c->free_clients.count);
	}
	while ((l = TAILQ_FIRST(&s->listeners)) != NULL) {
		TAILQ_REMOVE(&s->listeners, l, next);
		acceptor_close(&l->acceptor);
		free(l);
	}
	lockers_fini(&s->lockers, loop_now(&s->loop));
	(void)lane_stop(&s->closer, loop_now(&s->loop) + END_MAX);
	(void)log_flush(END_MAX);
}

static void
service_usage(FILE *to)
{
	(void)fputs("usage: apppool-counter [-hV] [-n clients] -l address "
		    "[-l address ...]\n",
	    to);
}

int
main(int argc, char **argv)
{
	static struct service s;
	struct log_spec log = { .dest = LOG_DEST_STDERR,
		.level = LOG_LEVEL_INFO };
	static const char **addresses;
	uint32_t clients = CLIENTS_DEFAULT;
	const char *wrong;
	size_t n = 0;
	bool alone;
	int c, type = 0;
	socklen_t len = sizeof(type);

	addresses = calloc((size_t)argc + 1, sizeof(*addresses));
	if (addresses == NULL || descriptors_fix() == -1)
		return EX_OSERR;
	while ((c = getopt(argc, argv, "hl:n:V")) != -1) {
		switch (c) {
		case 'h':
			service_usage(stdout);
			return EX_OK;
		case 'l':
			addresses[n++] = optarg;
			break;
		case 'n':
			clients =
			    (uint32_t)strtonum(optarg, 1, CLIENTS_MAX, &wrong);
			if (wrong == NULL)
				break;
			(void)fprintf(stderr, "apppool-counter: -n %s: %s\n",
			    optarg, wrong);
			return EX_USAGE;
		case 'V':
			(void)puts("apppool-counter " APPPOOL_VERSION);
			return EX_OK;
		default:
			service_usage(stderr);
			return EX_USAGE;
		}
	}
	/* The daemon starts us without a word, and with its socket. */
	alone = argc != 1 ||
	    getsockopt(COUNTER_FD, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    type != SOCK_SEQPACKET;
	if (optind < argc || (alone && n == 0)) {
		service_usage(stderr);
		return EX_USAGE;
	}
	log.journal = !alone;
	/* No process of the user is to look into us, or at our clients. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (log_open(&log) == -1 || manager_open(NULL) == -1) {
		perror("apppool-counter");
		return EX_OSERR;
	}
	if (!service_init(&s, alone))
		return EX_OSERR;
	if (alone)
		service_limit(&s, clients, 0);
	for (size_t i = 0; i < n; i++)
		if (!service_open(&s, addresses[i]))
			return EX_CANTCREAT;
	service_run(&s);
	return s.status;
}
