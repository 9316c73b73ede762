/* Connections by the thousand: when each starts, and when it is given up. */

#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "clients.h"

enum {
	BATCH = 256
};

TAILQ_HEAD(client_list, client);

struct clients {
	const struct client_plan *plan;
	struct clients_totals totals;
	struct client *all;
	struct client_list idle;
	struct client_list busy; /* the oldest first */
	struct client_list stalled; /* by retry_at */
	int epfd;
	bool refused;
	tstamp began;
	tstamp next_arrival;
	unsigned short seed[3];
};

int
clients_raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return 1024;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max > 1000000 ? 1000000 : (int)limit.rlim_max;
}

/* Puts a client into the list of its state, after any event. */
static void
clients_sort(struct clients *cs, struct client *c)
{
	if (c->state == CLIENT_STALLED)
		TAILQ_INSERT_TAIL(&cs->stalled, c, stalled);
	if (c->state != CLIENT_OVER)
		return;

	cs->totals.ends[c->result.end]++;
	cs->totals.elapsed = c->result.ended - cs->began;
	cs->refused |= c->result.end == CLIENT_REFUSED;
	if (cs->plan->ended != NULL)
		cs->plan->ended(cs->plan->arg, &c->result);
	TAILQ_REMOVE(&cs->busy, c, order);
	TAILQ_INSERT_HEAD(&cs->idle, c, order);
}

static bool
clients_may_start(const struct clients *cs, tstamp now)
{
	return cs->totals.started < cs->plan->count &&
	    now - cs->began < cs->plan->limit &&
	    !(cs->plan->stop_on_refused && cs->refused);
}

static void
clients_start_due(struct clients *cs)
{
	tstamp now = client_now();
	struct client *c;

	while ((c = TAILQ_FIRST(&cs->idle)) != NULL &&
	    clients_may_start(cs, now)) {
		if (cs->plan->rate > 0) {
			if (now < cs->next_arrival)
				break;
			cs->next_arrival += (tspan)(-log1p(-erand48(cs->seed)) *
			    1e9 / cs->plan->rate);
		}
		TAILQ_REMOVE(&cs->idle, c, order);
		TAILQ_INSERT_TAIL(&cs->busy, c, order);
		client_start(c, cs->totals.started++, now);
		clients_sort(cs, c);
		now = client_now();
	}
}

static void
clients_retry_due(struct clients *cs)
{
	tstamp now = client_now();
	struct client *c;

	while ((c = TAILQ_FIRST(&cs->stalled)) != NULL && c->retry_at <= now) {
		TAILQ_REMOVE(&cs->stalled, c, stalled);
		client_retry(c, now);
		clients_sort(cs, c);
	}
}

static void
clients_expire_due(struct clients *cs)
{
	tstamp now = client_now();
	struct client *c;

	while ((c = TAILQ_FIRST(&cs->busy)) != NULL &&
	    now - c->result.started >= cs->plan->timeout) {
		if (c->state == CLIENT_STALLED)
			TAILQ_REMOVE(&cs->stalled, c, stalled);
		client_expire(c);
		clients_sort(cs, c);
	}
}

/* How long the loop may sleep. */
static struct timespec
clients_patience(const struct clients *cs)
{
	const struct client *oldest = TAILQ_FIRST(&cs->busy);
	const struct client *stalled = TAILQ_FIRST(&cs->stalled);
	tstamp now = client_now(), until = now + TSPAN_SECONDS(1);

	if (oldest != NULL)
		until = tstamp_min(until,
		    tstamp_add(oldest->result.started, cs->plan->timeout));
	if (stalled != NULL)
		until = tstamp_min(until, stalled->retry_at);
	if (!TAILQ_EMPTY(&cs->idle) && clients_may_start(cs, now))
		until = tstamp_min(until, cs->next_arrival);
	if (until < now)
		until = now;
	return (struct timespec){
		.tv_sec = (until - now) / TSPAN_SECONDS(1),
		.tv_nsec = (until - now) % TSPAN_SECONDS(1),
	};
}

static void
clients_turn(struct clients *cs)
{
	struct epoll_event ev[BATCH];
	struct timespec patience = clients_patience(cs);
	int i, n = epoll_pwait2(cs->epfd, ev, BATCH, &patience, NULL);

	/* A connection has one event at most in a batch: none goes stale. */
	for (i = 0; i < n; i++) {
		client_ready(ev[i].data.ptr);
		clients_sort(cs, ev[i].data.ptr);
	}
	clients_retry_due(cs);
	clients_expire_due(cs);
	clients_start_due(cs);
}

static int
clients_init(struct clients *cs, const struct client_plan *plan)
{
	int i;

	assert(plan->count > 0 && plan->concurrency > 0);
	*cs = (struct clients){ .plan = plan, .epfd = -1 };
	TAILQ_INIT(&cs->idle);
	TAILQ_INIT(&cs->busy);
	TAILQ_INIT(&cs->stalled);
	cs->seed[0] = (unsigned short)plan->seed;
	cs->seed[1] = (unsigned short)(plan->seed >> 16);
	cs->seed[2] = (unsigned short)(plan->seed >> 32);

	cs->all = calloc((size_t)plan->concurrency, sizeof(*cs->all));
	cs->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (cs->all == NULL || cs->epfd == -1)
		return -1;
	for (i = 0; i < plan->concurrency; i++) {
		client_init(&cs->all[i], plan, cs->epfd);
		TAILQ_INSERT_TAIL(&cs->idle, &cs->all[i], order);
	}
	cs->began = cs->next_arrival = client_now();
	return 0;
}

static void
clients_fini(struct clients *cs)
{
	if (cs->epfd != -1)
		(void)close(cs->epfd);
	free(cs->all);
}

int
clients_run(const struct client_plan *plan, struct clients_totals *out)
{
	struct clients cs;
	int rc = clients_init(&cs, plan);

	if (rc == 0) {
		clients_start_due(&cs);
		while (!TAILQ_EMPTY(&cs.busy) ||
		    clients_may_start(&cs, client_now()))
			clients_turn(&cs);
		*out = cs.totals;
	}
	clients_fini(&cs);
	return rc;
}
