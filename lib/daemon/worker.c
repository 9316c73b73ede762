/* Processes as the daemon sees them: their numbers, channels and signals. */

#include <sys/socket.h>

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/keeper.h"
#include "daemon/worker.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/* libbsd's tree.h uses it in static functions and does not define it. */
#ifndef __unused
#define __unused __attribute__((unused))
#endif

static int
worker_compare(const struct worker *a, const struct worker *b)
{
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

RB_GENERATE_STATIC(pids, worker, by_pid, worker_compare)

const char *
worker_name(const struct worker *w, char *buf, size_t size)
{
	pid_t pid = w->pid != 0 ? w->pid : w->leaving.death.pid;

	(void)snprintf(buf, size, "%s: worker %s (pid %ld)",
	    w->group->conf->name, w->id, (long)pid);
	return buf;
}

/* --- coming and going -------------------------------------------------- */

static void
worker_draw_id(struct worker *w)
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";

	for (unsigned i = 0; i < WORKER_ID_LEN; i++)
		w->id[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
	w->id[WORKER_ID_LEN] = '\0';
}

/* The lowest free slot, now taken; UINT32_MAX: no memory. */
static uint32_t
worker_take_slot(struct group *g)
{
	uint32_t word = 0, bit = 0;
	uint64_t *slots;

	while (word < g->slots.len && g->slots.used[word] == UINT64_MAX)
		word++;
	if (word == g->slots.len) {
		slots = reallocarray(g->slots.used, word + 1, sizeof(*slots));
		if (slots == NULL)
			return UINT32_MAX;
		slots[word] = 0;
		g->slots.used = slots;
		g->slots.len++;
	}
	while (g->slots.used[word] & UINT64_C(1) << bit)
		bit++;
	g->slots.used[word] |= UINT64_C(1) << bit;
	return 64 * word + bit;
}

struct worker *
worker_new(struct group *g, uint32_t process)
{
	struct supervisor *s = g->sup;
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->sup = s;
	w->group = g;
	w->process = process;
	w->slot = WORKER_TEMPLATE;
	w->child_end = -1;
	w->memory_fd = -1;
	w->channel.fd = -1;
	timeouts_init(w);
	worker_draw_id(w);
	if (process == WORKER_TEMPLATE)
		return w;
	w->generation = s->pool.processes[process].generation;
	w->slot = worker_take_slot(g);
	if (w->slot == UINT32_MAX) {
		free(w);
		return NULL;
	}
	s->workers[process] = w;
	TAILQ_INSERT_TAIL(&g->workers, w, next);
	return w;
}

void
worker_disown(struct worker *w)
{
	(void)keeper_leave(&w->output, NULL, NULL, loop_now(&w->sup->loop));
	channel_close(w);
	/* Connections that lie there may linger. */
	if (w->child_end != -1 &&
	    (w->group == NULL || fdpass_unread(w->child_end) == 0))
		close(w->child_end);
	else if (w->child_end != -1)
		keeper_close(w->group, w->child_end);
	w->child_end = -1;
	worker_draw_id(w);
}

void
worker_free(struct worker *w)
{
	struct supervisor *s = w->sup;
	struct group *g = w->group;

	assert(w->start.result == NULL && w->start.fork == NULL);
	worker_disown(w);
	timer_set(&s->loop.timers, &w->pickup.timer, TSTAMP_NEVER);
	if (w->memory_fd != -1)
		close(w->memory_fd);
	if (w->process != WORKER_TEMPLATE) {
		assert(
		    g->slots.used[w->slot / 64] & UINT64_C(1) << w->slot % 64);
		g->slots.used[w->slot / 64] &= ~(UINT64_C(1) << w->slot % 64);
		s->workers[w->process] = NULL;
		TAILQ_REMOVE(&g->workers, w, next);
	}
	free(w->leaving.last_line);
	free(w->status);
	free(w);
}

void
worker_started(struct worker *w, pid_t pid)
{
	struct worker *other;

	w->pid = pid;
	other = RB_INSERT(pids, &w->sup->pids, w);
	assert(other == NULL);
	if (w->channel.fd != -1)
		(void)loop_set(&w->sup->loop, &w->channel, EPOLLIN);
	if (w->start.signal != 0)
		worker_signal(w, w->start.signal, w->start.to_group);
}

void
worker_died(struct worker *w, const struct reap_death *death)
{
	RB_REMOVE(pids, &w->sup->pids, w);
	timer_set(&w->sup->loop.timers, &w->pickup.timer, TSTAMP_NEVER);
	w->leaving.death = *death;
	/* From here on a signal could meet another process of that number. */
	w->pid = 0;
	w->report = NULL;
}

struct worker *
worker_find(struct supervisor *s, pid_t pid)
{
	struct worker key = { .pid = pid };

	return RB_FIND(pids, &s->pids, &key);
}

struct worker *
worker_after(struct supervisor *s, pid_t pid)
{
	struct worker key = { .pid = pid + 1 };

	return RB_NFIND(pids, &s->pids, &key);
}

bool
worker_is_starting(const struct supervisor *s, pid_t pid)
{
	const struct worker *w;

	TAILQ_FOREACH(w, &s->starting, start.next)
		if (w->start.result->pid == pid)
			return true;
	return false;
}

/*
 * A start that hangs before exec (a dead file server) is killed too: as long
 * as it is under way, no other process can have its number.
 */
void
worker_signal(struct worker *w, int sig, bool group)
{
	pid_t starting = w->start.result == NULL ? 0 : w->start.result->pid;

	if (w->pid == 0) {
		w->start.signal = sig;
		w->start.to_group = group;
		if (w->start.fork != NULL)
			fork_signal(w->start.fork, sig);
		if (sig == SIGKILL && starting != 0)
			(void)child_signal(starting, sig, false);
		return;
	}
	log_debug(
	    "sending signal %d to %s (pid %ld)", sig, w->id, (long)w->pid);
	(void)child_signal(w->pid, sig, group);
}
