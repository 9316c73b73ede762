/* Processes as the daemon sees them. */

#include <sys/socket.h>

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/closing.h"
#include "daemon/forking.h"
#include "daemon/worker.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/procinfo.h"

/* libbsd's tree.h uses it in static functions and does not define it. */
#ifndef __unused
#define __unused __attribute__((unused))
#endif

static int
compare(const struct worker *a, const struct worker *b)
{
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

RB_GENERATE_STATIC(pids, worker, by_pid, compare)

const char *
worker_name(const struct worker *w, char *buf, size_t size)
{
	pid_t pid = w->pid != 0 ? w->pid : w->death.pid;

	(void)snprintf(buf, size, "%s: worker %s (pid %ld)",
	    w->group->conf->name, w->id, (long)pid);
	return buf;
}

int
worker_program(const struct worker *w)
{
	return w->adapted ? procinfo_child_folder(w->pid)
			  : procinfo_folder(w->pid);
}

/* --- slots -------------------------------------------------------------- */

/* Adds a word of free slots. */
static bool
grow_slots(struct group *g)
{
	uint64_t *slots =
	    reallocarray(g->slots, g->slots_len + 1, sizeof(*slots));

	if (slots == NULL)
		return false;
	slots[g->slots_len++] = 0;
	g->slots = slots;
	return true;
}

/* The lowest free slot, now taken; UINT32_MAX: no memory. */
static uint32_t
take_slot(struct group *g)
{
	uint32_t word = 0, bit = 0;

	while (word < g->slots_len && g->slots[word] == UINT64_MAX)
		word++;
	if (word == g->slots_len && !grow_slots(g))
		return UINT32_MAX;
	while (g->slots[word] & UINT64_C(1) << bit)
		bit++;
	g->slots[word] |= UINT64_C(1) << bit;
	return 64 * word + bit;
}

static void
give_slot(struct group *g, uint32_t slot)
{
	assert(g->slots[slot / 64] & UINT64_C(1) << slot % 64);
	g->slots[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

/* --- coming and going --------------------------------------------------- */

void
worker_make_id(char *id)
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";

	for (unsigned i = 0; i < WORKER_ID_LEN; i++)
		id[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
	id[WORKER_ID_LEN] = '\0';
}

struct worker *
worker_new(struct supervisor *s, uint32_t process)
{
	const struct process *x = &s->pool.processes[process];
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->sup = s;
	w->group = s->groups[x->app];
	w->process = process;
	w->generation = x->generation;
	w->child_end = -1;
	w->memory_fd = -1;
	w->channel.fd = -1;
	w->unread_since = TSTAMP_NEVER;
	w->look_at = TSTAMP_NEVER;
	worker_make_id(w->id);
	kept_init(&w->output, process, w->id);
	w->slot = take_slot(w->group);
	if (w->slot == UINT32_MAX) {
		free(w);
		return NULL;
	}
	s->workers[process] = w;
	return w;
}

void
worker_hang_up(struct worker *w)
{
	if (w->channel.fd == -1)
		return;
	(void)loop_set(&w->sup->loop, &w->channel, 0);
	/* Grandchildren that hold a copy must see the end of file. */
	(void)shutdown(w->channel.fd, SHUT_RDWR);
	if (w->refuses)
		close(w->channel.fd);
	else
		closing_give(w->group, w->channel.fd);
	w->channel.fd = -1;
}

/* Connections that lie there may linger. */
static void
close_child_end(struct worker *w)
{
	if (fdpass_unread(w->child_end) == 0)
		close(w->child_end);
	else
		closing_give(w->group, w->child_end);
}

void
worker_disown(struct worker *w)
{
	kept_leave(&w->output);
	worker_hang_up(w);
	if (w->child_end != -1)
		close_child_end(w);
	w->child_end = -1;
	worker_make_id(w->id);
}

void
worker_end_forking(struct worker *w)
{
	forking_end(w->forking);
	free(w->forking);
	w->forking = NULL;
}

void
worker_free(struct worker *w)
{
	struct supervisor *s = w->sup;

	assert(w->starting == NULL && w->forking == NULL);
	worker_disown(w);
	if (w->memory_fd != -1)
		close(w->memory_fd);
	give_slot(w->group, w->slot);
	s->workers[w->process] = NULL;
	free(w->words);
	free(w->status);
	free(w);
}

void
worker_started(struct worker *w, pid_t pid)
{
	w->pid = pid;
	RB_INSERT(pids, &w->sup->pids, w);
}

void
worker_died(struct worker *w, const struct reap_death *death)
{
	RB_REMOVE(pids, &w->sup->pids, w);
	w->death = *death;
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

/* --- signals ------------------------------------------------------------ */

/*
 * A start that hangs before exec (a dead file server) is killed too: as long
 * as it is under way, no other process can have its number.
 */
static void
signal_starting(struct worker *w, int sig, bool group)
{
	pid_t pid = w->starting == NULL ? 0 : w->starting->pid;

	w->pending_signal = sig;
	w->pending_group = group;
	if (sig == SIGKILL && pid != 0)
		(void)child_signal(pid, sig);
}

void
worker_signal(struct worker *w, int sig, bool group)
{
	char name[96];

	if (w->pid == 0) {
		signal_starting(w, sig, group);
		if (w->forking != NULL)
			(void)forking_signal(w->forking, sig);
		return;
	}
	log_debug(
	    "%s: sending signal %d", worker_name(w, name, sizeof(name)), sig);
	(void)(group ? child_signal_group(w->pid, sig)
		     : child_signal(w->pid, sig));
}
