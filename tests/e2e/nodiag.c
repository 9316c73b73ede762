/*
 * nodiag: runs a command where the kernel has no monitor of sockets,
 * sock_diag(7).
 *
 *     nodiag COMMAND [ARGUMENT...]
 *
 * Exit status: the command's; 77 if that cannot be done here.
 */

#include <err.h>
#include <sysexits.h>

#include "../support/nodiag.h"

int
main(int argc, char **argv)
{
	if (argc < 2)
		errx(EX_USAGE, "usage: nodiag COMMAND [ARGUMENT...]");
	if (!nodiag_begin())
		err(77, "seccomp");
	execvp(argv[1], argv + 1);
	err(EX_UNAVAILABLE, "%s", argv[1]);
}
