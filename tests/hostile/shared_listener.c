/*
 * A program for handoff = listen that misuses the socket it shares with the
 * daemon:
 *
 *	unblock	serves, but a child of its in another session makes the socket
 *		block, again and again, also when this process has ended
 *	hold	never serves: sits in setsockopt(2) and holds the socket's
 *		lock, for the memory that is read there never comes; exits 77
 *		where there is no such memory
 */

#include <sys/socket.h>

#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "absent.h"

#define FIRST 3 /* LISTEN_FDS_START */
#define SECONDS 60 /* until nothing of it is left, whatever happens */

static void
unblock(int listeners)
{
	if (fork() != 0)
		return;
	(void)setsid();
	(void)alarm(SECONDS);
	printf("unblocking: %d\n", (int)getpid());
	(void)fflush(stdout);
	for (;;)
		for (int fd = FIRST; fd < FIRST + listeners; fd++)
			(void)fcntl(fd, F_SETFL, 0);
}

static void
serve(void)
{
	static const char text[] = "hello\n";
	char request[256];
	int fd;

	for (;;) {
		fd = accept(FIRST, NULL, NULL);
		if (fd == -1)
			continue;
		(void)!read(fd, request, sizeof(request));
		(void)!write(fd, text, sizeof(text) - 1);
		close(fd);
	}
}

static void
hold(void)
{
	struct sock_fprog program = { .len = 1 };
	sigset_t all;

	program.filter = (void *)absent_page();
	/* A signal would end the call. */
	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	printf("holding: %d\n", (int)getpid());
	(void)fflush(stdout);
	(void)setsockopt(
	    FIRST, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	errx(1, "there was memory");
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "unblock") == 0) {
		unblock(2);
		serve();
	} else if (argc == 2 && strcmp(argv[1], "hold") == 0) {
		hold();
	}
	errx(64, "usage: shared_listener unblock|hold");
}
