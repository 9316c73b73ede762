/* apppoolctl(8): its options, its help, and which of its commands is run. */

#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "sim/simulate.h"
#include "sys/commands.h"
#include "sys/descriptors.h"
#include "sys/loop.h"
#include "sys/number.h"

/* A daemon that is being started appears soon, or never. */
#define APPEARS TSPAN_SECONDS(10)
#define TIMEOUT_MAX TSPAN_SECONDS(86400)

/* Of top and health: a daemon that takes longer has something better to do. */
#define PATIENCE TSPAN_SECONDS(5)

/*
 * Of agent, which HAProxy asks every two seconds: a name comes with the
 * connection, or none does.
 */
#define AGENT_TIMEOUT TSPAN_SECONDS(1)
#define AGENT_LISTENS TSPAN_MSECONDS(250)
#define AGENT_NAME_MAX 255

#define INTERVAL TSPAN_SECONDS(2)
#define INTERVAL_MIN TSPAN_MSECONDS(100)
#define INTERVAL_MAX TSPAN_SECONDS(3600)

/* Options that only some commands have, behind those of simulate. */
enum option_id {
	OPTION_FOLLOW = 'f',
	OPTION_NUMBER = 'n',
	OPTION_VERBOSE = 'v',
	OPTION_YES = 'y',
	OPTION_ALIVE = SIMULATE_END,
	OPTION_INTERVAL,
	OPTION_OPENMETRICS,
	OPTION_PATH,
	OPTION_TIMEOUT,
};

/* An option of a command, and what it means there. */
static const struct command_option {
	int id; /* enum option_id, or of simulate */
	enum command_id command; /* COMMANDS: without one */
	const char *name; /* and behind a blank its value, if it has one */
	const char *does;
} command_options[] = {
	{ 'c', COMMANDS, "-c FILE",
	    "the daemon of this configuration (" CONF_DEFAULT_FILE ")" },
	{ 'h', COMMANDS, "-h, --help", "show all commands, or one of them" },
	{ 'j', COMMANDS, "-j", "answer in JSON" },
	{ 's', COMMANDS, "-s SOCKET", "the daemon with this control socket" },
	{ 'V', COMMANDS, "-V, --version", "show the version" },
	{ OPTION_NUMBER, COMMAND_AGENT, "-n BALANCERS",
	    "the share of one of so many balancers (1)" },
	{ OPTION_NUMBER, COMMAND_EVENTS, "-n N",
	    "begin with the newest N events (20)" },
	{ OPTION_FOLLOW, COMMAND_EVENTS, "-f", "go on with new events" },
	{ OPTION_ALIVE, COMMAND_HEALTH, "--alive",
	    "only tell apps that have failed" },
	{ OPTION_NUMBER, COMMAND_LOGS, "-n N",
	    "begin with the newest N lines (20)" },
	{ OPTION_FOLLOW, COMMAND_LOGS, "-f", "go on with new lines" },
	{ OPTION_OPENMETRICS, COMMAND_METRICS, "--openmetrics",
	    "in the format of OpenMetrics" },
	{ OPTION_PATH, COMMAND_PING, "--path PATH",
	    "the path that is requested (/)" },
	{ OPTION_TIMEOUT, COMMAND_PING, "--timeout TIME",
	    "the longest time for the whole answer (5s)" },
	{ 'c', COMMAND_SIMULATE, "-c FILE",
	    "the configuration (" CONF_DEFAULT_FILE ")" },
	{ 'j', COMMAND_SIMULATE, "-j", "answer in JSON" },
	{ SIMULATE_BALANCER, COMMAND_SIMULATE, "--balancer BALANCER",
	    "leastconn, random2 or roundrobin" },
	{ SIMULATE_CLIENTS, COMMAND_SIMULATE, "--clients [APP=]NUMBER",
	    "clients that come again when served" },
	{ SIMULATE_FOR, COMMAND_SIMULATE, "--for TIME",
	    "how long connections come" },
	{ SIMULATE_HOSTS, COMMAND_SIMULATE, "--hosts NUMBER",
	    "how many hosts are behind a balancer" },
	{ SIMULATE_MEMORY, COMMAND_SIMULATE, "--memory SIZE",
	    "memory for max_processes = auto" },
	{ SIMULATE_PROFILE, COMMAND_SIMULATE, "--profile PROFILE",
	    "steady, burst, day or ramp" },
	{ SIMULATE_PSS, COMMAND_SIMULATE, "--pss [APP=]SIZE",
	    "what a process takes of that" },
	{ SIMULATE_RATE, COMMAND_SIMULATE, "--rate [APP=]RATE",
	    "connections per second" },
	{ SIMULATE_SEED, COMMAND_SIMULATE, "--seed NUMBER",
	    "the seed of all random numbers" },
	{ SIMULATE_SERVICE, COMMAND_SIMULATE, "--service [APP=]SERVICE",
	    "how long a process serves a connection" },
	{ SIMULATE_START_TIME, COMMAND_SIMULATE, "--start-time TIME",
	    "how long a process takes to be ready" },
	{ SIMULATE_SVG, COMMAND_SIMULATE, "--svg FILE", "draw a picture" },
	{ SIMULATE_THINK, COMMAND_SIMULATE, "--think [APP=]SERVICE",
	    "how long a client waits between two" },
	{ SIMULATE_TRACE, COMMAND_SIMULATE, "--trace FILE",
	    "play recorded connections" },
	{ OPTION_VERBOSE, COMMAND_STATUS, "-v", "everything about all apps" },
	{ OPTION_YES, COMMAND_STOP, "-y",
	    "do not ask before the daemon stops" },
	{ OPTION_INTERVAL, COMMAND_TOP, "--interval TIME",
	    "time between two tables (2s)" },
	{ OPTION_NUMBER, COMMAND_TOP, "-n COUNT",
	    "print COUNT tables, and end" },
	{ OPTION_TIMEOUT, COMMAND_WAIT, "--timeout TIME",
	    "fail after this time (never)" },
};

