#ifndef WORKER_TEMPLATE_H
#define WORKER_TEMPLATE_H

/* The answer to a FORK: a process that goes on in the daemon's hands. */

#include <stdbool.h>

#include "worker/channel.h"

/*
 * Forks twice, so that the process to be becomes the daemon's child, and tells
 * the daemon on `sock`. Returns 1 in that process, which has the descriptors of
 * the message in the places of ours, the first in that of `sock`; and 0 in the
 * caller, or -1 and errno: ESHUTDOWN, the daemon is gone, or a template cannot
 * fork, and has said so. The descriptors of the message are closed.
 */
int template_fork(
    int sock, const struct channel_message *message, bool is_template);

#endif
