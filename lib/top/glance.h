#ifndef TOP_GLANCE_H
#define TOP_GLANCE_H

/* The state of a daemon at one time: its apps, or all about one of them. */

#include <stdbool.h>

#include "ctl/ask.h"
#include "ctl/overview.h"

struct glance {
	struct ask daemon;
	enum cell_column sort;
	char *answer; /* owned; status lies in it */
	struct json_value *status; /* owned; NULL: none yet */
	struct overview table; /* sorted; of status */
	char *details; /* owned: the answer about an app; NULL: none */
	char *errors; /* owned: why there is none; NULL: nothing is wrong */
};

void glance_init(struct glance *g, const struct ask *daemon);
void glance_fini(struct glance *g);

/* Looks at all apps. False: errors says why not, and the rest stays. */
bool glance_apps(struct glance *g);

/* Looks at one app, too. */
bool glance_app(struct glance *g, const char *name);

#endif
