/*
 * A page by a program without any library: see static.conf.  It is started
 * with a socket that listens as descriptor 0, and knows nothing of apppoold(8).
 */

#include <sys/socket.h>

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the head of a request; what comes behind it is not looked at. */
static void
serve(int client)
{
	char head[4096];
	size_t have = 0;
	ssize_t n;

	do {
		n = read(client, head + have, sizeof(head) - 1 - have);
		if (n <= 0)
			return;
		have += (size_t)n;
		head[have] = '\0';
	} while (strstr(head, "\r\n\r\n") == NULL && have < sizeof(head) - 1);

	dprintf(client,
	    "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	    "process %d: %.*s\n",
	    (int)getpid(), (int)strcspn(head, "\r\n"), head);
}

int
main(void)
{
	int client;

	/* A client may leave before it has its answer. */
	signal(SIGPIPE, SIG_IGN);
	while ((client = accept(0, NULL, NULL)) != -1) {
		serve(client);
		close(client);
	}
	err(1, "accept");
}
