/* Help of apppoolctl on its commands. */

#include <string.h>
#include <sysexits.h>

#include "conf/conf.h"
#include "ctl/ctl_help.h"

struct command {
	const char *name;
	const char *arguments;
	const char *does; /* in a few words */
	unsigned options; /* bits of enum ctl_option */
	const char *more; /* in a few lines */
};

static const struct command commands[] = {
	{ "apps", "", "list the names of all apps", 0,
	    "With -j: the status of all apps without their processes." },
	{ "detach", "ID", "have a worker leave after its sessions", 0,
	    "It gets no more connections, another worker starts at once, and "
	    "nothing is lost.\nReturns when it has ended." },
	{ "drain", "APP", "keep clients waiting, and have no process", 0,
	    "New connections wait in the kernel, those that are accepted are "
	    "served, and then\nall processes stop. Returns when they have; "
	    "resume undoes it." },
	{ "events", "[APP] [-n N] [-f]", "show what has happened",
	    CTL_FOLLOW | CTL_NUMBER,
	    "Starts, ends and their reasons, failures, refusals, reloads, and "
	    "what workers say.\nWith -j: an object for each event, a line "
	    "each.\n\n"
	    "  -f    go on with what happens from now on\n"
	    "  -n N  begin with the newest N events (20)" },
	{ "help", "[COMMAND]", "show this, or all about a command", 0,
	    "Needs no daemon." },
	{ "listeners", "", "list the addresses that the daemon listens on", 0,
	    "They are written as in pool.conf." },
	{ "metrics", "", "show the figures in OpenMetrics", 0,
	    "For Prometheus and its kin." },
	{ "ping", "APP [--path PATH] [--timeout TIME]",
	    "check that an app answers", CTL_PATH | CTL_TIMEOUT,
	    "Makes one request through the app's own socket, as a client "
	    "would.\n\n"
	    "  --path PATH     what is asked for (/)\n"
	    "  --timeout TIME  the whole answer has to come in this time "
	    "(5s)" },
	{ "reload", "", "put the configuration into force", 0,
	    "Returns when what had to be replaced is; or tells every mistake, "
	    "and then\nnothing has changed." },
	{ "reopen", "", "open the log's file anew", 0,
	    "For whatever has renamed it. Files of output are opened by each "
	    "process: restart\ndoes that." },
	{ "resize", "APP MIN MAX", "set min_processes and max_processes", 0,
	    "Returns when there are so many. Holds until the file says "
	    "something else than now,\nor the daemon ends." },
	{ "restart", "[APP|ID...]", "replace processes by new ones", 0,
	    "Those of all apps, of some, or single workers, which status APP "
	    "shows. Sessions\nend as usual; if the new processes do not live, "
	    "the old ones stay." },
	{ "resume", "APP", "have a drained app run again", 0,
	    "Returns when min_processes are ready." },
	{ "simulate", "[OPTION...]", "play a load with a configuration", 0,
	    "Needs no daemon; `apppoolctl simulate -h` lists its options." },
	{ "start", "APP", "have a stopped app run again", 0,
	    "Returns when min_processes are ready." },
	{ "status", "[-v] [APP]", "show what runs, waits and was served",
	    CTL_VERBOSE,
	    "A line for each app; all of one app.\n\n"
	    "  -v  all of all apps" },
	{ "stop", "[-y] [APP]", "stop an app, or the daemon, gracefully",
	    CTL_YES,
	    "Clients of a stopped app are refused until it is started, across "
	    "reloads.\nWithout a name the daemon stops with all apps. "
	    "Returns when all has ended.\n\n"
	    "  -y  do not ask on the terminal whether the daemon shall stop" },
	{ "top", "[--interval TIME] [-n COUNT]",
	    "show all apps again and again", CTL_NUMBER,
	    "On a terminal: the full screen. Keys choose an app and what to "
	    "sort by, show\nall about an app, restart, drain and resume it; "
	    "? lists them. Elsewhere: a table\neach time.\n\n"
	    "  --interval TIME  between two looks (2s)\n"
	    "  -n COUNT         print so many tables, and end" },
	{ "version", "", "show the version of the daemon", 0,
	    "That of apppoolctl itself is shown by `apppoolctl -V`." },
	{ "wait", "[APP] [--timeout TIME]", "wait until apps are ready",
	    CTL_TIMEOUT,
	    "Returns when every app, or this one, has min_processes ready; "
	    "fails if one\nhas failed. A daemon that is just being started may "
	    "take 10 seconds to appear.\n\n"
	    "  --timeout TIME  fail after this time (never)" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *
find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

void
ctl_help_usage(FILE *to, const char *command)
{
	const struct command *c = command == NULL ? NULL : find(command);

	if (c == NULL)
		(void)fputs("usage: apppoolctl [-hjVv] [-c FILE | -s SOCKET] "
			    "COMMAND [ARGUMENT...]\n",
		    to);
	else
		(void)fprintf(to,
		    "usage: apppoolctl [-j] [-c FILE | -s SOCKET] %s%s%s\n",
		    c->name, c->arguments[0] == '\0' ? "" : " ", c->arguments);
}

static void
help_all(void)
{
	ctl_help_usage(stdout, NULL);
	(void)fputs(
	    "\n"
	    "  -c FILE        the daemon of this configuration "
	    "(" CONF_DEFAULT_FILE ")\n"
	    "  -h, --help     show this, or with a command all about it\n"
	    "  -j             answer in JSON\n"
	    "  -s SOCKET      the daemon that has this control socket\n"
	    "  -V, --version  show the version\n"
	    "\n",
	    stdout);
	for (size_t i = 0; i < COMMANDS; i++)
		(void)printf(
		    "  %-10s %s\n", commands[i].name, commands[i].does);
	(void)fputs(
	    "\n`apppoolctl COMMAND -h` shows more, and the options of that "
	    "command.\nSee apppoolctl(8).\n",
	    stdout);
}

int
ctl_help(const char *command)
{
	const struct command *c;

	if (command == NULL) {
		help_all();
		return EX_OK;
	}
	c = find(command);
	if (c == NULL) {
		(void)fprintf(stderr,
		    "apppoolctl: unknown command %s; `apppoolctl -h` lists "
		    "all\n",
		    command);
		return EX_USAGE;
	}
	ctl_help_usage(stdout, command);
	(void)printf("\n%s: %s.\n%s\n", c->name, c->does, c->more);
	return EX_OK;
}

/* Tells which commands take the option. */
static void
tell_takers(const char *option, unsigned bit)
{
	const char *before = " is for ";

	(void)fprintf(stderr, "apppoolctl: %s", option);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (!(commands[i].options & bit))
			continue;
		(void)fprintf(stderr, "%s%s", before, commands[i].name);
		before = " and ";
	}
	(void)fputs("\n", stderr);
}

bool
ctl_help_takes(const char *command, unsigned options)
{
	static const char *const names[] = { "--path", "--timeout", "-v", "-f",
		"-n", "-y" };
	const struct command *c = find(command);

	for (unsigned i = 0; c != NULL && i < sizeof(names) / sizeof(names[0]);
	     i++) {
		if (!(options & ~c->options & 1u << i))
			continue;
		tell_takers(names[i], 1u << i);
		return false;
	}
	return true;
}
