#ifndef DAEMON_REFUSAL_H
#define DAEMON_REFUSAL_H

/*
 * Connections that are refused, and what their clients are told: a 503,
 * FCGI_OVERLOADED, or the bytes of a file. A TCP connection that is closed over
 * an unread request is reset, which may destroy what was written before. So the
 * answer is written, the socket shut down for writing, and kept until the
 * client has gone or REFUSAL_TIME is over; then up to REFUSAL_DRAIN bytes are
 * read, and the socket is closed. Nothing is read before that: a client that
 * sends without end fills but a window.
 *
 * Unix sockets may hold descriptors of any kind, whose closing may take its
 * time: refusals.close drains them, too.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sys/loop.h"

/* Refusals that are open at a time; further ones are closed once answered. */
#define REFUSAL_MAX 256

#define REFUSAL_TIME TSPAN_SECONDS(2)
#define REFUSAL_DRAIN 65536

/* The length of FCGI_END_REQUEST, header and body. */
#define REFUSAL_FASTCGI 16

struct refusal_answer {
	/* Of the configuration, constant, or made. NULL: just close it. */
	const char *bytes;
	size_t len;
	char made[REFUSAL_FASTCGI];
};

struct refusals;

struct refusal {
	TAILQ_ENTRY(refusal) next; /* in unused or open */
	struct refusals *all;
	struct loop_io io;
	struct timer timer; /* REFUSAL_TIME is over; set while it is open */
	void *owner; /* for refusals.close */
	bool tcp, handed; /* as in struct accepted */
	const char *rest; /* still to be written */
	size_t rest_len;
	struct conf *config; /* a reference, for rest; NULL: none is left */
};

TAILQ_HEAD(refusal_list, refusal);

/*
 * Called once for each refusal: takes the connection over, and closes it.
 * drain: it is a Unix socket, of which is read before what has come.
 */
typedef void refusal_close(void *owner, int fd, bool tcp, bool drain);

struct refusals {
	struct loop *loop;
	refusal_close *close;
	struct refusal_list unused; /* used before */
	struct refusal_list open; /* clients that may still read an answer */
	size_t used; /* of table, at some time */
	struct refusal *table; /* REFUSAL_MAX; pages never used are none */
};

/* 0, or -1 and errno. */
int refusals_init(
    struct refusals *all, struct loop *loop, refusal_close *close);

/* Closes those that are open. */
void refusals_fini(struct refusals *all);

/*
 * Refuses the client at fd, which is taken over, as this app of config does.
 * tcp, handed: as in struct accepted; what was handed to a process is not read,
 * and just closed if it is of TCP.
 */
void refusal_begin(struct refusals *all, void *owner, struct conf *config,
    const struct conf_app *conf, int fd, bool tcp, bool handed, tstamp now);

/* Whether this app answers at all. */
bool refusal_answers(const struct conf_app *conf);

/*
 * The answer to the client at fd. What has come from the client is looked at
 * where the protocol wants that, and stays unread; fd -1: it is not.
 */
void refusal_answer(
    const struct conf_app *conf, int fd, struct refusal_answer *out);

#endif
