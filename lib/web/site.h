#ifndef WEB_SITE_H
#define WEB_SITE_H

/*
 * The connections of apppool-web, and their requests, which wait for the
 * daemon together.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "web/answers.h"

struct session;
struct request;

struct site {
	struct MHD_Daemon *http;
	int http_fd; /* readable when site_turn() has something to do */
	struct answers answers;
	int64_t sample_at; /* metrics are to be added to the history */
	bool sampling; /* the daemon is being asked for them */
	bool closing; /* each session ends after the request under way */
	LIST_HEAD(session_list, session) sessions; /* newest first */
	LIST_HEAD(request_list, request) waiting; /* for the daemon */
};

/* Times are milliseconds of a clock that never runs backwards. */
int64_t site_now(void);

/*
 * control: the path of the control socket, which outlives the site. False:
 * there is no memory.
 */
bool site_init(struct site *s, const char *control);

/* Takes over a connection that apppool_accept() returned. */
void site_accept(struct site *s, int fd);

/* Whether a connection is left. */
bool site_has_sessions(const struct site *s);

/* Ends idle connections, and the others after their request. */
void site_close(struct site *s);

/* How long to wait for a descriptor of the site, in milliseconds. */
int site_timeout(struct site *s);

/* Does all that is due. */
void site_turn(struct site *s);

/* No session is left. */
void site_fini(struct site *s);

#endif
