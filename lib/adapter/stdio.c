/*
 * apppool-stdio: an adapter for programs that serve one connection on their
 * standard input and output, as inetd starts them.
 *
 *	apppool-stdio PROGRAM [ARGUMENT...]
 *
 * It waits, as a worker that is ready, for one connection, and becomes the
 * program: so the program's start, but not a fork, is in the client's way.
 * The end of the process is the end of the session.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "adapter/stdio_peer.h"
#include "sys/descriptors.h"
#include "sys/wire.h"
#include "worker/apppool.h"

/* As shells have it. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

/* --- the program --------------------------------------------------------- */

/* Whether it may be executed by us; else errno says why not. */
static bool
program_is_here(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return false;
	if (S_ISREG(st.st_mode))
		return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
	errno = EACCES;
	return false;
}

/* Where it is, in the way execvp() looks for it; NULL and errno: nowhere. */
static const char *
program_find(const char *name, char path[PATH_MAX])
{
	const char *folder = getenv("PATH");
	int error = ENOENT;

	if (folder == NULL)
		folder = "/bin:/usr/bin";
	if (strchr(name, '/') != NULL)
		return program_is_here(name) ? name : NULL;
	while (folder != NULL) {
		size_t len = strcspn(folder, ":");

		(void)snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, folder,
		    len == 0 ? "" : "/", name);
		if (program_is_here(path))
			return path;
		if (errno == EACCES)
			error = EACCES;
		folder = folder[len] == ':' ? folder + len + 1 : NULL;
	}
	errno = error;
	return NULL;
}

/*
 * Tells the daemon, who makes it known as the last failure of the app, and
 * waits to be killed: an exit would complete the session.
 */
static _Noreturn void
program_failed(const char *name, int error)
{
	struct pollfd daemon = { .fd = apppool_fd(), .events = POLLIN };

	if (apppool_fail("cannot execute %s: %s", name, strerror(error)) == 0)
		(void)poll(&daemon, 1, -1);
	exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* --- becoming it --------------------------------------------------------- */

/* By hand we may have been started with some ignored or blocked. */
static void
signals_reset(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What apppool_open() took away, but for what only a worker can use. */
static void
environment_restore(void)
{
	char slot[sizeof("2147483647")];

	(void)snprintf(slot, sizeof(slot), "%d", apppool_slot());
	(void)setenv(WIRE_ENV_APP, apppool_app(), 1);
	(void)setenv(WIRE_ENV_ID, apppool_id(), 1);
	(void)setenv(WIRE_ENV_SLOT, slot, 1);
}

/* It becomes our standard input and output; standard error is the log. */
static bool
connection_install(int conn)
{
	int flags = fcntl(conn, F_GETFL), off = 0;

	if (flags == -1 || fcntl(conn, F_SETFL, flags & ~O_NONBLOCK) == -1)
		return false;
	/* Read as a stream, credentials would be lost on the way at best. */
	(void)setsockopt(conn, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	return dup2(conn, STDIN_FILENO) != -1 &&
	    dup2(conn, STDOUT_FILENO) != -1;
}

static _Noreturn void
become(const char *path, char **command, int conn)
{
	if (!stdio_peer_tell(conn) || !connection_install(conn))
		program_failed(command[0], errno);
	/* The socket to the daemon and conn are close-on-exec. */
	(void)execv(path, command);
	program_failed(command[0], errno);
}

int
main(int argc, char **argv)
{
	char buf[PATH_MAX];
	const char *path;
	int conn;

	if (argc < 2) {
		(void)fputs(
		    "usage: apppool-stdio PROGRAM [ARGUMENT...]\n", stderr);
		return EX_USAGE;
	}
	/* A number below 3 that is free would be one of the program's. */
	(void)descriptors_fix();
	if (apppool_open() == -1) {
		if (errno == ENOENT)
			errx(EX_USAGE, "to be started by apppoold(8)");
		err(EX_OSERR, "the socket of the daemon");
	}
	path = program_find(argv[1], buf);
	if (path == NULL)
		program_failed(argv[1], errno);
	/* All that can be done before there is a client who waits for it. */
	environment_restore();
	stdio_peer_forget();
	signals_reset();
	if (apppool_ready() == -1)
		err(EX_OSERR, "the socket of the daemon");
	conn = apppool_accept();
	if (conn != -1)
		become(path, argv + 1, conn);
	if (errno != ESHUTDOWN)
		err(EX_OSERR, "the socket of the daemon");
	return EX_OK;
}
