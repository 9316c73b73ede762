/*
 * apppool-stdio: an adapter for programs that serve one connection on their
 * standard input and output, as inetd starts them.
 *
 *	apppool-stdio PROGRAM [ARGUMENT...]
 *
 * The adapter waits, as a worker that is ready, for one connection, and becomes
 * the program: the client waits for the program's start, but for no fork.
 * The end of the process is the end of the session.
 */

#include <sys/stat.h>

#include <arpa/inet.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "sys/descriptors.h"
#include "sys/sockets.h"
#include "sys/wire.h"
#include "worker/apppool.h"

/* Whether we may execute the file; else errno says why not. */
static bool
is_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return false;
	if (S_ISREG(st.st_mode))
		return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
	errno = EACCES;
	return false;
}

/*
 * Tells the daemon, which shows the text as the app's last failure, and waits
 * to be killed: an exit would complete the session.
 */
static _Noreturn void
fail_program(const char *name, int error)
{
	struct pollfd daemon = { .fd = apppool_fd(), .events = POLLIN };

	if (apppool_fail("cannot execute %s: %s", name, strerror(error)) == 0)
		(void)poll(&daemon, 1, -1);
	exit(EX_OSERR);
}

/* --- the client, in the environment ------------------------------------- */

/* As ucspi-tcp, ucspi-unix, xinetd and systemd name it: apppool-handoff(7). */

/* Of a short value. */
static bool __attribute__((format(printf, 2, 3)))
set_variable(const char *name, const char *fmt, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return setenv(name, text, 1) == 0;
}

/* Writes the IP address as people do, and returns the port. */
static uint16_t
read_ip(const union sockets_address *a, char *text, socklen_t size)
{
	const struct in6_addr *in6 = &a->in6.sin6_addr;

	if (a->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &a->in.sin_addr, text, size);
		return ntohs(a->in.sin_port);
	}
	/* An IPv4 client at a socket for both families. */
	if (IN6_IS_ADDR_V4MAPPED(in6))
		(void)inet_ntop(AF_INET, in6->s6_addr + 12, text, size);
	else
		(void)inet_ntop(AF_INET6, in6, text, size);
	return ntohs(a->in6.sin6_port);
}

/* remote NULL: the client has left. */
static bool
tell_tcp(
    const union sockets_address *local, const union sockets_address *remote)
{
	char ip[INET6_ADDRSTRLEN] = "";
	unsigned port = read_ip(local, ip, sizeof(ip));

	if (!set_variable("PROTO", "TCP") ||
	    !set_variable("TCPLOCALIP", "%s", ip) ||
	    !set_variable("TCPLOCALPORT", "%u", port))
		return false;
	if (remote == NULL)
		return true;
	port = read_ip(remote, ip, sizeof(ip));
	return set_variable("TCPREMOTEIP", "%s", ip) &&
	    set_variable("TCPREMOTEPORT", "%u", port) &&
	    set_variable("REMOTE_ADDR", "%s", ip) &&
	    set_variable("REMOTE_HOST", "%s", ip) &&
	    set_variable("REMOTE_PORT", "%u", port);
}

/*
 * The path, with @ for the NUL of an abstract name, whose further NULs cannot
 * be shown; "": no name. Behind it there are zeros.
 */
static const char *
read_path(union sockets_address *a, socklen_t len)
{
	char *path = (char *)a + offsetof(struct sockaddr_un, sun_path);

	if (len > offsetof(struct sockaddr_un, sun_path) && *path == '\0')
		*path = '@';
	return path;
}

static bool
tell_unix(int conn, union sockets_address *local, socklen_t local_len,
    union sockets_address *remote, socklen_t remote_len)
{
	const char *path = read_path(remote, remote_len);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
		return false;
	if (!set_variable("PROTO", "UNIX") ||
	    !set_variable("UNIXLOCALPATH", "%s", read_path(local, local_len)) ||
	    !set_variable("UNIXLOCALUID", "%u", (unsigned)getuid()) ||
	    !set_variable("UNIXLOCALGID", "%u", (unsigned)getgid()) ||
	    !set_variable("UNIXLOCALPID", "%d", (int)getpid()) ||
	    !set_variable("UNIXREMOTEEUID", "%u", (unsigned)peer.uid) ||
	    !set_variable("UNIXREMOTEEGID", "%u", (unsigned)peer.gid) ||
	    !set_variable("UNIXREMOTEPID", "%d", (int)peer.pid))
		return false;
	return path[0] == '\0' ||
	    (set_variable("UNIXREMOTEPATH", "%s", path) &&
		set_variable("REMOTE_ADDR", "%s", path));
}

