/* apppoolctl(8): its options, and which of its commands is run. */

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "conf/conf.h"
#include "ctl/ask.h"
#include "ctl/ctl.h"
#include "ctl/ctl_status.h"
#include "ctl/ping.h"

/* Options without a letter. */
enum {
	OPTION_PATH = 256,
	OPTION_TIMEOUT,
};

static void
usage(FILE *to)
{
	(void)fputs("usage: apppoolctl [-hjVv] [-c FILE | -s SOCKET] "
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
	    "  -v              status shows all of each app\n"
	    "\n"
	    "`apppoolctl help` lists the commands of the daemon that runs; "
	    "`apppoolctl simulate -h`\ntells of the one that needs none. "
	    "See apppoolctl(8).\n",
	    stdout);
}

/* What the options say. */
struct options {
	struct ask daemon;
	struct ping_options ping;
	bool verbose; /* -v */
};

static bool
is_command(char *const *words, const char *name)
{
	return words[0] != NULL && strcmp(words[0], name) == 0;
}

static int
run(const struct options *all, char *const *words)
{
	const struct ask *daemon = &all->daemon;
	const struct ping_options *o = &all->ping;
	bool ping = is_command(words, "ping");
	bool status = is_command(words, "status");

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
	if (!status && all->verbose) {
		(void)fputs("apppoolctl: -v is for status\n", stderr);
		return EX_USAGE;
	}
	if (ping && words[1] == NULL) {
		(void)fputs("usage: apppoolctl [-j] [-c FILE | -s SOCKET] "
			    "ping APP [--path PATH] [--timeout DURATION]\n",
		    stderr);
		return EX_USAGE;
	}
	if (ping)
		return ping_run(daemon, o, words);
	if (status && words[1] == NULL && !daemon->json && !all->verbose)
		return ctl_status(daemon);
	return ask_daemon(daemon, words, stdout);
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
	struct options o = { 0 };
	int option;

	/* Options and words of the command may stand in any order. */
	while (
	    (option = getopt_long(argc, argv, "c:hjs:Vv", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			o.daemon.file = optarg;
			break;
		case 'h':
			help();
			return EX_OK;
		case 'j':
			o.daemon.json = true;
			break;
		case 's':
			o.daemon.socket = optarg;
			break;
		case OPTION_PATH:
			o.ping.path = optarg;
			break;
		case OPTION_TIMEOUT:
			o.ping.timeout = optarg;
			break;
		case 'V':
			(void)puts("apppoolctl " APPPOOL_VERSION);
			return EX_OK;
		case 'v':
			o.verbose = true;
			break;
		default:
			usage(stderr);
			return EX_USAGE;
		}
	}
	return run(&o, argv + optind);
}
