/* Clients of the control socket that another program of the daemon's takes. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/control.h"
#include "control/room.h"
#include "daemon/carry.h"

/* How long a client that reads or writes is waited for. */
#define CLIENT_PATIENCE TSPAN_MSECONDS(300)

/* A client that has said nothing yet, or waits. */
struct carried_client {
	int fd;
	uint32_t uid;
	tstamp came;
	char *line; /* its command; NULL: none yet */
	char *out; /* the answer so far */
	bool json;
	bool progress;
	bool follows; /* events or lines */
};

/* --- before --------------------------------------------------------------- */

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
clients_carry_one(struct carry *c, struct client *cl)
{
	struct carried_client row = { .fd = cl->io.fd,
		.uid = cl->uid,
		.came = cl->came,
		.json = cl->said.json,
		.progress = cl->said.progress,
		.follows = cl->waits == WAIT_EVENTS };
	struct text line, out;

	text_init(&line, CLIENT_LINE_MAX + 1);
	text_init(&out, SIZE_MAX);
	for (size_t i = 0; i < cl->said.nwords; i++)
		text_printf(
		    &line, "%s%s", i == 0 ? "" : " ", cl->said.words[i]);
	text_put(&line, "", 1);
	text_put(&out, cl->out.data, row.follows ? 0 : cl->out.len);
	text_put(&out, "", 1);
	row.line = line.data;
	row.out = out.data;
	carry_put(c, CARRIED_CLIENT, 0, &row);
	for (size_t i = 0; cl->targets != NULL && i < cl->targets->len; i++)
		carry_put(c, CARRIED_TARGET, 0, &cl->targets->list[i]);
	text_fini(&line);
	text_fini(&out);
}

static void
clients_carry(struct carry *c)
{
	struct control *all = c->sup->control_arg;
	struct client *cl;

	if (all->acceptor.listener.fd != -1)
		carry_put_listener(
		    c, CARRIED_CONTROL, 0, all, &all->acceptor.listener);
	TAILQ_FOREACH(cl, &all->list, next)
		if (client_is_carried(cl))
			clients_carry_one(c, cl);
}

/* --- after ---------------------------------------------------------------- */

static bool
control_restore(struct carry *c, struct group *g, void *record)
{
	struct control *all = c->sup->control_arg;

	(void)g;
	if (!carry_copy(c, all, record) ||
	    !carry_listener(&all->acceptor.listener))
		return false;
	acceptor_start(&all->acceptor);
	return true;
}

static const struct carry_field control_fields[] = { CARRY_LISTENER(
    struct control, acceptor.listener) };

static const struct carry_kind control_kind = { .name = "control",
	CARRY_KIND(struct control, control_fields),
	.restore = control_restore,
	.put = clients_carry,
	.busy = clients_busy };

static bool
client_restore(struct carry *c, struct group *g, void *record)
{
	struct carried_client *row = record;
	struct control *all = c->sup->control_arg;
	struct client *cl = client_new(all, row->fd, c->now);
	const char *wrong = NULL;
	size_t len = row->line == NULL ? 0 : strlen(row->line);

	(void)g;
	if (cl == NULL)
		return false;
	c->client = cl;
	cl->uid = row->uid;
	if (len == 0)
		return true;
	if (len > CLIENT_LINE_MAX)
		return false;
	memcpy(cl->line, row->line, len);
	if (command_split(cl->line, len, &cl->said) != NULL)
		return false;
	cl->came = row->came;
	cl->said.json = row->json;
	cl->said.progress = row->progress;
	if (row->out != NULL)
		text_puts(&cl->out, row->out);
	if (row->follows)
		cl->follow = follow_new(&c->sup->events,
		    strcmp(cl->said.words[0], "logs") == 0, cl->said.words + 1,
		    row->json, &wrong);
	else
		cl->goes_on = command_goes_on(cl);
	cl->waits = row->follows ? WAIT_EVENTS : WAIT_APPS;
	if (wrong != NULL || (!row->follows && cl->goes_on == NULL))
		return false;
	client_wait(cl);
	return true;
}

#define F(m) CARRY(struct carried_client, m)
#define O(m) CARRY_OWNED(struct carried_client, m)
static const struct carry_field client_fields[] = {
	CARRY_FD(struct carried_client, fd), F(uid), F(came), O(line), O(out),
	F(json), F(progress), F(follows)
};
#undef F
#undef O

static const struct carry_kind client_kind = { .name = "client",
	CARRY_KIND(struct carried_client, client_fields),
	.restore = client_restore };

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

#define F(m) CARRY(struct target, m)
static const struct carry_field target_fields[] = { F(app), F(app_stamp),
	CARRY_NUMBER(struct target, process), F(stamp), F(of), F(pid),
	CARRY_TEXT(struct target, id), CARRY_TEXT(struct target, name) };
#undef F

static const struct carry_kind target_kind = { .name = "target",
	CARRY_KIND(struct target, target_fields),
	.restore = target_restore };

void
clients_register(void)
{
	carry_kinds[CARRIED_CONTROL] = &control_kind;
	carry_kinds[CARRIED_CLIENT] = &client_kind;
	carry_kinds[CARRIED_TARGET] = &target_kind;
}
