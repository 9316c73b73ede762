/*
 * A program for handoff = listen that shuts its listener down, whenever it is
 * asked to start.
 */

#include <sys/socket.h>

#include <unistd.h>

int
main(void)
{
	(void)shutdown(STDIN_FILENO, SHUT_RD);
	for (;;)
		(void)pause();
}
