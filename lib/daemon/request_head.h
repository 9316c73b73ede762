#ifndef DAEMON_REQUEST_HEAD_H
#define DAEMON_REQUEST_HEAD_H

/*
 * The head of a request in HTTP/1, as far as it has come. Nothing in it is
 * understood here: what has to be known is whether there is more to wait for.
 */

#include <stdbool.h>
#include <stddef.h>

/* A longer head is not waited for. */
#define REQUEST_HEAD_MAX 16384

/*
 * Whether more has to come before a process can make something of it: these
 * bytes begin a request, and its head is neither complete nor too long.
 */
bool request_head_lacks(const char *bytes, size_t len);

#endif
