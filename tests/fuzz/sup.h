#ifndef TESTS_FUZZ_SUP_H
#define TESTS_FUZZ_SUP_H

/*
 * A supervisor with one app in virtual time, for fuzzers: what is said to the
 * daemon comes over real sockets, and the input is a list of steps, each a byte
 * that says which, and what belongs to it.
 */

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/worker.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/wire.h"

#include "../support/pool_check.h"
#include "../support/usable.h"
#include "../unit/still.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORKERS 4
#define CONNS 8

/* More find nothing that fewer do not, and take longer. */
#define STEPS_MAX 48

/* The input that is left. */
struct input {
	const uint8_t *data;
	size_t size;
};

static struct supervisor sup;
static struct conf conf = { .max_processes = WORKERS };
static struct conf_app web = {
	.name = (char *)"web",
	.handoff = CONF_HANDOFF_NATIVE,
};
static const struct pool_limits limits = {
	.apps = 1, .processes = WORKERS, .conns = CONNS, .sessions = 8
};

static int client = -1; /* stands for all connections */
static unsigned arrived, refused;

/* The sockets of a worker, kept from one to the next: ours, and its own. */
static int ends[WORKERS][2];

/* How the fuzzer does what the pool wants. */
struct ways {
	void (*join)(uint32_t process);
	void (*take)(const struct action *a);
	void (*doom)(uint32_t process);
};
static const struct ways *ways;

/* The next byte; 0 at the end. */
static inline uint8_t
next(struct input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

/* Bytes whose number comes first, as many as there are. */
static inline const uint8_t *
next_bytes(struct input *in, size_t *len_out)
{
	const uint8_t *bytes;
	size_t len = next(in);

	if (len > in->size)
		len = in->size;
	bytes = in->data;
	in->data += len;
	in->size -= len;
	*len_out = len;
	return bytes;
}

/* Things made once. */
static inline void
sup_start(const struct ways *w)
{
	const struct log_spec spec = { .dest = LOG_DEST_FILE,
		.path = "/dev/null",
		.level = LOG_LEVEL_ERROR };

	ways = w;
	client = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (client == -1 || log_open(&spec) == -1 ||
	    loop_init(&sup.loop, &still_clock) == -1)
		abort();
	sup.groups = calloc(limits.apps, sizeof(struct group *));
	sup.workers = calloc(limits.processes, sizeof(struct worker *));
	sup.accepted = calloc(limits.conns, sizeof(struct accepted));
	sup.pool_memory = malloc(pool_memory(&limits));
	sup.config = &conf;
	RB_INIT(&sup.pids);
	timer_init(&sup.sampling.timer, NULL);
	web.pool = usable_options();
	web.pool.max_processes = WORKERS;
	web.pool.max_queue = CONNS;
	web.pool.retry_limit = 2;
	web.pool.start_limit = 3;
	for (int i = 0; i < WORKERS; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			ends[i]) == -1)
			abort();
}

/* Begins with an empty pool, and `web` as the app is to be. */
static inline struct group *
sup_begin(void)
{
	struct group *g;

	now = TSPAN_SECONDS(1000);
	arrived = refused = 0;
	memset(sup.pool_memory, 0, pool_memory(&limits));
	pool_init(&sup.pool, &limits, sup.pool_memory, WORKERS, 1, now);
	(void)loop_turn(&sup.loop, now);
	if (keeper_init(&sup) == -1)
		abort();
	g = group_new(&sup, &web, ILIST_NONE, now);
	if (g == NULL)
		abort();
	return g;
}

/* All processes are gone: each connection has had its one end. */
static inline void
sup_end(void)
{
	const struct app_figures *f = &sup.pool.apps[0].figures;

	pool_check(&sup.pool);
	assert(sup.pool.apps[0].phase == APP_OVER);
	assert(arrived == f->completed + f->lost + refused);
	keeper_hear_out(&sup, now);
	group_free(sup.groups[0]);
	keeper_fini(&sup);
}

static inline void
arrive(void)
{
	uint32_t conn;

	if (!pool_may_accept(&sup.pool, 0)) {
		if (sup.pool.apps[0].intake.accepting == ACCEPTING_OPEN)
			pool_accept_paused(&sup.pool, 0, now);
		return;
	}
	conn = pool_arrived(&sup.pool, 0, now);
	sup.accepted[conn].fd = client;
	arrived++;
}

static inline void
hand(const struct action *a)
{
	struct accepted *c = &sup.accepted[a->conn];

	c->fd = dup(client);
	channel_hand(&sup, a, now);
	if (c->fd != -1) {
		close(c->fd);
		c->fd = client;
	}
}

static inline void
carry_out(void)
{
	struct action a;

	while (pool_next_action(&sup.pool, &a)) {
		switch ((enum action_kind)a.kind) {
		case ACTION_SPAWN:
			ways->join(a.process);
			break;
		case ACTION_HAND:
			hand(&a);
			break;
		case ACTION_TAKE:
			ways->take(&a);
			break;
		case ACTION_STOP:
			/* The session that it may have ends. */
			channel_stop(sup.workers[a.process]);
			break;
		case ACTION_KILL:
			ways->doom(a.process);
			break;
		case ACTION_REFUSE:
			sup.accepted[a.conn].fd = -1;
			refused++;
			break;
		case ACTION_RESUME:
			pool_accept_resumed(&sup.pool, a.app, now);
			break;
		default:
			break;
		}
	}
}

/* The serial of a connection, as channel.c makes it. */
static inline uint64_t
serial_of(uint32_t conn)
{
	uint64_t serial = conn;

	if (conn < sup.pool.nconns)
		serial |= sup.pool.conns[conn].seq << 24;
	return serial;
}

#endif
