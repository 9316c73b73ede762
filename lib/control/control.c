/* The control socket, and the time its clients have. */

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "control/control_private.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/* Clients accepted in one turn at most. */
#define ACCEPT_BUDGET 16

/* Those that wait in the backlog. */
#define BACKLOG 1024

static void control_ready(struct loop_io *io, uint32_t events, tstamp now);

static struct listener_spec
control_spec(const struct conf *conf)
{
	return (struct listener_spec){
		.name = "control",
		.path = conf->control,
		.inherited_fd = -1,
		.backlog = BACKLOG,
		.uid = (uid_t)-1,
		.gid = conf->control_gid,
		.mode = conf->control_mode,
	};
}

/*
 * Where no service manager has made the folder of the default. true: it is
 * there, or it is another folder; false and errno: it was logged.
 */
static bool
make_default_folder(const struct conf *conf)
{
	int error;

	if (!conf_makes_folder(conf))
		return true;
	if (mkdir(CONF_DEFAULT_FOLDER, 0755) == 0) {
		log_info("made %s", CONF_DEFAULT_FOLDER);
		return true;
	}
	if (errno == EEXIST)
		return true;
	error = errno;
	log_error("control socket %s: cannot make its folder", conf->control);
	errno = error;
	return false;
}

/* --- listening ---------------------------------------------------------- */

/* Opens what conf names, besides what is open. 0, or an exit status. */
static int
open_fresh(struct control *c, const struct conf *conf)
{
	const struct listener_spec spec = control_spec(conf);
	const char *why;
	int error;

	if (!make_default_folder(conf))
		return supervisor_refused(errno);
	if (listener_open(&c->fresh, &spec, &why) == 0) {
		fdpass_refuse(c->fresh.fd);
		return EX_OK;
	}
	error = errno;
	if (error == EADDRINUSE)
		log_errorx("control socket %s: another process "
			   "listens there; is this daemon running "
			   "already?",
		    conf->control);
	else
		log_error("control socket %s: %s", conf->control, why);
	return supervisor_refused(error);
}

static bool
update(struct control *c, const struct listener_spec *spec)
{
	const char *why;

	if (listener_update(&c->listener, spec, &why) == 0)
		return true;
	log_error("control socket %s: %s", c->listener.path, why);
	return false;
}

/* The owner and the mode of what is open change under those who connect. */
static int
update_rights(struct control *c, const struct conf *conf)
{
	const struct listener_spec spec = control_spec(conf);

	if (c->mode == conf->control_mode && c->gid == conf->control_gid)
		return EX_OK;
	if (!update(c, &spec))
		return supervisor_refused(errno);
	c->updated = true;
	return EX_OK;
}

/* Somebody may have removed it, who cleaned up. */
static bool
is_there(const struct listener *l)
{
	struct stat st;

	return lstat(l->path, &st) == 0 && st.st_dev == l->file.dev &&
	    st.st_ino == l->file.ino;
}

/* Stops listening. Clients stay. */
static void
stop_listening(struct control *c)
{
	if (c->listener.fd == -1)
		return;
	(void)loop_set(&c->sup->loop, &c->io, 0);
	listener_fini(&c->listener);
}

/* The fresh listener takes the place of what was open. */
static void
listen_to_fresh(struct control *c)
{
	stop_listening(c);
	c->listener = c->fresh;
	c->fresh.fd = -1;
	c->io =
	    (struct loop_io){ .fd = c->listener.fd, .ready = control_ready };
	if (loop_set(&c->sup->loop, &c->io, EPOLLIN) == -1)
		log_warn("control socket %s", c->listener.path);
}

/* --- a service of the daemon -------------------------------------------- */

static int
prepare(void *arg, const struct conf *conf, uint32_t spare)
{
	struct control *c = arg;

	c->spare = spare;
	c->updated = false;
	if (conf->control == NULL)
		return EX_OK;
	if (c->listener.fd != -1 &&
	    strcmp(c->listener.path, conf->control) == 0 &&
	    is_there(&c->listener))
		return update_rights(c, conf);
	return open_fresh(c, conf);
}

