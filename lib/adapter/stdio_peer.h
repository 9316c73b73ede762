#ifndef ADAPTER_STDIO_PEER_H
#define ADAPTER_STDIO_PEER_H

/*
 * Who is at the other end of a connection, in the environment: as ucspi-tcp,
 * ucspi-unix, xinetd and systemd have it.  See apppool-handoff(7).
 */

#include <stdbool.h>

/* Removes what came from elsewhere, which could be taken for a client's. */
void stdio_peer_forget(void);

/*
 * Sets what is known of the connection.  false and errno: nothing can be said
 * of it.
 */
bool stdio_peer_tell(int conn);

#endif
