/* Programs that listen elsewhere than they were told. */

#include <sys/stat.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/listeners.h"
#include "daemon/stray.h"
#include "daemon/tell.h"
#include "sys/address.h"
#include "sys/procinfo.h"
#include "sys/sockdiag.h"

/* Between two looks, and how long a connection waits before it is a sign. */
#define PAUSE TSPAN_SECONDS(1)

/* How long a program that is to say that it is ready is not looked at. */
#define SILENCE TSPAN_SECONDS(2)

/* A look that takes longer is not waited for. */
#define PATIENCE TSPAN_SECONDS(2)

/* A socket that listens, of any process of the machine. */
struct listening {
	uint32_t inode;
	struct sockaddr_storage addr;
};

enum verdict {
	VERDICT_UNKNOWN,
	VERDICT_NONE, /* no process has an address of its own */
	VERDICT_STRAY,
};

struct stray_look {
	struct lane_job job;
	struct group *group; /* NULL: gone */
	tstamp began;
	bool awaited; /* a connection has waited for a while */
	uint32_t *ours; /* inode numbers of the app's listeners */
	size_t nours;
	pid_t *pids; /* of its processes; each leads a process group */
	size_t npids;
	struct listening *all; /* but for ours, in order of inodes */
	size_t nall;
	size_t room;
	const struct listening *own; /* a socket of one of the processes */
	bool failed;
	bool watches_ours;
	enum verdict verdict;
};

/* --- in the lane -------------------------------------------------------- */

static bool
is_ours(const struct stray_look *l, uint32_t inode)
{
	for (size_t i = 0; i < l->nours; i++)
		if (l->ours[i] == inode)
			return true;
	return false;
}

static void
found_listening(void *arg, uint32_t inode, const struct sockaddr *addr)
{
	struct stray_look *l = arg;
	struct listening *all = l->all;

	if (is_ours(l, inode) || inode == 0)
		return;
	if (l->nall == l->room) {
		all = reallocarray(all, 2 * l->room + 64, sizeof(*all));
		if (all == NULL) {
			l->failed = true;
			return;
		}
		l->all = all;
		l->room = 2 * l->room + 64;
	}
	all[l->nall].inode = inode;
	memcpy(&all[l->nall++].addr, addr,
	    addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
				       : sizeof(struct sockaddr_in6));
}

