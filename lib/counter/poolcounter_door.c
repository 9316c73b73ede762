/* The addresses of the PoolCounter service. */

#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/poolcounter_private.h"
#include "sys/activation.h"
#include "sys/address.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/* Those that wait in the backlog. */
#define BACKLOG 4096

/* Sockets of one name that the service manager may give. */
#define INHERITED_MAX 64

/* Taken in from a backlog when its door leaves. */
#define LAST_ACCEPTS 65536

/* Until a door that could not be bound anew is tried again. */
#define REBIND TSPAN_SECONDS(1)

/* A client whose machine is gone is known to be after this and 6 x 10 s. */
#define KEEPALIVE_IDLE 60
#define KEEPALIVE_INTERVAL 10

static void pc_door_ready(struct loop_io *io, uint32_t events, tstamp now);

/* --- opening ------------------------------------------------------------ */

static void
pc_door_free(struct pc_door *d)
{
	conf_listen_fini(&d->where);
	free(d);
}

/*
 * What connections inherit: replies are not held back, and the locks of a
 * machine that vanished do not stay for ever.
 */
static void
pc_door_tune(const struct listener *l)
{
	const int on = 1, idle = KEEPALIVE_IDLE, every = KEEPALIVE_INTERVAL;
	const struct linger no_linger = { 0 };

	if (l->kind == LISTENER_UNIX) {
		fdpass_refuse(l->fd);
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

/* Where a process of this machine connects to: not to "any address". */
static void
pc_door_name(struct pc_door *d)
{
	struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
	socklen_t len = listener_address(&d->listener, &addr);
	in_port_t port = in6->sin6_port;

	(void)address_format((const struct sockaddr *)&addr, len, d->address,
	    sizeof(d->address));
	if (addr.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
		if (d->where.kind == CONF_LISTEN_TCP && !d->where.v6only) {
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
	    (const struct sockaddr *)&addr, len, d->reach, sizeof(d->reach));
}

/* Anybody on this machine may connect, as with TCP. */
static bool
pc_door_listen(struct pc_door *d, int inherited)
{
	struct listener_spec spec = {
		.name = d->where.text,
		.inherited_fd = inherited,
		.backlog = BACKLOG,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.mode = 0666,
	};
	const char *why = "";

	if (d->where.kind == CONF_LISTEN_TCP) {
		spec.addr = (const struct sockaddr *)&d->where.addr;
		spec.addrlen = d->where.addr_len;
		spec.v6only = d->where.v6only;
	} else if (d->where.kind == CONF_LISTEN_UNIX) {
		spec.path = d->where.path;
	}
	if (listener_open(&d->listener, &spec, &why) == -1) {
		log_error("counter: %s: %s", d->where.text, why);
		return false;
	}
	pc_door_tune(&d->listener);
	pc_door_name(d);
	return true;
}

static struct pc_door *
pc_door_new(
    struct poolcounter *pc, const struct conf_listen *where, int inherited)
{
	struct pc_door *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		log_error("counter: %s", where->text);
		return NULL;
	}
	d->pc = pc;
	d->budget = 1;
	d->rest_until = TSTAMP_NEVER;
	d->listener.fd = -1;
	if (conf_listen_copy(&d->where, where) && pc_door_listen(d, inherited))
		return d;
	pc_door_free(d);
	return NULL;
}

bool
pc_door_open(struct poolcounter *pc, const struct conf_listen *where,
    struct pc_doors *out)
{
	int fds[INHERITED_MAX] = { -1 };
	size_t n = 1, i;
	struct pc_door *d;

	if (where->kind == CONF_LISTEN_FD)
		n = activation_find(where->fd_name, INHERITED_MAX, fds);
	if (n == 0) {
		log_errorx("counter: %s: the service manager gave no socket "
			   "of that name (LISTEN_FDNAMES)",
		    where->text);
		return false;
	}
	if (n > INHERITED_MAX)
		n = INHERITED_MAX;
	for (i = 0; i < n; i++) {
		d = pc_door_new(pc, where, fds[i]);
		if (d == NULL)
			break;
		TAILQ_INSERT_TAIL(out, d, next);
	}
	if (i == n)
		return true;
	for (; i > 0; i--) {
		d = TAILQ_LAST(out, pc_doors);
		TAILQ_REMOVE(out, d, next);
		pc_door_close(d);
	}
	return false;
}

static void
pc_door_watch(struct pc_door *d)
{
	d->rest_until = TSTAMP_NEVER;
	d->io.fd = d->listener.fd;
	d->io.ready = pc_door_ready;
	if (loop_set(d->pc->loop, &d->io, EPOLLIN) == -1)
		log_warn("counter: %s", d->address);
}

void
pc_door_use(struct pc_door *d)
{
	TAILQ_INSERT_TAIL(&d->pc->doors, d, next);
	pc_door_watch(d);
}

void
pc_door_close(struct pc_door *d)
{
	(void)loop_set(d->pc->loop, &d->io, 0);
	listener_fini(&d->listener);
	pc_door_free(d);
}

/* --- accepting ---------------------------------------------------------- */

static void
pc_door_rest(struct pc_door *d, tstamp until)
{
	(void)loop_set(d->pc->loop, &d->io, 0);
	d->rest_until = until;
}

/* Somebody shut it down: it is opened anew, here or when it has rested. */
static void
pc_door_mend(struct pc_door *d, tstamp now)
{
	if (d->listener.fd != -1) {
		log_warnx("counter: %s was shut down by somebody: binding it "
			  "anew",
		    d->address);
		(void)loop_set(d->pc->loop, &d->io, 0);
		listener_fini(&d->listener);
	}
	if (d->where.kind == CONF_LISTEN_FD || !pc_door_listen(d, -1))
		pc_door_rest(d, now + REBIND);
	else
		pc_door_watch(d);
}

/* Takes in up to `most`; whether there may be more. */
static bool
pc_door_accept(struct pc_door *d, unsigned most, tstamp now)
{
	bool tcp = d->listener.kind == LISTENER_TCP;
	int fd = 0;

	for (; most > 0; most--) {
		fd = listener_accept(&d->listener, now);
		if (fd < 0)
			break;
		pc_client_new(d->pc, fd, tcp, now);
	}
	if (fd == LISTENER_RESTING) {
		d->pc->connect_errors++;
		pc_door_rest(d, d->listener.rest_until);
	} else if (fd == LISTENER_BROKEN) {
		pc_door_mend(d, now);
	}
	return fd >= 0;
}

/* One accept while clients come one by one, more while they come in crowds. */
static void
pc_door_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct pc_door *d = LOOP_OWNER(io, struct pc_door, io);

	(void)events;
	if (!pc_door_accept(d, d->budget, now))
		d->budget = 1;
	else if (d->budget < PC_ACCEPTS)
		d->budget *= 2;
}

void
pc_door_wake(struct pc_door *d, tstamp now)
{
	if (d->listener.fd == -1)
		pc_door_mend(d, now);
	else
		pc_door_watch(d);
}

void
pc_door_leave(struct pc_door *d, tstamp now)
{
	if (!d->listener.inherited && listener_shut(&d->listener) == 0)
		(void)pc_door_accept(d, LAST_ACCEPTS, now);
	pc_door_close(d);
}
