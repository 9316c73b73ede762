/* The full screen: a table of all apps, of which one is chosen, or one app. */

#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#include "sys/text.h"
#include "top/screen.h"

/* Lines above the rows: of the daemon, of messages, of headings. */
#define HEAD 3

#define LINE_SIZE 65536

#define KEY_ESCAPE 27

struct screen {
	struct glance *g;
	char *app; /* the chosen one; owned; NULL: the first */
	size_t chosen; /* its row */
	size_t top; /* the first row, or line, that is shown */
	bool single; /* all about the app, in place of the table */
	bool help;
	char question; /* the key that asked it; '\0': none */
	struct text line; /* being made */
};

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

static const char *
column_name(enum cell_column column)
{
	static const char *const names[] = { "name", "state", "processes",
		"active", "waiting", "oldest wait", "rate", "p99", "refused",
		"last failure", "the order of the file" };

	return names[column];
}

bool
screen_possible(void)
{
	const char *term = getenv("TERM");
	bool possible;
	int error;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || term == NULL ||
	    setupterm(term, STDOUT_FILENO, &error) != OK)
		return false;
	possible = cursor_address != NULL;
	(void)del_curterm(cur_term);
	return possible;
}

/* --- what is chosen ------------------------------------------------------- */

static void
choose(struct screen *s, size_t row)
{
	const struct overview *table = &s->g->table;

	if (table->nrows == 0)
		return;
	s->chosen = row < table->nrows ? row : table->nrows - 1;
	free(s->app);
	s->app = strdup(overview_app(table, s->chosen));
}

/* The chosen app may stand in another row by now, or be gone. */
static void
find_chosen(struct screen *s)
{
	const struct overview *table = &s->g->table;

	for (size_t i = 0; s->app != NULL && i < table->nrows; i++) {
		if (strcmp(overview_app(table, i), s->app) != 0)
			continue;
		s->chosen = i;
		return;
	}
	choose(s, s->chosen);
}

static void
look(struct screen *s)
{
	if (!glance_apps(s->g))
		return;
	find_chosen(s);
	if (s->single && s->app != NULL && !glance_app(s->g, s->app))
		s->single = false;
}

/* --- drawing -------------------------------------------------------------- */

/* A line is cut at the edge: it does not wrap. The text is UTF-8. */
static void
draw_text(int y, const char *text, size_t len)
{
	size_t end = 0;

	for (int x = 0; end < len && x < COLS; x++) {
		size_t n = text_char_length(text + end, len - end);

		end += n == 0 ? 1 : n;
	}
	(void)move(y, 0);
	(void)clrtoeol();
	(void)addnstr(text, (int)end);
}

static void
draw_line(struct screen *s, int y, attr_t attr)
{
	(void)attrset(attr);
	draw_text(y, s->line.data == NULL ? "" : s->line.data, s->line.len);
	(void)attrset(A_NORMAL);
	text_clear(&s->line);
}

/* A question, what went wrong, or what the keys do. */
static void
draw_message(struct screen *s)
{
	attr_t attr = A_BOLD;

	for (size_t i = 0; i < DEEDS; i++)
		if (s->question == deeds[i].key)
			text_printf(&s->line, "%s %s? (y/n)", deeds[i].question,
			    s->app == NULL ? "" : s->app);
	if (s->line.len == 0 && s->g->errors != NULL)
		text_put(&s->line, s->g->errors, strcspn(s->g->errors, "\n"));
	if (s->line.len == 0 && s->help)
		text_puts(&s->line,
		    "up/down app  left/right sort  enter all  r restart  "
		    "d drain  u resume  q back");
	if (s->line.len == 0) {
		attr = A_DIM;
		text_printf(
		    &s->line, "by %s; ? for keys", column_name(s->g->sort));
	}
	draw_line(s, 1, attr);
}

/* Keeps the line `at` among those that are shown. */
static void
scroll_to(struct screen *s, size_t at, size_t height)
{
	if (at < s->top)
		s->top = at;
	if (height > 0 && at >= s->top + height)
		s->top = at - height + 1;
}

static void
draw_table(struct screen *s)
{
	struct overview *table = &s->g->table;
	size_t width = (size_t)COLS;
	size_t height = LINES > HEAD ? (size_t)(LINES - HEAD) : 0;

	overview_headings(table, width, &s->line);
	draw_line(s, HEAD - 1, A_BOLD);
	scroll_to(s, s->chosen, height);
	for (size_t i = s->top; i < table->nrows && i - s->top < height; i++) {
		overview_row(table, i, width, &s->line);
		draw_line(s, HEAD + (int)(i - s->top),
		    i == s->chosen ? A_REVERSE : A_NORMAL);
	}
}

