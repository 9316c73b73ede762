#ifndef DAEMON_ENVIRONMENT_H
#define DAEMON_ENVIRONMENT_H

/*
 * Everything a process is started with: command, environment variables,
 * identity, limits and descriptors.
 */

#include <stddef.h>

#include "conf/config.h"
#include "daemon/kept.h"
#include "sys/child.h"

#define ENVIRONMENT_LIMITS 5

struct environment {
	struct config *config; /* a reference: the spec points into it */
	struct child_spec spec;
	struct child_limit limits[ENVIRONMENT_LIMITS + 1];
	/*
	 * The listening sockets of an app that accepts itself, in the order of
	 * the configuration. Copies, so that a listener may close while the
	 * process is being started: another descriptor would have its number.
	 */
	int sockets[CHILD_FDS_MAX];
	size_t nsockets;
	char *socket_names; /* LISTEN_FDNAMES; owned */
	char **argv; /* both owned, with their strings */
	char **envp;
	const char *output_file; /* to be opened in the lane, or by the child */
	int output[2]; /* its stdout, stderr; -1: not to be closed */
};

/* No slot: the process is the template of its app. */
#define ENVIRONMENT_TEMPLATE UINT32_MAX

/* The process that is started. What is pointed to stays during the start. */
struct environment_of {
	struct group *group;
	const char *id;
	uint32_t slot;
	const int *child_end; /* of its channel; -1 there: it has none */
	bool keeps; /* as in struct worker */
	struct kept *output;
};

/*
 * Puts together what the configuration of the group says, and opens the pipe
 * for the output, which a keeper reads. 0; or -1 and errno: EAGAIN if none of
 * the listeners of an app that accepts itself is open now.
 */
int environment_init(struct environment *e, const struct environment_of *of);
void environment_fini(struct environment *e);

/*
 * In the lane, as a disk may be slow: opens the output file and the adapter.
 * 0, or -1 and errno, and the file that cannot be opened.
 */
int environment_open(struct environment *e, const char **file_out);

/* In the lane, too, as closing a file may write it to a slow disk. */
void environment_close(struct environment *e);

#endif
