/*
 * A client of the control socket: reads its line, and gives it the answer as
 * fast as it takes it. Nothing waits for it, and what it costs has a bound.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"
#include "daemon/reload.h"
#include "sys/fdpass.h"
#include "sys/json.h"

/* What is read, and thrown away, of one that goes on talking. */
#define DRAIN_READS 64

/* Longest message in one client_error(). */
#define MESSAGE_MAX 1024

static void client_ready(struct loop_io *io, uint32_t events, tstamp now);

void
client_deadline(struct client *cl, tstamp at)
{
	cl->deadline = at;
	control_arm(cl->control, at);
}

bool
client_watch(struct client *cl, uint32_t events)
{
	return loop_set(&cl->control->sup->loop, &cl->io,
		   events == 0 ? EPOLLERR : events) == 0;
}

void
client_new(struct control *c, int fd, tstamp now)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (cl == NULL) {
		supervisor_close(c->sup, fd);
		return;
	}
	fdpass_refuse(fd);
	cl->control = c;
	cl->io = (struct loop_io){ .fd = fd, .ready = client_ready };
	cl->state = CLIENT_READING;
	text_init(&cl->out, CONTROL_ANSWER_MAX);
	TAILQ_INSERT_TAIL(&c->clients, cl, next);
	c->nclients++;
	client_deadline(cl, now + CONTROL_LINE_TIME);
	if (!client_watch(cl, EPOLLIN))
		client_close(cl);
}

/* Reads like recv(2). Descriptors that come along may take long to close. */
static ssize_t
client_recv(struct client *cl, void *buf, size_t size)
{
	struct fdpass_got got;
	ssize_t n = fdpass_recv(cl->io.fd, buf, size, MSG_DONTWAIT, &got);

	if (n == -1)
		return -1;
	for (size_t i = 0; i < got.nfds; i++)
		supervisor_close(cl->control->sup, got.fds[i]);
	return n;
}

void
client_close(struct client *cl)
{
	struct control *c = cl->control;
	char rest[CONTROL_LINE_MAX];

	if (cl->waits == WAIT_RELOAD)
		reload_forget(c->sup, cl);
	if (cl->state == CLIENT_WAITING && cl->waits != WAIT_MEMORY)
		c->nwaiting--;
	(void)loop_set(&c->sup->loop, &cl->io, 0);
	/*
	 * It sees the end now, whenever the slow lane closes; and with all it
	 * said read, it sees an end and no reset.
	 */
	(void)shutdown(cl->io.fd, SHUT_RDWR);
	for (unsigned i = 0; i < DRAIN_READS; i++)
		if (client_recv(cl, rest, sizeof(rest)) <= 0)
			break;
	supervisor_close(c->sup, cl->io.fd);

	client_drop_status(cl);
	TAILQ_REMOVE(&c->clients, cl, next);
	text_fini(&cl->out);
	free(cl->app);
	free(cl);
	control_left(c);
}

void
client_wait(struct client *cl)
{
	cl->state = CLIENT_WAITING;
	cl->control->nwaiting++;
	client_deadline(cl, TSTAMP_NEVER);
	if (!client_watch(cl, 0))
		client_close(cl);
}

/* --- what it is told ---------------------------------------------------- */

/* Each line on its own, for a terminal. */
static void
put_lines(struct text *out, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		text_escaped(out, text, len);
		text_puts(out, "\n");
		text += len + (text[len] == '\n');
	}
}

void
client_tell(struct client *cl, const char *text)
{
	struct json j;

	if (!cl->json) {
		put_lines(&cl->out, text);
		return;
	}
	json_init(&j, &cl->out);
	json_object(&j);
	json_put_string(&j, "message", text);
	json_object_end(&j);
	text_puts(&cl->out, "\n");
}

void
client_error(struct client *cl, const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	text_puts(&cl->out, "error: ");
	text_escaped(&cl->out, message, strlen(message));
	text_puts(&cl->out, "\n");
}

/* --- the way in --------------------------------------------------------- */

static void
client_refuse(struct client *cl, const char *why, tstamp now)
{
	client_error(cl, "%s", why);
	client_answer(cl, now);
}

static void
client_obey(struct client *cl, size_t len, tstamp now)
{
	struct control_line line;
	const char *wrong = control_line_parse(cl->line, len, &line);

	if (wrong != NULL) {
		client_refuse(cl, wrong, now);
		return;
	}
	cl->json = line.json;
	command_run(cl, &line, now);
	if (cl->waits == WAIT_READY || cl->waits == WAIT_RELOAD ||
	    cl->waits == WAIT_ROLLOUT)
		client_wait(cl);
	else
		client_answer(cl, now);
}

static void
client_read(struct client *cl, tstamp now)
{
	ssize_t n =
	    client_recv(cl, cl->line + cl->len, sizeof(cl->line) - cl->len);
	const char *eol;

	if (n == -1) {
		if (errno != EAGAIN && errno != EINTR)
			client_close(cl);
		return;
	}
	if (n == 0) {
		client_refuse(cl, "the line has no end", now);
		return;
	}
	eol = memchr(cl->line + cl->len, '\n', (size_t)n);
	cl->len += (size_t)n;
	if (eol != NULL)
		client_obey(cl, (size_t)(eol - cl->line), now);
	else if (cl->len == sizeof(cl->line))
		client_refuse(cl, "the line is longer than 4096 bytes", now);
}

static void
client_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct client *cl = LOOP_OWNER(io, struct client, io);

	switch (cl->state) {
	case CLIENT_READING:
		client_read(cl, now);
		break;
	case CLIENT_WRITING:
		client_write(cl, now);
		break;
	case CLIENT_WAITING:
		if (events & (EPOLLERR | EPOLLHUP))
			client_close(cl);
		break;
	}
}

void
client_expire(struct client *cl, tstamp now)
{
	if (cl->state == CLIENT_READING)
		client_refuse(cl, "no command within 10 seconds", now);
	else
		client_close(cl);
}
