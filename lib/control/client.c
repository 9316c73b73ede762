/* The clients of the control socket. */

#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/client.h"
#include "daemon/reload.h"
#include "sys/fdpass.h"
#include "sys/json.h"
#include "sys/peer.h"

/* Bytes of all snapshots together, unless one alone is larger. */
#define STATUS_BYTES (16 * 1024 * 1024)

/* Bytes of any other answer. */
#define ANSWER_MAX (1024 * 1024)

/* The time a client has for its line. */
#define LINE_TIME TSPAN_SECONDS(10)

/* The time it has to read a part of the answer, and the whole of it. */
#define STALL_TIME TSPAN_SECONDS(30)
#define ANSWER_TIME TSPAN_SECONDS(300)

/* Reads, thrown away, of a client that goes on talking. */
#define DRAIN_READS 64

/* Longest message in one client_error(). */
#define MESSAGE_MAX 1024

static void client_ready(struct loop_io *io, uint32_t events, tstamp now);
static void expire(struct timer *t, tstamp now);

/* --- beginning and end -------------------------------------------------- */

/* The client is cut off then; TSTAMP_NEVER: not. */
static void
set_deadline(struct client *cl, tstamp at)
{
	timer_set(&cl->all->sup->loop.timers, &cl->deadline, at);
}

/* Waits for these events, besides an error or a hang-up; 0: for no other. */
static bool
watch(struct client *cl, uint32_t events)
{
	return loop_set(&cl->all->sup->loop, &cl->io,
		   events == 0 ? EPOLLERR : events) == 0;
}

/* Counts the client among those that wait, or no longer. */
static void
count(struct client *cl, bool waits)
{
	if (waits && !cl->counted)
		cl->all->nwaiting++;
	else if (!waits && cl->counted)
		cl->all->nwaiting--;
	cl->counted = waits;
}

/* As recv(2). Descriptors that came along may take long to close. */
static ssize_t
receive(struct client *cl, void *buf, size_t size)
{
	struct fdpass_got got;
	ssize_t n = fdpass_recv(cl->io.fd, buf, size, MSG_DONTWAIT, &got);

	if (n == -1)
		return -1;
	for (size_t i = 0; i < got.nfds; i++)
		lane_close(&cl->all->sup->closer, got.fds[i]);
	return n;
}

/* Frees the snapshot; a client that waits for its memory goes on. */
static void
drop_status(struct client *cl)
{
	struct clients *all = cl->all;
	struct client *other;

	if (cl->status == NULL)
		return;
	all->status_bytes -= status_size(cl->status);
	status_free(cl->status);
	cl->status = NULL;

	TAILQ_FOREACH(other, &all->list, next) {
		if (other->waits == WAIT_MEMORY) {
			other->waits = WAIT_NOTHING;
			other->state = CLIENT_WRITING;
			(void)watch(other, EPOLLOUT);
			break;
		}
	}
}

static void
close_client(struct client *cl)
{
	struct clients *all = cl->all;
	char rest[CLIENT_LINE_MAX];

	if (cl->waits == WAIT_RELOAD)
		reload_forget(all->sup, cl);
	count(cl, false);
	set_deadline(cl, TSTAMP_NEVER);
	(void)loop_set(&all->sup->loop, &cl->io, 0);
	/*
	 * The client sees the end now, whenever the slow lane closes; and an
	 * end, no reset, as all that it said has been read.
	 */
	(void)shutdown(cl->io.fd, SHUT_RDWR);
	for (unsigned i = 0; i < DRAIN_READS; i++)
		if (receive(cl, rest, sizeof(rest)) <= 0)
			break;
	lane_close(&all->sup->closer, cl->io.fd);

	drop_status(cl);
	follow_free(cl->follow);
	TAILQ_REMOVE(&all->list, cl, next);
	text_fini(&cl->out);
	free(cl->app);
	target_free(cl->targets);
	free(cl);
	all->n--;
	all->left(all);
}

static void
refuse(struct client *cl, const char *why, tstamp now)
{
	client_error(cl, "%s", why);
	client_answer(cl, now);
}

static bool
is_stranger(const struct client *cl)
{
	return cl->uid != 0 && cl->uid != geteuid();
}

/*
 * Ends a connection if this one of a stranger is one too many. It is silent
 * itself, and the newest.
 */
static void
make_room(struct client *cl, tstamp now)
{
	struct clients *all = cl->all;
	struct client *other, *silent = NULL, *same_silent = NULL;
	unsigned n = 0, same = 0;

	TAILQ_FOREACH(other, &all->list, next) {
		bool is_silent = other->state == CLIENT_READING;

		if (!is_stranger(other))
			continue;
		n++;
		if (silent == NULL && is_silent)
			silent = other;
		if (other->uid != cl->uid)
			continue;
		same++;
		if (same_silent == NULL && is_silent)
			same_silent = other;
	}
	if (same > all->max_each)
		refuse(same_silent, "this user has too many connections", now);
	else if (n > all->max_strangers)
		refuse(silent, "there are too many connections", now);
}

