/*
 * Hosts behind a balancer such as HAProxy: each is a core of its own, and all
 * are one manager. The balancer knows how many connections it has sent to each
 * host, and what the agent of a host has last reported.
 */

#include <sys/param.h>

#include "core/ilist.h"
#include "sim/simulate.h"

/* From one report of an agent to the next. */
#define AGENT_INTERVAL TSPAN_SECONDS(2)

/* An app on a host. */
struct target {
	uint32_t sent; /* connections that are there now */
	uint32_t most; /* what the agent has reported */
};

struct balancer {
	struct manager manager; /* first */
	struct balancer_spec spec;
	struct manager **hosts;
	uint32_t apps;
	uint32_t last; /* host that a connection was sent to */
	struct prng prng; /* for BALANCER_RANDOM2 */
	struct target *targets; /* of each app, by host */
	struct target **target_of; /* of a request, unless it is in a queue */
	struct ilist *queues; /* of the apps */
	struct ilink *links; /* of requests in them */
	/* Below spec.hosts: a tick of that host; else a report of its agent. */
	struct events events;
	struct event *ticks; /* to come, of the hosts */
};

/* Not a host that has as many as it can serve; ILIST_NONE: there is no other.
 */
static uint32_t
balancer_choose(struct balancer *b, uint32_t app)
{
	const uint32_t n = b->spec.hosts;
	const struct target *t = b->targets + (size_t)app * n;
	uint32_t best = ILIST_NONE, least = UINT32_MAX;

	if (b->spec.kind == BALANCER_RANDOM2) {
		uint32_t one = (uint32_t)(prng_next(&b->prng) % n);
		uint32_t other = (uint32_t)(prng_next(&b->prng) % n);

		best = t[other].sent < t[one].sent ? other : one;
		return t[best].sent < t[best].most ? best : ILIST_NONE;
	}
	/* Hosts that are as good as each other take turns. */
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t h = b->last + i < n ? b->last + i : b->last + i - n;

		if (t[h].sent >= t[h].most || t[h].sent >= least)
			continue;
		best = h;
		least = t[h].sent;
		if (b->spec.kind == BALANCER_ROUNDROBIN)
			break;
	}
	return best;
}

static void
balancer_send(struct balancer *b, uint32_t host, uint32_t app, uint32_t request,
    tstamp now)
{
	struct target *t = &b->targets[(size_t)app * b->spec.hosts + host];

	t->sent++;
	b->target_of[request] = t;
	b->last = host;
	b->hosts[host]->ops->arrived(b->hosts[host], app, request, now);
}

/* Comes behind each fact of a host: it may have room, and another deadline. */
static void
balancer_settle(struct balancer *b, uint32_t host, tstamp now)
{
	struct event *tick = &b->ticks[host];
	tstamp due;

	for (uint32_t app = 0; app < b->apps; app++) {
		struct ilist *queue = &b->queues[app];
		const struct target *t =
		    &b->targets[(size_t)app * b->spec.hosts + host];

		while (!ilist_empty(queue) && t->sent < t->most) {
			uint32_t request = queue->first;

			ilist_remove(queue, b->links, request);
			balancer_send(b, host, app, request, now);
		}
	}
	due = b->hosts[host]->ops->due(b->hosts[host]);
	if (due == tick->at)
		return;
	tick->at = due;
	tick->order =
	    due == TSTAMP_NEVER ? 0 : events_put(&b->events, due, host);
	/* Ticks at an earlier deadline of their host are not wanted. */
	while (b->events.count > 0 &&
	    b->events.heap[0].number < b->spec.hosts &&
	    b->events.heap[0].order != b->ticks[b->events.heap[0].number].order)
		(void)events_pop(&b->events);
}

static void
balancer_report(struct balancer *b, uint32_t host)
{
	for (uint32_t app = 0; app < b->apps; app++)
		b->targets[(size_t)app * b->spec.hosts + host].most =
		    b->spec.blind ? UINT32_MAX
				  : pool_driver_serves(b->hosts[host], app);
}

static void
balancer_started(struct manager *m, tstamp now)
{
	struct balancer *b = (struct balancer *)m;
	const uint32_t n = b->spec.hosts;

	for (uint32_t host = 0; host < n; host++) {
		b->hosts[host]->engine = m->engine;
		b->hosts[host]->ops->started(b->hosts[host], now);
		balancer_report(b, host);
		/* The agents are asked one after the other. */
		if (!b->spec.blind)
			(void)events_put(&b->events,
			    now + AGENT_INTERVAL * (host + 1) / n, n + host);
		balancer_settle(b, host, now);
	}
}

