/* A line of the control protocol, taken apart. */

#include <string.h>

#include "control/control_line.h"

static const char *
control_line_check(const char *line, size_t len)
{
	if (len > CONTROL_LINE_MAX)
		return "the line is longer than 4096 bytes";
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return "a control character in the line";
	}
	return NULL;
}

const char *
control_line_parse(char *line, size_t len, struct control_line *out)
{
	const char *wrong = control_line_check(line, len);
	char *rest = line, *word;

	if (wrong != NULL)
		return wrong;
	line[len] = '\0';
	*out = (struct control_line){ 0 };
	while ((word = strsep(&rest, " \t")) != NULL) {
		if (*word == '\0')
			continue;
		if (out->nwords == 0 && !out->json &&
		    strcmp(word, "json") == 0) {
			out->json = true;
			continue;
		}
		if (out->nwords == CONTROL_WORDS_MAX)
			return "too many words";
		out->words[out->nwords++] = word;
	}
	return out->nwords == 0 ? "no command" : NULL;
}
