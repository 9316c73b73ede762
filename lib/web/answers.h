#ifndef WEB_ANSWERS_H
#define WEB_ANSWERS_H

/*
 * The answers of apppool-web to HTTP: /, /status.json, /metrics, /history.json
 * and /healthz; see apppool-web(8).
 */

#include "web/history.h"
#include "web/question.h"

/* All that they are made of. */
struct answers {
	struct question status;
	struct question metrics;
	struct history history;
	size_t sending; /* bytes of long bodies that clients are reading */
};

/* A response of libmicrohttpd, which is the caller's, and its status. */
struct answer {
	struct MHD_Response *response; /* NULL: there is no memory */
	unsigned code;
};

/* control: the path of the control socket, which outlives them. */
void answers_init(struct answers *all, const char *control);
void answers_fini(struct answers *all);

/* The question that must be answered before; NULL: none. */
struct question *answers_question(struct answers *all, const char *url);

struct answer answers_to(struct answers *all, const char *url);

/* The answer to a method that is neither GET nor HEAD. */
struct answer answers_to_method(void);

#endif
