#ifndef CONF_NAMES_H
#define CONF_NAMES_H

/* The names of a file: which are known, and what to write for others. */

#include <stdbool.h>

#include "conf/findings.h"
#include "conf/token.h"

/* The form of a statement, by the token behind its name. */
enum form {
	FORM_OPTION,
	FORM_CALL,
	FORM_SECTION,
	FORM_TITLED
};

/* A name where it stands. */
struct name {
	struct findings *findings;
	const struct source *source;
	const struct token *at; /* the token; others follow */
	const char *text;
	bool in_app; /* or in another section */
};

/* Whether it is that of a call, here. */
bool names_is_call(const struct name *n);

/* True if it is known and used as it should be; reports it otherwise. */
bool names_check(const struct name *n, enum form form);

/*
 * What is wrong, and what to write, if there is no sign behind the name but a
 * value; NULL: nobody knows.
 */
const char *names_advice(const struct name *n);

#endif
