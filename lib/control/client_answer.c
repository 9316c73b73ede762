/* What a client is given, as fast as it takes it. */

#include <sys/socket.h>

#include <errno.h>
#include <string.h>

#include "control/control_private.h"

void
client_drop_status(struct client *cl)
{
	struct control *c = cl->control;
	struct client *other;

	if (cl->status == NULL)
		return;
	c->status_bytes -= status_size(cl->status);
	status_free(cl->status);
	cl->status = NULL;

	TAILQ_FOREACH(other, &c->clients, next) {
		if (other->waits == WAIT_MEMORY) {
			other->waits = WAIT_NOTHING;
			other->state = CLIENT_WRITING;
			(void)client_watch(other, EPOLLOUT);
			break;
		}
	}
}

/* Sends what is in hand. 1: all of it, 0: no more for now, -1: it has left. */
static int
client_send(struct client *cl, tstamp now)
{
	while (cl->sent < cl->data_len) {
		ssize_t n = send(cl->io.fd, cl->data + cl->sent,
		    cl->data_len - cl->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n == -1)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		cl->sent += (size_t)n;
		client_deadline(
		    cl, tstamp_min(now + CONTROL_STALL_TIME, cl->until));
	}
	return 1;
}

static void
client_take_status(struct client *cl, tstamp now)
{
	struct control *c = cl->control;

	cl->wants_status = false;
	cl->status = status_take(c->sup, cl->app, cl->json, now);
	if (cl->status != NULL) {
		c->status_bytes += status_size(cl->status);
		return;
	}
	if (errno == ENOENT)
		client_error(cl, "no app %s any more", cl->app);
	else
		client_error(cl, "cannot take a snapshot: %s", strerror(errno));
	cl->data = cl->out.data;
	cl->data_len = cl->out.len;
	cl->sent = 0;
}

enum more {
	MORE_NOW,
	MORE_LATER,
	MORE_NONE,
};

/*
 * Gets more to send. That costs time, so it is done for one client in each
 * turn; the others find out in the next one, being writable all the time.
 */
static enum more
client_refill(struct client *cl, tstamp now)
{
	struct control *c = cl->control;

	if (!cl->wants_status && cl->status == NULL)
		return MORE_NONE;
	if (c->worked)
		return MORE_LATER;
	if (cl->wants_status && c->status_bytes >= CONTROL_STATUS_BYTES) {
		cl->state = CLIENT_WAITING;
		cl->waits = WAIT_MEMORY;
		client_deadline(cl, TSTAMP_NEVER);
		return MORE_LATER;
	}
	c->worked = true;
	if (cl->wants_status) {
		client_take_status(cl, now);
		return cl->status != NULL ? MORE_LATER : MORE_NOW;
	}
	cl->data = status_next(cl->status, &cl->data_len);
	cl->sent = 0;
	if (cl->data != NULL)
		return MORE_NOW;
	cl->data_len = 0;
	client_drop_status(cl);
	return MORE_NONE;
}

/* The answer has been given. */
static void
client_finish(struct client *cl)
{
	if (cl->waits == WAIT_END)
		client_wait(cl);
	else
		client_close(cl);
}

void
client_write(struct client *cl, tstamp now)
{
	for (;;) {
		int sent = client_send(cl, now);
		enum more more = MORE_LATER;

		if (sent == 1)
			more = client_refill(cl, now);
		if (sent == -1) {
			client_close(cl);
			return;
		}
		if (more == MORE_NONE) {
			client_finish(cl);
			return;
		}
		if (more == MORE_LATER)
			break;
	}
	if (!client_watch(cl, cl->state == CLIENT_WAITING ? 0 : EPOLLOUT))
		client_close(cl);
}

void
client_answer(struct client *cl, tstamp now)
{
	if (cl->state == CLIENT_WAITING)
		cl->control->nwaiting--;
	if (cl->out.failed) {
		text_clear(&cl->out);
		client_error(cl, "the answer is too long");
	}
	cl->state = CLIENT_WRITING;
	cl->data = cl->out.data;
	cl->data_len = cl->out.len;
	cl->until = now + CONTROL_ANSWER_TIME;
	client_deadline(cl, now + CONTROL_STALL_TIME);
	client_write(cl, now);
}

void
client_flush(struct client *cl)
{
	if (cl->state == CLIENT_WAITING && cl->waits != WAIT_END)
		client_error(cl, "the daemon has stopped");
	if (cl->status == NULL && cl->waits != WAIT_MEMORY)
		(void)send(cl->io.fd, cl->out.data + cl->sent,
		    cl->out.len - cl->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
}
