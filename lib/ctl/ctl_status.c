/* All apps of a daemon, a line each. */

#include <stdlib.h>
#include <sysexits.h>

#include "ctl/ctl_status.h"
#include "ctl/ctl_width.h"
#include "ctl/overview.h"

/* A table of 10,000 apps at their longest. */
#define TABLE_MAX (64 * 1024 * 1024)

static int
print_table(char *answer)
{
	struct json_value *status = json_tree_read(answer);
	struct overview o = { 0 };
	struct text table;
	int result = EX_OK;

	text_init(&table, TABLE_MAX);
	if (status != NULL && overview_init(&o, status))
		overview_table(&o, ctl_width(), &table);
	else
		result = EX_PROTOCOL;
	if (result != EX_OK)
		perror("apppoolctl: the answer of the daemon");
	else if (fwrite(table.data, 1, table.len, stdout) != table.len ||
	    fflush(stdout) == EOF) {
		perror("apppoolctl: stdout");
		result = EX_IOERR;
	}
	text_fini(&table);
	overview_fini(&o);
	free(status);
	return result;
}

int
ctl_status(const struct ask *daemon)
{
	const struct ask json = {
		.file = daemon->file,
		.socket = daemon->socket,
		.json = true,
	};
	static char apps[] = "apps";
	char *const words[] = { apps, NULL };
	char *answer;
	int status = ask_text(&json, words, &answer);

	if (status == EX_OK)
		status = print_table(answer);
	free(answer);
	return status;
}