static int
compare(const void *a, const void *b)
{
	const struct listening *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static const struct listening *
find(const struct stray_look *l, uint32_t inode)
{
	struct listening key = { .inode = inode };

	return l->nall == 0
	    ? NULL
	    : bsearch(&key, l->all, l->nall, sizeof(key), compare);
}

/* A process of the app that is looked at. */
struct suspect {
	struct stray_look *look;
	const struct listening *own;
	bool watches_own;
};

static void
found_socket(void *arg, uint32_t inode)
{
	struct suspect *s = arg;
	const struct listening *at = find(s->look, inode);

	if (at != NULL)
		s->own = at;
}

static void
found_watched(void *arg, uint32_t inode)
{
	struct suspect *s = arg;

	s->look->watches_ours |= is_ours(s->look, inode);
	s->watches_own |= find(s->look, inode) != NULL;
}

static void
look_at(struct stray_look *l, pid_t pid)
{
	struct suspect s = { .look = l };

	if (procinfo_sockets(pid, found_socket, &s) == -1 ||
	    procinfo_watched(pid, found_watched, &s) == -1) {
		l->failed = true;
		return;
	}
	if (s.own == NULL)
		return;
	l->own = s.own;
	if (l->awaited || (s.watches_own && !procinfo_may_accept(pid)))
		l->verdict = VERDICT_STRAY;
}

static void
found_process(void *arg, pid_t pid, pid_t group)
{
	struct stray_look *l = arg;

	for (size_t i = 0; i < l->npids; i++)
		if (l->pids[i] == group)
			look_at(l, pid);
}

static void
look_work(struct lane_job *job)
{
	struct stray_look *l = LOOP_OWNER(job, struct stray_look, job);
	struct sockdiag diag;

	(void)sockdiag_init(&diag);
	if (!sockdiag_tcp_all(&diag, found_listening, l))
		l->failed = true;
	sockdiag_fini(&diag);
	if (l->failed)
		return;
	if (l->nall > 0)
		qsort(l->all, l->nall, sizeof(*l->all), compare);
	if (procinfo_all(found_process, l) == -1)
		l->failed = true;
	/* A program that is only slow will come to it. */
	if (l->verdict == VERDICT_STRAY && l->watches_ours)
		l->verdict = VERDICT_UNKNOWN;
	else if (l->own == NULL && !l->failed)
		l->verdict = VERDICT_NONE;
}

/* --- in the loop -------------------------------------------------------- */

static void
free_look(struct stray_look *l)
{
	if (l->group != NULL)
		l->group->stray_look = NULL;
	free(l->ours);
	free(l->pids);
	free(l->all);
	free(l);
}

/* ":3000" for all addresses of the machine. */
static const char *
format(const struct sockaddr_storage *addr, char *buf, size_t size)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	bool any = addr->ss_family == AF_INET
	    ? in->sin_addr.s_addr == htonl(INADDR_ANY)
	    : IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);

	/* Both have the port in one place. */
	if (any)
		(void)snprintf(buf, size, ":%u", ntohs(in->sin_port));
	else
		(void)address_format(
		    (const struct sockaddr *)addr, sizeof(*addr), buf, size);
	return buf;
}

static void
tell_stray(struct group *g, const struct listening *own)
{
	char address[ADDRESS_TEXT_SIZE], text[sizeof(g->stray)];

	(void)snprintf(text, sizeof(text),
	    "it listens on %.60s itself: use %s{fd: 3}, or handoff = none",
	    format(&own->addr, address, sizeof(address)),
	    group_accepts_itself(g) ? "" : "handoff = listen and ");
	if (strcmp(g->stray, text) == 0)
		return;
	memcpy(g->stray, text, sizeof(text));
	tell_app(g, LOG_LEVEL_WARN, EVENT_FAILURE, NULL, "%s", text);
}

/* Whether a process in this state could be a stray. */
static bool
is_suspect(const struct group *g, uint8_t state)
{
	return group_accepts_itself(g)
	    ? state == PROCESS_IDLE || state == PROCESS_ACTIVE
	    : state == PROCESS_STARTING;
}

/* Suspects of the newest generation; none if one is known to accept. */
static size_t
take_processes(const struct group *g, pid_t *out)
{
	const struct supervisor *s = g->sup;
	const struct process *processes = s->pool.processes;
	size_t n = 0;

	for (uint32_t i = 0; i < s->pool.nprocesses; i++) {
		const struct worker *w = s->workers[i];

		if (w == NULL || w->group != g || w->pid == 0 ||
		    !is_suspect(g, processes[i].state) ||
		    w->generation != s->pool.apps[g->app].generation)
			continue;
		if (w->accepts)
			return 0;
		if (out != NULL)
			out[n] = w->pid;
		n++;
	}
	return n;
}

static void
look_done(struct lane_job *job, tstamp now)
{
	struct stray_look *l = LOOP_OWNER(job, struct stray_look, job);
	struct group *g = l->group;

	(void)now;
	if (g == NULL || take_processes(g, NULL) == 0)
		l->verdict = VERDICT_UNKNOWN;
	switch (l->verdict) {
	case VERDICT_UNKNOWN:
		break;
	case VERDICT_NONE:
		g->stray[0] = '\0';
		break;
	case VERDICT_STRAY:
		tell_stray(g, l->own);
		break;
	}
	free_look(l);
}

