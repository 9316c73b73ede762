/* A question to a running daemon. */

#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "sys/address.h"
#include "sys/loop.h"

/* Longest line that the daemon takes, its newline, and a NUL. */
#define LINE_SIZE (4096 + 2)

/* Between two looks for a daemon that is to appear. */
#define LOOK_EVERY TSPAN_MSECONDS(20)

/* Tells the user why something failed. */
static void __attribute__((format(printf, 2, 3)))
ask_say(const struct ask *daemon, const char *fmt, ...)
{
	FILE *to = daemon->errors == NULL ? stderr : daemon->errors;
	va_list ap;

	(void)fputs("apppoolctl: ", to);
	va_start(ap, fmt);
	(void)vfprintf(to, fmt, ap);
	va_end(ap);
	(void)fputs("\n", to);
}

/* --- the way there ------------------------------------------------------ */

/* The path of the control socket, allocated; NULL: the user was told why. */
static char *
find_socket(const struct ask *daemon)
{
	const bool named = daemon->file != NULL;
	const char *file = named ? daemon->file : CONF_DEFAULT_FILE;
	char *path;

	if (daemon->socket != NULL)
		return strdup(daemon->socket);
	path = conf_control_path(file);
	/* Without a configuration there may be a daemon with another one. */
	if (path == NULL && !named)
		return strdup(CONF_DEFAULT_CONTROL);
	if (path == NULL) {
		ask_say(daemon, "cannot read %s: %s", file, strerror(errno));
	} else if (*path == '\0') {
		ask_say(daemon, "%s has no control socket", file);
		free(path);
		path = NULL;
	}
	return path;
}

/* Tells why connecting failed. An exit status. */
static int
tell_unconnected(const struct ask *daemon, const char *path)
{
	char within[40] = "";

	if (daemon->appears != 0)
		(void)snprintf(within, sizeof(within), " within %g s",
		    tspan_to_seconds(daemon->appears));
	if (errno == EACCES || errno == EPERM) {
		ask_say(daemon,
		    "permission denied: %s is for root, the user "
		    "of the daemon and members of control_group",
		    path);
		return EX_NOPERM;
	}
	if (errno == ENOENT)
		ask_say(daemon, "no daemon%s: there is no %s", within, path);
	else if (errno == ECONNREFUSED)
		ask_say(
		    daemon, "no daemon%s: nobody listens at %s", within, path);
	else
		ask_say(
		    daemon, "cannot connect to %s: %s", path, strerror(errno));
	return EX_UNAVAILABLE;
}

/*
 * Connects, if need be when there is a daemon. -1: not in time, and *status_out
 * is the exit status.
 */
static int
ask_connect(const struct ask *daemon, int *status_out)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY };
	const tstamp end = clock_now() + daemon->appears;
	char *path = find_socket(daemon);
	struct sockaddr_un addr;
	const socklen_t len = path == NULL ? 0 : address_of_path(path, &addr);
	int fd = -1;

	*status_out = EX_UNAVAILABLE;
	if (path == NULL)
		return -1;
	errno = ENAMETOOLONG;
	while (len != 0) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd == -1 || connect(fd, (void *)&addr, len) == 0)
			break;
		(void)close(fd);
		fd = -1;
		if ((errno != ENOENT && errno != ECONNREFUSED) ||
		    clock_now() >= end)
			break;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	if (fd == -1)
		*status_out = tell_unconnected(daemon, path);
	free(path);
	return fd;
}

/* --- the answer --------------------------------------------------------- */

bool
ask_show(FILE *from, FILE *to, FILE *terminal, bool json, char **error_out)
{
	static const char error[] = "error: ", progress[] = "progress: ";
	bool whole = false;
	size_t size = 0;
	char *line = NULL;
	struct text kept;
	int shown = 0;
	ssize_t n;

	text_init(&kept, CTL_TEXT_MAX);
	while ((n = getline(&line, &size, from)) > 0) {
		if (terminal != NULL && line[n - 1] == '\n' &&
		    strncmp(line, progress, sizeof(progress) - 1) == 0) {
			int len = (int)(n - (ssize_t)sizeof(progress));

			(void)fprintf(terminal, "\r%.*s%*s", len,
			    line + sizeof(progress) - 1,
			    shown > len ? shown - len : 0, "");
			(void)fflush(terminal);
			shown = len;
			continue;
		}
		if (terminal != NULL && shown > 0)
			(void)fprintf(terminal, "\r%*s\r", shown, "");
		shown = 0;
		/* The line before was not the last one. */
		if (kept.len > 0)
			(void)fwrite(kept.data, 1, kept.len, to);
		text_clear(&kept);
		if (line[n - 1] == '\n' &&
		    strncmp(line, error, sizeof(error) - 1) == 0) {
			text_put(&kept, line, (size_t)n);
			whole = !kept.failed;
			continue;
		}
		(void)fwrite(line, 1, (size_t)n, to);
		if (fflush(to) == EOF)
			break;
		/* All lines of a JSON status end so, but the last. */
		whole = line[n - 1] == '\n' &&
		    !(json && n > 1 && strchr(",[", line[n - 2]) != NULL);
	}
	if (shown > 0)
		(void)fprintf(terminal, "\r%*s\r", shown, "");
	free(line);
	*error_out = kept.len == 0
	    ? NULL
	    : strndup(kept.data + sizeof(error) - 1, kept.len - sizeof(error));
	whole = whole && (kept.len == 0 || *error_out != NULL);
	text_fini(&kept);
	return whole;
}

