#ifndef WORKER_STDIO_PEER_H
#define WORKER_STDIO_PEER_H

/*
 * Who is at the other end of a connection, in the environment: as ucspi-tcp,
 * ucspi-unix, xinetd and systemd have it.  See apppool-handoff(7).
 */

#include <stdbool.h>

/*
 * Sets what is known of the connection and removes what is not, so that the
 * program takes nothing for the client's that came from elsewhere.  false and
 * errno: nothing can be said of it.
 */
bool stdio_peer_tell(int conn);

#endif
