/* The words for states and ends of a process. */

#include "core/app.h"

#include "check.h"

TEST(every_state_and_end_has_a_word)
{
	for (int s = 0; s < PROCESS_STATES; s++)
		CHECK(process_state_names[s] != NULL);
	for (int e = 0; e < PROCESS_ENDS; e++)
		CHECK(process_end_names[e] != NULL);
}

/* The section REASONS of the manual page; allocated, or NULL. */
static char *
read_reasons(void)
{
	FILE *in = fopen("man/apppoolctl.8", "r");
	char *manual = NULL, *begin, *end, *reasons = NULL;
	size_t size = 0;

	if (in == NULL)
		return NULL;
	if (getdelim(&manual, &size, '\0', in) != -1 &&
	    (begin = strstr(manual, "\n.Sh REASONS\n")) != NULL &&
	    (end = strstr(begin + 1, "\n.Sh ")) != NULL)
		reasons = strndup(begin, (size_t)(end - begin));
	free(manual);
	fclose(in);
	return reasons;
}

TEST(the_manual_has_every_end_and_no_other)
{
	char *reasons = read_reasons(), *at = reasons, *line, *word;
	int e = 0;

	NEED(reasons != NULL);
	while ((line = strsep(&at, "\n")) != NULL) {
		if (strncmp(line, ".It Cm ", 7) != 0)
			continue;
		line += 7;
		/* Behind "Ta" stands the cell that explains the words. */
		if ((word = strstr(line, " Ta ")) != NULL)
			*word = '\0';
		while ((word = strsep(&line, " ,")) != NULL) {
			if (*word == '\0')
				continue;
			NEED(e < PROCESS_ENDS);
			CHECK_STR(process_end_names[e++], word);
		}
	}
	CHECK_EQ(PROCESS_ENDS, e);
	free(reasons);
}

TESTS(NULL, NULL)
