/* The control socket, as a service of the daemon, and its clients. */

#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/room.h"
#include "daemon/carry.h"
#include "sys/fdpass.h"
#include "sys/sockets.h"

/*
 * Clients at a time, if there are descriptors to spare, and in any case; others
 * wait in the backlog.
 */
#define CLIENTS_MAX 256
#define CLIENTS_SURE 32

/* Clients accepted in one turn at most. */
#define ACCEPTS 16

/* Connections in the backlog. */
#define BACKLOG 1024

/* Bytes of all snapshots together, unless one alone is larger. */
#define STATUS_BYTES (16 * 1024 * 1024)

/* Bytes of any other answer. */
#define ANSWER_MAX (1024 * 1024)

/* The time a client has for its line; and where others wait for a place. */
#define LINE_TIME TSPAN_SECONDS(10)
#define IDLE_TIME TSPAN_MSECONDS(100)

/* The time it has to read a part of the answer, and the whole of it. */
#define STALL_TIME TSPAN_SECONDS(30)
#define ANSWER_TIME TSPAN_SECONDS(300)

/* Reads, thrown away, of a client that goes on talking. */
#define DRAIN_READS 64

/* Longest message in one client_error(). */
#define MESSAGE_MAX 1024

/* Between two looks at what clients wait for, at least. */
#define LOOK_PAUSE TSPAN_MSECONDS(5)

/* How long an upgrade waits for a client that reads or writes. */
#define CLIENT_PATIENCE TSPAN_MSECONDS(300)

/* --- beginning and end -------------------------------------------------- */

/* The client is cut off then; TSTAMP_NEVER: not. */
static void
client_cut_at(struct client *cl, tstamp at)
{
	timer_set(&cl->all->sup->loop.timers, &cl->deadline, at);
}

/* Waits for these events, besides an error or a hang-up; 0: for no other. */
static bool
client_watch(struct client *cl, uint32_t events)
{
	return loop_set(&cl->all->sup->loop, &cl->io,
		   events == 0 ? EPOLLERR : events) == 0;
}

/* Counts the client among those that wait, or no longer. */
static void
client_count(struct client *cl, bool waits)
{
	cl->all->nwaiting += (unsigned)waits - cl->counted;
	cl->counted = waits;
}

/* As recv(2). Descriptors that came along may take long to close. */
static ssize_t
client_receive(struct client *cl, void *buf, size_t size)
{
	struct fdpass_got got;
	ssize_t n = fdpass_recv(cl->io.fd, buf, size, MSG_DONTWAIT, &got);

	for (size_t i = 0; n != -1 && i < got.nfds; i++)
		lane_close(&cl->all->sup->closer, got.fds[i]);
	return n;
}

static void
client_close(struct client *cl)
{
	struct control *all = cl->all;
	struct client *other;
	char rest[CLIENT_LINE_MAX];

	reload_forget(cl->reload);
	client_count(cl, false);
	client_cut_at(cl, TSTAMP_NEVER);
	(void)loop_set(&all->sup->loop, &cl->io, 0);
	/*
	 * The client sees the end now, whenever the slow lane closes; and an
	 * end, no reset, as all that it said has been read.
	 */
	(void)shutdown(cl->io.fd, SHUT_RDWR);
	for (unsigned i = 0; i < DRAIN_READS; i++)
		if (client_receive(cl, rest, sizeof(rest)) <= 0)
			break;
	lane_close(&all->sup->closer, cl->io.fd);

	TAILQ_REMOVE(&all->list, cl, next);
	TAILQ_FOREACH(other, &all->list, next)
		if (cl->status != NULL && other->waits == WAIT_MEMORY)
			break;
	if (other != NULL) {
		other->waits = WAIT_NOTHING;
		other->state = CLIENT_WRITING;
		(void)client_watch(other, EPOLLOUT);
	}
	all->status_bytes -= cl->status == NULL ? 0 : cl->status->size;
	status_free(cl->status);
	follow_free(cl->follow);
	text_fini(&cl->out);
	free(cl->targets);
	free(cl);
	all->n--;
	/* There may be room for another one. */
	acceptor_pause(&all->acceptor, false);
}

