/* The process's end of the worker protocol: the variables, and the messages. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"
#include "worker/channel.h"

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* --- the environment ---------------------------------------------------- */

/* Returns a variable that is a number up to INT32_MAX, or -1 and errno. */
static int
read_number(const char *name)
{
	const char *text = getenv(name);
	uint64_t n;

	if (text == NULL || !number_parse(text, strlen(text), &n) ||
	    n > INT32_MAX)
		return fail(EINVAL);
	return (int)n;
}

/* Returns the slot, or -1 and errno: 0 for a template, which has none. */
static int
read_slot(void)
{
	const char *template = getenv(WIRE_ENV_TEMPLATE);

	if (template == NULL || strcmp(template, "1") != 0)
		return read_number(WIRE_ENV_SLOT);
	return fail(0);
}

/* Returns a copy of a variable, or NULL and errno. */
static char *
copy_text(const char *name)
{
	const char *text = getenv(name);

	if (text == NULL) {
		errno = EINVAL;
		return NULL;
	}
	return strdup(text);
}

/* Returns 0 if fd is a socket as the daemon hands out, or -1 and errno. */
static int
check_socket(int fd)
{
	int domain;
	int type;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return -1;
	return domain == AF_UNIX && type == SOCK_SEQPACKET ? 0
							   : fail(EPROTOTYPE);
}

int
channel_find(struct channel *out)
{
	const char *protocol = getenv(WIRE_ENV_PROTOCOL);
	struct channel c = { .fd = -1 };

	if (protocol == NULL)
		return fail(ENOENT);
	if (strcmp(protocol, WIRE_VERSION) != 0)
		return fail(EPROTONOSUPPORT);
	if ((c.fd = read_number(WIRE_ENV_FD)) == -1 ||
	    check_socket(c.fd) == -1 ||
	    ((c.slot = read_slot()) == -1 && errno != 0) ||
	    (c.app = copy_text(WIRE_ENV_APP)) == NULL ||
	    (c.id = copy_text(WIRE_ENV_ID)) == NULL) {
		free(c.app);
		return -1;
	}
	c.keep_alive = getenv(WIRE_ENV_KEEP_ALIVE) != NULL;
	*out = c;
	return 0;
}

void
channel_forget(void)
{
	static const char *const names[] = { WIRE_ENV_PROTOCOL, WIRE_ENV_FD,
		WIRE_ENV_APP, WIRE_ENV_ID, WIRE_ENV_SLOT, WIRE_ENV_FAMILY,
		WIRE_ENV_UNREAD, WIRE_ENV_TEMPLATE, WIRE_ENV_KEEP_ALIVE };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
}

/* --- messages ----------------------------------------------------------- */

/* Long enough for any verb with a number. */
#define SHORT_MESSAGE 64

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
			/* A passing shortage: the message must not be lost. */
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

	*--at = ' ';
	for (size_t i = strlen(verb); i > 0; i--)
		*--at = verb[i - 1];
	return channel_say(sock, at, (size_t)(end - at));
}

/* Reads the numbers of a message whose verb is CONN. */
static bool
parse_conn(const char *message, struct channel_message *out)
{
	const char *p = message + strlen(WIRE_CONN);
	const char *end = p + strlen(p);

	return *p++ == ' ' && number_read(&p, end, &out->serial) &&
	    *p++ == ' ' && number_read(&p, end, &out->waited) && p == end;
}

/* Reads the identifier and the slot of a FORK. */
static bool
parse_child(const char *p, struct channel_message *out)
{
	const char *slot = strchr(p, ' ');
	uint64_t n;

	if (slot == NULL || slot == p || slot - p >= CHANNEL_ID_SIZE)
		return false;
	memcpy(out->id, p, (size_t)(slot - p));
	out->id[slot - p] = '\0';
	slot++;
	out->slot = -1;
	if (strcmp(slot, WIRE_FORK_TEMPLATE) == 0)
		return true;
	if (!number_parse(slot, strlen(slot), &n) || n > INT32_MAX)
		return false;
	out->slot = (int)n;
	return true;
}

/* Reads a message whose verb is FORK; its descriptors are in got. */
static bool
parse_fork(const char *message, const struct fdpass_got *got,
    struct channel_message *out)
{
	const char *p = message + strlen(WIRE_FORK);
	const char *end = p + strlen(p);

	out->kind = CHANNEL_FORK;
	if (got->nfds == 3)
		memcpy(out->output, got->fds + 1, sizeof(out->output));
	return (got->nfds == 1 || got->nfds == 3) && *p++ == ' ' &&
	    number_read(&p, end, &out->serial) && *p++ == ' ' &&
	    parse_child(p, out);
}

/* Returns how many of the descriptors are in *out then, or -1: none. */
static int
parse(const char *message, const struct fdpass_got *got,
    struct channel_message *out)
{
	if (strncmp(message, WIRE_CONN, strlen(WIRE_CONN)) == 0 &&
	    parse_conn(message, out))
		return got->nfds > 0 ? 1 : 0;
	if (strncmp(message, WIRE_FORK, strlen(WIRE_FORK)) == 0 &&
	    parse_fork(message, got, out))
		return (int)got->nfds;
	if (message[0] != '\0' && strcmp(message, WIRE_STOP) != 0)
		return fail(EPROTO);
	out->kind = CHANNEL_STOP;
	out->fd = -1;
	return 0;
}

int
channel_receive(int sock, int flags, struct channel_message *out)
{
	struct channel_message m = { .kind = CHANNEL_CONN,
		.output = { -1, -1 } };
	char message[WIRE_MAX + 1];
	struct fdpass_got got;
	int kept = -1;
	ssize_t n;

	do {
		n = fdpass_recv(sock, message, WIRE_MAX, flags, &got);
		/* ECONNRESET comes once, and then the end of file. */
	} while (n == -1 && errno == ECONNRESET);
	if (n == -1)
		return -1;
	message[n] = '\0';
	m.fd = got.nfds > 0 ? got.fds[0] : -1;
	if (got.truncated)
		errno = EPROTO;
	else
		kept = parse(message, &got, &m);
	for (size_t i = kept == -1 ? 0 : (size_t)kept; i < got.nfds; i++)
		(void)close(got.fds[i]);
	if (kept == -1)
		return -1;
	*out = m;
	return 0;
}
