/*
 * apppoolctl top: the apps of a daemon, again and again; on the full screen a
 * table of which one is chosen, or all about one app.
 */

#include <curses.h>
#include <err.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <term.h>
#include <unistd.h>

#include "ctl/ctl.h"

/* Lines above the rows: of the daemon, of messages, of headings. */
#define HEAD 3

#define KEY_ESCAPE 27

/* The command of a key for an app, if the user says yes. */
static const struct deed {
	char key;
	const char *command;
	const char *question;
} deeds[] = {
	{ 'r', "restart", "Restart" },
	{ 'd', "drain", "Drain" },
	{ 'u', "resume", "Resume" },
};

#define DEEDS (sizeof(deeds) / sizeof(deeds[0]))

struct top {
	struct ask daemon; /* its errors: into the next */
	char *errors; /* owned: why the daemon was not seen */
	size_t errors_len; /* 0: it was */
	struct table table; /* status NULL: none yet */
	enum column sort; /* COLUMNS_ALL: the order of the file */
	char *app; /* the chosen one; owned; NULL: the first */
	size_t chosen; /* its row */
	size_t first; /* row, or line, that is shown */
	bool single; /* all about the app, in place of the table */
	struct text details; /* of it */
	bool help;
	const struct deed *question; /* that was asked; NULL: none */
	struct text line; /* being made */
};

/* --- looking ------------------------------------------------------------ */

static void
choose_row(struct top *top, size_t row)
{
	const struct table *table = &top->table;

	if (table->nrows == 0)
		return;
	top->chosen = row < table->nrows ? row : table->nrows - 1;
	free(top->app);
	top->app = strdup(form_string(table->rows[top->chosen].app, "name"));
}

/* What goes wrong is kept, and what was seen before stays. */
static void
look_again(struct top *top)
{
	const char *words[] = { "status", NULL, NULL };
	const struct table_row *rows;
	json_t *answer;
	size_t row = 0;

	rewind(top->daemon.errors);
	if (table_ask(&top->daemon, top->sort, &top->table) != EX_OK)
		goto end;
	/* The chosen app may stand in another row by now, or be gone. */
	rows = top->table.rows;
	while (top->app != NULL && row < top->table.nrows &&
	    strcmp(form_string(rows[row].app, "name"), top->app) != 0)
		row++;
	if (top->app != NULL && row < top->table.nrows)
		top->chosen = row;
	else
		choose_row(top, top->chosen);
	if (!top->single || top->app == NULL)
		goto end;
	words[1] = top->app;
	top->single = ask_json(&top->daemon, words, &answer) == EX_OK;
	if (top->single) {
		text_clear(&top->details);
		details_put(answer, &top->details);
		json_decref(answer);
	}
end:
	(void)fflush(top->daemon.errors);
}

/* --- drawing ------------------------------------------------------------ */

/* Draws the line that was made, cut at the edge: it does not wrap. */
static void
draw_line(struct top *top, int y, attr_t attr)
{
	const struct text *t = &top->line;
	size_t end = 0;

	for (int x = 0; end < t->len && x < COLS; x++) {
		size_t n = text_char_length(t->data + end, t->len - end);

		end += n == 0 ? 1 : n;
	}
	(void)attrset(attr);
	(void)move(y, 0);
	(void)clrtoeol();
	if (end > 0)
		(void)addnstr(t->data, (int)end);
	(void)attrset(A_NORMAL);
	text_clear(&top->line);
}

/* A question, what went wrong, or what the keys do. */
static void
draw_message(struct top *top)
{
	static const char *const names[] = { "name", "state", "processes",
		"active", "waiting", "oldest wait", "rate", "p99", "refused",
		"last failure", "the order of the file" };
	attr_t attr = A_BOLD;

	if (top->question != NULL) {
		text_printf(&top->line, "%s %s? (y/n)", top->question->question,
		    top->app == NULL ? "" : top->app);
	} else if (top->errors_len > 0) {
		text_put(&top->line, top->errors, strcspn(top->errors, "\n"));
	} else if (top->help) {
		text_puts(&top->line,
		    "up/down app  left/right sort  enter all  r restart  "
		    "d drain  u resume  q back");
	} else {
		attr = A_DIM;
		text_printf(&top->line, "by %s; ? for keys", names[top->sort]);
	}
	draw_line(top, 1, attr);
}

static void
draw_table(struct top *top)
{
	struct table *table = &top->table;
	size_t width = (size_t)COLS;
	size_t height = LINES > HEAD ? (size_t)(LINES - HEAD) : 0;

	table_put_row(table, TABLE_HEADINGS, width, &top->line);
	draw_line(top, HEAD - 1, A_BOLD);
	/* The chosen row is among those that are shown. */
	if (top->chosen < top->first)
		top->first = top->chosen;
	if (height > 0 && top->chosen >= top->first + height)
		top->first = top->chosen - height + 1;
	for (size_t row = top->first;
	     row < table->nrows && row - top->first < height; row++) {
		table_put_row(table, row, width, &top->line);
		draw_line(top, HEAD + (int)(row - top->first),
		    row == top->chosen ? A_REVERSE : A_NORMAL);
	}
}

