/* The messages of the worker protocol, over the socket to the daemon. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"
#include "worker/channel.h"

/* Long enough for any verb with a number. */
#define SHORT_MESSAGE 64

static int
fail(int error)
{
	errno = error;
	return -1;
}

int
channel_say(int sock, const char *message, size_t len)
{
	struct pollfd p = { .fd = sock, .events = POLLOUT };

	while (send(sock, message, len, MSG_NOSIGNAL) == -1) {
		switch (errno) {
		case EINTR:
			break;
		case EAGAIN:
			(void)poll(&p, 1, -1);
			break;
		case ENOBUFS:
		case ENOMEM:
			/* The kernel is; the daemon's count must be right. */
			(void)poll(NULL, 0, 10);
			break;
		case EPIPE:
		case ECONNRESET:
			return fail(ESHUTDOWN);
		default:
			return -1;
		}
	}
	return 0;
}

int
channel_say_serial(int sock, const char *verb, uint64_t serial)
{
	char message[SHORT_MESSAGE], *end = message + sizeof(message);
	char *at = number_write(end, serial);
	size_t len = strlen(verb);

	*--at = ' ';
	at -= len;
	memcpy(at, verb, len);
	return channel_say(sock, at, (size_t)(end - at));
}

/* Takes the message apart, of which the verb is known to be CONN. */
static bool
conn_read(const char *message, struct session *out)
{
	const char *p = message + strlen(WIRE_CONN);
	const char *end = p + strlen(p);
	struct session s;

	if (*p++ != ' ' || !number_read(&p, end, &s.serial) || *p++ != ' ' ||
	    !number_read(&p, end, &s.waited) || p != end)
		return false;
	*out = s;
	return true;
}

static int
message_read(const char *message, int fd, struct channel_message *out)
{
	struct channel_message m = { .kind = CHANNEL_CONN, .fd = fd };

	if (strncmp(message, WIRE_CONN, strlen(WIRE_CONN)) == 0 &&
	    conn_read(message, &m.session)) {
		*out = m;
		return 0;
	}
	if (fd != -1)
		(void)close(fd);
	if (message[0] != '\0' && strcmp(message, WIRE_STOP) != 0)
		return fail(EPROTO);
	*out = (struct channel_message){ .kind = CHANNEL_STOP, .fd = -1 };
	return 0;
}

int
channel_receive(int sock, int flags, struct channel_message *out)
{
	char message[WIRE_MAX + 1];
	ssize_t n;
	int fd;

	do {
		n = fdpass_recv_one(sock, message, WIRE_MAX, flags, &fd);
		/* A reset is told once, then comes the end of file. */
	} while (n == -1 && errno == ECONNRESET);
	if (n == -1)
		return errno == EMSGSIZE ? fail(EPROTO) : -1;
	message[n] = '\0';
	return message_read(message, fd, out);
}
