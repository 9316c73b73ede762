/* Letting nobody new into a listening TCP socket. */

#include <sys/socket.h>

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>

#include "sys/tcpdoor.h"

/*
 * The filter drops SYN without ACK and nothing else. Byte 13 of a TCP header
 * holds the flags.
 */
int
tcpdoor_drop(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_ACK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	return setsockopt(
	    fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/*
 * The least a packet must have left of its time to live, 0 for any. Asked of
 * what is sent to the listening socket itself, so of SYNs, but not of the
 * end of a handshake under way. IPv4 has a say on a socket for both families.
 */
static int
set_min_ttl(int fd, int ttl)
{
	int v4 = setsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, sizeof(ttl));
	int v6 =
	    setsockopt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, &ttl, sizeof(ttl));

	return v4 == 0 || v6 == 0 ? 0 : -1;
}

int
tcpdoor_shut(int fd, bool *marks_out)
{
	*marks_out = false;
	if (tcpdoor_drop(fd) == 0)
		return 0;
	/* What nearly nobody sends: even neighbours begin with 64 or 128. */
	if (set_min_ttl(fd, 255) == -1)
		return -1;
	*marks_out = true;
	return 0;
}

void
tcpdoor_unmark(int conn)
{
	(void)set_min_ttl(conn, 0);
}
