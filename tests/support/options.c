/* getopt_long() driven by a table of destinations. */

#include <assert.h>
#include <err.h>
#include <getopt.h>
#include <stdlib.h>
#include <sysexits.h>

#include "options.h"

enum {
	OPTIONS_MAX = 32
};

int64_t
options_number(const char *name, const char *text, int64_t min, int64_t max)
{
	const char *wrong;
	int64_t n = strtonum(text, min, max, &wrong);

	if (wrong != NULL)
		errx(EX_USAGE, "%s: %s: %s", name, text, wrong);
	return n;
}

static void
options_place(const struct option_place *o, const char *text)
{
	if (o->flag != NULL)
		*o->flag = true;
	else if (o->text != NULL)
		*o->text = text;
	else if (o->number != NULL)
		*o->number = options_number(o->name, text, o->min, o->max);
	else
		o->call(o->arg, text);
}

void
options_parse(
    const struct option_place *table, int argc, char **argv, const char *usage)
{
	struct option longs[OPTIONS_MAX] = { 0 };
	int i, index;

	for (i = 0; table[i].name != NULL; i++) {
		assert(i < OPTIONS_MAX - 1);
		longs[i].name = table[i].name;
		longs[i].has_arg =
		    table[i].flag == NULL ? required_argument : no_argument;
	}
	for (;;) {
		switch (getopt_long(argc, argv, "", longs, &index)) {
		case 0:
			options_place(&table[index], optarg);
			continue;
		case -1:
			if (optind == argc)
				return;
			break;
		default:
			break;
		}
		errx(EX_USAGE, "usage: %s", usage);
	}
}
