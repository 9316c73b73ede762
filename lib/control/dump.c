/*
 * The dump of the state: the loop makes a piece, a lane writes it, for disks
 * block; then the loop makes the next one.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/room.h"
#include "sys/ownfile.h"

/* A piece for the log waits so long for the log to take it. */
#define LOG_PATIENCE TSPAN_SECONDS(1)

struct dump {
	struct lane_job job;
	struct supervisor *sup;
	struct status *status;
	const char *piece; /* of the status; NULL: all is written */
	size_t len;
	/* For a file, and the lane's: */
	char *path; /* NULL: to the log */
	char temp[PATH_MAX]; /* "": there is none */
	int fd; /* -1 likewise */
	int error; /* errno of what went wrong; 0: nothing */
	char why[OWNFILE_WHY]; /* what went wrong; "": errno tells */
};

/* --- in the lane -------------------------------------------------------- */

/* All is written, or the rest will never be. */
static void
dump_finish(struct dump *d)
{
	if (d->fd != -1 && close(d->fd) == -1 && d->error == 0)
		d->error = errno;
	d->fd = -1;
	if (d->temp[0] == '\0')
		return;
	if (d->error == 0 && rename(d->temp, d->path) == 0)
		return;
	if (d->error == 0)
		d->error = errno;
	(void)unlink(d->temp);
}

static void
dump_work(struct lane_job *job)
{
	struct dump *d = LOOP_OWNER(job, struct dump, job);
	size_t done = 0;

	if (d->path == NULL) {
		while (d->piece != NULL && done < d->len) {
			const char *at = d->piece + done;
			const char *eol = memchr(at, '\n', d->len - done);
			size_t len =
			    eol == NULL ? d->len - done : (size_t)(eol - at);

			if (len > 0)
				log_info("%.*s", (int)len, at);
			done += len + 1;
		}
		(void)log_flush(LOG_PATIENCE);
		return;
	}
	if (d->fd == -1 && d->error == 0) {
		int len = snprintf(d->temp, sizeof(d->temp), "%s.%08x", d->path,
		    (unsigned)arc4random());

		errno = ENAMETOOLONG;
		if (len < (int)sizeof(d->temp))
			d->fd = ownfile_open(d->temp, OWNFILE_REGULAR,
			    O_WRONLY | O_CREAT | O_EXCL, 0640, d->why);
		if (d->fd == -1 || fchmod(d->fd, 0640) == -1)
			d->error = errno;
		if (d->fd == -1)
			d->temp[0] = '\0';
	}
	while (d->piece != NULL && d->error == 0 && done < d->len) {
		ssize_t n = write(d->fd, d->piece + done, d->len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			d->error = errno;
	}
	if (d->piece == NULL)
		dump_finish(d);
}

/* --- in the loop -------------------------------------------------------- */

/* Makes the next piece; NULL: that was all. */
static void
dump_make_piece(struct dump *d)
{
	d->piece = figures_next(d->status, &d->len);
	if (d->status->piece.failed)
		d->error = ENOMEM;
}

/* A piece is written, or the end. */
static void
dump_go_on(struct lane_job *job, tstamp now)
{
	struct dump *d = LOOP_OWNER(job, struct dump, job);
	const bool stopping = d->sup->looker.stopping;

	(void)now;
	if (d->piece != NULL && !stopping) {
		d->piece = NULL;
		if (d->error == 0)
			dump_make_piece(d);
		lane_submit(&d->sup->looker, &d->job);
		return;
	}
	errno = d->error;
	if (d->piece != NULL) {
		/* The daemon ends, and the lane takes no more work. */
		d->error = ECANCELED;
		dump_finish(d);
	} else if (d->why[0] != '\0') {
		log_warnx("cannot write %s: %s", d->path, d->why);
	} else if (d->error != 0) {
		log_warn("cannot write %s", d->path);
	} else if (d->path != NULL) {
		log_info("state written to %s", d->path);
	}
	if (d->sup->control_arg != NULL)
		d->sup->control_arg->dump = NULL;
	status_free(d->status);
	free(d->path);
	free(d);
}

void
dump_start(struct control *c, tstamp now)
{
	struct supervisor *s = c->sup;
	const char *path = s->config->dump_file;
	struct dump *d;

	if (c->dump != NULL)
		return;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		goto fail;
	d->sup = s;
	d->fd = -1;
	d->job.work = dump_work;
	d->job.done = dump_go_on;
	if (path != NULL && (d->path = strdup(path)) == NULL)
		goto fail;
	d->status =
	    status_take(s, NULL, path != NULL ? STATUS_JSON : STATUS_TEXT, now);
	if (d->status == NULL)
		goto fail;
	dump_make_piece(d);
	c->dump = d;
	lane_submit(&s->looker, &d->job);
	return;

fail:
	log_warn("cannot dump the state");
	if (d != NULL)
		free(d->path);
	free(d);
}
