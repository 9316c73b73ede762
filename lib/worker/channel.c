/* The process's end of the worker protocol: the variables, and the messages. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"
#include "worker/worker.h"

/* Returns a variable that is a number up to INT32_MAX, or -1 and errno. */
static int
channel_number(const char *name)
{
	const char *text = getenv(name);
	uint64_t n;

	if (text == NULL || !number_parse(text, strlen(text), &n) ||
	    n > INT32_MAX)
		return worker_error(EINVAL);
	return (int)n;
}

int
channel_find(struct channel *out)
{
	const char *protocol = getenv(WIRE_ENV_PROTOCOL);
	const char *template = getenv(WIRE_ENV_TEMPLATE);
	const char *app = getenv(WIRE_ENV_APP), *id = getenv(WIRE_ENV_ID);
	const char *sig;
	struct channel c = { .slot = -1 };
	int domain, type;
	socklen_t len = sizeof(int);

	if (protocol == NULL)
		return worker_error(ENOENT);
	if (strcmp(protocol, WIRE_VERSION) != 0)
		return worker_error(EPROTONOSUPPORT);
	c.fd = channel_number(WIRE_ENV_FD);
	if (c.fd == -1 ||
	    getsockopt(c.fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1 ||
	    getsockopt(c.fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return -1;
	if (domain != AF_UNIX || type != SOCK_SEQPACKET)
		return worker_error(EPROTOTYPE);
	if (template == NULL || strcmp(template, "1") != 0) {
		c.slot = channel_number(WIRE_ENV_SLOT);
		if (c.slot == -1)
			return -1;
	}
	if (app == NULL || id == NULL)
		return worker_error(EINVAL);
	c.app = strdup(app);
	c.id = strdup(id);
	if (c.app == NULL || c.id == NULL) {
		free(c.app);
		free(c.id);
		return worker_error(ENOMEM);
	}
	c.keep_alive = getenv(WIRE_ENV_KEEP_ALIVE) != NULL;
	sig = getenv(WIRE_ENV_STOP_SIGNAL);
	c.stop_signal = sig == NULL ? SIGTERM : (int)strtol(sig, NULL, 10);
	*out = c;
	return 0;
}

void
channel_forget(bool names_stay)
{
	static const char *const names[] = { WIRE_ENV_APP, WIRE_ENV_ID,
		WIRE_ENV_SLOT, WIRE_ENV_PROTOCOL, WIRE_ENV_FD, WIRE_ENV_FAMILY,
		WIRE_ENV_UNREAD, WIRE_ENV_TEMPLATE, WIRE_ENV_KEEP_ALIVE,
		WIRE_ENV_SLOW_SIGNAL, WIRE_ENV_STOP_SIGNAL, WIRE_ENV_LIBRARY };

	for (size_t i = names_stay ? 3 : 0;
	     i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
}

/* Long enough for any verb with a number. */
#define SHORT_MESSAGE 64

int
channel_say(int sock, const char *message)
{
	struct pollfd p = { .fd = sock, .events = POLLOUT };

	while (send(sock, message, strlen(message), MSG_NOSIGNAL) == -1) {
		switch (errno) {
		case EINTR:
			break;
		case EAGAIN:
			(void)poll(&p, 1, -1);
			break;
		case ENOBUFS:
		case ENOMEM:
			/* A passing shortage: the message must not be lost. */
			(void)poll(NULL, 0, 10);
			break;
		case EPIPE:
		case ECONNRESET:
			return worker_error(ESHUTDOWN);
		default:
			return -1;
		}
	}
	return 0;
}

int
channel_say_serial(int sock, const char *verb, uint64_t serial)
{
	char message[SHORT_MESSAGE] = "";
	char *at = number_write(message + sizeof(message) - 1, serial);

	*--at = ' ';
	for (size_t i = strlen(verb); i > 0; i--)
		*--at = verb[i - 1];
	return channel_say(sock, at);
}

/*
 * Reads a message that came with nfds descriptors. Returns how many of them it
 * has a use for, or -1: it is unknown.
 */
static int
parse_message(const char *text, size_t nfds, struct channel_message *out)
{
	const size_t verb = strcspn(text, " ");
	const char *p = text + verb, *end = text + strlen(text), *slot;
	uint64_t n;

	if (verb == 0 || strcmp(text, WIRE_STOP) == 0) {
		out->kind = CHANNEL_STOP;
		return *text == ' ' ? -1 : 0;
	}
	if (*p++ != ' ' || !number_read(&p, end, &out->serial) || *p++ != ' ')
		return -1;
	if (verb == strlen(WIRE_CONN) && memcmp(text, WIRE_CONN, verb) == 0) {
		out->kind = CHANNEL_CONN;
		if (!number_read(&p, end, &out->waited))
			return -1;
		if (*p == ' ') {
			p++;
			if (!number_read(&p, end, &n) || n > INT32_MAX)
				return -1;
			out->load = (int)n;
		}
		if (p != end)
			return -1;
		return nfds > 0 ? 1 : 0;
	}
	out->kind = CHANNEL_FORK;
	slot = strchr(p, ' ');
	if (verb != strlen(WIRE_FORK) || memcmp(text, WIRE_FORK, verb) != 0 ||
	    slot == NULL || slot == p || slot - p >= CHANNEL_ID_SIZE)
		return -1;
	memcpy(out->id, p, (size_t)(slot - p));
	out->id[slot - p] = '\0';
	slot++;
	out->slot = -1;
	if (strcmp(slot, WIRE_FORK_TEMPLATE) != 0) {
		if (!number_parse(slot, strlen(slot), &n) || n > INT32_MAX)
			return -1;
		out->slot = (int)n;
	}
	return nfds == 1 || nfds == 3 ? (int)nfds : 0;
}

/*
 * Moves the descriptors above the standard ones, which the program may have
 * closed: the kernel gives the lowest number that is free. A worker that was
 * forked there closed its new output as the place from which that had come, and
 * had a client's connection for standard output then.
 */
static void
lift_descriptors(struct fdpass_got *got)
{
	for (size_t i = 0; i < got->nfds; i++) {
		int fd = got->fds[i];

		if (fd > STDERR_FILENO)
			continue;
		got->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		(void)close(fd);
		if (got->fds[i] != -1)
			continue;
		/* As if the kernel had had no number for them. */
		for (size_t k = 0; k < got->nfds; k++)
			if (got->fds[k] != -1)
				(void)close(got->fds[k]);
		got->nfds = 0;
	}
}

int
channel_receive(int sock, int flags, struct channel_message *out)
{
	struct channel_message m = { .load = -1, .output = { -1, -1 } };
	char text[WIRE_MAX + 1];
	struct fdpass_got got;
	int kept = -1;
	ssize_t n;

	do {
		n = fdpass_recv(sock, text, WIRE_MAX, flags, &got);
		/* ECONNRESET comes once, and then the end of file. */
	} while (n == -1 && errno == ECONNRESET);
	if (n == -1)
		return -1;
	text[n] = '\0';
	lift_descriptors(&got);
	if (!got.truncated)
		kept = parse_message(text, got.lost_fds ? 0 : got.nfds, &m);
	for (size_t i = kept == -1 ? 0 : (size_t)kept; i < got.nfds; i++)
		(void)close(got.fds[i]);
	if (kept == -1)
		return worker_error(EPROTO);
	m.fd = kept > 0 ? got.fds[0] : -1;
	if (kept == 3)
		memcpy(m.output, got.fds + 1, sizeof(m.output));
	*out = m;
	return 0;
}
