/* apppool-web(8): the status page, a worker of apppoold like any other. */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "web/site.h"
#include "worker/apppool.h"

/* Where the control socket is, unless -s says otherwise; as in pool.conf(5). */
#define CONTROL "/run/apppoold/control.sock"

static void
usage(FILE *to)
{
	(void)fputs("usage: apppool-web [-hV] [-s SOCKET]\n", to);
}

/* Takes all connections that have come. False: no more will. */
static bool
accept_all(struct site *s)
{
	int fd;

	while ((fd = apppool_accept()) != -1)
		site_accept(s, fd);
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ENOMEM:
		return true;
	case ESHUTDOWN:
		return false;
	default:
		err(EX_OSERR, "apppool_accept");
	}
}

static void
serve(struct site *s)
{
	bool open = true;

	while (open || site_has_sessions(s)) {
		/* poll(2) passes over what is -1. */
		struct pollfd fds[] = {
			{ .fd = open ? apppool_fd() : -1, .events = POLLIN },
			{ .fd = s->http_fd, .events = POLLIN },
			{ .fd = s->answers.status.fd, .events = POLLIN },
			{ .fd = s->answers.metrics.fd, .events = POLLIN },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), site_timeout(s)) ==
			-1 &&
		    errno != EINTR)
			err(EX_OSERR, "poll");
		if (fds[0].revents != 0 && !accept_all(s)) {
			open = false;
			/* Requests that have come are answered. */
			site_turn(s);
			site_close(s);
		}
		site_turn(s);
	}
}

static const char *
read_options(int argc, char **argv)
{
	const char *control = CONTROL;
	int option;

	while ((option = getopt(argc, argv, "hs:V")) != -1) {
		switch (option) {
		case 'h':
			usage(stdout);
			exit(EX_OK);
		case 's':
			control = optarg;
			break;
		case 'V':
			(void)puts("apppool-web " APPPOOL_VERSION);
			exit(EX_OK);
		default:
			usage(stderr);
			exit(EX_USAGE);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(EX_USAGE);
	}
	return control;
}

int
main(int argc, char **argv)
{
	const char *control = read_options(argc, argv);
	struct site site;

	if (apppool_open() == -1) {
		if (errno == ENOENT)
			errx(EX_USAGE,
			    "this is a worker: apppoold starts it, see "
			    "apppool-web(8)");
		err(EX_OSERR, "apppool_open");
	}
	if (!site_init(&site, control))
		errx(EX_OSERR, "out of memory");
	/* With none left, apppool_accept() returns. */
	if (fcntl(apppool_fd(), F_SETFL, O_NONBLOCK) == -1)
		err(EX_OSERR, "fcntl");
	if (apppool_ready() == -1)
		err(EX_OSERR, "apppool_ready");
	serve(&site);
	site_fini(&site);
	return EX_OK;
}