/* The answer to `status APP`, from the line s->top on, without its head. */
static void
draw_details(struct screen *s)
{
	const char *at = strstr(s->g->details, "\n\n");
	int y = HEAD - 1;

	at = at == NULL ? s->g->details : at + 2;
	for (size_t i = 0; i < s->top; i++) {
		const char *next = strchr(at, '\n');

		if (next == NULL || next[1] == '\0') {
			s->top = i;
			break;
		}
		at = next + 1;
	}
	for (; *at != '\0' && y < LINES; y++) {
		size_t len = strcspn(at, "\n");

		draw_text(y, at, len);
		at += len + (at[len] == '\n');
	}
}

static void
draw(struct screen *s)
{
	(void)erase();
	if (s->g->status != NULL) {
		overview_daemon(&s->g->table, (size_t)COLS, &s->line);
		draw_line(s, 0, A_NORMAL);
		if (s->single && s->g->details != NULL)
			draw_details(s);
		else
			draw_table(s);
	}
	draw_message(s);
	(void)refresh();
}

/* --- keys ------------------------------------------------------------------
 */

/* The daemon's answer is shown as without us, its progress included. */
static void
carry_out(struct screen *s, const struct deed *d)
{
	struct ask daemon = s->g->daemon;
	char *command = strdup(d->command);
	char *const words[] = { command, s->app, NULL };

	daemon.timeout = 0;
	(void)def_prog_mode();
	(void)endwin();
	if (command != NULL && s->app != NULL)
		(void)ask_daemon(&daemon, words, stdout);
	(void)printf("-- press a key --");
	(void)fflush(stdout);
	free(command);
	(void)reset_prog_mode();
	timeout(-1);
	(void)getch();
	(void)clearok(curscr, TRUE);
}

static void
answer(struct screen *s, int key)
{
	for (size_t i = 0; i < DEEDS; i++)
		if (s->question == deeds[i].key && key == 'y')
			carry_out(s, &deeds[i]);
	s->question = '\0';
}

static void
ask_back(struct screen *s, int key)
{
	for (size_t i = 0; i < DEEDS && s->app != NULL; i++)
		if (key == deeds[i].key)
			s->question = deeds[i].key;
}

/* By: 1 or -1 column; behind the last one is the order of the file. */
static void
sort_beside(struct screen *s, int by)
{
	const int all = CELL_COLUMNS + 1;

	s->g->sort = (enum cell_column)(((int)s->g->sort + by + all) % all);
}

static void
step(struct screen *s, long by)
{
	size_t *at = s->single ? &s->top : &s->chosen;
	size_t to = by < 0 && (size_t)-by > *at ? 0 : *at + (size_t)by;

	if (s->single)
		*at = to;
	else
		choose(s, to);
}

/* Back from one app to all, or out. False: out. */
static bool
leave(struct screen *s)
{
	bool stays = s->single || s->help;

	s->single = s->help = false;
	s->top = 0;
	return stays;
}

/* False: the user quits. */
static bool
press(struct screen *s, int key)
{
	const long page = LINES > HEAD ? LINES - HEAD : 1;

	switch (key) {
	case 'q':
	case KEY_ESCAPE:
		return leave(s);
	case KEY_UP:
	case 'k':
		step(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		step(s, 1);
		break;
	case KEY_PPAGE:
		step(s, -page);
		break;
	case KEY_NPAGE:
		step(s, page);
		break;
	case KEY_LEFT:
	case '<':
		sort_beside(s, -1);
		break;
	case KEY_RIGHT:
	case '>':
		sort_beside(s, 1);
		break;
	case KEY_ENTER:
	case '\n':
	case '\r':
		s->single = true;
		s->top = 0;
		break;
	case '?':
	case 'h':
		s->help = !s->help;
		break;
	default:
		ask_back(s, key);
		break;
	}
	return true;
}

void
screen_run(struct glance *g, tspan interval)
{
	struct screen s = { .g = g };
	SCREEN *screen;
	bool stays = true;

	(void)setlocale(LC_CTYPE, "");
	text_init(&s.line, LINE_SIZE);
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return;
	(void)cbreak();
	(void)noecho();
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	(void)set_escdelay(25);
	while (stays) {
		int key;

		look(&s);
		draw(&s);
		timeout((int)(interval / TSPAN_MSECONDS(1)));
		key = getch();
		if (key == ERR || key == KEY_RESIZE)
			continue;
		if (s.question != '\0')
			answer(&s, key);
		else
			stays = press(&s, key);
	}
	(void)endwin();
	delscreen(screen);
	free(s.app);
	text_fini(&s.line);
}
