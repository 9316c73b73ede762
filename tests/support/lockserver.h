#ifndef SUPPORT_LOCKSERVER_H
#define SUPPORT_LOCKSERVER_H

/*
 * Servers of locks that are compared: apppoold's, Debian's poolcounterd, and
 * one that gives back what it gets.  Over TCP, as the second knows no other.
 * What fails ends the program; they end with it.
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
	struct endpoint at;
	char app[256]; /* of apppoold: where it hands over as well */
};

const char *lockserver_title(enum lockserver_name name);

/* false: the program is not there. */
bool lockserver_start(
    struct lockserver *s, enum lockserver_name name, struct bench *b);
void lockserver_stop(struct lockserver *s);

/* A connection, blocking, that waits for no more than some seconds. */
int lockserver_connect(const struct lockserver *s);

#endif
