/* The output of workers, line by line into the log. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/output.h"
#include "sys/log.h"

void
output_init(struct output *o)
{
	memset(o, 0, sizeof(*o));
	o->io.fd = -1;
}

/* Logs a line, unless it is the rest of one that was too long. */
static void
log_line(struct output *o, const char *text, size_t len)
{
	if (!o->cutting)
		log_output(o->app, o->id, text, len);
	o->cutting = false;
}

static void
flush(struct output *o)
{
	if (o->line != NULL && o->len > 0)
		log_line(o, o->line, o->len);
	free(o->line);
	o->line = NULL;
	o->len = 0;
}

/* Keeps the beginning of a line; a line that is too long is logged so far. */
static void
keep(struct output *o, const char *text, size_t len)
{
	size_t room;

	if (len == 0 || o->cutting)
		return;
	if (o->line == NULL) {
		o->line = malloc(OUTPUT_LINE_MAX);
		if (o->line == NULL) {
			log_line(o, text, len);
			return;
		}
	}
	room = OUTPUT_LINE_MAX - o->len;
	memcpy(o->line + o->len, text, len < room ? len : room);
	o->len += len < room ? len : room;
	if (len < room)
		return;
	flush(o);
	o->cutting = true;
}

static void
take(struct output *o, const char *buf, size_t len)
{
	const char *end;

	while ((end = memchr(buf, '\n', len)) != NULL) {
		size_t n = (size_t)(end - buf);

		if (o->line == NULL) {
			log_line(o, buf, n);
		} else {
			keep(o, buf, n);
			flush(o);
			o->cutting = false;
		}
		buf += n + 1;
		len -= n + 1;
	}
	keep(o, buf, len);
}

/* Reads once; false: there is nothing more for now, or ever. */
static bool
read_once(struct output *o, bool *ended_out)
{
	char buf[16384];
	ssize_t n = read(o->io.fd, buf, sizeof(buf));

	*ended_out = n == 0;
	if (n <= 0)
		return false;
	take(o, buf, (size_t)n);
	return (size_t)n == sizeof(buf);
}

static void
drain(struct output *o, bool *ended_out)
{
	for (int left = OUTPUT_TURN / 16384; left > 0; left--)
		if (!read_once(o, ended_out))
			return;
}

static void
close_pipe(struct output *o)
{
	(void)loop_set(o->loop, &o->io, 0);
	close(o->io.fd);
	o->io.fd = -1;
}

static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct output *o = LOOP_OWNER(io, struct output, io);
	bool ended = false;

	(void)events;
	(void)now;
	drain(o, &ended);
	if (!ended)
		return;
	flush(o);
	close_pipe(o);
}

int
output_open(struct output *o, struct loop *loop, const char *app,
    const char *id, uid_t owner)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	/* Only this end does not block: the flag is of its own open file. */
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1 ||
	    (owner != (uid_t)-1 && fchown(ends[1], owner, (gid_t)-1) == -1))
		goto fail;
	o->loop = loop;
	o->app = app;
	o->id = id;
	o->io.fd = ends[0];
	o->io.ready = ready;
	if (loop_set(loop, &o->io, EPOLLIN) == -1)
		goto fail;
	return ends[1];
fail:
	close(ends[0]);
	close(ends[1]);
	o->io.fd = -1;
	return -1;
}

void
output_fini(struct output *o)
{
	bool ended = false;

	if (o->io.fd != -1) {
		drain(o, &ended);
		close_pipe(o);
	}
	if (o->line != NULL)
		flush(o);
}
