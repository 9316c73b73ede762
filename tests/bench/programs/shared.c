/*
 * shared: no dispatcher at all.
 *
 *     shared ADDRESS N PROGRAM [ARGUMENT ...]
 *
 * Starts N of PROGRAM with one listening socket as descriptor 0, from which
 * they accept by themselves.  The kernel wakes one of them per connection, the
 * one that has waited longest: the best that can be had without counting,
 * growing, shrinking or replacing anything.
 *
 * ADDRESS is HOST:PORT or unix:PATH.  It ends with its parent, and its
 * children with it.
 */

#include <sys/prctl.h>

#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "../../support/endpoint.h"

enum {
	WORKERS_MAX = 10000
};

static void
start(int listener, char **argv)
{
	switch (fork()) {
	case -1:
		err(EX_OSERR, "fork");
	case 0:
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(listener, STDIN_FILENO) == -1)
			err(EX_OSERR, "dup2");
		(void)execv(argv[0], argv);
		err(EX_UNAVAILABLE, "%s", argv[0]);
	default:
		break;
	}
}

int
main(int argc, char **argv)
{
	struct endpoint at;
	int listener, i, workers = argc < 4 ? 0 : atoi(argv[2]);

	if (workers < 1 || workers > WORKERS_MAX ||
	    endpoint_parse(argv[1], &at) == -1)
		errx(
		    EX_USAGE, "usage: shared address n program [argument ...]");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	listener = endpoint_listen(&at, 1024);
	if (listener == -1)
		err(EX_CANTCREAT, "%s", argv[1]);
	for (i = 0; i < workers; i++)
		start(listener, argv + 3);
	for (;;)
		(void)pause();
}
