/* The variables APPPOOL_*, read once and taken away. */

#include <sys/socket.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sys/number.h"
#include "sys/wire.h"
#include "worker/environment.h"

/* A variable that is a number up to INT32_MAX, or -1 and errno. */
static int
variable_number(const char *name)
{
	const char *text = getenv(name);
	uint64_t n;

	if (text == NULL || !number_parse(text, strlen(text), &n) ||
	    n > INT32_MAX) {
		errno = EINVAL;
		return -1;
	}
	return (int)n;
}

/* A copy of a variable, or NULL and errno. */
static char *
variable_text(const char *name)
{
	const char *text = getenv(name);

	if (text == NULL) {
		errno = EINVAL;
		return NULL;
	}
	return strdup(text);
}

/* 0 if fd is what the daemon hands out, or -1 and errno. */
static int
socket_check(int fd)
{
	int domain;
	int type;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return -1;
	if (domain != AF_UNIX || type != SOCK_SEQPACKET) {
		errno = EPROTOTYPE;
		return -1;
	}
	return 0;
}

int
environment_read(struct environment *out)
{
	const char *protocol = getenv(WIRE_ENV_PROTOCOL);
	struct environment e = { .fd = -1 };

	if (protocol == NULL) {
		errno = ENOENT;
		return -1;
	}
	if (strcmp(protocol, WIRE_VERSION) != 0) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	if ((e.fd = variable_number(WIRE_ENV_FD)) == -1 ||
	    socket_check(e.fd) == -1 ||
	    (e.slot = variable_number(WIRE_ENV_SLOT)) == -1 ||
	    (e.app = variable_text(WIRE_ENV_APP)) == NULL ||
	    (e.id = variable_text(WIRE_ENV_ID)) == NULL) {
		free(e.app);
		return -1;
	}
	*out = e;
	return 0;
}

void
environment_clear(void)
{
	static const char *const names[] = { WIRE_ENV_PROTOCOL, WIRE_ENV_FD,
		WIRE_ENV_APP, WIRE_ENV_ID, WIRE_ENV_SLOT, WIRE_ENV_FAMILY };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
}
