#ifndef SYS_COMMANDS_H
#define SYS_COMMANDS_H

/*
 * The commands of apppoolctl and of the control socket, for both of its ends
 * and for what they say of them to people; see apppoolctl(8).
 */

/* Words of a line at most: a command and its arguments. */
#define COMMAND_WORDS_MAX 16

enum command_id {
	COMMAND_AGENT,
	COMMAND_APPS,
	COMMAND_DETACH,
	COMMAND_DRAIN,
	COMMAND_EVENTS,
	COMMAND_HEALTH,
	COMMAND_HELP,
	COMMAND_LISTENERS,
	COMMAND_LOGS,
	COMMAND_METRICS,
	COMMAND_PING,
	COMMAND_RELOAD,
	COMMAND_REOPEN,
	COMMAND_RESIZE,
	COMMAND_RESTART,
	COMMAND_RESUME,
	COMMAND_ROLLBACK,
	COMMAND_SIMULATE,
	COMMAND_START,
	COMMAND_STATUS,
	COMMAND_STOP,
	COMMAND_TOP,
	COMMAND_UPGRADE,
	COMMAND_VERSION,
	COMMAND_WAIT,
	COMMANDS
};

struct command {
	const char *name;
	/* For people, each behind a blank; ""; none: */
	const char *arguments;
	const char *further; /* words, which of apppoolctl are options */
	const char *does; /* in a few words */
	unsigned least; /* arguments, without the further words */
	unsigned most;
	enum {
		COMMAND_SEES,
		COMMAND_CHANGES, /* something, which not all clients may */
		COMMAND_LOCAL, /* it is apppoolctl's own: no daemon knows it */
	} kind;
};

/* By enum command_id. */
extern const struct command commands[COMMANDS];

/* COMMANDS: there is no such command. */
enum command_id command_find(const char *name);

/*
 * The command whose name is nearest to this one, of those that only show
 * something: a suggestion that is typed shall end no daemon. NULL: none.
 */
const char *command_nearest(const char *name);

#endif
