/* Messages to the service manager: sd_notify(3). */

#include <sys/socket.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/notify.h"
#include "sys/number.h"

#define STATE_SIZE 4096

static struct {
	int fd; /* -1: there is none */
	struct sockaddr_un addr;
	socklen_t addrlen;
	tspan watchdog; /* 0: it has none for us */
} manager = { .fd = -1 };

/* Takes the address of a socket: a path, or '@' and an abstract name. */
static int
find_manager(const char *where)
{
	if ((where[0] != '/' && where[0] != '@') || where[1] == '\0')
		return -1;
	manager.addrlen = address_of_name(where, &manager.addr);
	if (manager.addrlen == 0)
		return -1;
	manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return manager.fd == -1 ? -1 : 0;
}

/* The number in a variable of the environment; 0: there is none. */
static uint64_t
number_of(const char *variable)
{
	const char *text = getenv(variable);
	uint64_t n = 0;

	if (text != NULL)
		(void)number_parse(text, strlen(text), &n);
	return n;
}

static tspan
find_watchdog(void)
{
	uint64_t usec = number_of("WATCHDOG_USEC");

	/* The variable may be meant for a process whose environment we got. */
	if (getenv("WATCHDOG_PID") != NULL &&
	    number_of("WATCHDOG_PID") != (uint64_t)getpid())
		return 0;
	return usec > TSTAMP_NEVER / 1000 ? 0 : TSPAN_USECONDS(usec);
}

void
notify_open(void)
{
	const char *where = getenv("NOTIFY_SOCKET");

	notify_close();
	if (where != NULL)
		(void)find_manager(where);
	if (notify_wanted())
		manager.watchdog = find_watchdog();
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_PID");
	(void)unsetenv("WATCHDOG_USEC");
}

void
notify_close(void)
{
	if (manager.fd != -1)
		(void)close(manager.fd);
	manager.fd = -1;
	manager.watchdog = 0;
}

bool
notify_wanted(void)
{
	return manager.fd != -1;
}

tspan
notify_watchdog(void)
{
	return manager.watchdog;
}

int
notify_send(const char *fmt, ...)
{
	char text[STATE_SIZE];
	va_list ap;
	int len;

	if (manager.fd == -1)
		return 0;
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0)
		return 0;
	if ((size_t)len >= sizeof(text))
		len = sizeof(text) - 1;

	if (sendto(manager.fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL,
		(const void *)&manager.addr, manager.addrlen) != -1)
		return 0;

	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
		return -1;
	default:
		/* The manager is gone, or was not at that address. */
		return 0;
	}
}