/*
 * Sets what is known of the connection. Returns false and errno where nothing
 * can be said of it.
 */
static bool
tell_peer(int conn)
{
	union sockets_address local = { 0 }, remote = { 0 };
	socklen_t local_len = sizeof(local), remote_len = sizeof(remote);
	bool known;

	if (getsockname(conn, &local.any, &local_len) == -1)
		return false;
	/* A client that has left may have no address any more. */
	known = getpeername(conn, &remote.any, &remote_len) == 0;
	switch (local.any.sa_family) {
	case AF_INET:
	case AF_INET6:
		return tell_tcp(&local, known ? &remote : NULL);
	case AF_UNIX:
		return tell_unix(
		    conn, &local, local_len, &remote, known ? remote_len : 0);
	default:
		errno = EAFNOSUPPORT;
		return false;
	}
}

/* --- becoming it -------------------------------------------------------- */

/* Becomes the program, if the connection can be its input and output. */
static void
become_program(char **command, int conn)
{
	int flags = fcntl(conn, F_GETFL), off = 0;

	if (!tell_peer(conn) || flags == -1 ||
	    fcntl(conn, F_SETFL, flags & ~O_NONBLOCK) == -1)
		return;
	/* A program that reads a stream has no use for credentials. */
	(void)setsockopt(conn, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	/* Standard error is the log. */
	if (dup2(conn, STDIN_FILENO) == -1 || dup2(conn, STDOUT_FILENO) == -1)
		return;
	/*
	 * The socket to the daemon and conn are close-on-exec. execvp(3) would
	 * give a file of unknown format to a shell.
	 */
	if (strchr(command[0], '/') != NULL)
		(void)execv(command[0], command);
	else
		(void)execvp(command[0], command);
}

int
main(int argc, char **argv)
{
	/* Variables of ucspi-tcp and -unix; some of them are never set here. */
	static const char *const foreign[] = { "PROTO", "REMOTE_ADDR",
		"REMOTE_HOST", "REMOTE_PORT", "TCPLOCALHOST", "TCPLOCALIP",
		"TCPLOCALPORT", "TCPREMOTEHOST", "TCPREMOTEINFO", "TCPREMOTEIP",
		"TCPREMOTEPORT", "UNIXLOCALGID", "UNIXLOCALPATH",
		"UNIXLOCALPID", "UNIXLOCALUID", "UNIXREMOTEEGID",
		"UNIXREMOTEEUID", "UNIXREMOTEPATH", "UNIXREMOTEPID" };
	sigset_t none;
	int conn;

	if (argc < 2) {
		(void)fputs(
		    "usage: apppool-stdio PROGRAM [ARGUMENT...]\n", stderr);
		return EX_USAGE;
	}
	/* A free number below 3 would become one of the program's. */
	(void)descriptors_fix();
	if (apppool_open() == -1) {
		if (errno == ENOENT)
			errx(EX_USAGE, "to be started by apppoold(8)");
		err(EX_OSERR, "the socket of the daemon");
	}
	/* A name without a '/' is looked for in PATH when it is executed. */
	if (strchr(argv[1], '/') != NULL && !is_executable(argv[1]))
		fail_program(argv[1], errno);
	/*
	 * All that can be done before a client waits for it. The program may
	 * read what apppool_open() has removed.
	 */
	(void)setenv(WIRE_ENV_APP, apppool_app(), 1);
	(void)setenv(WIRE_ENV_ID, apppool_id(), 1);
	(void)set_variable(WIRE_ENV_SLOT, "%d", apppool_slot());
	/* The program could take them for those of its client. */
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		(void)unsetenv(foreign[i]);
	/* A shell may have started us with some ignored or blocked. */
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (apppool_ready() == -1)
		err(EX_OSERR, "the socket of the daemon");
	conn = apppool_accept();
	if (conn != -1) {
		become_program(argv + 1, conn);
		fail_program(argv[1], errno);
	}
	if (errno != ESHUTDOWN)
		err(EX_OSERR, "the socket of the daemon");
	return EX_OK;
}