#define COMMAND_OPTIONS (sizeof(command_options) / sizeof(command_options[0]))

/* The rest of `apppoolctl COMMAND -h`. */
static const char *const more[COMMANDS] = {
	[COMMAND_AGENT] = "Reads the name of an app from standard input, if "
			  "one comes soon, and prints\n"
			  "a line such as \"up 100% maxconn:16\". Without any "
			  "name: that of the app that is\n"
			  "worst off.",
	[COMMAND_APPS] = "With -j: the status of all apps without their "
			 "workers.",
	[COMMAND_DETACH] = "The worker gets no more connections and finishes "
			   "its sessions; another starts\n"
			   "at once. Returns when the worker has ended.",
	[COMMAND_DRAIN] = "New connections wait in the kernel, accepted ones "
			  "are served, and then all\n"
			  "processes stop. Returns when none is left. resume "
			  "undoes this.",
	[COMMAND_EVENTS] = "Starts, ends and their reasons, failures, "
			   "refusals, reloads, EVENT of workers.\n"
			   "With -j: an object a line.",
	[COMMAND_HEALTH] =
	    "Exit status 0: each app, or this one, is ready for clients. 1: "
	    "one starts, has\n"
	    "failed, or is stopped or drained, or will be; a line says which. "
	    "69: no daemon.",
	[COMMAND_HELP] = "Needs no daemon.",
	[COMMAND_LISTENERS] = "They are written as in pool.conf.",
	[COMMAND_LOGS] = "Standard output and standard error of all processes, "
			 "of an app or of one process,\n"
			 "which may be gone. With -j: an object a line.",
	[COMMAND_METRICS] = "The format is Prometheus's text format.",
	[COMMAND_PING] = "Makes one request through the app's own socket, as a "
			 "client would.",
	[COMMAND_RELOAD] = "Returns when all processes that must be replaced "
			   "are. If the file has mistakes,\n"
			   "all are printed, and nothing changes.",
	[COMMAND_REOPEN] = "Use this after the file was renamed. For files of "
			   "output use restart: each\n"
			   "process opens its own.",
	[COMMAND_RESIZE] = "Returns when the app has this size. It lasts until "
			   "the daemon ends, or the file\n"
			   "has another size than now.",
	[COMMAND_RESTART] = "All processes, those of some apps, or single "
			    "workers, which status APP shows,\n"
			    "finish and leave. If the new processes do not "
			    "live, the old ones stay.",
	[COMMAND_RESUME] = "Returns when min_processes are ready.",
	[COMMAND_ROLLBACK] = "The processes are replaced as by restart, with "
			     "all options as they were before\n"
			     "the latest reload that replaced them, until the "
			     "next reload.",
	[COMMAND_SIMULATE] = "Time is virtual, and no daemon is needed.",
	[COMMAND_START] = "Returns when min_processes are ready.",
	[COMMAND_STATUS] = "A line for each app; with APP, everything about "
			   "it.",
	[COMMAND_STOP] = "Clients of a stopped app are refused until it is "
			 "started, also after reloads.\n"
			 "Without APP the daemon stops. Returns when all "
			 "processes have ended.",
	[COMMAND_TOP] = "On the full screen of a terminal, keys sort, show "
			"everything about an app,\n"
			"restart, drain and resume it; ? lists them. Elsewhere "
			"tables are printed.",
	[COMMAND_UPGRADE] = "Returns when the program that is now on disk "
			    "serves, with all processes and\n"
			    "connections. If it cannot take over, the former "
			    "program serves on.",
	[COMMAND_VERSION] = "`apppoolctl -V` shows that of apppoolctl.",
	[COMMAND_WAIT] = "Returns when every app, or this one, has "
			 "min_processes ready; fails if one\n"
			 "has failed. The daemon may take 10 seconds to "
			 "appear.",
};