static void
balancer_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct balancer *b = (struct balancer *)m;
	uint32_t host = balancer_choose(b, app);

	if (host == ILIST_NONE) {
		ilist_push_back(&b->queues[app], b->links, request);
		return;
	}
	balancer_send(b, host, app, request, now);
	balancer_settle(b, host, now);
}

static void
balancer_ready(struct manager *m, uint32_t worker, tstamp now)
{
	struct balancer *b = (struct balancer *)m;
	uint32_t host = worker / b->hosts[0]->workers;

	b->hosts[host]->ops->ready(b->hosts[host], worker, now);
	balancer_settle(b, host, now);
}

static void
balancer_finished(
    struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	struct balancer *b = (struct balancer *)m;
	uint32_t host = worker / b->hosts[0]->workers;

	b->hosts[host]->ops->finished(b->hosts[host], worker, request, now);
	balancer_settle(b, host, now);
}

static void
balancer_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct balancer *b = (struct balancer *)m;
	uint32_t host = worker / b->hosts[0]->workers;

	b->hosts[host]->ops->exited(b->hosts[host], worker, killed, now);
	balancer_settle(b, host, now);
}

static void
balancer_ended(struct manager *m, uint32_t request)
{
	((struct balancer *)m)->target_of[request]->sent--;
}

static tstamp
balancer_due(const struct manager *m)
{
	return events_first(&((const struct balancer *)m)->events);
}

static void
balancer_tick(struct manager *m, tstamp now)
{
	struct balancer *b = (struct balancer *)m;
	const uint32_t n = b->spec.hosts;
	struct event e = events_pop(&b->events);

	if (e.number >= n) {
		balancer_report(b, e.number - n);
		(void)events_put(&b->events, now + AGENT_INTERVAL, e.number);
		balancer_settle(b, e.number - n, now);
	} else {
		b->ticks[e.number].at = TSTAMP_NEVER;
		b->hosts[e.number]->ops->tick(b->hosts[e.number], now);
		balancer_settle(b, e.number, now);
	}
}

static void
balancer_fini(struct manager *m)
{
	struct balancer *b = (struct balancer *)m;

	for (uint32_t host = b->spec.hosts; host-- > 0;)
		b->hosts[host]->ops->fini(b->hosts[host]);
	free(b->hosts);
	free(b->targets);
	free(b->target_of);
	free(b->queues);
	free(b->links);
	free(b->events.heap);
	free(b->ticks);
	free(b);
}

struct manager *
balancer_new(
    const struct balancer_spec *spec, const struct conf *conf, uint64_t seed)
{
	static const struct manager_ops ops = {
		.started = balancer_started,
		.arrived = balancer_arrived,
		.ready = balancer_ready,
		.finished = balancer_finished,
		.exited = balancer_exited,
		.due = balancer_due,
		.tick = balancer_tick,
		.fini = balancer_fini,
		.ended = balancer_ended,
	};
	struct balancer *b = result_alloc(1, sizeof(*b));
	const size_t n = spec->hosts, apps = conf->apps_len;
	size_t requests;

	b->spec = *spec;
	b->apps = (uint32_t)apps;
	b->prng.state = ~seed;
	b->last = spec->hosts - 1;
	b->hosts = result_alloc(n, sizeof(struct manager *));
	pool_drivers_new(conf, seed, spec->hosts, b->hosts);
	requests = n * b->hosts[0]->requests;
	b->manager = (struct manager){
		.ops = &ops,
		.name = b->hosts[0]->name,
		.workers = spec->hosts * b->hosts[0]->workers,
		.requests = (uint32_t)requests,
	};
	b->targets = result_alloc(n * apps, sizeof(*b->targets));
	b->target_of = result_alloc(requests, sizeof(struct target *));
	b->queues = result_alloc(apps, sizeof(*b->queues));
	for (size_t app = 0; app < apps; app++)
		ilist_init(&b->queues[app]);
	b->links = result_alloc(requests, sizeof(*b->links));
	b->ticks = result_alloc(n, sizeof(*b->ticks));
	for (size_t host = 0; host < n; host++)
		b->ticks[host].at = TSTAMP_NEVER;
	return &b->manager;
}
