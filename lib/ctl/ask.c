/* A question to a running daemon. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/ask.h"
#include "ctl/ctl_answer.h"
#include "sys/address.h"

/* Longest line that the daemon takes, its newline, and a NUL. */
#define LINE_SIZE (4096 + 2)

/* Between two looks for a daemon that is to appear. */
#define LOOK_EVERY TSPAN_MSECONDS(20)

tstamp
ask_clock(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return TSPAN_SECONDS(t.tv_sec) + t.tv_nsec;
}

/* Tells the user why something failed. */
static void __attribute__((format(printf, 2, 3)))
say(const struct ask *daemon, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vfprintf(
	    daemon->errors == NULL ? stderr : daemon->errors, fmt, ap);
	va_end(ap);
}

/* Whether the error is one of the question. */
static bool
is_misuse(const char *error)
{
	static const char *const starts[] = { "usage: ", "unknown command " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(error, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* The terminal on which somebody waits for the answer; NULL: none. */
static FILE *
find_terminal(const struct ask *daemon, const FILE *to)
{
	return !daemon->json && to == stdout && isatty(STDERR_FILENO) == 1
	    ? stderr
	    : NULL;
}

/*
 * The line that the words make behind a first one, with its newline. 0, or an
 * exit status.
 */
static int
compose(
    const struct ask *daemon, const char *first, char *const *words, char *line)
{
	const size_t room = LINE_SIZE - 1; /* but for the newline */
	size_t len;

	(void)strlcpy(line, first, room);
	for (; *words != NULL; words++) {
		if (**words == '\0' || strpbrk(*words, " \t\n") != NULL) {
			say(daemon, "apppoolctl: \"%s\" is not one word\n",
			    *words);
			return EX_USAGE;
		}
		if (line[0] != '\0')
			(void)strlcat(line, " ", room);
		if (strlcat(line, *words, room) >= room) {
			say(daemon, "apppoolctl: too many words\n");
			return EX_USAGE;
		}
	}
	len = strlen(line);
	line[len++] = '\n';
	line[len] = '\0';
	return 0;
}

/* The path of the control socket, allocated; NULL: the user was told why. */
static char *
find_socket(const struct ask *daemon)
{
	const char *file = daemon->file;
	char *path;

	if (daemon->socket != NULL)
		return strdup(daemon->socket);
	path = conf_control_path(file == NULL ? CONF_DEFAULT_FILE : file);
	/* Without a configuration there may be a daemon with another one. */
	if (path == NULL && file == NULL)
		return strdup(CONF_DEFAULT_CONTROL);
	if (path == NULL) {
		say(daemon, "apppoolctl: cannot read %s: %s\n", file,
		    strerror(errno));
	} else if (*path == '\0') {
		say(daemon, "apppoolctl: %s has no control socket\n",
		    file == NULL ? CONF_DEFAULT_FILE : file);
		free(path);
		path = NULL;
	}
	return path;
}

int
ask_connect(const char *path, const struct timeval *patience)
{
	const socklen_t size = sizeof(*patience);
	struct sockaddr_un addr;
	socklen_t len = address_of_path(path, &addr);
	int fd, error;

	if (len == 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	if (patience != NULL) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, patience, size);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, patience, size);
	}
	if (connect(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	error = errno;
	(void)close(fd);
	errno = error;
	return -1;
}

/* The same, until a daemon has appeared, or has had its time for that. */
static int
connect_when_there(const struct ask *daemon, const char *path)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY };
	const tstamp end = ask_clock() + daemon->appears;
	int fd;

	while ((fd = ask_connect(path, NULL)) == -1 &&
	    (errno == ENOENT || errno == ECONNREFUSED) && ask_clock() < end)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return fd;
}

/* Tells why connecting failed. An exit status. */
static int
tell_unconnected(const struct ask *daemon, const char *path)
{
	char within[40] = "";

	if (daemon->appears != 0)
		(void)snprintf(within, sizeof(within), " within %g s",
		    tspan_to_seconds(daemon->appears));
	switch (errno) {
	case EACCES:
	case EPERM:
		say(daemon,
		    "apppoolctl: permission denied: %s is for root, the user "
		    "of the daemon and members of control_group\n",
		    path);
		return EX_NOPERM;
	case ENOENT:
		say(daemon, "apppoolctl: no daemon%s: there is no %s\n", within,
		    path);
		break;
	case ECONNREFUSED:
		say(daemon, "apppoolctl: no daemon%s: nobody listens at %s\n",
		    within, path);
		break;
	default:
		say(daemon, "apppoolctl: cannot connect to %s: %s\n", path,
		    strerror(errno));
		break;
	}
	return EX_UNAVAILABLE;
}

/* A daemon that refuses to read all of the line may have answered why. */
static void
send_line(int fd, const char *line)
{
	size_t len = strlen(line), sent = 0;

	while (sent < len) {
		ssize_t n = send(fd, line + sent, len - sent, MSG_NOSIGNAL);

		if (n == -1 && errno != EINTR)
			return;
		if (n > 0)
			sent += (size_t)n;
	}
}

/* As recv(2), until a deadline (TSTAMP_NEVER: none), with ETIMEDOUT then. */
static ssize_t
receive(int fd, char *buf, size_t size, tstamp end)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	tspan left = end - ask_clock();
	struct timespec t = { left / TSPAN_SECONDS(1),
		left % TSPAN_SECONDS(1) };
	int n;

	if (end == TSTAMP_NEVER)
		return recv(fd, buf, size, 0);
	n = left > 0 ? ppoll(&pfd, 1, &t, NULL) : 0;
	if (n > 0)
		return recv(fd, buf, size, 0);
	if (n == 0)
		errno = ETIMEDOUT;
	return -1;
}

