#ifndef SUPPORT_SERVER_H
#define SUPPORT_SERVER_H

/*
 * The servers that are compared: apppoold, and the baselines beside it.  Each
 * is a table entry that knows how it is started; all else is common to them.
 * An error ends the program.
 * Servers end with the program that started them, however it ends.
 */

#include <sys/types.h>

#include <stdbool.h>

#include "core/tstamp.h"
#include "endpoint.h"

enum server_name {
	SERVER_SHARED, /* workers accept from one listener */
	SERVER_PASS, /* a bare dispatcher */
	SERVER_APPPOOLD,
	SERVERS, /* those before it are alike */
	SERVER_NGINX = SERVERS, /* one process that answers by itself */
	SERVER_KINDS
};

enum {
	SERVER_PATH = 256
};

struct server_plan {
	const char *address; /* pool.conf's: 127.0.0.1:8080, unix:PATH */
	int workers;
	int cpu; /* server and workers run there; -1: anywhere */
	bool idle; /* the smallest workers, which serve nothing */
	int first; /* of apppoold: workers to begin with; 0: all */
	int start_usec; /* likewise: how long a worker takes to be ready */
	const char *options; /* likewise: further ones of the app; or NULL */
	const char *worker; /* likewise: another program; or NULL */
};

struct server {
	enum server_name name;
	pid_t pid;
	int workers;
	struct endpoint at;
	char folder[SERVER_PATH]; /* its configuration, control socket, log */
};

/* "shared", "pass", "apppoold", "nginx". */
const char *server_title(enum server_name name);

/* Whether the program is there: it may not have been built, or installed. */
bool server_exists(enum server_name name);

/*
 * Makes a folder of its own below `parent`.  Returns when connects succeed
 * and all workers are there (for apppoold: ready).
 */
void server_start(struct server *s, enum server_name name, const char *parent,
    const struct server_plan *plan);
void server_stop(struct server *s);

#endif
