/* Addresses that a running daemon holds, as it says itself. */

#include <sys/socket.h>
#include <sys/time.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/held.h"
#include "sys/address.h"

/* Lines of addresses; "" before held_ask(). */
static char held[65536];

static int
held_connect(const char *path)
{
	struct timeval second = { .tv_sec = 1 };
	struct sockaddr_un addr;
	socklen_t len = address_of_path(path, &addr);
	int fd;

	if (len == 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
	if (connect(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	close(fd);
	return -1;
}

void
held_ask(const char *file)
{
	static const char question[] = "listeners\n";
	char *path = conf_control_path(file);
	size_t len = 0;
	ssize_t n;
	int fd;

	if (path == NULL)
		return;
	fd = held_connect(path);
	free(path);
	if (fd == -1)
		return;
	n = send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL);
	while (n > 0 && len < sizeof(held) - 1) {
		n = recv(fd, held + len, sizeof(held) - 1 - len, 0);
		if (n > 0)
			len += (size_t)n;
	}
	held[len] = '\0';
	close(fd);
}

bool
held_by_us(const struct conf_listen *where)
{
	size_t len = strlen(where->text);

	for (const char *at = held; (at = strstr(at, where->text)) != NULL;
	     at += len)
		if ((at == held || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}
