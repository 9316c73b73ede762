/* The addresses that a running daemon listens on, as it says itself. */

#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ask.h"
#include "ctl/ctl_listeners.h"

/* Lines of addresses; "" before ctl_listeners_ask(). */
static char listeners[65536];

void
ctl_listeners_ask(const char *file)
{
	static const char question[] = "listeners\n";
	const struct timeval patience = { .tv_sec = 1 };
	char *path = conf_control_path(file);
	size_t len = 0;
	ssize_t n;
	int fd;

	if (path == NULL)
		return;
	fd = ask_connect(path, &patience);
	free(path);
	if (fd == -1)
		return;
	n = send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL);
	while (n > 0 && len < sizeof(listeners) - 1) {
		n = recv(fd, listeners + len, sizeof(listeners) - 1 - len, 0);
		if (n > 0)
			len += (size_t)n;
	}
	listeners[len] = '\0';
	close(fd);
}

bool
ctl_listeners_has(const struct conf_listen *where)
{
	size_t len = strlen(where->text);

	for (const char *at = listeners; (at = strstr(at, where->text)) != NULL;
	     at += len)
		if ((at == listeners || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}
