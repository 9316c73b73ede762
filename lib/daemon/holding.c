/* Who holds connections that we have not accepted. */

#include <errno.h>
#include <stdlib.h>

#include "daemon/holding.h"
#include "daemon/supervisor.h"
#include "sys/procinfo.h"
#include "sys/sockdiag.h"

/* So many looks in max_idle_time, but not oftener than it makes sense. */
#define HOLDING_LOOKS 4
#define HOLDING_PAUSE_MAX TSPAN_SECONDS(60)
#define HOLDING_PAUSE_MIN TSPAN_MSECONDS(100)
#define HOLDING_PAUSE_ASKED TSPAN_SECONDS(1)

struct holder {
	uint32_t process; /* its number in the pool */
	pid_t pid;
	bool holds;
};

struct holding {
	struct lane_job job;
	struct group *group; /* NULL: gone */
	struct sockdiag_listener *doors;
	size_t ndoors;
	struct holder *holders;
	size_t nholders;
	uint32_t *sockets; /* of the connections; in order */
	bool *owned; /* by one of the holders */
	size_t nsockets;
	size_t room;
	bool unknown; /* any of them may hold one */
};

/* --- in the lane -------------------------------------------------------- */

static void
holding_found(void *arg, uint32_t inode)
{
	struct holding *h = arg;
	uint32_t *sockets = h->sockets;

	if (h->nsockets == h->room) {
		sockets =
		    reallocarray(sockets, 2 * h->room + 64, sizeof(*sockets));
		if (sockets == NULL) {
			h->unknown = true;
			return;
		}
		h->sockets = sockets;
		h->room = 2 * h->room + 64;
	}
	sockets[h->nsockets++] = inode;
}

static int
holding_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
holding_find_all(struct holding *h)
{
	struct sockdiag diag;

	(void)sockdiag_init(&diag);
	for (size_t i = 0; i < h->ndoors; i++)
		if (!sockdiag_connections(
			&diag, &h->doors[i], holding_found, h))
			h->unknown = true;
	sockdiag_fini(&diag);
	if (h->nsockets == 0)
		return;
	qsort(h->sockets, h->nsockets, sizeof(*h->sockets), holding_compare);
	h->owned = calloc(h->nsockets, sizeof(*h->owned));
	if (h->owned == NULL)
		h->unknown = true;
}

/* One process, and whether it has a socket that is looked for. */
struct search {
	struct holding *holding;
	struct holder *holder;
};

static void
holding_compare_socket(void *arg, uint32_t inode)
{
	const struct search *s = arg;
	struct holding *h = s->holding;
	const uint32_t *at = bsearch(&inode, h->sockets, h->nsockets,
	    sizeof(*h->sockets), holding_compare);

	if (at == NULL)
		return;
	h->owned[at - h->sockets] = true;
	s->holder->holds = true;
}

/*
 * Connections that none of the processes has are with others they have
 * started; whose these are is not looked for.
 */
static void
holding_work(struct lane_job *job)
{
	struct holding *h = LOOP_OWNER(job, struct holding, job);

	holding_find_all(h);
	if (h->unknown || h->nsockets == 0)
		return;
	for (size_t i = 0; i < h->nholders; i++) {
		struct search s = { h, &h->holders[i] };

		if (procinfo_sockets(
			s.holder->pid, holding_compare_socket, &s) == -1 &&
		    errno != ESRCH)
			h->unknown = true;
	}
	for (size_t i = 0; i < h->nsockets; i++)
		if (!h->owned[i])
			h->unknown = true;
}

/* --- in the loop -------------------------------------------------------- */

static void
holding_free(struct holding *h)
{
	if (h->group != NULL)
		h->group->holding = NULL;
	free(h->doors);
	free(h->holders);
	free(h->sockets);
	free(h->owned);
	free(h);
}

static void
holding_done(struct lane_job *job, tstamp now)
{
	struct holding *h = LOOP_OWNER(job, struct holding, job);

	for (size_t i = 0; h->group != NULL && i < h->nholders; i++) {
		const struct holder *x = &h->holders[i];
		struct worker *w = h->group->sup->workers[x->process];

		if (w == NULL || w->group != h->group || w->pid != x->pid)
			continue;
		w->accepts |= x->holds || (h->unknown && h->nsockets > 0);
		if (x->holds || h->unknown)
			pool_worked(&w->sup->pool, w->process, w->processors,
			    true, now);
	}
	holding_free(h);
}

static void
holding_take_doors(struct holding *h, const struct group *g)
{
	const struct door *d;

	TAILQ_FOREACH(d, &g->doors, next)
		if (d->listener.fd != -1)
			sockdiag_describe(&g->sup->diag, d->listener.fd,
			    &h->doors[h->ndoors++]);
}

/* Gives how many there are; h->holders may be NULL. */
static size_t
holding_take_processes(struct holding *h, const struct group *g)
{
	const struct supervisor *s = g->sup;
	size_t count = 0;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++) {
		const struct worker *w = s->workers[n];

		if (w == NULL || w->group != g || w->pid == 0)
			continue;
		if (h->holders != NULL)
			h->holders[count] =
			    (struct holder){ .process = n, .pid = w->pid };
		count++;
	}
	return count;
}

static struct holding *
holding_new(struct group *g)
{
	struct holding *h = calloc(1, sizeof(*h));
	const struct door *d;
	size_t ndoors = 1;

	if (h == NULL)
		return NULL;
	TAILQ_FOREACH(d, &g->doors, next)
		ndoors++;
	h->doors = calloc(ndoors, sizeof(*h->doors));
	h->holders =
	    calloc(holding_take_processes(h, g) + 1, sizeof(*h->holders));
	if (h->doors == NULL || h->holders == NULL) {
		holding_free(h);
		return NULL;
	}
	h->job.work = holding_work;
	h->job.done = holding_done;
	h->group = g;
	holding_take_doors(h, g);
	h->nholders = holding_take_processes(h, g);
	return h;
}

static tspan
holding_pause(const struct conf_app *conf)
{
	tspan pause = conf->max_idle_time / HOLDING_LOOKS;

	if (conf->max_idle_time == 0 || pause > HOLDING_PAUSE_MAX)
		return HOLDING_PAUSE_MAX;
	return pause < HOLDING_PAUSE_MIN ? HOLDING_PAUSE_MIN : pause;
}

static void
holding_begin(struct group *g, tspan pause, tstamp now)
{
	if (g->holding != NULL || now < g->hold_at)
		return;
	g->hold_at = tstamp_add(now, pause);
	g->holding = holding_new(g);
	if (g->holding != NULL)
		lane_submit(&g->sup->looker, &g->holding->job);
}

void
holding_look(struct group *g, tstamp now)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	if (app_processes(a) > a->options.min_processes)
		holding_begin(g, holding_pause(g->conf), now);
}

void
holding_ask(struct group *g, tstamp now)
{
	g->hold_at =
	    tstamp_min(g->hold_at, tstamp_add(now, HOLDING_PAUSE_ASKED));
	holding_begin(g, HOLDING_PAUSE_ASKED, now);
}

void
holding_forget(struct group *g)
{
	if (g->holding != NULL)
		g->holding->group = NULL;
	g->holding = NULL;
}
