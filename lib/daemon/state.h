#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

/*
 * The state of the daemon, which all files of this folder share. Facts from
 * the loop go into the pool, and the pool's actions are carried out in one
 * place, settle_actions(), once in each turn. No handler acts by itself.
 */

#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "conf/config.h"
#include "core/pool.h"
#include "daemon/events.h"
#include "daemon/refusal.h"
#include "daemon/services.h"
#include "sys/folderwatch.h"
#include "sys/lane.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/reap.h"
#include "sys/watch.h"

struct group;
struct keepers;
struct fork;
struct parked;
struct reload;
struct reopening;
struct template;
struct worker;

/* An accepted connection that is in our hands. */
struct accepted {
	int fd; /* -1: no longer; with keep_alive a process has it, too */
	bool tcp;
	/*
	 * A process has been given it, and may have it still, though it was
	 * taken back: calls that take a lock which such a process can hold
	 * are not made. For TCP these are all but a close and a look by
	 * poll(2), for a Unix socket all that read.
	 */
	bool handed;
	uint8_t len; /* bytes of the message that handed it last */
	struct parked *parked; /* it has been parked before; or NULL */
};

/* A round over all workers, in pieces; see sampling.h. */
struct sampling_round {
	struct timer timer; /* its next piece, or the next round */
	uint32_t next; /* process that the piece begins with */
};

/* The end of a child that nobody knows. */
struct unknown_exit {
	struct reap_death death; /* pid 0: none yet */
	tstamp at;
};

#define TEMPLATE_EXITS 32

/* Templates of all apps, and what they and others were asked to fork. */
struct templates {
	TAILQ_HEAD(, template) all;
	TAILQ_HEAD(, fork) forks;
	uint64_t serial; /* of the latest FORK */
	struct unknown_exit exits[TEMPLATE_EXITS];
	unsigned next_exit; /* place of the next one */
};

TAILQ_HEAD(groups, group);
TAILQ_HEAD(workers, worker);
RB_HEAD(pids, worker);

struct supervisor {
	struct loop loop;
	struct watch watch;
	struct log_rate long_turn_rate;
	struct lane spawner;
	struct lane closer; /* of descriptors that strangers sent us */
	struct lane looker; /* at files, of ours and of others */
	struct folderwatch folders; /* of restart_dir */
	struct events events;
	struct config *config; /* in force; a reference */
	struct pool pool;
	void *pool_memory;
	struct group **groups; /* by app number; NULL: none */
	struct worker **workers; /* by process number; NULL: none */
	struct accepted *accepted; /* by connection number */
	struct refusals refusals;
	struct groups start_queue; /* groups with queued workers, in turn */
	struct workers starting; /* in the spawner lane, templates, too */
	unsigned nstarting; /* the workers among them */
	struct keepers *keepers; /* owned; see keeper.h */
	struct pids pids; /* of all workers that have one */
	struct templates templates;
	struct timer reaping; /* set: some that are dead may be left */
	bool reaping_waits; /* one that is dead is among `starting` */
	pid_t looked_at; /* pid of the worker that was looked at last then */
	tstamp look_at; /* no look at all children before then */
	unsigned long oom_kills; /* of the machine, as last looked at */
	tstamp starved_until; /* a SIGKILL may belong to the latest of them */
	struct services services;
	struct reload *reload; /* under way; NULL: none */
	struct reopening *reopening; /* of the log, likewise */
	char reopen_failure[256]; /* of the latest; see logging.h */
	struct rlimit nofile; /* of the children, as it was given to us */
	tstamp started;
	uint64_t generation; /* reloads that came into force */
	struct sampling_round memory;
	struct sampling_round cpu;
	struct timer second; /* set while there are connections */
	struct timer hangup; /* set: a SIGHUP may be of the terminal's end */
	bool background; /* -D: report when all are ready */
	bool exit_on_failed; /* for all apps */
	bool reported; /* that the daemon is ready */
	bool stopping;
	int exit_status;
	char status_text[128]; /* as the service manager knows it */
	tstamp status_at; /* no new one before then */
	struct timer status_timer; /* but then */
	struct timer alive; /* set where the service manager has a watchdog */
};

#endif