void
client_new(struct clients *all, int fd, tstamp now)
{
	struct client *cl = calloc(1, sizeof(*cl));
	struct peer peer = { .uid = (uid_t)-1 };

	if (cl == NULL) {
		lane_close(&all->sup->closer, fd);
		return;
	}
	(void)fdpass_refuse(fd);
	(void)peer_identify(fd, &peer);
	cl->all = all;
	cl->uid = peer.uid;
	cl->io = (struct loop_io){ .fd = fd, .ready = client_ready };
	cl->state = CLIENT_READING;
	timer_init(&cl->deadline, expire);
	text_init(&cl->out, ANSWER_MAX);
	TAILQ_INSERT_TAIL(&all->list, cl, next);
	all->n++;
	set_deadline(cl, now + LINE_TIME);
	if (!watch(cl, EPOLLIN))
		close_client(cl);
	else if (is_stranger(cl))
		make_room(cl, now);
}

/* The client waits for what `waits` says, or leaves. May close it. */
static void
wait_for(struct client *cl)
{
	cl->state = CLIENT_WAITING;
	count(cl, true);
	set_deadline(cl, TSTAMP_NEVER);
	if (!watch(cl, 0))
		close_client(cl);
}

/* --- the answer --------------------------------------------------------- */

/* Escapes each line on its own: the newlines stay. */
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

static void
put_message(struct text *out, const char *text)
{
	struct json j;

	json_init(&j, out);
	json_object(&j);
	json_put_string(&j, "message", text);
	json_object_end(&j);
	text_puts(out, "\n");
}

void
client_tell(struct client *cl, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len == -1) {
		cl->out.failed = true;
		return;
	}
	if (cl->json)
		put_message(&cl->out, text);
	else
		put_lines(&cl->out, text);
	free(text);
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

