/* Listening sockets for those who accept themselves. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/birth_sockets.h"
#include "daemon/listeners.h"

/*
 * As the service manager calls what has a name in the file, and the others by
 * the name of the app, as it calls all sockets of a unit.
 */
static bool
name(const struct app_listener *l, struct birth_sockets *out)
{
	const char *word = l->where.kind == CONF_LISTEN_FD
	    ? l->where.fd_name
	    : l->group->conf->name;
	char *names;

	if (asprintf(&names, "%s%s%s", out->names == NULL ? "" : out->names,
		out->names == NULL ? "" : ":", word) == -1)
		return false;
	free(out->names);
	out->names = names;
	return true;
}

static bool
copy(const struct app_listener *l, struct birth_sockets *out)
{
	int fd;

	if (out->len == CHILD_FDS_MAX) {
		errno = E2BIG;
		return false;
	}
	fd = fcntl(l->acceptor.listener.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd == -1)
		return false;
	out->fds[out->len++] = fd;
	return name(l, out);
}

static bool
is_wanted(const struct app_listener *l, const char *text)
{
	return listeners_serves(l) && strcmp(l->where.text, text) == 0;
}

int
birth_sockets_take(const struct group *g, struct birth_sockets *out)
{
	const struct app_listener *l;

	*out = (struct birth_sockets){ .len = 0 };
	for (size_t i = 0; i < g->conf->listen_len; i++) {
		TAILQ_FOREACH(l, &g->listeners, next)
			if (is_wanted(l, g->conf->listen[i].text) &&
			    !copy(l, out))
				return -1;
	}
	if (out->len > 0)
		return 0;
	errno = EAGAIN;
	return -1;
}

void
birth_sockets_free(struct birth_sockets *s)
{
	for (size_t i = 0; i < s->len; i++)
		(void)close(s->fds[i]);
	free(s->names);
}