static int
read_answer(const struct ask *daemon, int fd, tstamp end, FILE *to)
{
	struct ctl_answer answer;
	char buf[65536];
	const char *error;
	ssize_t n;

	ctl_answer_init(&answer, to, daemon->json, find_terminal(daemon, to));
	while ((n = receive(fd, buf, sizeof(buf), end)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == ETIMEDOUT) {
			(void)ctl_answer_end(&answer, &error);
			say(daemon, "apppoolctl: not within %g s\n",
			    tspan_to_seconds(daemon->timeout));
			return ASK_REFUSED;
		}
		if (n == -1)
			break;
		ctl_answer_put(&answer, buf, (size_t)n);
		if (ferror(to))
			break;
	}
	if (ferror(to)) {
		say(daemon, "apppoolctl: stdout: %s\n", strerror(errno));
		return EX_IOERR;
	}

	switch (ctl_answer_end(&answer, &error)) {
	case CTL_END_REFUSED:
		say(daemon, "apppoolctl: %s\n", error);
		return is_misuse(error) ? EX_USAGE : ASK_REFUSED;
	case CTL_END_CUT:
		say(daemon,
		    "apppoolctl: the daemon has ended, or cut the "
		    "answer off\n");
		return EX_UNAVAILABLE;
	case CTL_END_DONE:
		break;
	}
	return EX_OK;
}

int
ask_daemon(const struct ask *daemon, char *const *words, FILE *to)
{
	const char *first = find_terminal(daemon, to) == NULL ? "" : "progress";
	char line[LINE_SIZE];
	const tstamp end =
	    daemon->timeout == 0 ? TSTAMP_NEVER : ask_clock() + daemon->timeout;
	char *path;
	int fd, status;

	status = compose(daemon, daemon->json ? "json" : first, words, line);
	if (status != 0)
		return status;
	path = find_socket(daemon);
	if (path == NULL)
		return EX_UNAVAILABLE;
	fd = connect_when_there(daemon, path);
	if (fd == -1) {
		status = tell_unconnected(daemon, path);
		free(path);
		return status;
	}
	free(path);
	send_line(fd, line);
	status = read_answer(daemon, fd, end, to);
	(void)close(fd);
	return status;
}

int
ask_text(const struct ask *daemon, char *const *words, char **answer_out)
{
	char *answer = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&answer, &len);
	int status;

	*answer_out = NULL;
	if (to == NULL) {
		perror("apppoolctl");
		return EX_OSERR;
	}
	status = ask_daemon(daemon, words, to);
	if (fclose(to) == EOF) {
		perror("apppoolctl");
		status = EX_OSERR;
	}
	if (status == EX_OK)
		*answer_out = answer;
	else
		free(answer);
	return status;
}
