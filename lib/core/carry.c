/* The pool in the state that a daemon hands to its successor. */

#include "core/carry.h"
#include "core/mechanism.h"

/* --- what is carried ------------------------------------------------------ */

#define F(m) CARRY(struct pool, m)
static const struct carry_field pool_fields[] = { F(prng.state), F(napps),
	F(nprocesses), F(nconns), F(resume_next), F(stamps) };
#undef F

#define F(m) CARRY(struct app, m)
#define A(m) CARRY_ARRAY(struct app, m)
static const struct carry_field app_fields[] = { F(stamp), F(phase),
	F(state.since), F(failed), F(announced), F(renewing), F(generation),
	F(proven), F(failed_starts), F(places_wanted), F(failure.how),
	F(failure.ready), F(failure.called), F(failure.refused),
	F(failure.jobs_done), F(failure.rest_until), F(backoff.delay),
	F(backoff.failed_at), F(backoff.until), F(rollout.state),
	F(rollout.size), F(rollout.ready), F(rollout.surge), F(rollout.stamp),
	F(rollout.canary.processes), F(rollout.canary.until),
	F(rollout.canary.slow), F(rollout.canary.old.all),
	F(rollout.canary.old.lost), F(rollout.canary.old.slow),
	F(rollout.canary.new.all), F(rollout.canary.new.lost),
	F(rollout.canary.new.slow), F(rollout.canary.fault), F(growing.pace),
	F(growing.stepped), F(growing.first), F(growing.spare),
	F(growing.short_since), F(growing.denied), F(shrinking.looked),
	F(shrinking.marked), F(shrinking.victims), F(shrinking.kill_at),
	F(shrinking.origin), F(leaving.why), F(leaving.soon),
	F(leaving.at_rest), F(intake.accepting), F(intake.full),
	F(intake.backlog), F(intake.pending_since), F(limit.requests),
	F(limit.after), F(limit.free_until), F(start_time), F(session.mean),
	F(session.usual), F(load.work), F(load.area), F(load.known),
	F(load.updated), F(load.seen), F(load.busy), F(promise.sessions),
	F(promise.time), F(promise.square), F(promise.need), F(promise.sure),
	F(promise.started), F(promise.stopped), F(promise.pause),
	F(promise.changed), F(promise.regretted), F(idle_waiting.sum),
	F(idle_waiting.since), F(figures.accepted), F(figures.completed),
	F(figures.refused), F(figures.timed_out), F(figures.abandoned),
	F(figures.lost), F(figures.retaken), F(figures.spawned),
	F(figures.spawn_failures), A(figures.exits), F(figures.parked),
	F(figures.max_waiting), A(queue_wait.ever.counts),
	F(queue_wait.ever.sum), A(session_time.ever.counts),
	F(session_time.ever.sum) };
#undef F
#undef A

#define F(m) CARRY(struct process, m)
static const struct carry_field process_fields[] = { F(state), F(step), F(end),
	F(asked), F(launched), F(queued), F(stuck), F(apart), F(ready),
	F(cooling), F(expiring), F(single), F(blind), F(outdated), F(app),
	F(generation), F(concurrency), F(home), F(busy), F(stamp), F(requests),
	F(handed), F(request_limit), F(started), F(since), F(used), F(executed),
	F(step_at), F(cool_until), F(jitter) };
#undef F

#define F(m) CARRY(struct conn, m)
static const struct carry_field conn_fields[] = { F(state), F(app),
	CARRY_NUMBER(struct conn, process), F(retries), F(seq),
	CARRY_NUMBER(struct conn, lock), F(cleared), F(former), F(prefetched),
	F(slow), F(arrived), F(handed), F(begun) };
#undef F

/* --- before --------------------------------------------------------------- */

bool
carry_is_quiet(const struct pool *p)
{
	bool quiet = p->phase == POOL_RUNNING && p->actions.count == 0;

	for (uint32_t i = 0; i < p->napps && quiet; i++) {
		const struct app *a = &p->apps[i];

		quiet = a->phase == APP_FREE ||
		    (a->taking == 0 && a->in_state[PROCESS_DYING] == 0);
	}
	return quiet;
}

/* --- after ---------------------------------------------------------------- */

static bool
carry_pool(struct pool *p, uint32_t n, const void *record)
{
	const struct pool *row = record;

	(void)n;
	if (row->napps > p->limits.apps ||
	    row->nprocesses > p->limits.processes ||
	    row->nconns > p->limits.conns)
		return false;
	p->prng = row->prng;
	p->napps = row->napps;
	p->nprocesses = row->nprocesses;
	p->nconns = row->nconns;
	p->resume_next = row->resume_next;
	p->stamps = row->stamps;
	return true;
}

static bool
carry_app(struct pool *p, uint32_t app, const void *record)
{
	const struct app *row = record;
	struct app *a = &p->apps[app];

	if (app >= p->napps || a->phase != APP_FREE || row->phase == APP_FREE ||
	    row->phase >= APP_CLOSING || row->leaving.why >= PROCESS_ENDS ||
	    row->leaving.soon >= PROCESS_ENDS)
		return false;
	*a = *row;
	app_time_stops(a);
	a->state.name = app_state_name(a);
	a->promise.updated = p->now;
	a->promise.newest = p->now / PROMISE_SLOT;
	room_init(p, app);
	ilist_init(&a->prefetched);
	ilist_init(&a->queue);
	ilist_init(&a->cleared);
	p->surge += a->rollout.surge;
	p->marked += a->shrinking.marked;
	p->denied += a->growing.spare == SPARE_DENIED;
	p->places_wanted += a->places_wanted;
	return true;
}

