/*
 * The types of options that set up a process or the mode of a socket: modes,
 * umask, nice and the resource limits. Where the option can be inherited the
 * word for that is "inherit".
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

static const char inherit[] = "inherit";

/* ---- modes, in octal ---- */

static bool
parse_octal(const char *text, unsigned *out)
{
	size_t len = strlen(text);

	if (len == 0 || len > 6 || strspn(text, "01234567") != len)
		return false;
	*out = (unsigned)strtoul(text, NULL, 8);
	return *out <= 0777;
}

static bool
mode_parse(const struct conf_input *in, void *base)
{
	mode_t *field = CONF_FIELD(in->option, base);
	unsigned mode;

	if (!parse_octal(in->values[0], &mode))
		return conf_bad(in,
		    "'%s' is not a mode: octal digits, at most 0777",
		    in->values[0]);
	*field = (mode_t)mode;
	return true;
}

static bool
mode_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const mode_t *)CONF_FIELD(o, a) ==
	    *(const mode_t *)CONF_FIELD(o, b);
}

static bool
mode_print(const struct conf_option *o, const void *base, FILE *out)
{
	fprintf(out, "%04o", (unsigned)*(const mode_t *)CONF_FIELD(o, base));
	return true;
}

const struct conf_type conf_type_mode = {
	.parse = mode_parse,
	.equal = mode_equal,
	.print = mode_print,
};

static bool
umask_parse(const struct conf_input *in, void *base)
{
	int *field = CONF_FIELD(in->option, base);
	unsigned mode;

	if (strcmp(in->values[0], inherit) == 0) {
		*field = -1;
		return true;
	}
	if (!parse_octal(in->values[0], &mode))
		return conf_bad(in,
		    "'%s' is not a umask: octal digits, at most 0777, or "
		    "'inherit'",
		    in->values[0]);
	*field = (int)mode;
	return true;
}

static bool
int_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const int *)CONF_FIELD(o, a) == *(const int *)CONF_FIELD(o, b);
}

static bool
umask_print(const struct conf_option *o, const void *base, FILE *out)
{
	int mask = *(const int *)CONF_FIELD(o, base);

	if (mask == -1)
		fputs(inherit, out);
	else
		fprintf(out, "%04o", (unsigned)mask);
	return true;
}

const struct conf_type conf_type_umask = {
	.parse = umask_parse,
	.equal = int_equal,
	.print = umask_print,
};

/* ---- nice; the companion says whether it is set ---- */

static bool
nice_parse(const struct conf_input *in, void *base)
{
	int *field = CONF_FIELD(in->option, base);
	bool *set = CONF_EXTRA(in->option, base);
	const char *text = in->values[0];
	uint64_t value;

	if (strcmp(text, inherit) == 0) {
		*field = 0;
		*set = false;
		return true;
	}
	if (!conf_parse_uint(text + (*text == '-'), &value) ||
	    value > (*text == '-' ? 20 : 19))
		return conf_bad(in,
		    "'%s' is not a nice value: -20 to 19, or 'inherit'", text);
	*field = *text == '-' ? -(int)value : (int)value;
	*set = true;
	return true;
}

static bool
nice_equal(const struct conf_option *o, const void *a, const void *b)
{
	return int_equal(o, a, b) &&
	    *(const bool *)CONF_EXTRA(o, a) == *(const bool *)CONF_EXTRA(o, b);
}

static bool
nice_print(const struct conf_option *o, const void *base, FILE *out)
{
	if (*(const bool *)CONF_EXTRA(o, base))
		fprintf(out, "%d", *(const int *)CONF_FIELD(o, base));
	else
		fputs(inherit, out);
	return true;
}

const struct conf_type conf_type_nice = {
	.parse = nice_parse,
	.equal = nice_equal,
	.print = nice_print,
};

/* ---- resource limits ---- */

static bool
rlimit_set(const struct conf_input *in, void *base, bool good, uint64_t max,
    const char *what)
{
	struct conf_rlimit *field = CONF_FIELD(in->option, base);
	const char *text = in->values[0];

	if (strcmp(text, inherit) == 0) {
		field->set = false;
		field->max = 0;
		return true;
	}
	if (strcmp(text, "unlimited") == 0) {
		field->set = true;
		field->max = RLIM_INFINITY;
		return true;
	}
	if (!good || max >= RLIM_INFINITY || (double)max < in->option->min)
		return conf_bad(in,
		    "'%s' is not a limit: %s, 'unlimited' or 'inherit'", text,
		    what);
	field->set = true;
	field->max = (rlim_t)max;
	return true;
}

static bool
rlimit_parse(const struct conf_input *in, void *base)
{
	uint64_t value = 0;
	bool good = conf_parse_uint(in->values[0], &value);

	return rlimit_set(in, base, good, value, "a whole number");
}

static bool
rlimit_size_parse(const struct conf_input *in, void *base)
{
	uint64_t value = 0;
	bool good = conf_parse_size(in->values[0], &value);

	return rlimit_set(in, base, good, value, "a size like 64M");
}

static bool
rlimit_span_parse(const struct conf_input *in, void *base)
{
	tspan span = 0;
	bool good = conf_parse_span(in->values[0], &span) &&
	    span % TSPAN_SECONDS(1) == 0;

	return rlimit_set(in, base, good, (uint64_t)(span / TSPAN_SECONDS(1)),
	    "whole seconds");
}

static bool
rlimit_equal(const struct conf_option *o, const void *a, const void *b)
{
	const struct conf_rlimit *x = CONF_FIELD(o, a);
	const struct conf_rlimit *y = CONF_FIELD(o, b);

	return x->set == y->set && x->max == y->max;
}

/* True if a word stands for it. */
static bool
rlimit_print_word(const struct conf_rlimit *limit, FILE *out)
{
	if (limit->set && limit->max != RLIM_INFINITY)
		return false;
	fputs(limit->set ? "unlimited" : inherit, out);
	return true;
}

static bool
rlimit_print(const struct conf_option *o, const void *base, FILE *out)
{
	const struct conf_rlimit *limit = CONF_FIELD(o, base);

	if (!rlimit_print_word(limit, out))
		fprintf(out, "%ju", (uintmax_t)limit->max);
	return true;
}

static bool
rlimit_size_print(const struct conf_option *o, const void *base, FILE *out)
{
	const struct conf_rlimit *limit = CONF_FIELD(o, base);

	if (!rlimit_print_word(limit, out))
		conf_print_size(limit->max, out);
	return true;
}

static bool
rlimit_span_print(const struct conf_option *o, const void *base, FILE *out)
{
	const struct conf_rlimit *limit = CONF_FIELD(o, base);

	if (!rlimit_print_word(limit, out))
		fprintf(out, "%jus", (uintmax_t)limit->max);
	return true;
}

const struct conf_type conf_type_rlimit = {
	.parse = rlimit_parse,
	.equal = rlimit_equal,
	.print = rlimit_print,
};

const struct conf_type conf_type_rlimit_size = {
	.parse = rlimit_size_parse,
	.equal = rlimit_equal,
	.print = rlimit_size_print,
};

const struct conf_type conf_type_rlimit_span = {
	.parse = rlimit_span_parse,
	.equal = rlimit_equal,
	.print = rlimit_span_print,
};