/* The words and options of a command line. */
struct line {
	struct ask daemon;
	bool help;
	struct given *given; /* of commands; the last has no name */
	enum command_id command;
	const char *const *words; /* the command and its arguments, and NULL */
	unsigned nargs;
};

/* --- help --------------------------------------------------------------- */

/* How apppoolctl is called, or with this command. Gives EX_USAGE. */
static int
usage(FILE *to, enum command_id id)
{
	const struct command *c = &commands[id];

	if (id == COMMANDS)
		(void)fputs("usage: apppoolctl [-hjVv] [-c FILE | -s SOCKET] "
			    "COMMAND [ARGUMENT...]",
		    to);
	else if (id == COMMAND_SIMULATE)
		(void)fprintf(to, "usage: apppoolctl %s%s%s", c->name,
		    c->arguments,
		    to == stderr ? "; `apppoolctl simulate -h` lists them"
				 : "");
	else
		(void)fprintf(to,
		    "usage: apppoolctl %s[-c FILE | -s SOCKET] %s%s",
		    id == COMMAND_TOP || id == COMMAND_AGENT ? "" : "[-j] ",
		    c->name, c->arguments);
	for (size_t i = 0; i < COMMAND_OPTIONS; i++) {
		const struct command_option *o = &command_options[i];

		if (o->command == id && id != COMMANDS &&
		    id != COMMAND_SIMULATE)
			(void)fprintf(to, " [%s]", o->name);
	}
	(void)fputs("\n", to);
	return EX_USAGE;
}

static void
help(enum command_id id)
{
	const int width = id == COMMAND_SIMULATE ? 23 : 15;
	const char *before = "\n";

	(void)usage(stdout, id);
	if (id != COMMANDS)
		(void)printf("\n%s: %s.\n%s\n", commands[id].name,
		    commands[id].does, more[id]);
	for (size_t i = 0; i < COMMAND_OPTIONS; i++) {
		const struct command_option *o = &command_options[i];

		if (o->command != id)
			continue;
		(void)printf("%s  %-*s  %s\n", before, width, o->name, o->does);
		before = "";
	}
	if (id != COMMANDS)
		return;
	(void)puts("");
	for (size_t i = 0; i < COMMANDS; i++)
		(void)printf(
		    "  %-10s %s\n", commands[i].name, commands[i].does);
	(void)fputs("\n`apppoolctl COMMAND -h` shows more, and the options of "
		    "that command.\nSee apppoolctl(8).\n",
	    stdout);
}

