#ifndef SUPPORT_LOCKSERVER_H
#define SUPPORT_LOCKSERVER_H

/*
 * Servers of locks that are compared: apppoold's, Debian's poolcounterd, and
 * one that gives back what it gets.  They listen at TCP, as poolcounterd knows
 * nothing else, and end with the program, which an error ends.
 */

#include <sys/types.h>

#include <stdbool.h>

#include "bench.h"
#include "endpoint.h"

enum lockserver_name {
	LOCKSERVER_ECHO,
	LOCKSERVER_ORIGINAL,
	LOCKSERVER_APPPOOLD,
	LOCKSERVERS
};

struct lockserver {
	enum lockserver_name name;
	pid_t pid;
	pid_t server; /* that serves: the same, or apppoold's counter */
	struct endpoint at;
	char app[256]; /* of apppoold: the address of its app */
};

const char *lockserver_title(enum lockserver_name name);

/* False if the program is not there. */
bool lockserver_start(
    struct lockserver *s, enum lockserver_name name, struct bench *b);
void lockserver_stop(struct lockserver *s);

/* A blocking connection; an answer may take some seconds at most. */
int lockserver_connect(const struct lockserver *s);

#endif