static void
take_listeners(struct stray_look *l, const struct group *g)
{
	const struct app_listener *al;
	struct stat st;

	TAILQ_FOREACH(al, &g->listeners, next)
		if (al->acceptor.listener.fd != -1 &&
		    fstat(al->acceptor.listener.fd, &st) == 0)
			l->ours[l->nours++] = (uint32_t)st.st_ino;
}

static struct stray_look *
new_look(struct group *g)
{
	struct stray_look *l = calloc(1, sizeof(*l));
	const struct app_listener *al;
	size_t nlisteners = 1;

	if (l == NULL)
		return NULL;
	TAILQ_FOREACH(al, &g->listeners, next)
		nlisteners++;
	l->ours = calloc(nlisteners, sizeof(*l->ours));
	l->pids = calloc(take_processes(g, NULL) + 1, sizeof(*l->pids));
	if (l->ours == NULL || l->pids == NULL) {
		free_look(l);
		return NULL;
	}
	l->job.work = look_work;
	l->job.done = look_done;
	l->group = g;
	take_listeners(l, g);
	l->npids = take_processes(g, l->pids);
	return l;
}

static void
begin(struct group *g, bool awaited, tstamp now)
{
	uint32_t generation = g->sup->pool.apps[g->app].generation;

	if (g->stray_generation != generation)
		g->stray[0] = '\0';
	g->stray_generation = generation;
	if (g->stray_look != NULL || g->closing ||
	    (!group_accepts_itself(g) &&
		g->conf->handoff != CONF_HANDOFF_NATIVE) ||
	    take_processes(g, NULL) == 0)
		return;
	g->stray_look = new_look(g);
	if (g->stray_look == NULL)
		return;
	g->stray_look->began = now;
	g->stray_again = tstamp_add(now, PAUSE);
	g->stray_look->awaited = awaited;
	lane_submit(&g->sup->looker, &g->stray_look->job);
}

void
stray_look(struct group *g, tstamp now)
{
	if (!group_accepts_itself(g))
		stray_accepted(g);
	begin(g, false, now);
}

static void
arm(struct group *g, tstamp now)
{
	timer_advance(
	    &g->sup->loop.timers, &g->stray_timer, tstamp_add(now, SILENCE));
}

void
stray_started(struct worker *w, tstamp now)
{
	struct group *g = w->group;

	if (g->conf->handoff == CONF_HANDOFF_NATIVE &&
	    !app_is_announced(&g->sup->pool.apps[g->app]))
		arm(g, now);
}

/* Looks at processes that have not said that they are ready. */
static void
look_again(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, stray_timer);

	begin(g, false, now);
	if (take_processes(g, NULL) > 0)
		arm(g, now);
}

void
stray_sampled(struct worker *w, tstamp now)
{
	struct group *g = w->group;
	tspan age = now - g->sup->pool.processes[w->process].started;

	if (!w->accepts && age < g->conf->start_timeout &&
	    now >= g->stray_again)
		begin(g, false, now);
}

void
stray_awaited(struct group *g, bool awaited, tstamp now)
{
	if (!awaited)
		g->stray_at = 0;
	else if (g->stray_at == 0)
		g->stray_at = tstamp_add(now, PAUSE);
	if (!awaited || now < g->stray_at)
		return;
	g->stray_at = tstamp_add(now, PAUSE);
	begin(g, true, now);
}

void
stray_accepted(struct group *g)
{
	g->stray[0] = '\0';
}

bool
stray_is_unknown(const struct group *g, tstamp now)
{
	return g->stray_look != NULL && now - g->stray_look->began < PATIENCE;
}

void
stray_init(struct group *g)
{
	timer_init(&g->stray_timer, look_again);
}

void
stray_fini(struct group *g)
{
	timer_set(&g->sup->loop.timers, &g->stray_timer, TSTAMP_NEVER);
	if (g->stray_look != NULL)
		g->stray_look->group = NULL;
	g->stray_look = NULL;
}