/* --- the command line ---------------------------------------------------- */

/*
 * Reads all options, which may stand anywhere; those of all commands are
 * known, so that no value of an option is taken for the command. False: the
 * line is wrong, and the user was told so.
 */
static bool
read_all_options(struct line *l, int argc, char **argv)
{
	struct option longs[COMMAND_OPTIONS + 3] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
	};
	static const char *names[COMMAND_OPTIONS];
	struct given *given;
	size_t len = 2, letters = 0;
	int id;

	/* A word may have as many options as letters. */
	for (int i = 0; i < argc; i++)
		letters += strlen(argv[i]);
	l->given = given = calloc(letters + 1, sizeof(*given));
	if (given == NULL)
		err(EX_OSERR, NULL);
	for (size_t i = 0; i < COMMAND_OPTIONS; i++) {
		const struct command_option *o = &command_options[i];

		names[i] = strndup(o->name, strcspn(o->name, " "));
		if (names[i] == NULL)
			err(EX_OSERR, NULL);
		if (o->id > UCHAR_MAX)
			longs[len++] = (struct option){ names[i] + 2,
				strchr(o->name, ' ') == NULL
				    ? no_argument
				    : required_argument,
				NULL, o->id };
	}
	while (
	    (id = getopt_long(argc, argv, "c:fhjn:s:Vvy", longs, NULL)) != -1) {
		switch (id) {
		case 'c':
			l->daemon.file = optarg;
			break;
		case 'h':
			l->help = true;
			break;
		case 'j':
			l->daemon.json = true;
			break;
		case 's':
			l->daemon.socket = optarg;
			break;
		case 'V':
			(void)puts("apppoolctl " APPPOOL_VERSION);
			exit(EX_OK);
		case '?':
			(void)usage(stderr, COMMANDS);
			return false;
		default:
			given->id = id;
			given->value = optarg == NULL ? "" : optarg;
			for (size_t i = 0; i < COMMAND_OPTIONS; i++)
				if (command_options[i].id == id)
					given->name = names[i];
			given++;
			break;
		}
	}
	if (l->daemon.file == NULL || l->daemon.socket == NULL)
		return true;
	(void)usage(stderr, COMMANDS);
	return false;
}

/* The value of an option, "" if it has none; NULL: it is not given. */
static const char *
line_value(const struct line *l, int id)
{
	const char *value = NULL;

	for (const struct given *g = l->given; g->name != NULL; g++)
		if (g->id == id)
			value = g->value;
	return value;
}

/* Finds the command; false likewise. */
static bool
read_command(struct line *l, const char *const *words)
{
	const char *nearest;

	l->words = words;
	l->nargs = 0;
	while (words[0] != NULL && words[1 + l->nargs] != NULL)
		l->nargs++;
	if (words[0] == NULL && l->help) {
		l->command = COMMANDS;
		return true;
	}
	if (words[0] == NULL) {
		(void)usage(stderr, COMMANDS);
		(void)fputs("`apppoolctl -h` lists the commands\n", stderr);
		return false;
	}
	l->command = command_find(words[0]);
	if (l->command != COMMANDS)
		return true;
	nearest = command_nearest(words[0]);
	if (nearest == NULL)
		warnx(
		    "unknown command %s; `apppoolctl -h` lists all", words[0]);
	else
		warnx("unknown command %s; is %s meant?", words[0], nearest);
	return false;
}

/* Whether the command has the option; else tells which commands do. */
static bool
check_option(enum command_id command, const struct given *g)
{
	const char *before = " is for ";

	for (size_t i = 0; i < COMMAND_OPTIONS; i++)
		if (command_options[i].id == g->id &&
		    command_options[i].command == command)
			return true;
	(void)fprintf(stderr, "apppoolctl: %s", g->name);
	for (size_t i = 0; i < COMMAND_OPTIONS; i++) {
		const struct command_option *o = &command_options[i];

		if (o->id != g->id)
			continue;
		(void)fprintf(
		    stderr, "%s%s", before, commands[o->command].name);
		before = " and ";
	}
	(void)fputs("\n", stderr);
	return false;
}

