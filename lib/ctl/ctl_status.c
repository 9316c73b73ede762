/* All apps of a daemon, a line each. */

#include <sys/ioctl.h>

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "ctl/ctl_status.h"
#include "ctl/overview.h"
#include "sys/number.h"

/* A table of 10,000 apps at their longest. */
#define TABLE_MAX (64 * 1024 * 1024)

/* Of COLUMNS, or the terminal; 0: neither says. */
static size_t
terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns != NULL && number_parse(columns, strlen(columns), &n))
		return (size_t)n;
	if (isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		return size.ws_col;
	return 0;
}

static void
make_table(struct overview *o, struct text *table)
{
	size_t width = terminal_width();

	overview_daemon(o, width, table);
	text_puts(table, "\n");
	overview_headings(o, width, table);
	text_puts(table, "\n");
	for (size_t i = 0; i < o->nrows; i++) {
		overview_row(o, i, width, table);
		text_puts(table, "\n");
	}
}

static int
print_table(char *answer)
{
	struct json_value *status = json_tree_read(answer);
	struct overview o = { 0 };
	struct text table;
	int result = EX_OK;

	text_init(&table, TABLE_MAX);
	if (status != NULL && overview_init(&o, status))
		make_table(&o, &table);
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
