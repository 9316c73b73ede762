/* apppoolctl(8): its options, and which of its commands is run. */

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "conf/conf.h"
#include "ctl/ask.h"
#include "ctl/ctl.h"
#include "ctl/ping.h"

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

static int
run(const struct ask *daemon, const struct ping_options *o, char *const *words)
{
	bool ping = words[0] != NULL && strcmp(words[0], "ping") == 0;

	if (words[0] == NULL ||
	    (daemon->file != NULL && daemon->socket != NULL)) {
		usage(stderr);
		return EX_USAGE;
	}
	if (!ping && (o->path != NULL || o->timeout != NULL)) {
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
	return ping ? ping_run(daemon, o, words)
		    : ask_daemon(daemon, words, stdout);
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
	struct ask daemon = { 0 };
	struct ping_options ping = { 0 };
	int option;

	/* Options and words of the command may stand in any order. */
	while (
	    (option = getopt_long(argc, argv, "c:hjs:V", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			daemon.file = optarg;
			break;
		case 'h':
			help();
			return EX_OK;
		case 'j':
			daemon.json = true;
			break;
		case 's':
			daemon.socket = optarg;
			break;
		case OPTION_PATH:
			ping.path = optarg;
			break;
		case OPTION_TIMEOUT:
			ping.timeout = optarg;
			break;
		case 'V':
			(void)puts("apppoolctl " APPPOOL_VERSION);
			return EX_OK;
		default:
			usage(stderr);
			return EX_USAGE;
		}
	}
	return run(&daemon, &ping, argv + optind);
}
