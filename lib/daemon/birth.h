#ifndef DAEMON_BIRTH_H
#define DAEMON_BIRTH_H

/*
 * Everything a process is started with, put together on the loop and carried
 * out in the slow lane.
 */

#include <sys/queue.h>

#include "conf/config.h"
#include "core/tstamp.h"
#include "daemon/birth_sockets.h"
#include "daemon/worker.h"
#include "sys/child.h"
#include "sys/lane.h"

#define BIRTH_LIMITS 5

struct birth {
	struct lane_job job;
	TAILQ_ENTRY(birth) next; /* in supervisor.births */
	struct worker *worker;
	struct config *config; /* a reference: the spec points into it */
	struct child_spec spec;
	struct child_result result;
	struct child_limit limits[BIRTH_LIMITS + 1];
	struct birth_sockets sockets; /* none, but for handoff listen */
	char **argv; /* with an adapter before it; owned, its strings not */
	const char *file; /* to be opened as its output; NULL: none */
	const char *unopened; /* the file of file_error */
	int file_error; /* errno of opening it, or the adapter; 0: none */
	int output; /* the worker's stdout and stderr; -1: none to close */
	char **envp; /* owned, with its strings */
	void (*born)(struct birth *, tstamp now);
};

/*
 * Puts it together; born() is called in the loop when it is over. The
 * caller submits it. NULL and errno.
 */
struct birth *birth_new(
    struct worker *w, void (*born)(struct birth *, tstamp now));
void birth_free(struct birth *b);

/* Once it is over: how it failed, if it did. */
bool birth_failed(const struct birth *b);
bool birth_no_room(const struct birth *b);
void birth_explain(const struct birth *b, char *buf, size_t size);

#endif
