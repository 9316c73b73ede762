/* The control socket, as a service of the daemon. */

#include <stdlib.h>
#include <string.h>

#include "control/control.h"
#include "control/room.h"
#include "daemon/listeners.h"
#include "sys/fdpass.h"

/*
 * Clients at a time, if there are descriptors to spare, and in any case;
 * others wait in the backlog.
 */
#define CLIENTS_MAX 256
#define CLIENTS_SURE 32

/* Clients accepted in one turn at most. */
#define ACCEPTS 16

/* Connections in the backlog. */
#define BACKLOG 1024

/* --- accepting ---------------------------------------------------------- */

static bool
control_admits(struct acceptor *a, tstamp now)
{
	struct control *c = LOOP_OWNER(a, struct control, acceptor);

	if (c->n < c->max || client_make_way(c, now))
		return true;
	acceptor_pause(a);
	return false;
}

static void
control_arrived(struct acceptor *a, int fd, tstamp now)
{
	client_new(LOOP_OWNER(a, struct control, acceptor), fd, now);
}

static void
control_wake(struct timer *t, tstamp now)
{
	(void)now;
	acceptor_resume(&TIMER_OWNER(t, struct control, wake)->acceptor);
}

/* --- listening ---------------------------------------------------------- */

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
	if (conf->control == NULL)
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
	c->mode = conf->control_mode;
	c->gid = conf->control_gid;
	/* Descriptors are for connections first. */
	c->max = CLIENTS_MAX;
	if (c->spare < CLIENTS_MAX - CLIENTS_SURE)
		c->max = CLIENTS_SURE + c->spare;
	c->max_strangers = c->max / 8 * 7;
	c->max_each = c->max / 4;
	c->max_waiting = c->max / 4 * 3;
	acceptor_resume(&c->acceptor);
}

/* --- a service of the daemon -------------------------------------------- */

static void
control_abort(struct control *c)
{
	if (c->fresh.fd != -1)
		acceptor_discard(c->acceptor.lane, &c->fresh);
}

static void
control_close(struct control *c)
{
	control_abort(c);
	acceptor_close(&c->acceptor);
	client_close_all(c);
	if (c->dump != NULL)
		dump_forget(c->dump);
	free(c);
}

static void
control_dump(struct control *c, tstamp now)
{
	dump_start(c->sup, &c->dump, now);
}

bool
control_register(struct supervisor *s)
{
	static const struct acceptor_ops acceptor_ops = {
		.admits = control_admits,
		.arrived = control_arrived,
	};
	static const struct control_ops ops = {
		.prepare = control_prepare,
		.commit = control_commit,
		.abort = control_abort,
		.turn = client_turn,
		.dump = control_dump,
		.close = control_close,
	};
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		log_error("control socket");
		return false;
	}
	c->sup = s;
	c->run = command_run;
	TAILQ_INIT(&c->list);
	timer_init(&c->wake, control_wake);
	acceptor_init(
	    &c->acceptor, &s->loop, &s->looker, &acceptor_ops, ACCEPTS);
	c->fresh.fd = -1;
	s->control = &ops;
	s->control_arg = c;
	return true;
}
