/*
 * forker: a process for each connection, made when it comes.
 *
 *     forker ADDRESS PROGRAM [ARGUMENT ...]
 *
 * What inetd and tcpserver do: accept, fork, and execute PROGRAM with the
 * connection as standard input and output.  ADDRESS is HOST:PORT or unix:PATH.
 * It ends with its parent.
 */

#include <sys/prctl.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

#include "../../support/endpoint.h"

static void
serve(int conn, char **argv)
{
	switch (fork()) {
	case -1:
		warn("fork");
		break;
	case 0:
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGCHLD, SIG_DFL);
		if (dup2(conn, STDIN_FILENO) == -1 ||
		    dup2(conn, STDOUT_FILENO) == -1)
			err(EX_OSERR, "dup2");
		(void)execv(argv[0], argv);
		err(EX_UNAVAILABLE, "%s", argv[0]);
	default:
		break;
	}
	(void)close(conn);
}

int
main(int argc, char **argv)
{
	struct endpoint at;
	int listener, conn;

	if (argc < 3 || endpoint_parse(argv[1], &at) == -1)
		errx(EX_USAGE, "usage: forker address program [argument ...]");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* The kernel reaps the children. */
	(void)signal(SIGCHLD, SIG_IGN);
	listener = endpoint_listen(&at, 1024);
	if (listener == -1)
		err(EX_CANTCREAT, "%s", argv[1]);
	for (;;) {
		conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (conn != -1)
			serve(conn, argv + 2);
		else if (errno != EINTR && errno != ECONNABORTED)
			err(EX_OSERR, "accept");
	}
}
