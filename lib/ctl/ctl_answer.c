/* An answer of the daemon, shown while it comes. */

#include <string.h>

#include "ctl/ctl_answer.h"

static const char mark[] = "error: ";

#define MARK_LEN (sizeof(mark) - 1)

void
ctl_answer_init(struct ctl_answer *a, FILE *to, bool json)
{
	memset(a, 0, sizeof(*a));
	a->to = to;
	a->json = json;
}

/* Shows the kept line: it is no error. */
static void
let_pass(struct ctl_answer *a)
{
	(void)fwrite(a->line, 1, a->len, a->to);
	a->len = 0;
}

static bool
may_be_error(const struct ctl_answer *a)
{
	size_t len = a->len < MARK_LEN ? a->len : MARK_LEN;

	return memcmp(a->line, mark, len) == 0;
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
	if (!may_be_error(a) || a->len == sizeof(a->line)) {
		let_pass(a);
		a->passing = c != '\n';
	} else if (c == '\n') {
		a->whole = true;
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
	if (a->whole) {
		a->line[a->len - 1] = '\0';
		*error_out = a->line + MARK_LEN;
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
