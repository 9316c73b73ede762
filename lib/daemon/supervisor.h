#ifndef DAEMON_SUPERVISOR_H
#define DAEMON_SUPERVISOR_H

/*
 * Joins the core with the kernel: facts from the loop go into the pool, and
 * the pool's actions are carried out in one place, supervisor_settle(), once
 * in each turn. No handler acts by itself.
 */

#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/tree.h>

#include <stdbool.h>
#include <stdint.h>

#include "conf/config.h"
#include "core/pool.h"
#include "daemon/group.h"
#include "daemon/refusal.h"
#include "daemon/services.h"
#include "daemon/worker.h"
#include "sys/lane.h"
#include "sys/loop.h"
#include "sys/retriever.h"
#include "sys/sockdiag.h"

struct reload;

/* An accepted connection that is in our hands. */
struct accepted {
	int fd; /* -1: no longer */
	bool tcp;
	uint8_t len; /* bytes of the message it was handed in last */
};

/* A round over all workers, in pieces; see sampling.h. */
struct sampling_round {
	struct timer timer; /* its next piece, or the next round */
	uint32_t next; /* process that the piece begins with */
};

TAILQ_HEAD(groups, group);
RB_HEAD(pids, worker);

struct supervisor {
	struct loop loop;
	struct lane spawner;
	struct lane closer;
	struct lane looker;
	struct retriever retriever;
	struct sockdiag diag;
	struct config *config; /* in force; a reference */
	struct pool pool;
	void *pool_memory;
	struct group **groups; /* by app number; NULL: none */
	struct worker **workers; /* by process number; NULL: none */
	struct accepted *accepted; /* by connection number */
	struct refusals refusals;
	struct groups start_queue; /* groups with queued workers, in turn */
	struct workers starting; /* in the spawner lane */
	unsigned nstarting; /* their number */
	struct pids pids;
	struct services services;
	struct reload *reload; /* under way; NULL: none */
	struct rlimit nofile; /* of the children, as it was given to us */
	tstamp started;
	uint64_t generation; /* reloads that came into force */
	struct sampling_round memory;
	struct sampling_round cpu;
	tstamp second_at; /* next look at what is slow; TSTAMP_NEVER: idle */
	bool background; /* -D: report when all are ready */
	bool exit_on_failed; /* for all apps */
	bool reported; /* readiness, to whoever waits for it */
	bool stopping;
	int exit_status;
	char status_text[128]; /* as the service manager knows it */
	tstamp status_at; /* it is told no more before then */
	struct timer status_timer; /* but then it is */
};

/* The exit status where something could not be opened, for this errno. */
int supervisor_refused(int error);

/*
 * Takes config over and makes the loop and its lanes. 0, or an exit status of
 * sysexits.h, the reason having been logged. Call it before there is any
 * thread: it forks.
 */
int supervisor_init(struct supervisor *s, struct config *config);

/*
 * Opens the services, which were registered in between, and the listeners,
 * and
 * asks for the first processes. Returns as supervisor_init().
 */
int supervisor_open(struct supervisor *s);

/* Runs until everything has stopped. Gives the exit status. */
int supervisor_run(struct supervisor *s);
void supervisor_fini(struct supervisor *s);

/* Carries out what the pool wants done. */
void supervisor_settle(struct supervisor *s);

/* SIGTERM, and SIGINT. */
void supervisor_stop(struct supervisor *s, tstamp now);
void supervisor_stop_now(struct supervisor *s, tstamp now);

/* ACTION_OVER: lets go of the group if nothing of it is left. */
void supervisor_over(struct supervisor *s, uint32_t app);

/* Closes a descriptor that a stranger may have prepared. */
void supervisor_close(struct supervisor *s, int fd);

/*
 * Tables large enough for the configuration and for what runs now. 0, or -1
 * and errno, and then nothing has changed.
 */
int supervisor_reserve(struct supervisor *s, const struct conf *conf);

/*
 * Whether all that `conf` may need can be had: descriptors. Logs what is
 * missing.
 */
bool supervisor_affords(const struct supervisor *s, const struct conf *conf);

/* Descriptors that are left when `conf` has all it needs. */
uint32_t supervisor_spare(const struct supervisor *s, const struct conf *conf);

/* The group of this name that is not closing; NULL: none. */
struct group *supervisor_group(const struct supervisor *s, const char *name);

#endif