/* All about the app, from the line first on, without what is of the daemon. */
static void
draw_details(struct top *top)
{
	const char *at = top->details.data, *end = at + top->details.len;
	const char *app = memmem(at, top->details.len, "\n\n", 2);
	int y = HEAD - 1;

	at = app == NULL ? at : app + 2;
	for (size_t i = 0; i < top->first; i++) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		if (eol == NULL || eol + 1 == end) {
			top->first = i;
			break;
		}
		at = eol + 1;
	}
	while (at < end && y < LINES) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		eol = eol == NULL ? end : eol;
		text_put(&top->line, at, (size_t)(eol - at));
		draw_line(top, y++, A_NORMAL);
		at = eol + 1;
	}
}

/* --- keys --------------------------------------------------------------- */

/* The daemon's answer is shown as without us, its progress included. */
static void
top_carry_out(const struct top *top, const char *command)
{
	const char *const words[] = { command, top->app, NULL };
	struct ask daemon = top->daemon;

	daemon.errors = NULL;
	daemon.timeout = 0;
	(void)def_prog_mode();
	(void)endwin();
	(void)ask_daemon(&daemon, words, stdout);
	(void)printf("-- press a key --");
	(void)fflush(stdout);
	(void)reset_prog_mode();
	timeout(-1);
	(void)getch();
	(void)clearok(curscr, TRUE);
}

/* False: the user quits. */
static bool
press_key(struct top *top, int key)
{
	const long page = LINES > HEAD ? LINES - HEAD : 1;
	const int all = COLUMNS_ALL + 1; /* with the order of the file */
	size_t *at = top->single ? &top->first : &top->chosen;
	size_t to;
	bool stays;
	long by = 0;

	if (top->question != NULL) {
		if (key == 'y')
			top_carry_out(top, top->question->command);
		top->question = NULL;
		return true;
	}
	switch (key) {
	case 'q':
	case KEY_ESCAPE:
		stays = top->single || top->help;
		top->single = top->help = false;
		top->first = 0;
		return stays;
	case KEY_UP:
	case 'k':
		by = -1;
		break;
	case KEY_DOWN:
	case 'j':
		by = 1;
		break;
	case KEY_PPAGE:
		by = -page;
		break;
	case KEY_NPAGE:
		by = page;
		break;
	case KEY_LEFT:
	case '<':
		top->sort = (enum column)(((int)top->sort + all - 1) % all);
		break;
	case KEY_RIGHT:
	case '>':
		top->sort = (enum column)(((int)top->sort + 1) % all);
		break;
	case KEY_ENTER:
	case '\n':
	case '\r':
		top->single = true;
		top->first = 0;
		break;
	case '?':
	case 'h':
		top->help = !top->help;
		break;
	default:
		for (size_t i = 0; i < DEEDS && top->app != NULL; i++)
			if (key == deeds[i].key)
				top->question = &deeds[i];
		break;
	}
	/* Up or down: over rows, or lines of details. */
	to = by < 0 && (size_t)-by > *at ? 0 : *at + (size_t)by;
	if (by != 0 && top->single)
		*at = to;
	else if (by != 0)
		choose_row(top, to);
	return true;
}

/* --- the screen --------------------------------------------------------- */

int
top_run(const struct ask *daemon, tspan interval, uint64_t count)
{
	struct top top = { .daemon = *daemon, .sort = COLUMNS_ALL };
	const char *term = getenv("TERM");
	bool stays = false;
	SCREEN *screen;
	int error, key;

	/* Whether standard output is a terminal that can show a screen. */
	if (count == 0 && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) &&
	    term != NULL && setupterm(term, STDOUT_FILENO, &error) == OK) {
		stays = cursor_address != NULL;
		(void)del_curterm(cur_term);
	}
	if (!stays)
		return table_show(daemon, interval, count);
	text_init(&top.line, CTL_TEXT_MAX);
	text_init(&top.details, CTL_TEXT_MAX);
	top.daemon.errors = open_memstream(&top.errors, &top.errors_len);
	(void)setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL || top.daemon.errors == NULL)
		err(EX_OSERR, NULL);
	(void)cbreak();
	(void)noecho();
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	(void)set_escdelay(25);
	while (stays) {
		look_again(&top);
		(void)erase();
		if (top.table.status != NULL) {
			table_put_row(
			    &top.table, TABLE_DAEMON, (size_t)COLS, &top.line);
			draw_line(&top, 0, A_NORMAL);
			if (top.single && top.details.len > 0)
				draw_details(&top);
			else
				draw_table(&top);
		}
		draw_message(&top);
		(void)refresh();
		timeout((int)(interval / TSPAN_MSECONDS(1)));
		key = getch();
		if (key != ERR && key != KEY_RESIZE)
			stays = press_key(&top, key);
	}
	(void)endwin();
	delscreen(screen);
	(void)fclose(top.daemon.errors);
	table_fini(&top.table);
	free(top.errors);
	free(top.app);
	text_fini(&top.line);
	text_fini(&top.details);
	return EX_OK;
}
