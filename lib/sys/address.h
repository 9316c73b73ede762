#ifndef SYS_ADDRESS_H
#define SYS_ADDRESS_H

/*
 * Socket addresses as text, in the words of pool.conf: "127.0.0.1:8080",
 * "[::1]:80", "unix:/run/web.sock", "unix:@abstract".
 */

#include <sys/socket.h>

#include <stddef.h>

/* Holds every text made here, with its NUL. */
#define ADDRESS_TEXT_SIZE 512

/*
 * Writes the address into buf, which holds size bytes (at least 1); a text
 * that does not fit is cut. Bytes of a path that a terminal could take for a
 * command come out as \xHH. An unknown family gives "family N". Returns buf.
 */
char *address_format(
    const struct sockaddr *addr, socklen_t len, char *buf, size_t size);

#endif
