#ifndef CONTROL_CONTROL_PRIVATE_H
#define CONTROL_CONTROL_PRIVATE_H

/*
 * What the files control*.c share: control.c has the socket, client.c those
 * who have connected to it, command.c what they may ask for.
 */

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "control/control.h"
#include "control/control_line.h"
#include "control/status.h"
#include "sys/text.h"

/*
 * Clients at a time, if there are descriptors that nobody else needs, and in
 * any case; others wait in the backlog.
 */
#define CONTROL_CLIENTS 256
#define CONTROL_CLIENTS_SURE 32

/* Snapshots are this large together, or one of them alone is larger. */
#define CONTROL_STATUS_BYTES (16 * 1024 * 1024)

/* Other answers. */
#define CONTROL_ANSWER_MAX (1024 * 1024)

/* To say what it wants. */
#define CONTROL_LINE_TIME TSPAN_SECONDS(10)

/* To take a part of the answer, and the whole of it. */
#define CONTROL_STALL_TIME TSPAN_SECONDS(30)
#define CONTROL_ANSWER_TIME TSPAN_SECONDS(300)

/* Between two looks at whether the apps are ready, if somebody waits. */
#define CONTROL_WAIT_STEP TSPAN_MSECONDS(20)

enum client_state {
	CLIENT_READING,
	CLIENT_WAITING, /* for what `waits` says, or for memory */
	CLIENT_WRITING,
};

enum client_wait {
	WAIT_NOTHING,
	WAIT_READY, /* for apps to be ready */
	WAIT_RELOAD, /* for the reload to end */
	WAIT_ROLLOUT, /* for the rollouts that it began to end */
	WAIT_END, /* for the end of the daemon; the answer is given before */
	WAIT_MEMORY, /* for other snapshots to be read to their end */
};

struct client {
	TAILQ_ENTRY(client) next;
	struct control *control;
	struct loop_io io;
	enum client_state state;
	enum client_wait waits;
	bool json;
	char line[CONTROL_LINE_MAX + 2]; /* with newline, and one too many */
	size_t len;
	char *app; /* of status and wait; owned; NULL: all */
	struct text out; /* the answer, but for a status */
	bool wants_status; /* not yet taken */
	struct status *status; /* NULL: none, or no more */
	const char *data; /* what is being sent, of out or of status */
	size_t data_len;
	size_t sent;
	tstamp deadline; /* cut off then; TSTAMP_NEVER: not */
	tstamp until; /* the whole answer has to be taken */
};

TAILQ_HEAD(clients, client);

struct control {
	struct supervisor *sup;
	struct loop_io io; /* in the loop unless full or resting */
	struct listener listener; /* fd -1: it does not listen */
	mode_t mode; /* of its file */
	gid_t gid;
	/* Of a change that is prepared and neither committed nor aborted: */
	struct listener fresh; /* to take its place; fd -1: none */
	bool updated; /* the file has the rights of the change already */
	uint32_t spare; /* descriptors */
	struct dump *dump; /* of the state, under way; NULL: none */
	struct clients clients;
	unsigned nclients;
	unsigned max_clients; /* at a time */
	unsigned max_waiting; /* of them, that others may be answered */
	unsigned nwaiting; /* for the first three */
	size_t status_bytes; /* of all snapshots */
	bool worked; /* the expensive step of this turn has been done */
	struct log_rate refused_rate;
	tstamp look_at; /* some deadline may be due */
	tstamp wait_at; /* look then whether apps are ready */
};

/* --- client.c ----------------------------------------------------------- */

/* Takes fd over. */
void client_new(struct control *c, int fd, tstamp now);

/* Nobody touches the client after one of these. */
void client_close(struct client *cl);
void client_expire(struct client *cl, tstamp now);

/* When it is cut off; TSTAMP_NEVER: not. */
void client_deadline(struct client *cl, tstamp at);

/* Waits for these events, besides an error or a hang-up; 0: for no other. */
bool client_watch(struct client *cl, uint32_t events);

/* For what it waits is not in its hands. May close it. */
void client_wait(struct client *cl);

/*
 * Add to the answer: lines of text, in JSON one object; and the last line of
 * one that could not be given.
 */
void client_tell(struct client *cl, const char *text);
void client_error(struct client *cl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- client_answer.c ---------------------------------------------------- */

/* Begins to give the answer, and goes on. Both may close the client. */
void client_answer(struct client *cl, tstamp now);
void client_write(struct client *cl, tstamp now);

/* Before it is closed: gives what can be given at once. */
void client_flush(struct client *cl);

/* Lets go of its snapshot. */
void client_drop_status(struct client *cl);

/* --- command.c ---------------------------------------------------------- */

/*
 * Does what the line says. Afterwards the client's waits, wants_status and
 * out say how it goes on.
 */
void command_run(
    struct client *cl, const struct control_line *line, tstamp now);

/* Has the client's app be this one. false: it has been told why not. */
bool command_choose_app(struct client *cl, const char *name);

/* --- command_ping.c ----------------------------------------------------- */

void command_ping(struct client *cl, char *const *args, tstamp now);

/* --- command_wait.c ----------------------------------------------------- */

void command_wait(struct client *cl, char *const *args, tstamp now);

/* Answers those that need not wait any longer. Gives when to look again. */
tstamp command_look(struct control *c, tstamp now);

/* Has the client wait for the rollouts under way; false: there are none. */
bool command_wait_rollout(struct client *cl);

/* --- control.c ---------------------------------------------------------- */

/* Some client's deadline is at. */
void control_arm(struct control *c, tstamp at);

/* A client has left. */
void control_left(struct control *c);

#endif
