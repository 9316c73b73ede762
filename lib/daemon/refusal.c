/* Connections that are turned away, until their clients know. */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/refusal.h"
#include "daemon/refusal_answer.h"
#include "sys/accepted.h"

static void refusal_ready(struct loop_io *io, uint32_t events, tstamp now);

/* Reads what is there; false: there is more than REFUSAL_DRAIN bytes. */
static bool
refusal_drain(int fd)
{
	char bytes[8192];
	size_t left = REFUSAL_DRAIN;

	while (left > 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n <= 0)
			return true;
		left -= (size_t)n < left ? (size_t)n : left;
	}
	return false;
}

/* --- the table ---------------------------------------------------------- */

int
refusals_init(struct refusals *all, struct loop *loop, struct lane *lane)
{
	*all = (struct refusals){ .loop = loop, .lane = lane };
	TAILQ_INIT(&all->unused);
	TAILQ_INIT(&all->open);
	all->table = calloc(REFUSAL_MAX, sizeof(*all->table));
	return all->table == NULL ? -1 : 0;
}

void
refusals_fini(struct refusals *all)
{
	free(all->table);
}

/* NULL: there are as many as there may be. */
static struct refusal *
refusal_take(struct refusals *all)
{
	struct refusal *r = TAILQ_FIRST(&all->unused);

	if (r != NULL)
		TAILQ_REMOVE(&all->unused, r, next);
	else if (all->used < REFUSAL_MAX)
		r = &all->table[all->used++];
	return r;
}

static void
refusal_give(struct refusal *r)
{
	r->io.fd = -1;
	TAILQ_INSERT_HEAD(&r->all->unused, r, next);
}

bool
refusals_any(const struct refusals *all)
{
	return !TAILQ_EMPTY(&all->open);
}

/* --- the end ------------------------------------------------------------ */

static void
refusal_close_work(struct lane_job *job)
{
	struct refusal *r = LOOP_OWNER(job, struct refusal, job);

	(void)refusal_drain(r->io.fd);
	(void)close(r->io.fd);
}

static void
refusal_close_done(struct lane_job *job, tstamp now)
{
	(void)now;
	refusal_give(LOOP_OWNER(job, struct refusal, job));
}

static void
refusal_wrote(struct refusal *r)
{
	r->rest_len = 0;
	if (r->config != NULL)
		config_unref(r->config);
	r->config = NULL;
}

static void
refusal_end(struct refusal *r)
{
	(void)loop_set(r->all->loop, &r->io, 0);
	TAILQ_REMOVE(&r->all->open, r, next);
	refusal_wrote(r);
	if (!r->tcp) {
		r->job.work = refusal_close_work;
		r->job.done = refusal_close_done;
		lane_submit(r->all->lane, &r->job);
		return;
	}
	(void)refusal_drain(r->io.fd);
	accepted_close(r->io.fd, true);
	refusal_give(r);
}

void
refusals_close(struct refusals *all)
{
	while (refusals_any(all))
		refusal_end(TAILQ_FIRST(&all->open));
}

/* --- in the loop -------------------------------------------------------- */

/* The client has closed its side, or all of it. */
static void
refusal_gone(struct refusal *r)
{
	/*
	 * There may be more than we read. One that closed but its side for
	 * writing has the rest of the time to read the answer, for closing
	 * over an unread request destroys that.
	 */
	if (r->tcp && !refusal_drain(r->io.fd))
		(void)loop_set(r->all->loop, &r->io, 0);
	else
		refusal_end(r);
}

/* Writes on; false: the client is gone, or nobody can wait for it. */
static bool
refusal_write(struct refusal *r)
{
	ssize_t n =
	    send(r->io.fd, r->rest, r->rest_len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n == -1 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n > 0) {
		r->rest += n;
		r->rest_len -= (size_t)n;
	}
	if (r->rest_len > 0)
		return loop_set(r->all->loop, &r->io, EPOLLOUT) == 0;
	refusal_wrote(r);
	(void)shutdown(r->io.fd, SHUT_WR);
	return loop_set(r->all->loop, &r->io, EPOLLRDHUP) == 0;
}

static void
refusal_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct refusal *r = LOOP_OWNER(io, struct refusal, io);

	(void)events;
	(void)now;
	if (r->rest_len == 0)
		refusal_gone(r);
	else if (!refusal_write(r))
		refusal_end(r);
}

tstamp
refusals_deadline(const struct refusals *all)
{
	const struct refusal *r = TAILQ_FIRST(&all->open);

	return r == NULL ? TSTAMP_NEVER : r->until;
}

void
refusals_tick(struct refusals *all, tstamp now)
{
	while (refusals_deadline(all) <= now)
		refusal_end(TAILQ_FIRST(&all->open));
}

/* --- the beginning ------------------------------------------------------ */

static void
refusal_close(struct refusals *all, int fd, bool tcp)
{
	if (tcp)
		accepted_close(fd, true);
	else
		lane_close(all->lane, fd);
}

/* There is no room to linger: what can be done at once is done. */
static void
refusal_hurry(
    struct refusals *all, const struct refusal_answer *answer, int fd, bool tcp)
{
	(void)send(fd, answer->bytes, answer->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	if (tcp)
		(void)refusal_drain(fd);
	refusal_close(all, fd, tcp);
}

void
refusal_begin(struct refusals *all, struct config *config,
    const struct conf_app *conf, int fd, bool tcp, tstamp now)
{
	struct refusal_answer answer;
	struct refusal *r;

	refusal_answer(conf, fd, &answer);
	if (answer.bytes == NULL) {
		refusal_close(all, fd, tcp);
		return;
	}
	r = refusal_take(all);
	if (r == NULL) {
		refusal_hurry(all, &answer, fd, tcp);
		return;
	}
	r->all = all;
	r->io = (struct loop_io){ .fd = fd, .ready = refusal_ready };
	r->tcp = tcp;
	r->until = tstamp_add(now, REFUSAL_TIME);
	r->config = config_ref(config);
	r->rest = answer.bytes;
	r->rest_len = answer.len;
	TAILQ_INSERT_TAIL(&all->open, r, next);
	/* What is made here is so short that it is written at once, or never.
	 */
	if (!refusal_write(r) ||
	    (r->rest_len > 0 && answer.bytes == answer.made))
		refusal_end(r);
}
