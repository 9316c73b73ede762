/* apppoolctl(8): its options, and which of its commands is run. */

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/ask.h"
#include "ctl/ctl.h"
#include "ctl/ctl_help.h"
#include "ctl/ctl_status.h"
#include "ctl/ping.h"

/* Options without a letter. */
enum {
	OPTION_PATH = 256,
	OPTION_TIMEOUT,
};

/* A daemon that is being started appears soon, or never. */
#define APPEARS TSPAN_SECONDS(10)
#define TIMEOUT_MAX TSPAN_SECONDS(86400)

/* Values of the options. */
struct options {
	struct ask daemon;
	const char *path; /* --path; NULL: not given */
	const char *timeout; /* --timeout; likewise */
	char *number; /* -n; likewise */
	bool follow; /* -f */
	bool verbose; /* -v */
	bool help; /* -h */
	bool yes; /* -y */
};

static bool
take_timeout(struct ask *daemon, const char *timeout)
{
	if (timeout == NULL)
		return true;
	if (conf_parse_span(timeout, &daemon->timeout) && daemon->timeout > 0 &&
	    daemon->timeout <= TIMEOUT_MAX)
		return true;
	(void)fprintf(stderr,
	    "apppoolctl: --timeout: '%s' is not a duration like 500ms or 5s, "
	    "1d at most\n",
	    timeout);
	return false;
}

/* Whether the options go with each other and with the command. */
static bool
check(struct options *o, const char *command)
{
	unsigned given = (o->path == NULL ? 0 : CTL_PATH) |
	    (o->timeout == NULL ? 0 : CTL_TIMEOUT) |
	    (o->verbose ? CTL_VERBOSE : 0) | (o->follow ? CTL_FOLLOW : 0) |
	    (o->number == NULL ? 0 : CTL_NUMBER) | (o->yes ? CTL_YES : 0);

	if (o->daemon.file != NULL && o->daemon.socket != NULL) {
		ctl_help_usage(stderr, NULL);
		return false;
	}
	return ctl_help_takes(command, given) &&
	    take_timeout(&o->daemon, o->timeout);
}

static int
wait_ready(struct ask *daemon, char *const *words)
{
	daemon->appears = daemon->timeout == 0 ? APPEARS : daemon->timeout;
	return ask_daemon(daemon, words, stdout);
}

/*
 * Whether the daemon may be stopped: who types `stop` at a terminal may have
 * meant an app.
 */
static bool
may_stop_all(const struct options *o)
{
	char answer[16];

	if (o->yes || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return true;
	(void)fputs("Stop the daemon, and all apps with it? [y/N] ", stderr);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	(void)fputs("apppoolctl: not stopped\n", stderr);
	return false;
}

/* The daemon is told the options behind the words. */
static int
events(const struct options *o, char *const *words)
{
	char number[] = "-n", follow[] = "-f";
	char *line[6] = { words[0] }, **end = line + 1;

	if (words[1] != NULL && words[2] != NULL) {
		ctl_help_usage(stderr, words[0]);
		return EX_USAGE;
	}
	if (words[1] != NULL)
		*end++ = words[1];
	if (o->number != NULL) {
		*end++ = number;
		*end++ = o->number;
	}
	if (o->follow)
		*end++ = follow;
	return ask_daemon(&o->daemon, line, stdout);
}

static int
run(struct options *o, char *const *words)
{
	const char *command = words[0];

	if (command == NULL) {
		ctl_help_usage(stderr, NULL);
		(void)fputs("`apppoolctl -h` lists the commands\n", stderr);
		return EX_USAGE;
	}
	if (!check(o, command))
		return EX_USAGE;
	if (strcmp(command, "help") == 0 && !o->daemon.json)
		return ctl_help(words[1]);
	if (strcmp(command, "ping") == 0 && words[1] == NULL) {
		ctl_help_usage(stderr, command);
		return EX_USAGE;
	}
	if (strcmp(command, "ping") == 0)
		return ping_run(&o->daemon, o->path, words);
	if (strcmp(command, "status") == 0 && words[1] == NULL &&
	    !o->daemon.json && !o->verbose)
		return ctl_status(&o->daemon);
	if (strcmp(command, "events") == 0)
		return events(o, words);
	if (strcmp(command, "stop") == 0 && words[1] == NULL &&
	    !may_stop_all(o))
		return ASK_REFUSED;
	if (strcmp(command, "wait") == 0)
		return wait_ready(&o->daemon, words);
	return ask_daemon(&o->daemon, words, stdout);
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
	while ((option = getopt_long(
		    argc, argv, "c:fhjn:s:Vvy", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			o.daemon.file = optarg;
			break;
		case 'f':
			o.follow = true;
			break;
		case 'h':
			o.help = true;
			break;
		case 'j':
			o.daemon.json = true;
			break;
		case 'n':
			o.number = optarg;
			break;
		case 's':
			o.daemon.socket = optarg;
			break;
		case OPTION_PATH:
			o.path = optarg;
			break;
		case OPTION_TIMEOUT:
			o.timeout = optarg;
			break;
		case 'V':
			(void)puts("apppoolctl " APPPOOL_VERSION);
			return EX_OK;
		case 'v':
			o.verbose = true;
			break;
		case 'y':
			o.yes = true;
			break;
		default:
			ctl_help_usage(stderr, NULL);
			return EX_USAGE;
		}
	}
	if (o.help)
		return ctl_help(argv[optind]);
	return run(&o, argv + optind);
}