static void
commit(void *arg, const struct conf *conf, tstamp now)
{
	struct control *c = arg;

	(void)now;
	if (conf->control == NULL) {
		stop_listening(c);
		return;
	}
	if (c->fresh.fd != -1)
		listen_to_fresh(c);
	c->mode = conf->control_mode;
	c->gid = conf->control_gid;
	/* Descriptors are for connections first. */
	c->max_clients = CONTROL_CLIENTS;
	if (c->spare < CONTROL_CLIENTS - CONTROL_CLIENTS_SURE)
		c->max_clients = CONTROL_CLIENTS_SURE + c->spare;
	c->max_waiting = c->max_clients / 4 * 3;
}

static void
abort_change(void *arg)
{
	struct control *c = arg;
	const struct listener_spec former = {
		.backlog = BACKLOG,
		.uid = (uid_t)-1,
		.gid = c->gid,
		.mode = c->mode,
	};

	if (c->fresh.fd != -1)
		listener_fini(&c->fresh);
	if (c->updated)
		(void)update(c, &former);
}

/* Answers under way are cut; clients that wait for this end have it now. */
static void
close_all(void *arg, tstamp now)
{
	struct control *c = arg;
	struct client *cl;

	(void)now;
	stop_listening(c);
	while ((cl = TAILQ_FIRST(&c->clients)) != NULL) {
		client_flush(cl);
		client_close(cl);
	}
	if (c->dump != NULL)
		status_dump_forget(c->dump);
	free(c);
}

static void
dump(void *arg, tstamp now)
{
	struct control *c = arg;

	status_dump(c->sup, &c->dump, now);
}

static void tick(void *arg, tstamp now);
static tstamp deadline(const void *arg);

bool
control_register(struct supervisor *s)
{
	static const struct service_ops ops = {
		.refusal = "the log or the control socket cannot be opened",
		.prepare = prepare,
		.commit = commit,
		.abort = abort_change,
		.close = close_all,
		.tick = tick,
		.deadline = deadline,
	};
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		log_error("control socket");
		return false;
	}
	c->sup = s;
	c->listener.fd = -1;
	c->fresh.fd = -1;
	TAILQ_INIT(&c->clients);
	c->look_at = TSTAMP_NEVER;
	c->wait_at = TSTAMP_NEVER;
	services_add(&s->services, &ops, c);
	s->services.dump = dump;
	s->services.dump_arg = c;
	return true;
}

/* --- clients ------------------------------------------------------------ */

static void
control_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct control *c = LOOP_OWNER(io, struct control, io);
	int fd = 0;

	(void)events;
	for (unsigned i = 0; i < ACCEPT_BUDGET; i++) {
		if (c->nclients >= c->max_clients)
			break;
		fd = listener_accept(&c->listener, now);
		if (fd < 0)
			break;
		client_new(c, fd, now);
	}
	if (fd >= 0 && c->nclients < c->max_clients)
		return;
	if (fd == LISTENER_EMPTY)
		return;
	/* Until a client has left, or until it has rested. */
	(void)loop_set(&c->sup->loop, &c->io, 0);
	if (fd == LISTENER_RESTING)
		control_arm(c, c->listener.rest_until);
}

static void
control_listen_again(struct control *c)
{
	if (c->listener.fd != -1 && c->io.events == 0 &&
	    c->nclients < c->max_clients)
		(void)loop_set(&c->sup->loop, &c->io, EPOLLIN);
}

void
control_left(struct control *c)
{
	c->nclients--;
	control_listen_again(c);
}

/* --- time --------------------------------------------------------------- */

void
control_arm(struct control *c, tstamp at)
{
	c->look_at = tstamp_min(c->look_at, at);
}

/* Deadlines only ever move away: a look may come too early, never too late. */
static void
control_expire(struct control *c, tstamp now)
{
	struct client *cl, *next;

	c->look_at = TSTAMP_NEVER;
	control_listen_again(c);
	TAILQ_FOREACH_SAFE(cl, &c->clients, next, next) {
		if (cl->deadline <= now)
			client_expire(cl, now);
		else
			control_arm(c, cl->deadline);
	}
}

static void
tick(void *arg, tstamp now)
{
	struct control *c = arg;

	c->worked = false;
	if (c->look_at <= now)
		control_expire(c, now);
	if (c->wait_at <= now)
		c->wait_at = command_look(c, now);
}

static tstamp
deadline(const void *arg)
{
	const struct control *c = arg;

	return tstamp_min(c->look_at, c->wait_at);
}
