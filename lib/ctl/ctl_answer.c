/* An answer of the daemon, shown while it comes. */

#include <string.h>

#include "ctl/ctl_answer.h"

static const char error_mark[] = "error: ";
static const char progress_mark[] = "progress: ";

void
ctl_answer_init(struct ctl_answer *a, FILE *to, bool json, FILE *terminal)
{
	memset(a, 0, sizeof(*a));
	a->to = to;
	a->terminal = terminal;
	a->json = json;
}

/* Shows the kept line: it is no error. */
static void
let_pass(struct ctl_answer *a)
{
	(void)fwrite(a->line, 1, a->len, a->to);
	a->len = 0;
}

/* Whether the kept bytes may be the beginning of a line with this mark. */
static bool
may_have(const struct ctl_answer *a, const char *mark)
{
	size_t len = strlen(mark);

	return memcmp(a->line, mark, a->len < len ? a->len : len) == 0;
}

static bool
is_kept(const struct ctl_answer *a)
{
	return may_have(a, error_mark) ||
	    (a->terminal != NULL && may_have(a, progress_mark));
}

/* Shows the kept line, which is one of progress, in place of the former. */
static void
show_progress(struct ctl_answer *a)
{
	const int mark = sizeof(progress_mark) - 1;
	int len = (int)a->len - 1 - mark, former = a->shown;

	(void)fprintf(a->terminal, "\r%.*s%*s", len, a->line + mark,
	    former > len ? former - len : 0, "");
	(void)fflush(a->terminal);
	a->shown = len;
	a->len = 0;
}

/* Clears what show_progress() has shown. */
static void
clear_progress(struct ctl_answer *a)
{
	if (a->shown > 0)
		(void)fprintf(a->terminal, "\r%*s\r", a->shown, "");
	a->shown = 0;
}

/* The kept line has ended. */
static void
end_line(struct ctl_answer *a)
{
	if (a->terminal != NULL && may_have(a, progress_mark))
		show_progress(a);
	else
		a->whole = true;
}

static void
put_byte(struct ctl_answer *a, char c)
{
	if (a->whole) {
		let_pass(a);
		a->whole = false;
	}
	if (a->passing) {
		(void)putc_unlocked(c, a->to);
		a->passing = c != '\n';
		return;
	}
	a->line[a->len++] = c;
	if (c == '\n' && is_kept(a)) {
		end_line(a);
	} else if (!is_kept(a) || a->len == sizeof(a->line)) {
		clear_progress(a);
		let_pass(a);
		a->passing = c != '\n';
	}
}

void
ctl_answer_put(struct ctl_answer *a, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		put_byte(a, s[i]);
		a->last[0] = a->last[1];
		a->last[1] = s[i];
	}
	(void)fflush(a->to);
}

enum ctl_end
ctl_answer_end(struct ctl_answer *a, const char **error_out)
{
	clear_progress(a);
	if (a->whole) {
		a->line[a->len - 1] = '\0';
		*error_out = a->line + sizeof(error_mark) - 1;
		return CTL_END_REFUSED;
	}
	let_pass(a);
	(void)fflush(a->to);
	if (a->last[1] != '\n')
		return CTL_END_CUT;
	/* All lines of a JSON status end so, but the last. */
	if (a->json && (a->last[0] == ',' || a->last[0] == '['))
		return CTL_END_CUT;
	return CTL_END_DONE;
}