void
client_progress(struct client *cl, const struct progress *p)
{
	char line[96];
	int len;

	if (!cl->watches || p->of == 0 ||
	    memcmp(&cl->shown, p, sizeof(*p)) == 0)
		return;
	cl->shown = *p;
	len = snprintf(line, sizeof(line),
	    "progress: %" PRIu32 " of %" PRIu32 " %s\n", p->done, p->of,
	    p->what);
	/* A line is taken whole or not at all; then the next will do. */
	(void)send(cl->io.fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- giving the answer -------------------------------------------------- */

/* Sends data. 1: all of it is out, 0: not yet, -1: the client has left. */
static int
send_data(struct client *cl, tstamp now)
{
	while (cl->sent < cl->data_len) {
		ssize_t n = send(cl->io.fd, cl->data + cl->sent,
		    cl->data_len - cl->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n == -1)
			return fdpass_is_later(errno) ? 0 : -1;
		cl->sent += (size_t)n;
		set_deadline(cl, tstamp_min(now + STALL_TIME, cl->until));
	}
	return 1;
}

static void
take_status(struct client *cl, tstamp now)
{
	struct clients *all = cl->all;

	cl->status = status_take(all->sup, cl->app, cl->wants, now);
	cl->wants = NULL;
	if (cl->status != NULL) {
		all->status_bytes += status_size(cl->status);
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
 * Gets more to send. That costs time and is done for one client in each turn;
 * the others, writable all the time, come back in the next turn.
 */
static enum more
refill(struct client *cl, tstamp now)
{
	struct clients *all = cl->all;

	if (cl->wants == NULL && cl->status == NULL && cl->follow == NULL)
		return MORE_NONE;
	if (all->worked)
		return MORE_LATER;
	if (cl->wants != NULL && all->status_bytes >= STATUS_BYTES) {
		cl->state = CLIENT_WAITING;
		cl->waits = WAIT_MEMORY;
		set_deadline(cl, TSTAMP_NEVER);
		return MORE_LATER;
	}
	all->worked = true;
	timer_set(&all->sup->loop.timers, &all->turn_ends, now);
	if (cl->wants != NULL) {
		take_status(cl, now);
		return cl->status != NULL ? MORE_LATER : MORE_NOW;
	}
	cl->data = cl->follow != NULL ? follow_next(cl->follow, &cl->data_len)
				      : status_next(cl->status, &cl->data_len);
	cl->sent = 0;
	if (cl->data != NULL)
		return MORE_NOW;
	cl->data_len = 0;
	drop_status(cl);
	return MORE_NONE;
}

/* The answer has been given. */
static void
finish(struct client *cl)
{
	if (cl->waits == WAIT_END || cl->waits == WAIT_EVENTS)
		wait_for(cl);
	else
		close_client(cl);
}

static void
write_answer(struct client *cl, tstamp now)
{
	for (;;) {
		int sent = send_data(cl, now);
		enum more more = MORE_LATER;

		if (sent == 1)
			more = refill(cl, now);
		if (sent == -1) {
			close_client(cl);
			return;
		}
		if (more == MORE_NONE) {
			finish(cl);
			return;
		}
		if (more == MORE_LATER)
			break;
	}
	if (!watch(cl, cl->state == CLIENT_WAITING ? 0 : EPOLLOUT))
		close_client(cl);
}

void
client_answer(struct client *cl, tstamp now)
{
	count(cl, cl->waits == WAIT_EVENTS);
	if (cl->out.failed) {
		text_clear(&cl->out);
		client_error(cl, "the answer is too long");
	}
	cl->state = CLIENT_WRITING;
	cl->data = cl->out.data;
	cl->data_len = cl->out.len;
	cl->until = now + ANSWER_TIME;
	set_deadline(cl, now + STALL_TIME);
	write_answer(cl, now);
}

/* --- reading ------------------------------------------------------------ */

static void
obey(struct client *cl, size_t len, tstamp now)
{
	cl->all->run(cl, cl->line, len, now);
	if (cl->waits == WAIT_APPS || cl->waits == WAIT_RELOAD)
		wait_for(cl);
	else
		client_answer(cl, now);
}

static void
read_line(struct client *cl, tstamp now)
{
	ssize_t n = receive(cl, cl->line + cl->len, sizeof(cl->line) - cl->len);
	const char *eol;

	if (n == -1) {
		if (!fdpass_is_later(errno))
			close_client(cl);
		return;
	}
	if (n == 0) {
		refuse(cl, "the line has no end", now);
		return;
	}
	eol = memchr(cl->line + cl->len, '\n', (size_t)n);
	cl->len += (size_t)n;
	if (eol != NULL)
		obey(cl, (size_t)(eol - cl->line), now);
	else if (cl->len == sizeof(cl->line))
		refuse(cl, "the line is longer than 4096 bytes", now);
}

static void
client_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct client *cl = LOOP_OWNER(io, struct client, io);

	switch (cl->state) {
	case CLIENT_READING:
		read_line(cl, now);
		break;
	case CLIENT_WRITING:
		write_answer(cl, now);
		break;
	case CLIENT_WAITING:
		if (events & (EPOLLERR | EPOLLHUP))
			close_client(cl);
		break;
	}
}

static void
expire(struct timer *t, tstamp now)
{
	struct client *cl = TIMER_OWNER(t, struct client, deadline);

	if (cl->state == CLIENT_READING)
		refuse(cl, "no command within 10 seconds", now);
	else if (cl->waits != WAIT_EVENTS)
		close_client(cl);
}

/* --- all of them -------------------------------------------------------- */

static void
turn_ends(struct timer *t, tstamp now)
{
	(void)now;
	TIMER_OWNER(t, struct clients, turn_ends)->worked = false;
}

void
client_init(struct clients *all, struct supervisor *s,
    void (*run)(struct client *, char *line, size_t len, tstamp now),
    void (*left)(struct clients *))
{
	*all = (struct clients){
		.sup = s,
		.run = run,
		.left = left,
		.list = TAILQ_HEAD_INITIALIZER(all->list),
	};
	timer_init(&all->turn_ends, turn_ends);
}

bool
client_may_wait(struct client *cl)
{
	if (cl->counted || cl->all->nwaiting < cl->all->max_waiting)
		return true;
	client_error(cl, "too many clients wait already");
	return false;
}

/* Sends the events of the end; to a client that is behind, none. */
static void
flush_events(struct client *cl)
{
	const char *piece;
	size_t len;

	while (cl->state == CLIENT_WAITING &&
	    (piece = follow_next(cl->follow, &len)) != NULL)
		if (send(cl->io.fd, piece, len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)len)
			return;
}

/* Sends the part of the answer that the socket takes at once. */
static void
flush(struct client *cl)
{
	if (cl->follow != NULL)
		flush_events(cl);
	if (cl->state == CLIENT_WAITING && cl->waits != WAIT_END)
		client_error(cl, "the daemon has stopped");
	if (cl->status == NULL && cl->waits != WAIT_MEMORY)
		(void)send(cl->io.fd, cl->out.data + cl->sent,
		    cl->out.len - cl->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
client_close_all(struct clients *all)
{
	struct client *cl;

	while ((cl = TAILQ_FIRST(&all->list)) != NULL) {
		flush(cl);
		close_client(cl);
	}
	timer_set(&all->sup->loop.timers, &all->turn_ends, TSTAMP_NEVER);
}
