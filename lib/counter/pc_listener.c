/* The listeners of the PoolCounter service. */

#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/pc_listener.h"
#include "sys/address.h"
#include "sys/fdpass.h"
#include "sys/manager.h"

/* Connections in the backlog. */
#define BACKLOG 4096

/* Accepts of one listener in one turn at most. */
#define ACCEPTS 64

/* Sockets of one name that the service manager may give. */
#define INHERITED_MAX 64

/* Accepted from the backlog of a listener that is closed. */
#define LAST_ACCEPTS 65536

/* The time until a listener that could not be bound anew is tried again. */
#define REBIND TSPAN_SECONDS(1)

/* A client whose machine is gone is noticed after this and 6 x 10 s. */
#define KEEPALIVE_IDLE 60
#define KEEPALIVE_INTERVAL 10

/* --- opening ------------------------------------------------------------ */

/*
 * Sets the options that connections inherit: replies are not held back, and
 * the locks of a machine that vanished do not stay for ever.
 */
static void
tune(const struct listener *l)
{
	const int on = 1, idle = KEEPALIVE_IDLE, every = KEEPALIVE_INTERVAL;
	const struct linger no_linger = { 0 };

	if (l->kind == LISTENER_UNIX) {
		(void)fdpass_refuse(l->fd);
		return;
	}
	(void)setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(l->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(l->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(
	    l->fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	(void)setsockopt(
	    l->fd, SOL_SOCKET, SO_LINGER, &no_linger, sizeof(no_linger));
}

/* Names the address; a process of this machine cannot connect to "any". */
static void
name(struct pc_listener *l)
{
	struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
	socklen_t len = listener_address(&l->acceptor.listener, &addr);
	in_port_t port = in6->sin6_port;

	(void)address_format((const struct sockaddr *)&addr, len, l->address,
	    sizeof(l->address));
	if (addr.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
		if (l->where.kind == CONF_LISTEN_TCP && !l->where.v6only) {
			*in = (struct sockaddr_in){ .sin_family = AF_INET,
				.sin_port = port };
			len = sizeof(*in);
		} else {
			in6->sin6_addr = in6addr_loopback;
		}
	}
	if (addr.ss_family == AF_INET && in->sin_addr.s_addr == INADDR_ANY)
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)address_format(
	    (const struct sockaddr *)&addr, len, l->reach, sizeof(l->reach));
}

/* Every user of this machine may connect, as with TCP. */
static bool
listen_at(struct pc_listener *l, const struct conf_listen *where, int inherited,
    struct openings *openings)
{
	struct listener_spec spec;
	const char *why = "";
	char text[128];

	conf_listen_spec(where, &spec);
	spec.inherited_fd = inherited;
	spec.backlog = BACKLOG;
	spec.mode = 0666;
	if (openings_open(openings, &l->acceptor.listener, &spec, &why) == -1) {
		if (errno != EINPROGRESS)
			log_errorx("counter: %s: %s: %s", where->text, why,
			    listener_explain(&spec, text, sizeof(text)));
		return false;
	}
	tune(&l->acceptor.listener);
	name(l);
	return true;
}

/* --- accepting ---------------------------------------------------------- */

static void
arrived(struct acceptor *a, int fd, tstamp now)
{
	const struct pc_listener *l =
	    LOOP_OWNER(a, struct pc_listener, acceptor);

	pc_clients_add(l->clients, fd, a->listener.kind == LISTENER_TCP, now);
}

static void
resting(struct acceptor *a)
{
	LOOP_OWNER(a, struct pc_listener, acceptor)->clients->connect_errors++;
}

/* A socket of the service manager cannot be bound anew, and rests for ever. */
static void
reopen(struct acceptor *a, tstamp now)
{
	struct pc_listener *l = LOOP_OWNER(a, struct pc_listener, acceptor);

	if (a->listener.fd != -1) {
		log_warnx("counter: %s was shut down by somebody: binding it "
			  "anew",
		    l->address);
		acceptor_discard(a->lane, &a->listener);
	}
	if (l->where.kind == CONF_LISTEN_FD ||
	    !listen_at(l, &l->where, -1, NULL))
		acceptor_rest(a, now + REBIND);
	else
		acceptor_start(a);
}

static const struct acceptor_ops acceptor_ops = {
	.arrived = arrived,
	.resting = resting,
	.reopen = reopen,
};

/* --- beginning and end -------------------------------------------------- */

static struct pc_listener *
open_one(struct pc_clients *clients, const struct conf_listen *where,
    int inherited, struct openings *openings)
{
	struct pc_listener *l = calloc(1, sizeof(*l));
	int error;

	if (l == NULL) {
		log_error("counter: %s", where->text);
		return NULL;
	}
	l->clients = clients;
	acceptor_init(&l->acceptor, clients->loop, clients->closer,
	    &acceptor_ops, ACCEPTS);
	if (conf_listen_copy(&l->where, where) &&
	    listen_at(l, where, inherited, openings))
		return l;
	error = errno;
	pc_listener_close(l);
	errno = error;
	return NULL;
}

bool
pc_listener_open(struct pc_clients *clients, const struct conf_listen *where,
    struct openings *openings, struct pc_listeners *out)
{
	int fds[INHERITED_MAX] = { -1 };
	size_t n = 1, i;
	struct pc_listener *l;
	int error;

	if (where->kind == CONF_LISTEN_FD)
		n = activation_find(where->fd_name, INHERITED_MAX, fds);
	if (n == 0) {
		log_errorx("counter: %s: the service manager gave no socket "
			   "of that name (LISTEN_FDNAMES)",
		    where->text);
		errno = ENOENT;
		return false;
	}
	for (i = 0; i < n; i++) {
		l = open_one(clients, where, fds[i], openings);
		if (l == NULL)
			break;
		TAILQ_INSERT_TAIL(out, l, next);
	}
	if (i == n)
		return true;
	error = errno;
	for (; i > 0; i--) {
		l = TAILQ_LAST(out, pc_listeners);
		TAILQ_REMOVE(out, l, next);
		pc_listener_close(l);
	}
	errno = error;
	return false;
}

void
pc_listener_start(struct pc_listener *l)
{
	acceptor_start(&l->acceptor);
}

void
pc_listener_close(struct pc_listener *l)
{
	acceptor_close(&l->acceptor);
	conf_listen_fini(&l->where);
	free(l);
}

void
pc_listener_leave(struct pc_listener *l, tstamp now)
{
	struct acceptor *a = &l->acceptor;

	if (!a->listener.inherited && listener_shut(&a->listener) == 0)
		for (unsigned n = 0; n < LAST_ACCEPTS; n++)
			if (acceptor_take(a, now) != ACCEPTOR_ONE)
				break;
	pc_listener_close(l);
}
