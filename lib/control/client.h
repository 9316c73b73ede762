#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

/*
 * The clients of the control socket: a client says one line and is given the
 * answer as fast as it reads. Nothing waits for a client, and its costs have
 * a bound. A user other than root and the daemon's own is a stranger, who can
 * keep nobody else out.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/follow.h"
#include "control/status.h"
#include "control/target.h"
#include "daemon/state.h"
#include "sys/log.h"
#include "sys/text.h"
#include "sys/timer.h"

/* Longest line, without its newline. */
#define CLIENT_LINE_MAX 4096

enum client_state {
	CLIENT_READING,
	CLIENT_WAITING, /* for what `waits` says, or for memory */
	CLIENT_WRITING,
};

enum client_wait {
	WAIT_NOTHING,
	WAIT_RELOAD, /* for the reload to end */
	WAIT_APPS, /* as long as its goes_on says so; see wait.h */
	WAIT_EVENTS, /* for the next; the answer so far is given before */
	WAIT_END, /* for the end of the daemon; likewise */
	WAIT_MEMORY, /* for other snapshots to be read to their end */
};

/* How far what a client waits for is: "3 of 8 ready". */
struct progress {
	uint32_t done;
	uint32_t of; /* 0: nothing to be told */
	const char *what; /* a constant */
};

struct client {
	TAILQ_ENTRY(client) next;
	struct clients *all;
	struct loop_io io;
	struct timer deadline; /* cuts it off */
	uid_t uid; /* of who connected; -1: not known */
	enum client_state state;
	enum client_wait waits;
	bool json;
	bool watches; /* asked for lines of progress */
	bool counted; /* in nwaiting */
	char line[CLIENT_LINE_MAX + 2]; /* with newline, and one too many */
	size_t len;
	char *app; /* of status and wait; owned; NULL: all */
	struct targets *targets; /* of what it waits for; owned; or NULL */
	bool (*goes_on)(struct client *, struct progress *out);
	struct progress shown;
	struct text out; /* the answer, but for a status */
	const struct status_writer *wants; /* a status, not yet taken */
	struct status *status; /* NULL: none, or no more */
	struct follow *follow; /* behind out; NULL: no events */
	const char *data; /* being sent; lies in out, status or follow */
	size_t data_len;
	size_t sent;
	tstamp until; /* the whole answer has to be taken */
};

struct clients {
	struct supervisor *sup;
	/*
	 * Does what the line of len bytes says, which may be written to and
	 * has room for a NUL. Afterwards the client's waits, wants and out
	 * say how it goes on.
	 */
	void (*run)(struct client *, char *line, size_t len, tstamp now);
	void (*left)(struct clients *); /* there is room for another one */
	TAILQ_HEAD(client_list, client) list;
	unsigned n;
	unsigned max; /* at a time */
	unsigned max_strangers; /* of max: the rest is kept for the others */
	unsigned max_each; /* of one stranger */
	unsigned max_waiting; /* of max: the rest is for clients that are
				 answered at once */
	unsigned nwaiting; /* clients that wait, but for memory; and those
			      that follow events, even while they read */
	size_t status_bytes; /* of all snapshots together */
	bool worked; /* the expensive step of this turn has been done */
	struct timer turn_ends; /* clears worked */
	struct log_rate refused_rate; /* of command.c */
	struct timer look; /* of wait.h, at whether apps are ready */
};

/* No clients, and room for none. */
void client_init(struct clients *all, struct supervisor *s,
    void (*run)(struct client *, char *line, size_t len, tstamp now),
    void (*left)(struct clients *));

/* Answers under way are cut; clients that wait for the end have it now. */
void client_close_all(struct clients *all);

/*
 * Takes fd over. If a stranger has too many connections, one that has said
 * nothing yet is told so and ends, the oldest of them first; or else this one.
 */
void client_new(struct clients *all, int fd, tstamp now);

/* Begins to send the answer. May close the client. */
void client_answer(struct client *cl, tstamp now);

/* False: too many wait, and the client was told so. */
bool client_may_wait(struct client *cl);

/* Tells a client that waits, and wants to know, how far things are. */
void client_progress(struct client *cl, const struct progress *p);

/*
 * Add to the answer: lines of text, in JSON one object; and the last line of
 * an unsuccessful answer.
 */
void client_tell(struct client *cl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void client_error(struct client *cl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