/* Whether options and arguments are those of the command; false likewise. */
static bool
check_line(struct line *l)
{
	const struct command *c = &commands[l->command];
	const char *timeout = line_value(l, OPTION_TIMEOUT), *wrong = NULL;

	for (const struct given *g = l->given; g->name != NULL; g++)
		if (!check_option(l->command, g))
			return false;
	if (l->nargs > c->most)
		warnx("unexpected argument: %s", l->words[1 + c->most]);
	if (l->daemon.json && l->command == COMMAND_TOP)
		wrong = "-j is not for top";
	else if (l->daemon.json && l->command == COMMAND_AGENT)
		wrong = "-j is not for agent";
	else if (l->command == COMMAND_SIMULATE && l->daemon.socket != NULL)
		wrong = "-s is not for simulate, which asks no daemon";
	if (wrong != NULL)
		warnx("%s", wrong);
	if (wrong != NULL || l->nargs < c->least || l->nargs > c->most) {
		(void)usage(stderr, l->command);
		return false;
	}
	if (timeout == NULL ||
	    (conf_parse_span(timeout, &l->daemon.timeout) &&
		l->daemon.timeout > 0 && l->daemon.timeout <= TIMEOUT_MAX))
		return true;
	warnx("--timeout: '%s' is not a duration like 500ms or 5s, 1d at most",
	    timeout);
	return false;
}

/* --- commands that are more than a question ------------------------------ */

static int
run_top(struct line *l)
{
	const char *text = line_value(l, OPTION_INTERVAL);
	const char *number = line_value(l, OPTION_NUMBER);
	tspan interval = INTERVAL;
	uint64_t count = 0;

	if (text != NULL &&
	    (!conf_parse_span(text, &interval) || interval < INTERVAL_MIN ||
		interval > INTERVAL_MAX)) {
		warnx("--interval: '%s' is not a duration from 100ms to 1h",
		    text);
		return EX_USAGE;
	}
	if (number != NULL &&
	    (!number_parse(number, strlen(number), &count) || count == 0)) {
		warnx("-n: '%s' is not a number from 1 on", number);
		return EX_USAGE;
	}
	l->daemon.timeout = PATIENCE;
	return top_run(&l->daemon, interval, count);
}

/*
 * Answers the agent-check of HAProxy, which may send the name of an app, and
 * takes a line that is whole. Under handoff = stdio any other exit status than
 * 0 would be a failure of the app.
 */
static int
line_agent(struct line *l)
{
	const char *words[] = { "agent", l->words[1],
		line_value(l, OPTION_NUMBER), NULL };
	struct ask_source source = { .end = clock_now() + AGENT_LISTENS };
	FILE *in = isatty(STDIN_FILENO) ? NULL : ask_open(&source);
	char name[AGENT_NAME_MAX + 1], *good = NULL, *bad = NULL;
	size_t len = 0, size;
	FILE *answer = open_memstream(&good, &size);
	FILE *errors = open_memstream(&bad, &size);
	int status = EX_USAGE, c;

	if (answer == NULL || errors == NULL)
		err(EX_OSERR, NULL);
	while (in != NULL && len < AGENT_NAME_MAX && (c = getc(in)) != EOF &&
	    c != '\n' && c != '\r')
		name[len++] = (char)c;
	name[len] = '\0';
	if (len > 0)
		words[1] = name;
	l->daemon.timeout = AGENT_TIMEOUT;
	l->daemon.errors = errors;
	(void)fputs("fail # ", errors);
	if (name[strspn(name, CONF_NAME_BYTES)] == '\0')
		status = ask_daemon(&l->daemon, words, answer);
	else
		(void)fputs("no app has such a name\n", errors);
	if (fclose(answer) != EOF && fclose(errors) != EOF) {
		(void)signal(SIGPIPE, SIG_IGN);
		(void)fputs(status == EX_OK ? good : bad, stdout);
	}
	if (in != NULL)
		(void)fclose(in);
	free(good);
	free(bad);
	return EX_OK;
}