/* The client waits for what `waits` says, or leaves. May close it. */
static void
client_wait(struct client *cl)
{
	cl->state = CLIENT_WAITING;
	client_count(cl, true);
	client_cut_at(cl, TSTAMP_NEVER);
	if (!client_watch(cl, 0))
		client_close(cl);
}

/* --- the answer --------------------------------------------------------- */

void
client_tell(struct client *cl, const char *fmt, ...)
{
	char *text, *line;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len == -1) {
		cl->out.failed = true;
		return;
	}
	if (cl->said.json) {
		emit_object(&cl->json);
		emit_put_string(&cl->json, "message", text);
		emit_object_end(&cl->json);
		text_puts(&cl->out, "\n");
	}
	/* Each line is escaped on its own: the newlines stay. */
	for (line = text; *line != '\0' && !cl->said.json;) {
		size_t n = strcspn(line, "\n");

		text_escaped(&cl->out, line, n);
		text_puts(&cl->out, "\n");
		line += n + (line[n] == '\n');
	}
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

/* Takes the snapshot that the client wants; or has the error to be sent. */
static void
client_take_status(struct client *cl, tstamp now)
{
	cl->wants = false;
	cl->status = status_take(cl->all->sup, cl->app, cl->format, now);
	if (cl->status != NULL) {
		cl->all->status_bytes += cl->status->size;
		return;
	}
	if (errno == ENOENT)
		client_error(cl, "no app %s any more", cl->app);
	else
		client_error(cl, "cannot take a snapshot: %s", strerror(errno));
	cl->data = cl->out.data;
	cl->data_len = cl->out.len;
}

/*
 * Sends what the socket takes, and gets more to send. That costs time and is
 * done for one client in each turn; the others, writable all the time, come
 * back in the next turn. May close the client.
 */
static void
client_write(struct client *cl, tstamp now)
{
	struct control *all = cl->all;

	for (;;) {
		while (cl->sent < cl->data_len) {
			ssize_t n = send(cl->io.fd, cl->data + cl->sent,
			    cl->data_len - cl->sent,
			    MSG_DONTWAIT | MSG_NOSIGNAL);

			if (n == -1 && fdpass_is_later(errno))
				goto later;
			if (n == -1) {
				client_close(cl);
				return;
			}
			cl->sent += (size_t)n;
			client_cut_at(
			    cl, tstamp_min(now + STALL_TIME, cl->until));
		}
		if (!cl->wants && cl->status == NULL && cl->follow == NULL)
			break;
		if (all->worked)
			goto later;
		if (cl->wants && all->status_bytes >= STATUS_BYTES) {
			cl->state = CLIENT_WAITING;
			cl->waits = WAIT_MEMORY;
			client_cut_at(cl, TSTAMP_NEVER);
			goto later;
		}
		all->worked = true;
		if (cl->wants) {
			client_take_status(cl, now);
			continue;
		}
		cl->data = cl->follow != NULL
		    ? follow_next(cl->follow, &cl->data_len)
		    : figures_next(cl->status, &cl->data_len);
		cl->sent = 0;
		if (cl->data == NULL) {
			cl->data_len = 0;
			break;
		}
	}
	/* The answer has been given. */
	if (cl->waits == WAIT_END || cl->waits == WAIT_EVENTS)
		client_wait(cl);
	else
		client_close(cl);
	return;

later:
	if (!client_watch(cl, cl->state == CLIENT_WAITING ? 0 : EPOLLOUT))
		client_close(cl);
}

/* Begins to send the answer. May close the client. */
static void
client_answer(struct client *cl, tstamp now)
{
	client_count(cl, cl->waits == WAIT_EVENTS);
	if (cl->out.failed) {
		text_clear(&cl->out);
		client_error(cl, "the answer is too long");
	}
	cl->state = CLIENT_WRITING;
	cl->data = cl->out.data;
	cl->data_len = cl->out.len;
	cl->until = now + ANSWER_TIME;
	client_cut_at(cl, now + STALL_TIME);
	client_write(cl, now);
}

static void
client_refuse(struct client *cl, const char *why, tstamp now)
{
	client_error(cl, "%s", why);
	client_answer(cl, now);
}

/* --- waiting ------------------------------------------------------------ */

/*
 * Whether the client has to wait on. If it wants to know how far things are, a
 * line tells it, which is taken whole or not at all: then the next will do.
 */
