/* A connection, from the channel into the program. */

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept_give.h"
#include "adapter/accept_watch.h"
#include "sys/wire.h"
#include "worker/channel.h"

/* --- from the daemon ----------------------------------------------------- */

/* One has come; whether it is there to be given. */
static bool
take_conn(struct adapter *a, const struct channel_message *m)
{
	struct held h = {
		.fd = m->fd,
		.serial = m->serial,
		.peer_len = sizeof(h.peer),
	};

	if (m->fd == -1) {
		(void)channel_say_serial(a->channel, WIRE_LOST, h.serial);
		return false;
	}
	/* accept() would not have returned one without an address. */
	if (getpeername(h.fd, (struct sockaddr *)&h.peer, &h.peer_len) == -1) {
		(void)close(h.fd);
		(void)channel_say_serial(a->channel, WIRE_DONE, h.serial);
		return false;
	}
	a->held = h;
	return true;
}

bool
give_take(struct adapter *a)
{
	struct channel_message m;

	while (a->maybe && !a->stopped) {
		if (channel_receive(a->channel, MSG_DONTWAIT, &m) == -1) {
			switch (errno) {
			case EINTR:
				continue;
			case EAGAIN:
				a->maybe = false;
				continue;
			case ENOBUFS:
			case ENOMEM:
				(void)poll(NULL, 0, 10);
				continue;
			default:
				adapter_fail(a, "the socket of the daemon: %s",
				    strerror(errno));
			}
		}
		if (m.kind == CHANNEL_STOP)
			a->stopped = true;
		else if (take_conn(a, &m))
			return true;
	}
	return false;
}

/* --- to the program ------------------------------------------------------ */

/* The address where accept() leaves it: 0 or an errno. */
static int
tell_address(struct adapter *a, const struct call *c)
{
	const struct held *h = &a->held;
	const struct memory_part parts[2] = {
		{ c->address, &h->peer,
		    c->room < h->peer_len ? c->room : h->peer_len },
		{ c->length, &h->peer_len, sizeof(h->peer_len) },
	};

	if (c->address == 0 || memory_write(&a->memory, c->tid, parts) == 0)
		return 0;
	return errno;
}

/* The flag is the connection's: one that was not given may have it. */
static void
set_blocking(struct held *h, int flags)
{
	bool nonblocking = (flags & SOCK_NONBLOCK) != 0;

	if (nonblocking != h->nonblocking)
		(void)fcntl(h->fd, F_SETFL, nonblocking ? O_NONBLOCK : 0);
	h->nonblocking = nonblocking;
}

/* It has got what we hold, as its descriptor its_fd. */
static void
given(struct adapter *a, const struct call *c, int its_fd, ino_t inode)
{
	struct given g = {
		.serial = a->held.serial,
		.tid = c->tid,
		.fd = its_fd,
		.inode = inode,
		.began = a->now,
	};

	watch_begin(a, &g);
	sessions_add(&a->sessions, &g);
	(void)close(a->held.fd);
	a->held.fd = -1;
	waiters_forget(&a->waiters, c->tid);
}

void
give_refuse(struct adapter *a, const struct call *c, int error)
{
	switch (error) {
	case EPERM:
		adapter_fail(a,
		    "the client's address cannot be left in the memory of the "
		    "program, which is not dumpable; handoff = listen would "
		    "do without");
	case ENOENT:
	case ESRCH:
		break;
	default:
		call_fail(a->program.notify, c, error);
		break;
	}
	waiters_forget(&a->waiters, c->tid);
}

void
give(struct adapter *a, const struct call *caller)
{
	const struct call c = *caller;
	struct stat st = { 0 };
	int error, fd;

	if (!sessions_reserve(&a->sessions)) {
		give_refuse(a, &c, ENOMEM);
		return;
	}
	(void)fstat(a->held.fd, &st);
	set_blocking(&a->held, c.flags);
	door_bequeath(&a->door, a->held.fd);
	error = tell_address(a, &c);
	if (error != 0) {
		give_refuse(a, &c, error);
		return;
	}
	/* Before, or a program that is quick would see it as it was. */
	if (watch_wants_bell(a))
		door_ring(&a->door);
	else if (door_rings(&a->door))
		door_quiet(&a->door);
	fd = call_give(a->program.notify, &c, a->held.fd);
	if (fd == -1)
		give_refuse(a, &c, errno);
	else
		given(a, &c, fd, st.st_ino);
}
