#ifndef CONF_BUILD_H
#define CONF_BUILD_H

/*
 * Builds a struct conf from statements. An option of an app has the value that
 * the app sets, else that of `defaults`, wherever that section stands, else its
 * default.
 */

#include <stdbool.h>
#include <stddef.h>

#include "conf/arena.h"
#include "conf/conf.h"
#include "conf/findings.h"
#include "conf/parse.h"

struct setting;

/* The options of an app, of `defaults`, or those outside of sections. */
struct section {
	const struct stmt *stmt; /* NULL: outside of sections */
	struct setting **settings; /* by options_index(); NULL: not set */
};

struct build {
	struct conf *conf;
	struct arena
	    *arena; /* the memory of conf; that of findings is temporary */
	struct findings *findings;
	struct parse *parse;
	struct section global;
	struct section *sections; /* in their order */
	size_t sections_len;
	const struct section *defaults; /* NULL: there are none */
	const struct section **app_sections; /* one for each app of conf */
};

/*
 * Converts the values of all options; mistakes go to findings. False: there are
 * too many apps, and none was checked.
 */
bool build_conf(struct build *b);

/*
 * Of an option of an app (app NULL: of a global option): whether the app or
 * `defaults` sets it, or the app itself does; where it is set, or, if it is
 * not, where the app begins or line 1; and whether its value can be relied on,
 * false if only a mistake made it the default.
 */
bool build_sets(
    const struct build *b, const struct conf_app *app, const char *option);
bool build_sets_itself(
    const struct build *b, const struct conf_app *app, const char *option);
struct where build_where(
    const struct build *b, const struct conf_app *app, const char *option);
bool build_sound(
    const struct build *b, const struct conf_app *app, const char *option);

#endif
