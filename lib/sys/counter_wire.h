#ifndef SYS_COUNTER_WIRE_H
#define SYS_COUNTER_WIRE_H

/*
 * The dialogue of the daemon and its apppool-counter. Down, over a pair
 * of SOCK_SEQPACKET sockets, a line in each packet:
 *
 *	LIMIT clients own	the ceilings: clients, and beside them
 *				those of the daemon's own
 *	LISTEN number address	a listener comes with it; for the log
 *	INHERIT number address	likewise, but the service manager has it, too
 *	LEAVE number		take in what waits there, and close it
 *	JOIN			a client of the daemon's own comes with it
 *
 * Up, from standard error, which is the same socket: lines of the log, as
 * sd-daemon(3) has them. At the end of the socket the counter exits.
 */

#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>

/* The counter's socket, and the memory of struct counter_figures. */
#define COUNTER_FD 3
#define COUNTER_PAGE_FD 4

/* The longest packet down, with its NUL. */
#define COUNTER_TOLD_MAX 256

/*
 * Since the beginning of the counter, or at the moment; times are in
 * microseconds, each rounded down. In memory that both share: the counter
 * writes, and the daemon reads at any time.
 */
struct counter_figures {
	uint32_t clients; /* at the moment, without the daemon's own */
	uint32_t max_clients;
	uint32_t keys; /* at the moment */
	uint32_t max_keys;
	uint32_t held; /* locks at the moment */
	uint32_t waiting; /* waits at the moment */
	uint64_t connections;
	uint64_t refused_clients; /* more than max_clients */
	uint64_t connect_errors;
	uint64_t failed_sends;
	uint64_t acquired; /* LOCKED */
	uint64_t releases; /* RELEASED */
	uint64_t processed; /* locks that have ended */
	uint64_t full_queues;
	uint64_t lock_mismatch; /* LOCK_HELD */
	uint64_t lock_while_waiting;
	uint64_t release_mismatch; /* NOT_LOCKED */
	uint64_t full_tables; /* TOO_MANY_KEYS */
	uint64_t processing_time; /* from LOCKED to the end of the lock */
	uint64_t gained_time; /* that of the releaser, for each DONE */
	uint64_t me_time; /* waits ended by LOCKED */
	uint64_t any_time; /* likewise */
	uint64_t good_time; /* waits ended by DONE */
	uint64_t wasted_time; /* waits ended by TIMEOUT */
};

/* Of the listeners: every user may connect to a Unix socket, as with TCP. */
#define COUNTER_BACKLOG 4096
#define COUNTER_MODE 0666

/* Seconds after which a host that vanished gives its locks back. */
#define COUNTER_VANISHED_IDLE 10
#define COUNTER_VANISHED_MOST 20

/*
 * Sets the options of a TCP connection, or of a listener for all that come by
 * it: lines are not held back, and a connection ends if the other host answers
 * nothing for `most` seconds, be it questions of TCP, which it is asked after
 * `idle` seconds of silence, or lines, for which the kernel would try it for a
 * quarter of an hour.
 */
static inline void
counter_tune(int fd, int idle, int most)
{
	const int on = 1, every = idle > 1 ? idle / 2 : 1;
	const unsigned most_ms = 1000 * (unsigned)most;
	const struct linger no_linger = { 0 };

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	(void)setsockopt(
	    fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof(most_ms));
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_LINGER, &no_linger, sizeof(no_linger));
}

#endif
