#ifndef CTL_CTL_H
#define CTL_CTL_H

/* The room of apppoolctl, by the file that defines each function. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sys/text.h"

/* Exit status: the daemon refused, or a check is not passed. */
#define CTL_REFUSED 1

/* A table of 10,000 apps at their longest. */
#define CTL_TEXT_MAX (64 * 1024 * 1024)

/* The longest head of an answer, of HTTP or CGI. */
#define PING_HEAD_MAX 16384

/* --- ask.c: a question to a running daemon ------------------------------ */

/* The daemon, and the form of its answer. */
struct ask {
	const char *file; /* -c; NULL: not given */
	const char *socket; /* -s; NULL: not given */
	bool json;
	tspan appears; /* a daemon that is not there yet may come within this */
	FILE *errors; /* NULL: stderr */
	tspan timeout; /* the whole answer has to come within this; 0: none */
};

/* A socket that is read until the end of its time, with ETIMEDOUT then. */
struct ask_source {
	int fd;
	tstamp end; /* TSTAMP_NEVER: there is no hurry */
	int error; /* errno of what ended it; 0: nothing */
};

/* NULL and errno. */
FILE *ask_open(struct ask_source *);

/*
 * Shows an answer while it comes, lines of progress in passing on the terminal
 * unless that is NULL. A last line that begins "error: " is kept back:
 * *error_out, which the caller frees; else NULL. False: the answer is cut off.
 */
bool ask_show(
    FILE *from, FILE *to, FILE *terminal, bool json, char **error_out);

/* Says the words to the daemon. An exit status; a failure has been said. */
int ask_daemon(const struct ask *, const char *const *words, FILE *to);

/* The same in JSON; if EX_OK the caller gives *out back. */
int ask_json(const struct ask *, const char *const *words, json_t **out);

/* Writes to standard output. An exit status; a failure has been said. */
int ask_put(const struct text *);

/* --- form.c: the status of a daemon, for people ------------------------- */

/*
 * The string that a path names in an object: KEY, KEY.KEY, or PATH|PATH, the
 * first that is not null; NULL: there is none.
 */
const char *form_string(const json_t *object, const char *path);

/* Puts the answer to `json status [APP]`. */
void details_put(const json_t *status, struct text *out);

enum column {
	COLUMN_APP,
	COLUMN_STATE,
	COLUMN_PROCESSES,
	COLUMN_ACTIVE,
	COLUMN_WAITING,
	COLUMN_OLDEST,
	COLUMN_RATE,
	COLUMN_P99,
	COLUMN_REFUSED,
	COLUMN_FAILURE,
	COLUMNS_ALL
};

struct table_row {
	const json_t *app;
	const char *name; /* if rows are sorted by that; else NULL */
	double weight; /* likewise; the largest is first */
};

struct table {
	json_t *status; /* the answer to `json apps`, owned */
	struct table_row *rows;
	size_t nrows;
	size_t widths[COLUMNS_ALL]; /* of the widest text, in characters */
	struct text cell; /* being made */
};

/*
 * Takes status over, and sorts the apps by a column: by name upwards, by
 * figures downwards, by state and failure those first that need a look;
 * COLUMNS_ALL: as they are. False: there is no memory, or it is no such answer.
 */
bool table_init(struct table *, json_t *status, enum column by);
void table_fini(struct table *);

/* A new table in place of a former one; else that stays. An exit status. */
int table_ask(const struct ask *, enum column by, struct table *);

/* Puts the line of a row without its newline, cut to width unless that is 0. */
#define TABLE_DAEMON SIZE_MAX
#define TABLE_HEADINGS (SIZE_MAX - 1)
void table_put_row(struct table *, size_t row, size_t width, struct text *out);

/*
 * Shows so many tables, one below the other, as wide as the terminal; 0:
 * without end. Gives the exit status.
 */
int table_show(const struct ask *, tspan interval, uint64_t count);

/* --- top.c -------------------------------------------------------------- */

/* On the full screen where there is one, unless count is given. */
int top_run(const struct ask *, tspan interval, uint64_t count);

/* --- ping.c ------------------------------------------------------------- */

/* An answer to a health check. */
struct ping_answer {
	enum conf_protocol protocol;
	const char *why; /* constant; NULL: nothing is wrong */
	bool ended; /* as the protocol has it */
	char head[PING_HEAD_MAX];
	size_t head_len;
	bool in_line; /* a line of it has begun, and not ended */
	bool head_done;
	unsigned status; /* of HTTP; 0: not known */
	char reason[64]; /* printable; the words after the status */
	uint64_t length; /* of the body; UINT64_MAX: it does not say */
	uint64_t body; /* bytes of it that came */
	uint64_t total; /* of everything */
	uint32_t app_status; /* the exit status of a FastCGI request */
	char complaint[160]; /* printable; the beginning of stderr */
};

/* Writes the request of a health check for path; raw: nothing. */
void ping_put_request(
    enum conf_protocol protocol, const char *path, struct text *out);

/*
 * Reads an answer up to its end, or to what is wrong with it. False and errno:
 * the stream has failed before.
 */
bool ping_read(struct ping_answer *, FILE *from);

/* Whether it is whole, of a status from 200 to 399. */
bool ping_is_good(const struct ping_answer *);

/*
 * Connects to an address as the daemon shows it: "127.0.0.1:80", "[::1]:80",
 * "unix:/run/web.sock", "unix:@abstract". A socket that waits no longer than
 * timeout in any call, and is the caller's; or -1 and errno: ETIMEDOUT then.
 */
int ping_connect(const char *address, tspan timeout);

/*
 * Asks the daemon where the app listens, and then the app itself, for path
 * (NULL: "/"); the answer has to be whole within the timeout of the question,
 * or 5 s. Gives the exit status.
 */
int ping_run(const struct ask *, const char *app, const char *path);

#endif
