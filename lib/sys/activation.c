/* Sockets given to us by the service manager: sd_listen_fds(3). */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/activation.h"
#include "sys/log.h"
#include "sys/number.h"

/* The first descriptor that can be given; the others follow. */
#define FIRST_FD 3

/* The name of a descriptor without one: sd_listen_fds_with_names(3). */
#define NO_NAME "unknown"

static struct {
	size_t count;
	char *text; /* the names, each ended by NUL */
	const char **names; /* count of them, in text */
} given;

static int
check_descriptors(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int fd = FIRST_FD + (int)i;
		int flags = fcntl(fd, F_GETFD);

		if (flags == -1 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == -1)
			return -1;
	}
	return 0;
}

/* Missing names become NO_NAME; names too many are passed over. */
static int
take_names(size_t count, const char *list)
{
	char *rest;

	given.text = strdup(list);
	given.names = calloc(count, sizeof(*given.names));
	if (given.text == NULL || given.names == NULL) {
		errno = ENOMEM;
		return -1;
	}

	rest = given.text;
	for (size_t i = 0; i < count; i++) {
		const char *name = strsep(&rest, ":");

		given.names[i] = name == NULL || *name == '\0' ? NO_NAME : name;
	}
	given.count = count;
	return 0;
}

static int
take(const char *pid, const char *fds, const char *names)
{
	uint64_t count, owner;

	if (pid == NULL || fds == NULL)
		return 0;
	if (!number_parse(pid, strlen(pid), &owner) || owner > INT_MAX ||
	    !number_parse(fds, strlen(fds), &count) ||
	    count > INT_MAX - FIRST_FD) {
		errno = EINVAL;
		return -1;
	}
	if ((pid_t)owner != getpid() || count == 0)
		return 0;
	if (check_descriptors(count) == -1)
		return -1;
	if (take_names(count, names == NULL ? "" : names) == -1)
		return -1;
	return (int)count;
}

int
activation_take(void)
{
	int rc = take(getenv("LISTEN_PID"), getenv("LISTEN_FDS"),
	    getenv("LISTEN_FDNAMES"));

	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return rc;
}

size_t
activation_find(const char *name, size_t max, int *out)
{
	size_t found = 0;

	for (size_t i = 0; i < given.count; i++) {
		if (strcmp(given.names[i], name) != 0)
			continue;
		if (found < max)
			out[found] = FIRST_FD + (int)i;
		found++;
	}
	if (found <= max)
		return found;
	log_warnx("the service manager gave %zu sockets of the name %s: %zu "
		  "of them are used",
	    found, name, max);
	return max;
}
