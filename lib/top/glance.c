/* Asking the daemon, again and again. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "top/glance.h"

/* A daemon that takes longer has something better to do. */
#define PATIENCE TSPAN_SECONDS(5)

void
glance_init(struct glance *g, const struct ask *daemon)
{
	*g = (struct glance){ .daemon = *daemon, .sort = CELL_COLUMNS };
	g->daemon.timeout = PATIENCE;
}

static void
drop_table(struct glance *g)
{
	if (g->status != NULL)
		overview_fini(&g->table);
	free(g->status);
	free(g->answer);
	g->status = NULL;
	g->answer = NULL;
}

void
glance_fini(struct glance *g)
{
	drop_table(g);
	free(g->details);
	free(g->errors);
}

/* As ask_text(); what goes wrong is kept. NULL: something did. */
static char *
ask(struct glance *g, bool json, char *const *words)
{
	struct ask daemon = g->daemon;
	char *answer = NULL;
	size_t len = 0;

	free(g->errors);
	g->errors = NULL;
	daemon.json = json;
	daemon.errors = open_memstream(&g->errors, &len);
	if (daemon.errors == NULL)
		return NULL;
	(void)ask_text(&daemon, words, &answer);
	(void)fclose(daemon.errors);
	if (answer != NULL) {
		free(g->errors);
		g->errors = NULL;
	}
	return answer;
}

bool
glance_apps(struct glance *g)
{
	static char apps[] = "apps";
	char *const words[] = { apps, NULL };
	char *answer = ask(g, true, words);
	struct json_value *status =
	    answer == NULL ? NULL : json_tree_read(answer);
	struct overview table;

	if (status == NULL || !overview_init(&table, status)) {
		if (answer != NULL)
			g->errors = strdup("the daemon answers otherwise: "
					   "another version?\n");
		free(status);
		free(answer);
		return false;
	}
	drop_table(g);
	g->answer = answer;
	g->status = status;
	g->table = table;
	if (g->sort != CELL_COLUMNS)
		overview_sort(&g->table, g->sort);
	return true;
}

bool
glance_app(struct glance *g, const char *name)
{
	static char status[] = "status";
	char *app = strdup(name);
	char *const words[] = { status, app, NULL };
	char *answer = app == NULL ? NULL : ask(g, false, words);

	free(app);
	if (answer == NULL)
		return false;
	free(g->details);
	g->details = answer;
	return true;
}
