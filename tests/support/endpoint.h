#ifndef SUPPORT_ENDPOINT_H
#define SUPPORT_ENDPOINT_H

/*
 * An address to listen at, in pool.conf's words: "127.0.0.1:8080", "[::1]:80"
 * or "unix:PATH".
 */

#include <sys/socket.h>

struct endpoint {
	struct sockaddr_storage addr;
	socklen_t len;
};

/* 0, or -1 if `text` names no address; `out` is then untouched. */
int endpoint_parse(const char *text, struct endpoint *out);

/* A non-blocking socket of the right family, not connected; or -1, errno. */
int endpoint_socket(const struct endpoint *at);

/* A blocking connection; or -1, errno. */
int endpoint_connect(const struct endpoint *at);

/*
 * A listening socket, blocking; or -1, errno.  Port 0 has the kernel choose:
 * `at` then holds its choice.  A Unix path must be free.
 */
int endpoint_listen(struct endpoint *at, int backlog);

/* The port of a TCP address in host order, 0 for a Unix one. */
int endpoint_port(const struct endpoint *at);

#endif
