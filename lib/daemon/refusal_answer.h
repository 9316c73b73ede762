#ifndef DAEMON_REFUSAL_ANSWER_H
#define DAEMON_REFUSAL_ANSWER_H

/* What those are told whom an app turns away. */

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

/* The length of FCGI_END_REQUEST, header and body. */
#define REFUSAL_FASTCGI 16

struct refusal_answer {
	/*
	 * Of the configuration, constant, or made. NULL: there is no answer,
	 * the connection is just closed.
	 */
	const char *bytes;
	size_t len;
	char made[REFUSAL_FASTCGI];
};

/* Whether this app answers at all. */
bool refusal_answers(const struct conf_app *conf);

/*
 * The answer to the client at fd. What has come from it is looked at where
 * the protocol wants that, and stays unread.
 */
void refusal_answer(
    const struct conf_app *conf, int fd, struct refusal_answer *out);

#endif