static int
run_line(struct line *l)
{
	/* The daemon is told some options as further words. */
	const char *number = line_value(l, OPTION_NUMBER);
	const char *words[6] = { l->words[0], l->words[1] };
	const char **end = words + 1 + (l->nargs > 0);
	struct text out;
	char answer[16];
	json_t *json;
	int status;

	switch (l->command) {
	case COMMAND_EVENTS:
	case COMMAND_LOGS:
		if (number != NULL) {
			*end++ = "-n";
			*end++ = number;
		}
		if (line_value(l, OPTION_FOLLOW) != NULL)
			*end++ = "-f";
		return ask_daemon(&l->daemon, words, stdout);
	case COMMAND_AGENT:
		return line_agent(l);
	case COMMAND_HEALTH:
		if (line_value(l, OPTION_ALIVE) != NULL) {
			words[1] = l->nargs > 0 ? l->words[1] : "*";
			words[2] = "alive";
		}
		l->daemon.timeout = PATIENCE;
		return ask_daemon(&l->daemon, words, stdout);
	case COMMAND_METRICS:
		if (line_value(l, OPTION_OPENMETRICS) != NULL)
			*end++ = "openmetrics";
		return ask_daemon(&l->daemon, words, stdout);
	case COMMAND_PING:
		return ping_run(
		    &l->daemon, l->words[1], line_value(l, OPTION_PATH));
	case COMMAND_SIMULATE:
		return simulate_run(
		    l->daemon.file == NULL ? CONF_DEFAULT_FILE : l->daemon.file,
		    l->daemon.json, l->given);
	case COMMAND_STATUS:
		if (l->daemon.json)
			break;
		if (l->nargs == 0 && line_value(l, OPTION_VERBOSE) == NULL)
			return table_show(&l->daemon, 0, 1);
		status = ask_json(&l->daemon, l->words, &json);
		if (status != EX_OK)
			return status;
		text_init(&out, CTL_TEXT_MAX);
		details_put(json, &out);
		json_decref(json);
		status = ask_put(&out);
		text_fini(&out);
		return status;
	case COMMAND_STOP:
		/* At a terminal `stop` may be the beginning of `stop APP`. */
		if (l->nargs > 0 || line_value(l, OPTION_YES) != NULL ||
		    !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
			break;
		(void)fputs(
		    "Stop the daemon, and all apps with it? [y/N] ", stderr);
		if (fgets(answer, sizeof(answer), stdin) != NULL &&
		    (answer[0] == 'y' || answer[0] == 'Y'))
			break;
		warnx("not stopped");
		return CTL_REFUSED;
	case COMMAND_TOP:
		return run_top(l);
	case COMMAND_WAIT:
		l->daemon.appears =
		    l->daemon.timeout == 0 ? APPEARS : l->daemon.timeout;
		break;
	default:
		break;
	}
	return ask_daemon(&l->daemon, l->words, stdout);
}

int
main(int argc, char **argv)
{
	static struct line l;

	/* Standard output is checked before a file of ours takes its number. */
	if (fcntl(STDOUT_FILENO, F_GETFD) == -1) {
		warn("stdout");
		return EX_IOERR;
	}
	if (descriptors_fix() == -1)
		return EX_OSERR;
	if (!read_all_options(&l, argc, argv) ||
	    !read_command(&l, (const char *const *)argv + optind))
		return EX_USAGE;
	if (l.command == COMMAND_HELP && !l.daemon.json && !l.help) {
		/* Without -j it is that of apppoolctl itself. */
		l.help = true;
		if (!read_command(&l, l.words + 1))
			return EX_USAGE;
	} else if (!l.help && !check_line(&l)) {
		return EX_USAGE;
	}
	if (!l.help)
		return run_line(&l);
	help(l.command);
	return EX_OK;
}
