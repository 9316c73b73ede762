/* The commands of apppoolctl and of the control socket. */

#include <string.h>

#include "sys/commands.h"
#include "sys/text.h"

const struct command commands[COMMANDS] = {
	[COMMAND_AGENT] = { "agent", " [APP]", " [BALANCERS]",
	    "answer the agent-check of HAProxy", 0, 1, COMMAND_SEES },
	[COMMAND_APPS] = { "apps", "", "", "list the names of all apps", 0, 0,
	    COMMAND_SEES },
	[COMMAND_DETACH] = { "detach", " ID", "",
	    "take a worker out of its app", 1, 1, COMMAND_CHANGES },
	[COMMAND_DRAIN] = { "drain", " APP", "",
	    "stop an app while its clients wait", 1, 1, COMMAND_CHANGES },
	[COMMAND_EVENTS] = { "events", " [APP|ID]", " [-n N] [-f]",
	    "show what has happened", 0, 1, COMMAND_SEES },
	[COMMAND_HEALTH] = { "health", " [APP]", " [alive]",
	    "tell by the exit status whether all is well", 0, 1, COMMAND_SEES },
	[COMMAND_HELP] = { "help", " [COMMAND]", "",
	    "show all commands, or one of them", 0, 1, COMMAND_SEES },
	[COMMAND_LISTENERS] = { "listeners", "", "",
	    "list the addresses that the daemon listens on", 0, 0,
	    COMMAND_SEES },
	[COMMAND_LOGS] = { "logs", " [APP|ID]", " [-n N] [-f]",
	    "show what processes have printed", 0, 1, COMMAND_SEES },
	[COMMAND_METRICS] = { "metrics", "", " [openmetrics]",
	    "show figures for Prometheus", 0, 0, COMMAND_SEES },
	[COMMAND_PING] = { "ping", " APP", "", "check that an app answers", 1,
	    1, COMMAND_SEES },
	[COMMAND_RELOAD] = { "reload", "", "", "read the configuration again",
	    0, 0, COMMAND_CHANGES },
	[COMMAND_REOPEN] = { "reopen", "", "", "open the log file again", 0, 0,
	    COMMAND_CHANGES },
	[COMMAND_RESIZE] = { "resize", " APP MIN MAX", "",
	    "set min_processes and max_processes", 3, 3, COMMAND_CHANGES },
	[COMMAND_RESTART] = { "restart", " [APP|ID...]", "",
	    "replace processes by new ones", 0, COMMAND_WORDS_MAX - 1,
	    COMMAND_CHANGES },
	[COMMAND_RESUME] = { "resume", " APP", "", "end a drain", 1, 1,
	    COMMAND_CHANGES },
	[COMMAND_ROLLBACK] = { "rollback", " APP", "",
	    "go back to the former program of an app", 1, 1, COMMAND_CHANGES },
	[COMMAND_SIMULATE] = { "simulate", " [OPTION...]", "",
	    "try a configuration under a load", 0, 0, COMMAND_LOCAL },
	[COMMAND_START] = { "start", " APP", "", "start a stopped app", 1, 1,
	    COMMAND_CHANGES },
	[COMMAND_STATUS] = { "status", " [APP]", "",
	    "show what runs, waits and was served", 0, 1, COMMAND_SEES },
	[COMMAND_STOP] = { "stop", " [APP]", "",
	    "stop an app, or the daemon, gracefully", 0, 1, COMMAND_CHANGES },
	[COMMAND_TOP] = { "top", "", "", "watch all apps", 0, 0,
	    COMMAND_LOCAL },
	[COMMAND_UPGRADE] = { "upgrade", "", "",
	    "replace the daemon by the program on disk", 0, 0,
	    COMMAND_CHANGES },
	[COMMAND_VERSION] = { "version", "", "",
	    "show the version of the daemon", 0, 0, COMMAND_SEES },
	[COMMAND_WAIT] = { "wait", " [APP]", "", "wait until apps are ready", 0,
	    1, COMMAND_SEES },
};

enum command_id
command_find(const char *name)
{
	enum command_id id = 0;

	while (id < COMMANDS && strcmp(commands[id].name, name) != 0)
		id++;
	return id;
}

const char *
command_nearest(const char *name)
{
	const char *names[COMMANDS + 1], **end = names;

	for (enum command_id id = 0; id < COMMANDS; id++)
		if (commands[id].kind == COMMAND_SEES)
			*end++ = commands[id].name;
	*end = NULL;
	return suggest_nearest(name, names);
}
