/* Messages to the daemon, and connections from it. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/wire.h"
#include "worker/worker.h"

void
daemon_say(const struct adapter *a, const char *message)
{
	(void)channel_say(a->channel, message, strlen(message));
}

void
daemon_retire(struct adapter *a)
{
	if (!a->ready || a->retired || a->stopped)
		return;
	a->retired = true;
	daemon_say(a, WIRE_RETIRE);
}

void
daemon_fail(struct adapter *a, const char *fmt, ...)
{
	char text[WIRE_MAX];
	size_t verb = sizeof(WIRE_FAIL);
	va_list ap;
	int len;

	memcpy(text, WIRE_FAIL " ", verb);
	va_start(ap, fmt);
	len = vsnprintf(text + verb, sizeof(text) - verb, fmt, ap);
	va_end(ap);
	if ((size_t)len > sizeof(text) - verb - 1)
		len = (int)(sizeof(text) - verb - 1);
	(void)channel_say(a->channel, text, verb + (size_t)len);
	if (a->program.pid > 0)
		(void)kill(a->program.pid, SIGKILL);
	_exit(EX_OSERR);
}

bool
daemon_has_connection(struct adapter *a)
{
	struct channel_message m;
	char first;
	ssize_t n;

	if (!a->maybe || a->stopped)
		return false;
	do {
		n = recv(
		    a->channel, &first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
		/* ECONNRESET comes once, and then the end of file. */
	} while (n == -1 && errno == ECONNRESET);
	if (n > 0 && first == WIRE_CONN[0])
		return true;
	if (n >= 0)
		a->stopped = channel_receive(a->channel, MSG_DONTWAIT, &m) == 0;
	else if (errno == EAGAIN)
		a->maybe = false;
	return false;
}

void
daemon_forget(struct adapter *a)
{
	char none;

	if (a->received.stays)
		(void)recv(a->channel, &none, sizeof(none), MSG_DONTWAIT);
	if (a->received.fd != -1)
		(void)close(a->received.fd);
	a->received = (struct received){ .fd = -1 };
}

bool
daemon_receive(struct adapter *a)
{
	int flags = MSG_DONTWAIT | (a->raced ? 0 : MSG_PEEK);
	struct received *r = &a->received;
	struct channel_message m;

	while (a->maybe && !a->stopped) {
		if (channel_receive(a->channel, flags, &m) == -1) {
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
				daemon_fail(a, "the socket of the daemon: %s",
				    strerror(errno));
			}
		}
		if (m.kind == CHANNEL_FORK)
			daemon_fail(a, "it cannot fork a template");
		if (m.kind == CHANNEL_STOP) {
			a->stopped = true;
			continue;
		}
		*r = (struct received){
			.fd = m.fd,
			.stays = !a->raced,
			.serial = m.serial,
			.peer_len = sizeof(r->peer),
		};
		/* accept() returns no connection without an address. */
		if (r->fd != -1 &&
		    getpeername(
			r->fd, (struct sockaddr *)&r->peer, &r->peer_len) == 0)
			return true;
		daemon_forget(a);
		(void)channel_say_serial(
		    a->channel, m.fd == -1 ? WIRE_LOST : WIRE_DONE, m.serial);
	}
	return false;
}
