/*
 * A worker that parks connections whose locks it holds: it sends from a page
 * whose fault never ends, and has the last close wait.
 */

#include <sys/socket.h>

#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "absent.h"
#include "worker/apppool.h"

static char *page;

static void *
hold_lock(void *copy)
{
	(void)send((int)(intptr_t)copy, page, ABSENT_SIZE, MSG_NOSIGNAL);
	return NULL;
}

static void
serve(int fd)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 5 };
	pthread_t thread;
	char request[512];
	int copy = dup(fd);

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	if (recv(fd, request, sizeof(request), 0) > 0)
		(void)send(fd, "parked\n", 7, MSG_NOSIGNAL);
	if (copy == -1 ||
	    pthread_create(&thread, NULL, hold_lock, (void *)(intptr_t)copy) !=
		0)
		err(71, "a holder of a lock");
	/* By then it does, as a rule. */
	(void)usleep(10000);
	(void)apppool_park(fd);
}

int
main(void)
{
	int fd;

	page = absent_page();
	if (apppool_open() == -1 || apppool_ready() == -1)
		err(71, "apppool");
	while ((fd = apppool_accept()) != -1)
		serve(fd);
	return 0;
}
