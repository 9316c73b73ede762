#ifndef DAEMON_START_H
#define DAEMON_START_H

/*
 * One start of a program, of a worker or a template: what it takes, its work in
 * the lane, and why it failed.
 */

#include "daemon/environment.h"
#include "daemon/keeper.h"
#include "sys/lane.h"

struct start {
	struct lane_job job;
	void *owner;
	struct environment environment;
	struct keeper *keeper; /* to be started first; NULL: it runs */
	bool keeper_failed;
	struct child_result result;
	int open_error; /* errno of opening unopened; 0: none */
	const char *unopened;
};

/*
 * A start, to be submitted to the spawner lane; done() is called in the loop
 * when it is over. NULL and errno.
 */
struct start *start_new(const struct environment_of *of, void *owner,
    void (*done)(struct lane_job *, tstamp now));

/*
 * After the start: frees it, and has the deaths looked at that waited for it.
 * What belongs to its keeper is done before.
 */
void start_free(struct start *t, struct supervisor *s, tstamp now);

/* Whether it has failed; because the system had no room, not the app a mistake.
 */
bool start_failed(const struct start *t);
bool start_lacked_room(const struct start *t);

/* Why it failed, cut to size. */
void start_explain(const struct start *t, char *buf, size_t size);

#endif