static bool
carry_place(struct pool *p, uint32_t app, const void *row)
{
	(void)row;
	if (app >= p->napps || p->apps[app].places_wanted == 0 ||
	    p->places.count == p->napps)
		return false;
	ilist_push_back(&p->places, p->app_links, app);
	return true;
}

static bool
carry_process(struct pool *p, uint32_t process, const void *record)
{
	const struct process *row = record;
	struct process *x = &p->processes[process];

	if (process >= p->nprocesses || x->state != PROCESS_GONE ||
	    row->app >= p->napps || p->apps[row->app].phase == APP_FREE ||
	    row->state == PROCESS_GONE || row->state >= PROCESS_DYING ||
	    row->step > STEP_STUCK || row->end >= PROCESS_ENDS ||
	    row->outdated >= PROCESS_ENDS)
		return false;
	*x = *row;
	x->prefetched = ILIST_NONE;
	ilist_init(&x->conns);
	return process_put_back(p, process);
}

static bool
carry_conn(struct pool *p, uint32_t conn, const void *record)
{
	const struct conn *row = record;
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[row->process];
	struct app *a = &p->apps[row->app];
	bool handed = row->state == CONN_HANDED;

	if (conn >= p->nconns || c->state != CONN_FREE ||
	    row->app >= p->napps || a->phase == APP_FREE ||
	    row->seq > p->stamps || (!handed && row->state != CONN_WAITING) ||
	    (handed ? row->process >= p->nprocesses || x->app != row->app ||
			x->state < PROCESS_IDLE
		    : row->process != ILIST_NONE))
		return false;
	*c = *row;
	if (!handed) {
		ilist_push_back(
		    a->options.limited && c->cleared ? &a->cleared : &a->queue,
		    p->conn_links, conn);
		return true;
	}
	ilist_push_back(&x->conns, p->conn_links, conn);
	if (c->prefetched && x->prefetched == ILIST_NONE)
		x->prefetched = conn;
	a->figures.sessions++;
	return true;
}

static bool
carry_ahead(struct pool *p, uint32_t conn, const void *row)
{
	struct app *a;

	(void)row;
	if (conn >= p->nconns || !p->conns[conn].prefetched)
		return false;
	a = &p->apps[p->conns[conn].app];
	if (a->prefetched.count == p->nconns)
		return false;
	ilist_push_back(&a->prefetched, p->prefetch_links, conn);
	return true;
}

const struct carry_row carry_rows[] = {
	[CARRY_POOL] = { CARRY_FIELDS(struct pool, pool_fields), carry_pool },
	[CARRY_APP] = { CARRY_FIELDS(struct app, app_fields), carry_app },
	[CARRY_PLACE] = { { NULL, 0, 0 }, carry_place },
	[CARRY_PROCESS] = { CARRY_FIELDS(struct process, process_fields),
	    carry_process },
	[CARRY_CONN] = { CARRY_FIELDS(struct conn, conn_fields), carry_conn },
	[CARRY_AHEAD] = { { NULL, 0, 0 }, carry_ahead },
};

const struct app *
carry_check(const struct pool *p)
{
	for (uint32_t n = 0; n < p->nprocesses; n++) {
		const struct process *x = &p->processes[n];
		const struct app *a = &p->apps[x->app];
		bool busy = x->state == PROCESS_ACTIVE ||
		    x->state == PROCESS_DETACHED ||
		    x->state == PROCESS_RETIRING;

		/* A READY that is still to come would be out of place. */
		if (x->state != PROCESS_GONE &&
		    (busy != (x->conns.count > 0) ||
			(!x->ready && (busy || x->state == PROCESS_IDLE))))
			return a;
	}
	for (uint32_t i = 0; i < p->napps; i++) {
		const struct app *a = &p->apps[i];
		const struct app_figures *f = &a->figures;

		if (a->phase != APP_FREE &&
		    f->accepted !=
			f->completed + f->refused + f->timed_out +
			    f->abandoned + f->lost + app_waiting(a) +
			    f->sessions + f->parked)
			return a;
	}
	return NULL;
}

void
carry_go_on(struct pool *p, tstamp now)
{
	settle_at(p, now);
	for (uint32_t n = p->nconns; n-- > 0;)
		if (p->conns[n].state == CONN_FREE)
			ilist_push_front(&p->free_conns, p->conn_links, n);
	for (uint32_t n = p->nprocesses; n-- > 0;) {
		struct process *x = &p->processes[n];

		if (x->state == PROCESS_GONE) {
			ilist_push_front(
			    &p->free_processes, p->process_links, n);
			continue;
		}
		x->places = room_places(p, n);
		p->apps[x->app].room.places += x->places;
		process_arm(p, n);
	}
	for (uint32_t app = 0; app < p->napps; app++)
		if (p->apps[app].phase != APP_FREE)
			settle_app(p, app, MARK_ALL);
}
