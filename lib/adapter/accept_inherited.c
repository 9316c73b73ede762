/* Options of a listening socket that its connections inherit. */

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <string.h>

#include "adapter/accept.h"

/*
 * Servers set these once, on the listening socket. All are ints; those that
 * begin with TCP_KEEP need SO_KEEPALIVE.
 */
static const struct {
	int level;
	int name;
} options[OPTIONS] = {
	{ IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT },
	{ SOL_SOCKET, SO_KEEPALIVE },
	{ IPPROTO_TCP, TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT },
};

void
inherited_read(int fd, struct inherited *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < OPTIONS; i++)
		(void)getsockopt(fd, options[i].level, options[i].name,
		    &out->values[i], &(socklen_t){ sizeof(int) });
}

void
inherited_pass(
    const struct inherited *before, const struct inherited *now, int conn)
{
	/* A connection of another kind does not take them. */
	for (size_t i = 0; i < OPTIONS; i++)
		if (now->values[i] != before->values[i])
			(void)setsockopt(conn, options[i].level,
			    options[i].name, &now->values[i], sizeof(int));
}
