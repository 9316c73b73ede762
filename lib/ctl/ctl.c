/* apppoolctl(8). */

#include <sys/socket.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/ctl.h"
#include "ctl/ctl_answer.h"
#include "ctl/ctl_private.h"
#include "ctl/ping.h"
#include "sys/address.h"

/* Options without a letter. */
enum {
	OPTION_PATH = 256,
	OPTION_TIMEOUT,
};

static void
usage(FILE *to)
{
	(void)fputs("usage: apppoolctl [-hjV] [-c FILE | -s SOCKET] "
		    "COMMAND [ARGUMENT...]\n",
	    to);
}

static void
help(void)
{
	usage(stdout);
	(void)fputs(
	    "\n"
	    "  -c FILE         the daemon of this configuration "
	    "(" CONF_DEFAULT_FILE ")\n"
	    "  -h, --help      show this\n"
	    "  -j              answer in JSON\n"
	    "  --path PATH     what ping asks for (/)\n"
	    "  -s SOCKET       the daemon that has this control socket\n"
	    "  --timeout TIME  how long ping waits (5s)\n"
	    "  -V, --version   show the version\n"
	    "\n"
	    "`apppoolctl help` lists the commands of the daemon that runs; "
	    "`apppoolctl simulate -h`\ntells of the one that needs none. "
	    "See apppoolctl(8).\n",
	    stdout);
}

/* Whether the daemon says that it was asked in the wrong words. */
static bool
is_misuse(const char *error)
{
	static const char *const starts[] = { "usage: ", "unknown command " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(error, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* The line that the words make. 0, or an exit status. */
static int
ctl_compose(struct ctl *ctl, char *const *words)
{
	const size_t room = sizeof(ctl->line) - 1; /* but for the newline */

	(void)strlcpy(ctl->line, ctl->json ? "json" : "", room);
	for (; *words != NULL; words++) {
		if (**words == '\0' || strpbrk(*words, " \t\n") != NULL) {
			(void)fprintf(stderr,
			    "apppoolctl: \"%s\" is not one word\n", *words);
			return EX_USAGE;
		}
		if (ctl->line[0] != '\0')
			(void)strlcat(ctl->line, " ", room);
		if (strlcat(ctl->line, *words, room) >= room) {
			(void)fputs("apppoolctl: too many words\n", stderr);
			return EX_USAGE;
		}
	}
	ctl->len = strlen(ctl->line);
	ctl->line[ctl->len++] = '\n';
	return 0;
}

/* Allocated; or NULL, and it has been said why. */
static char *
ctl_find_socket(const struct ctl *ctl)
{
	const char *file = ctl->file;
	char *path;

	if (ctl->socket != NULL)
		return strdup(ctl->socket);
	path = conf_control_path(file == NULL ? CONF_DEFAULT_FILE : file);
	/* Without a configuration there may be a daemon with another one. */
	if (path == NULL && file == NULL)
		return strdup(CONF_DEFAULT_CONTROL);
	if (path == NULL) {
		(void)fprintf(stderr, "apppoolctl: cannot read %s: %s\n", file,
		    strerror(errno));
	} else if (*path == '\0') {
		(void)fprintf(stderr, "apppoolctl: %s has no control socket\n",
		    file == NULL ? CONF_DEFAULT_FILE : file);
		free(path);
		path = NULL;
	}
	return path;
}

static int
ctl_connect(const char *path)
{
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
	if (connect(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	error = errno;
	(void)close(fd);
	errno = error;
	return -1;
}

/* A daemon that does not take all of it may still have said why. */
static void
ctl_ask(const struct ctl *ctl, int fd)
{
	size_t sent = 0;

	while (sent < ctl->len) {
		ssize_t n =
		    send(fd, ctl->line + sent, ctl->len - sent, MSG_NOSIGNAL);

		if (n == -1 && errno != EINTR)
			return;
		if (n > 0)
			sent += (size_t)n;
	}
}

static int
ctl_listen(const struct ctl *ctl, int fd, FILE *to)
{
	struct ctl_answer answer;
	char buf[65536];
	const char *error;
	ssize_t n;

	ctl_answer_init(&answer, to, ctl->json);
	while ((n = recv(fd, buf, sizeof(buf), 0)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			break;
		ctl_answer_put(&answer, buf, (size_t)n);
		if (ferror(to))
			break;
	}
	if (ferror(to)) {
		(void)fprintf(
		    stderr, "apppoolctl: stdout: %s\n", strerror(errno));
		return EX_IOERR;
	}

	switch (ctl_answer_end(&answer, &error)) {
	case CTL_END_REFUSED:
		(void)fprintf(stderr, "apppoolctl: %s\n", error);
		return is_misuse(error) ? EX_USAGE : CTL_EX_REFUSED;
	case CTL_END_CUT:
		(void)fputs("apppoolctl: the daemon has ended, or cut the "
			    "answer off\n",
		    stderr);
		return EX_UNAVAILABLE;
	case CTL_END_DONE:
		break;
	}
	return EX_OK;
}

int
ctl_say(struct ctl *ctl, char *const *words, FILE *to)
{
	char *path;
	int fd, status = ctl_compose(ctl, words);

	if (status != 0)
		return status;
	path = ctl_find_socket(ctl);
	if (path == NULL)
		return EX_UNAVAILABLE;
	fd = ctl_connect(path);
	if (fd == -1) {
		(void)fprintf(stderr, "apppoolctl: no daemon at %s: %s\n", path,
		    strerror(errno));
		free(path);
		return EX_UNAVAILABLE;
	}
	free(path);
	ctl_ask(ctl, fd);
	status = ctl_listen(ctl, fd, to);
	(void)close(fd);
	return status;
}

/* Some commands need more of us than their words said. */
static int
ctl_run(struct ctl *ctl, char *const *words)
{
	bool ping = words[0] != NULL && strcmp(words[0], "ping") == 0;

	if (words[0] == NULL || (ctl->file != NULL && ctl->socket != NULL)) {
		usage(stderr);
		return EX_USAGE;
	}
	if (!ping && (ctl->path != NULL || ctl->timeout != NULL)) {
		(void)fputs(
		    "apppoolctl: --path and --timeout are for ping\n", stderr);
		return EX_USAGE;
	}
	if (ping && words[1] == NULL) {
		(void)fputs("usage: apppoolctl [-j] [-c FILE | -s SOCKET] "
			    "ping APP [--path PATH] [--timeout DURATION]\n",
		    stderr);
		return EX_USAGE;
	}
	return ping ? ping_run(ctl, words) : ctl_say(ctl, words, stdout);
}

int
ctl_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "path", required_argument, NULL, OPTION_PATH },
		{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct ctl ctl = { 0 };
	int option;

	/* The words of the command may stand anywhere. */
	while (
	    (option = getopt_long(argc, argv, "c:hjs:V", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			ctl.file = optarg;
			break;
		case 'h':
			help();
			return EX_OK;
		case 'j':
			ctl.json = true;
			break;
		case 's':
			ctl.socket = optarg;
			break;
		case OPTION_PATH:
			ctl.path = optarg;
			break;
		case OPTION_TIMEOUT:
			ctl.timeout = optarg;
			break;
		case 'V':
			(void)puts("apppoolctl " APPPOOL_VERSION);
			return EX_OK;
		default:
			usage(stderr);
			return EX_USAGE;
		}
	}
	return ctl_run(&ctl, argv + optind);
}
