/* Listening sockets for those who accept themselves. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/birth_sockets.h"

/*
 * As the service manager calls what has a name in the file, and the others by
 * the name of the app, as it calls all sockets of a unit.
 */
static bool
name(const struct door *d, struct birth_sockets *out)
{
	const char *word = d->where.kind == CONF_LISTEN_FD
	    ? d->where.fd_name
	    : d->group->conf->name;
	char *names;

	if (asprintf(&names, "%s%s%s", out->names == NULL ? "" : out->names,
		out->names == NULL ? "" : ":", word) == -1)
		return false;
	free(out->names);
	out->names = names;
	return true;
}

static bool
copy(const struct door *d, struct birth_sockets *out)
{
	int fd;

	if (out->len == CHILD_FDS_MAX) {
		errno = E2BIG;
		return false;
	}
	fd = fcntl(d->listener.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd == -1)
		return false;
	out->fds[out->len++] = fd;
	return name(d, out);
}

/* One that leaves is for those alone who serve out what is in it. */
static bool
is_wanted(const struct group *g, const struct door *d, const char *text)
{
	return d->listener.fd != -1 && (!d->leaving || g->closing) &&
	    strcmp(d->where.text, text) == 0;
}

int
birth_sockets_take(const struct group *g, struct birth_sockets *out)
{
	const struct door *d;

	*out = (struct birth_sockets){ .len = 0 };
	for (size_t i = 0; i < g->conf->listen_len; i++) {
		TAILQ_FOREACH(d, &g->doors, next)
			if (is_wanted(g, d, g->conf->listen[i].text) &&
			    !copy(d, out))
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