/* As read(2). */
static ssize_t
source_read(void *cookie, char *buf, size_t size)
{
	struct ask_source *s = cookie;
	struct pollfd pfd = { .fd = s->fd, .events = POLLIN };
	ssize_t n;

	do {
		tspan left = s->end - clock_now();
		struct timespec t = clock_timespec(left);

		n = left > 0 ? ppoll(&pfd, 1, &t, NULL) : 0;
		if (n > 0)
			n = read(s->fd, buf, size);
		else if (n == 0) {
			errno = ETIMEDOUT;
			n = -1;
		}
	} while (n == -1 && errno == EINTR);
	if (n == -1)
		s->error = errno;
	return n;
}

FILE *
ask_open(struct ask_source *s)
{
	return fopencookie(
	    s, "r", (cookie_io_functions_t){ .read = source_read });
}

static int
ask_read(const struct ask *daemon, int fd, tstamp by, FILE *terminal, FILE *to)
{
	struct ask_source source = { .fd = fd, .end = by };
	FILE *from = ask_open(&source);
	char *error = NULL;
	int status = EX_OK;
	bool whole;

	if (from == NULL)
		err(EX_OSERR, NULL);
	whole = ask_show(from, to, terminal, daemon->json, &error);
	(void)fclose(from);
	if (ferror(to)) {
		ask_say(daemon, "stdout: %s", strerror(errno));
		status = EX_IOERR;
	} else if (source.error == ETIMEDOUT) {
		ask_say(daemon, "not within %g s",
		    tspan_to_seconds(daemon->timeout));
		status = CTL_REFUSED;
	} else if (error != NULL) {
		/* Exit status 64 is for a question that is wrong in itself. */
		bool misuse = strncmp(error, "usage: ", 7) == 0 ||
		    strncmp(error, "unknown command ", 16) == 0;

		ask_say(daemon, "%s", error);
		status = misuse ? EX_USAGE : CTL_REFUSED;
	} else if (!whole) {
		ask_say(daemon, "the daemon has ended, or cut the answer off");
		status = EX_UNAVAILABLE;
	}
	free(error);
	return status;
}

int
ask_daemon(const struct ask *daemon, const char *const *words, FILE *to)
{
	/* Progress is for somebody who waits at a terminal for the answer. */
	FILE *terminal =
	    !daemon->json && to == stdout && isatty(STDERR_FILENO) == 1 ? stderr
									: NULL;
	const char *first = terminal != NULL ? "progress" : "";
	const tstamp by =
	    daemon->timeout == 0 ? TSTAMP_NEVER : clock_now() + daemon->timeout;
	const size_t room = LINE_SIZE - 1; /* but for the newline */
	char line[LINE_SIZE];
	int fd, status;

	(void)strlcpy(line, daemon->json ? "json" : first, room);
	for (; *words != NULL; words++) {
		if (**words == '\0' || strpbrk(*words, " \t\n") != NULL) {
			ask_say(daemon, "\"%s\" is not one word", *words);
			return EX_USAGE;
		}
		if (line[0] != '\0')
			(void)strlcat(line, " ", room);
		if (strlcat(line, *words, room) >= room) {
			ask_say(daemon, "too many words");
			return EX_USAGE;
		}
	}
	(void)strlcat(line, "\n", LINE_SIZE);
	fd = ask_connect(daemon, &status);
	if (fd == -1)
		return status;
	/*
	 * An empty socket takes a line. A daemon that refuses to read all of it
	 * may have answered why.
	 */
	(void)send(fd, line, strlen(line), MSG_NOSIGNAL);
	status = ask_read(daemon, fd, by, terminal, to);
	(void)close(fd);
	return status;
}

int
ask_put(const struct text *t)
{
	if (fwrite(t->data, 1, t->len, stdout) == t->len && fflush(stdout) == 0)
		return EX_OK;
	warn("stdout");
	return EX_IOERR;
}

int
ask_json(const struct ask *daemon, const char *const *words, json_t **out)
{
	struct ask json = *daemon;
	char *answer = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&answer, &len);
	json_error_t why;
	int status;

	json.json = true;
	if (to == NULL)
		err(EX_OSERR, NULL);
	status = ask_daemon(&json, words, to);
	if (fclose(to) == EOF)
		err(EX_OSERR, NULL);
	if (status == EX_OK) {
		*out = json_loadb(answer, len, 0, &why);
		if (!json_is_object(*out)) {
			ask_say(daemon,
			    "the daemon answers otherwise: %s; "
			    "another version?",
			    why.text);
			json_decref(*out);
			status = EX_PROTOCOL;
		}
	}
	free(answer);
	return status;
}
