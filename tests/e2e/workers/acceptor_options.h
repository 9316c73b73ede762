#ifndef TESTS_E2E_WORKERS_ACCEPTOR_OPTIONS_H
#define TESTS_E2E_WORKERS_ACCEPTOR_OPTIONS_H

/* The command line of acceptor. */

#include <err.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct {
	long fd; /* the listening socket */
	long threads;
	long fork;
	long alarm; /* milliseconds between signals; 0: none */
	long user; /* to become; -1: none */
	long nofile; /* limit of descriptors; 0: as it is */
	long files; /* to be open besides, which takes time to close */
	long start_delay; /* milliseconds before accept() */
	const char *accept4; /* flags, like "cloexec,nonblock" */
	const char *other; /* path of a socket of its own */
	const char *say; /* to stderr, at the start */
	const char *start_when; /* accept() once this file exists */
	bool dup; /* the socket under another number only */
	bool nonblock;
	bool poll; /* before accept() */
	bool drain; /* accept() until there is nothing left */
	bool no_address;
	bool hand_on; /* each connection to a thread of its own */
	bool hide; /* be not dumpable */
	bool hide_child; /* be not dumpable, in children that accept */
	bool graceful; /* exit with 0 on SIGTERM, between requests */
	bool leave; /* exit with 0 on SIGUSR1, at once */
	bool shutdown; /* exit on SIGTERM, which shuts the socket down */
	bool bad_pointer; /* in the first accept() */
} opt = { .user = -1, .threads = 1 };

static const struct option_row {
	const char *name;
	long *number;
	const char **text;
	bool *flag;
} option_rows[] = {
	{ "--fd", &opt.fd, NULL, NULL },
	{ "--threads", &opt.threads, NULL, NULL },
	{ "--fork", &opt.fork, NULL, NULL },
	{ "--alarm", &opt.alarm, NULL, NULL },
	{ "--user", &opt.user, NULL, NULL },
	{ "--nofile", &opt.nofile, NULL, NULL },
	{ "--files", &opt.files, NULL, NULL },
	{ "--start-delay", &opt.start_delay, NULL, NULL },
	{ "--accept4", NULL, &opt.accept4, NULL },
	{ "--other", NULL, &opt.other, NULL },
	{ "--say", NULL, &opt.say, NULL },
	{ "--start-when", NULL, &opt.start_when, NULL },
	{ "--dup", NULL, NULL, &opt.dup },
	{ "--nonblock", NULL, NULL, &opt.nonblock },
	{ "--poll", NULL, NULL, &opt.poll },
	{ "--drain", NULL, NULL, &opt.drain },
	{ "--no-address", NULL, NULL, &opt.no_address },
	{ "--hand-on", NULL, NULL, &opt.hand_on },
	{ "--hide", NULL, NULL, &opt.hide },
	{ "--hide-child", NULL, NULL, &opt.hide_child },
	{ "--graceful", NULL, NULL, &opt.graceful },
	{ "--leave", NULL, NULL, &opt.leave },
	{ "--shutdown", NULL, NULL, &opt.shutdown },
	{ "--bad-pointer", NULL, NULL, &opt.bad_pointer },
};

static void
read_options(char **argv)
{
	const size_t rows = sizeof(option_rows) / sizeof(option_rows[0]);

	while (*++argv != NULL) {
		const struct option_row *r = option_rows;

		while (r < option_rows + rows && strcmp(r->name, *argv) != 0)
			r++;
		if (r == option_rows + rows ||
		    (r->flag == NULL && *++argv == NULL))
			errx(64, "usage: see acceptor.c");
		if (r->flag != NULL)
			*r->flag = true;
		else if (r->text != NULL)
			*r->text = *argv;
		else
			*r->number = strtol(*argv, NULL, 10);
	}
}

#endif
