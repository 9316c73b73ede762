/* TCP sockets that listen beside each other at one address. */

#include <linux/filter.h>

#include "sys/log.h"
#include "sys/reuseport.h"
#include "sys/sockdiag.h"

int
reuseport_allow(int fd)
{
	const int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
}

/*
 * The program returns the number of the socket that a newcomer is for, among
 * those that listen there in the order they began. For a number that none has
 * the kernel takes any of them.
 */
int
reuseport_lead(
    int fd, int backlog, const struct sockaddr *addr, struct sockdiag *d)
{
	long before = sockdiag_tcp_listeners(d, addr);
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, before > 0 ? (uint32_t)before : 1),
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	if (listen(fd, backlog) == -1)
		return -1;
	/* The group that the program is for begins with listen(2). */
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
		sizeof(program)) == -1)
		log_warn("SO_ATTACH_REUSEPORT_CBPF");
	return 0;
}
