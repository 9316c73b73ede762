/* inotify(7). */

#include <sys/inotify.h>

#include <errno.h>
#include <stdalign.h>
#include <unistd.h>

#include "sys/folderwatch.h"

#define THERE (IN_CREATE | IN_MOVED_TO)
#define CHANGED (IN_ATTRIB | IN_CLOSE_WRITE)
#define GONE (IN_DELETE | IN_MOVED_FROM)
#define LOST (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_Q_OVERFLOW)

static enum folderwatch_what
what_of(uint32_t mask)
{
	if ((mask & LOST) != 0)
		return FOLDERWATCH_LOST;
	if ((mask & GONE) != 0)
		return FOLDERWATCH_GONE;
	return (mask & THERE) != 0 ? FOLDERWATCH_THERE : FOLDERWATCH_CHANGED;
}

void
folderwatch_read(struct folderwatch *w, tstamp now)
{
	alignas(struct inotify_event) char buffer[8192];
	ssize_t n = read(w->io.fd, buffer, sizeof(buffer));
	ssize_t at = 0;

	while (at < n) {
		const struct inotify_event *e =
		    (const struct inotify_event *)(const void *)(buffer + at);

		/* The folder itself has no name, and only its end counts. */
		if (e->len > 0 || what_of(e->mask) == FOLDERWATCH_LOST)
			w->told(w, e->wd, e->len > 0 ? e->name : "",
			    what_of(e->mask), now);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
}

static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	(void)events;
	folderwatch_read(LOOP_OWNER(io, struct folderwatch, io), now);
}

int
folderwatch_init(struct folderwatch *w, struct loop *l,
    void (*told)(
	struct folderwatch *, int, const char *, enum folderwatch_what, tstamp))
{
	*w = (struct folderwatch){
		.loop = l,
		.io = { .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
		    .ready = ready },
		.told = told,
	};
	if (w->io.fd == -1)
		return -1;
	if (loop_set(l, &w->io, EPOLLIN) == 0)
		return 0;
	folderwatch_fini(w);
	return -1;
}

void
folderwatch_fini(struct folderwatch *w)
{
	int error = errno;

	if (w->io.fd == -1)
		return;
	if (w->io.events != 0)
		(void)loop_set(w->loop, &w->io, 0);
	(void)close(w->io.fd);
	w->io.fd = -1;
	errno = error;
}

int
folderwatch_add(const struct folderwatch *w, const char *path)
{
	if (w->io.fd == -1)
		return -1;
	return inotify_add_watch(w->io.fd, path,
	    IN_ONLYDIR | THERE | CHANGED | GONE | IN_DELETE_SELF |
		IN_MOVE_SELF);
}

void
folderwatch_drop(const struct folderwatch *w, int folder)
{
	(void)inotify_rm_watch(w->io.fd, folder);
}