static bool
client_must_wait(struct client *cl)
{
	struct progress p = { 0 };
	char line[96];
	int len;

	if (!cl->goes_on(cl, &p))
		return false;
	if (!cl->said.progress || p.of == 0 ||
	    memcmp(&cl->shown, &p, sizeof(p)) == 0)
		return true;
	cl->shown = p;
	len = snprintf(line, sizeof(line),
	    "progress: %" PRIu32 " of %" PRIu32 " %s\n", p.done, p.of, p.what);
	(void)send(cl->io.fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

bool
client_may_wait(struct client *cl)
{
	/* The other places are for questions that are answered at once. */
	if (cl->counted || cl->all->nwaiting < cl->all->max / 4 * 3)
		return true;
	client_error(cl, "too many clients wait already");
	return false;
}

void
client_wait_while(
    struct client *cl, bool (*goes_on)(struct client *, struct progress *out))
{
	cl->goes_on = goes_on;
	if (client_must_wait(cl) && client_may_wait(cl))
		cl->waits = WAIT_APPS;
}

/*
 * Whatever a client waits for comes about in a turn of the loop: so nothing has
 * to tell us of it, and while nothing happens nobody looks. Of a busy daemon's
 * many turns few are looked after; the timer sees to it that one comes.
 */
static void
control_turn(struct control *all, tstamp now)
{
	struct client *cl, *next;

	all->worked = false;
	if (all->nwaiting == 0)
		return;
	if (now < all->looked + LOOK_PAUSE) {
		timer_advance(&all->sup->loop.timers, &all->wake,
		    all->looked + LOOK_PAUSE);
		return;
	}
	all->looked = now;
	TAILQ_FOREACH_SAFE(cl, &all->list, next, next) {
		if (cl->state != CLIENT_WAITING)
			continue;
		if (cl->waits == WAIT_APPS && !client_must_wait(cl))
			cl->waits = WAIT_NOTHING;
		if (cl->waits == WAIT_NOTHING ||
		    (cl->waits == WAIT_EVENTS && follow_has_more(cl->follow)))
			client_answer(cl, now);
	}
}

/* --- reading ------------------------------------------------------------ */

static void
client_is_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct client *cl = LOOP_OWNER(io, struct client, io);
	const char *eol;
	ssize_t n;

	if (cl->state != CLIENT_READING) {
		if (cl->state == CLIENT_WRITING)
			client_write(cl, now);
		else if (events & (EPOLLERR | EPOLLHUP))
			client_close(cl);
		return;
	}
	n = client_receive(cl, cl->line + cl->len, sizeof(cl->line) - cl->len);
	if (n == -1) {
		if (!fdpass_is_later(errno))
			client_close(cl);
		return;
	}
	if (n == 0) {
		client_refuse(cl, "the line has no end", now);
		return;
	}
	eol = memchr(cl->line + cl->len, '\n', (size_t)n);
	cl->len += (size_t)n;
	if (eol != NULL) {
		cl->len = (size_t)(eol - cl->line);
		cl->all->run(cl, now);
		if (cl->waits == WAIT_APPS)
			client_wait(cl);
		else
			client_answer(cl, now);
	} else if (cl->len == sizeof(cl->line)) {
		client_refuse(cl, "the line is longer than 4096 bytes", now);
	}
}

static void
client_is_late(struct timer *t, tstamp now)
{
	struct client *cl = TIMER_OWNER(t, struct client, deadline);

	if (cl->state == CLIENT_READING)
		client_refuse(cl, "no command within 10 seconds", now);
	else if (cl->waits != WAIT_EVENTS)
		client_close(cl);
}

/* --- room for others ---------------------------------------------------- */

static bool
client_is_stranger(const struct client *cl)
{
	return cl->uid != 0 && cl->uid != geteuid();
}

/*
 * Whether there is room for a client; if need be that ends which has been idle
 * longest, a stranger if there is one. A client that asks stands in the backlog
 * behind all that came before, silent ones too: 400 of these had a status wait
 * for ten seconds. Clients of a burst that are about to ask are given a moment.
 */
static bool
control_admits(struct acceptor *a, tstamp now)
{
	struct control *all = LOOP_OWNER(a, struct control, acceptor);
	tstamp soonest = TSTAMP_NEVER;

	if (all->n < all->max)
		return true;
	for (int own = 0; own <= 1; own++) {
		struct client *cl;
		char c;

		/* The oldest that has said nothing yet, or no whole line. */
		TAILQ_FOREACH(cl, &all->list, next)
			if (cl->state == CLIENT_READING &&
			    client_is_stranger(cl) == (own == 0) &&
			    recv(cl->io.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) <=
				0)
				break;
		if (cl == NULL)
			continue;
		if (now - cl->came >= IDLE_TIME) {
			client_refuse(
			    cl, "there are too many connections", now);
			return true;
		}
		soonest = tstamp_min(soonest, cl->came + IDLE_TIME);
	}
	timer_advance(&all->sup->loop.timers, &all->wake, soonest);
	acceptor_pause(a, true);
	return false;
}

/* The client, which has its descriptor, is read from; false: it is not. */
static bool
client_begin(struct client *cl, struct control *all, tstamp now)
{
	cl->all = all;
	cl->io.ready = client_is_ready;
	cl->state = CLIENT_READING;
	timer_init(&cl->deadline, client_is_late);
	text_init(&cl->out, ANSWER_MAX);
	cl->json = (struct emit){ .out = &cl->out };
	TAILQ_INSERT_TAIL(&all->list, cl, next);
	all->n++;
	client_cut_at(cl, now + LINE_TIME);
	return client_watch(cl, EPOLLIN);
}

/*
 * Takes fd over. If a stranger has too many connections, one that has said
 * nothing yet is told so and ends, the oldest of them first; or else this one,
 * which is silent itself, and the newest.
 */
static void
control_arrived(struct acceptor *a, int fd, tstamp now)
{
	struct control *all = LOOP_OWNER(a, struct control, acceptor);
	struct client *cl, *other, *silent = NULL, *same_silent = NULL;
	struct ucred peer = { .uid = (uid_t)-1 };
	unsigned n = 0, same = 0;

	(void)fdpass_refuse(fd);
	(void)peer_identify(fd, &peer);
	cl = calloc(1, sizeof(*cl));
	if (cl == NULL) {
		lane_close(&all->sup->closer, fd);
		return;
	}
	cl->io.fd = fd;
	cl->uid = peer.uid;
	cl->came = now;
	if (!client_begin(cl, all, now)) {
		client_close(cl);
		return;
	}
	if (!client_is_stranger(cl))
		return;
	TAILQ_FOREACH(other, &all->list, next) {
		bool is_silent = other->state == CLIENT_READING;

		if (!client_is_stranger(other))
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
	/* A quarter for each; the last eighth is for the others. */
	if (same > all->max / 4)
		client_refuse(
		    same_silent, "this user has too many connections", now);
	else if (n > all->max / 8 * 7)
		client_refuse(silent, "there are too many connections", now);
}

/* --- a service of the daemon -------------------------------------------- */

static void
control_wake(struct timer *t, tstamp now)
{
	(void)now;
	acceptor_pause(&TIMER_OWNER(t, struct control, wake)->acceptor, false);
}

static struct listener_spec
spec_of(const struct conf *conf)
{
	return (struct listener_spec){
		.name = "control",
		.path = conf->control,
		.inherited_fd = -1,
		.backlog = BACKLOG,
		.uid = (uid_t)-1,
		.gid = conf->control_gid,
		.mode = conf->control_mode,
		.folder = conf_makes_folder(conf) ? CONF_DEFAULT_FOLDER : NULL,
	};
}

/* Options of conf for the socket that is open, and for all clients. */
static void
control_configure(struct control *c, const struct conf *conf)
{
	c->mode = conf->control_mode;
	c->gid = conf->control_gid;
	/* Descriptors are for connections first. */
	c->max = CLIENTS_MAX;
	if (c->spare < CLIENTS_MAX - CLIENTS_SURE)
		c->max = CLIENTS_SURE + c->spare;
}

/*
 * Opens the new socket beside the open one, unless that is there, and at the
 * same path; its file may have been removed, by a cleaner of /run or /tmp.
 */
static void
control_prepare(struct control *c, const struct conf *conf, uint32_t spare,
    struct openings *openings)
{
	const struct listener *open = &c->acceptor.listener;
	struct listener_spec spec = spec_of(conf);

	c->spare = spare;
	if (openings == NULL)
		control_configure(c, conf);
	if (openings == NULL || conf->control == NULL)
		return;
	if (open->fd != -1 && strcmp(open->path, conf->control) == 0)
		spec.unless = &open->file;
	openings_add(
	    openings, &c->fresh, &spec, "control socket %s", conf->control);
}

static void
control_commit(struct control *c, const struct conf *conf)
{
	const struct listener_spec spec = spec_of(conf);
	const char *why;

	if (conf->control == NULL) {
		acceptor_close(&c->acceptor);
		return;
	}
	if (c->fresh.fd != -1) {
		/* The fresh listener takes its place. Clients stay. */
		(void)fdpass_refuse(c->fresh.fd);
		acceptor_close(&c->acceptor);
		c->acceptor.listener = c->fresh;
		c->fresh.fd = -1;
		acceptor_start(&c->acceptor);
	} else if ((c->mode != conf->control_mode ||
		       c->gid != conf->control_gid) &&
	    acceptor_update(&c->acceptor, &spec, &why) == -1) {
		log_error(
		    "control socket %s: %s", c->acceptor.listener.path, why);
	}
	control_configure(c, conf);
	acceptor_pause(&c->acceptor, false);
}

static void
control_abort(struct control *c)
{
	if (c->fresh.fd != -1)
		acceptor_discard(c->acceptor.lane, &c->fresh);
}

/*
 * Answers under way are cut, each having the part that the socket takes at
 * once; clients that wait for the end have it now.
 */
static void
control_close(struct control *all)
{
	struct client *cl;
	const char *piece;
	size_t len, from;

	control_abort(all);
	acceptor_close(&all->acceptor);
	while ((cl = TAILQ_FIRST(&all->list)) != NULL) {
		/* A follower that is not behind has the last events, too. */
		bool waits = cl->state == CLIENT_WAITING ||
		    (cl->waits == WAIT_EVENTS && cl->sent == cl->data_len);

		while (cl->follow != NULL && waits &&
		    (piece = follow_next(cl->follow, &len)) != NULL)
			if (send(cl->io.fd, piece, len,
				MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
				break;
		if (waits && cl->waits != WAIT_END)
			client_error(cl, "the daemon has stopped");
		/* The bytes sent last may not be of out. */
		from = cl->follow == NULL ? cl->sent : 0;
		if (cl->status == NULL && cl->waits != WAIT_MEMORY &&
		    cl->out.len > from)
			(void)send(cl->io.fd, cl->out.data + from,
			    cl->out.len - from, MSG_DONTWAIT | MSG_NOSIGNAL);
		client_close(cl);
	}
	timer_set(&all->sup->loop.timers, &all->wake, TSTAMP_NEVER);
	/* A dump under way is told that way. */
	all->sup->control_arg = NULL;
	free(all);
}

/* --- carried over --------------------------------------------------------- */

/* A client that has said nothing yet, or waits. */
static bool
client_is_carried(const struct client *cl)
{
	/* A reload is over, and the client is told so next. */
	if (cl->reload != NULL && cl->reload->over && cl->out.len == 0)
		return false;
	return cl->state == CLIENT_READING ? cl->len == 0
					   : cl->state == CLIENT_WAITING &&
		(cl->waits == WAIT_APPS || cl->waits == WAIT_EVENTS);
}

/* A client that does not read its answer is not waited for: it is cut off. */
static const char *
clients_busy(const struct supervisor *s)
{
	struct control *all = s->control_arg;
	const struct client *cl;
	tstamp now = loop_now(&s->loop);

	if (all->dump != NULL)
		return "the state is being dumped";
	TAILQ_FOREACH(cl, &all->list, next)
		if (!client_is_carried(cl))
			break;
	if (all->busy_since == 0)
		all->busy_since = now;
	if (cl != NULL && now - all->busy_since < CLIENT_PATIENCE)
		return "a client of the control socket is answered";
	all->busy_since = 0;
	return NULL;
}

static void
clients_carry(struct carry *c)
{
	struct control *all = c->sup->control_arg;
	struct client *cl;

	if (all->acceptor.listener.fd != -1)
		carry_put(c, CARRIED_CONTROL, 0, all);
	TAILQ_FOREACH(cl, &all->list, next) {
		struct client row = *cl;

		if (!client_is_carried(cl))
			continue;
		/* The words of the line end with a NUL each. */
		for (size_t i = 0; i < cl->len; i++)
			if (row.line[i] == '\0')
				row.line[i] = ' ';
		row.out.data = cl->waits == WAIT_EVENTS || cl->out.len == 0
		    ? NULL
		    : strndup(cl->out.data, cl->out.len);
		carry_put(c, CARRIED_CLIENT, 0, &row);
		free(row.out.data);
		for (size_t i = 0; cl->targets != NULL && i < cl->targets->len;
		     i++)
			carry_put(c, CARRIED_TARGET, 0, &cl->targets->list[i]);
	}
}

static bool
control_restore(struct carry *c, struct group *g, void *record)
{
	struct control *all = c->sup->control_arg;

	(void)g;
	if (!carry_copy(c, all, record) || all->acceptor.listener.fd == -1)
		return false;
	acceptor_start(&all->acceptor);
	return true;
}

/* The command of the client is not run again: it goes on. */
static bool
client_restore(struct carry *c, struct group *g, void *record)
{
	struct client *cl = record;
	struct control *all = c->sup->control_arg;
	char *out = cl->out.data;

	(void)g;
	c->client = cl;
	if (!client_begin(cl, all, c->now))
		return false;
	if (out != NULL)
		text_puts(&cl->out, out);
	free(out);
	cl->len = strlen(cl->line);
	if (cl->len == 0)
		return true;
	cl->again = true;
	all->run(cl, c->now);
	if (cl->waits == WAIT_NOTHING)
		return false;
	client_wait(cl);
	return true;
}

static bool
target_restore(struct carry *c, struct group *g, void *record)
{
	struct client *cl = c->client;
	struct targets *t;
	size_t n = cl == NULL || cl->targets == NULL ? 0 : cl->targets->len;

	(void)g;
	t = cl == NULL
	    ? NULL
	    : realloc(cl->targets, sizeof(*t) + (n + 1) * sizeof(t->list[0]));
	if (t == NULL)
		return false;
	cl->targets = t;
	memset(&t->list[n], 0, sizeof(t->list[n]));
	t->len = n + 1;
	return carry_copy(c, &t->list[n], record) &&
	    t->list[n].app < c->sup->pool.napps;
}

static const struct carry_field control_fields[] = { CARRY_LISTENER(
    struct control, acceptor.listener) };

static CARRY_KIND(control_kind, "control", struct control, control_fields,
    .restore = control_restore, .put = clients_carry, .busy = clients_busy);

static const struct carry_field client_fields[] = { CARRY_FD(
							struct client, io.fd),
	CARRY(struct client, uid), CARRY(struct client, came),
	CARRY_TEXT(struct client, line), CARRY_OWNED(struct client, out.data) };

static CARRY_KIND(client_kind, "client", struct client, client_fields,
    .made = true, .restore = client_restore);

#define F(m) CARRY(struct target, m)
static const struct carry_field target_fields[] = { F(app), F(app_stamp),
	CARRY_NUMBER(struct target, process), F(stamp), F(of), F(pid),
	CARRY_TEXT(struct target, id), CARRY_TEXT(struct target, name) };
#undef F

static CARRY_KIND(target_kind, "target", struct target, target_fields,
    .restore = target_restore);

/* --- registering ---------------------------------------------- */

bool
control_register(struct supervisor *s, void (*run)(struct client *, tstamp now))
{
	static const struct acceptor_ops acceptor_ops = {
		.admits = control_admits,
		.arrived = control_arrived,
	};
	static const struct control_ops ops = {
		.prepare = control_prepare,
		.commit = control_commit,
		.abort = control_abort,
		.turn = control_turn,
		.dump = dump_start,
		.close = control_close,
	};
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		log_error("control socket");
		return false;
	}
	c->sup = s;
	c->run = run;
	TAILQ_INIT(&c->list);
	timer_init(&c->wake, control_wake);
	acceptor_init(
	    &c->acceptor, &s->loop, &s->looker, &acceptor_ops, ACCEPTS);
	c->fresh.fd = -1;
	s->control = &ops;
	s->control_arg = c;
	carry_kinds[CARRIED_CONTROL] = &control_kind;
	carry_kinds[CARRIED_CLIENT] = &client_kind;
	carry_kinds[CARRIED_TARGET] = &target_kind;
	return true;
}
