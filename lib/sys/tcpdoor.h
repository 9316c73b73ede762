#ifndef SYS_TCPDOOR_H
#define SYS_TCPDOOR_H

/*
 * Letting nobody new into a listening TCP socket, and nobody in it out:
 * shutdown(2) would reset everybody in its queue.
 */

#include <stdbool.h>

/*
 * From now on what opens a connection is dropped without an answer, but a
 * handshake under way still completes. If *marks_out, tcpdoor_unmark() must
 * be called for each connection accepted from then on. Returns 0, or -1 and
 * errno.
 */
int tcpdoor_shut(int fd, bool *marks_out);

/*
 * The same without ever leaving a mark. Newer kernels want CAP_NET_ADMIN for
 * it: EPERM without.
 */
int tcpdoor_drop(int fd);

/* Takes from an accepted connection what it inherited from the door. */
void tcpdoor_unmark(int conn);

#endif
