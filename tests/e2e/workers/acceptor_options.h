#ifndef TESTS_E2E_WORKERS_ACCEPTOR_OPTIONS_H
#define TESTS_E2E_WORKERS_ACCEPTOR_OPTIONS_H

/* The command line of acceptor. */

#include "options.h"

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
	const char *cancel; /* till then in a thread, which is cancelled */
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

static const struct option_row option_rows[] = {
	{ "--fd", KIND_NUMBER, &opt.fd },
	{ "--threads", KIND_NUMBER, &opt.threads },
	{ "--fork", KIND_NUMBER, &opt.fork },
	{ "--alarm", KIND_NUMBER, &opt.alarm },
	{ "--user", KIND_NUMBER, &opt.user },
	{ "--nofile", KIND_NUMBER, &opt.nofile },
	{ "--files", KIND_NUMBER, &opt.files },
	{ "--start-delay", KIND_NUMBER, &opt.start_delay },
	{ "--accept4", KIND_TEXT, &opt.accept4 },
	{ "--other", KIND_TEXT, &opt.other },
	{ "--say", KIND_TEXT, &opt.say },
	{ "--start-when", KIND_TEXT, &opt.start_when },
	{ "--cancel", KIND_TEXT, &opt.cancel },
	{ "--dup", KIND_FLAG, &opt.dup },
	{ "--nonblock", KIND_FLAG, &opt.nonblock },
	{ "--poll", KIND_FLAG, &opt.poll },
	{ "--drain", KIND_FLAG, &opt.drain },
	{ "--no-address", KIND_FLAG, &opt.no_address },
	{ "--hand-on", KIND_FLAG, &opt.hand_on },
	{ "--hide", KIND_FLAG, &opt.hide },
	{ "--hide-child", KIND_FLAG, &opt.hide_child },
	{ "--graceful", KIND_FLAG, &opt.graceful },
	{ "--leave", KIND_FLAG, &opt.leave },
	{ "--shutdown", KIND_FLAG, &opt.shutdown },
	{ "--bad-pointer", KIND_FLAG, &opt.bad_pointer },
	{ .name = NULL },
};

#endif
