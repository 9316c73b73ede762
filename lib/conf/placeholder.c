/* Words in the command that stand for values of a process. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf/placeholder.h"
#include "sys/number.h"
#include "sys/text.h"

/* More than the kernel takes as arguments of a program. */
#define FILLED_MAX ((size_t)8 * 1024 * 1024)

static const char app_word[] = "{app}";
static const char slot_word[] = "{slot";

/* The length of a "{slot}" or "{slot+N}" that begins here, and N; 0: none. */
static size_t
slot_at(const char *text, uint64_t *plus_out)
{
	const char *p = text;

	*plus_out = 0;
	if (strncmp(text, slot_word, strlen(slot_word)) != 0)
		return 0;
	p += strlen(slot_word);
	if (*p == '+') {
		p++;
		if (!number_read(&p, p + strlen(p), plus_out) ||
		    *plus_out > UINT32_MAX)
			return 0;
	}
	return *p == '}' ? (size_t)(p - text) + 1 : 0;
}

bool
placeholder_has_slot(const char *text)
{
	uint64_t plus;

	while ((text = strchr(text, '{')) != NULL) {
		if (slot_at(text, &plus) > 0)
			return true;
		text++;
	}
	return false;
}

/* Puts what stands for the brace at text; returns how much of that it is. */
static size_t
put_word(struct text *out, const char *text, const char *app, uint32_t slot)
{
	uint64_t plus;
	size_t len = slot_at(text, &plus);

	if (len > 0) {
		text_printf(out, "%" PRIu64, slot + plus);
		return len;
	}
	if (strncmp(text, app_word, strlen(app_word)) == 0) {
		text_puts(out, app);
		return strlen(app_word);
	}
	text_put(out, text, 1);
	return 1;
}

char *
placeholder_fill(const char *text, const char *app, uint32_t slot)
{
	struct text out;

	text_init(&out, FILLED_MAX);
	while (*text != '\0') {
		size_t len = strcspn(text, "{");

		text_put(&out, text, len);
		text += len;
		if (*text == '{')
			text += put_word(&out, text, app, slot);
	}
	text_put(&out, "", 1);
	if (out.failed) {
		text_fini(&out);
		errno = ENOMEM;
	}
	return out.data;
}
