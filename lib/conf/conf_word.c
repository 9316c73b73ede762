/*
 * Options that take one of a few words: bools, enumerations, and words beside
 * which a file may be named.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>

#include "conf/conf_private.h"

static const struct conf_word log_words[] = {
	{ .name = "stderr", .value = CONF_LOG_STDERR },
	{ .name = "syslog", .value = CONF_LOG_SYSLOG },
	{ .name = "file", .value = CONF_LOG_FILE, .form = CONF_WORD_PATH },
	{ .name = NULL },
};

static const struct conf_word facility_words[] = {
	{ .name = "daemon", .value = LOG_DAEMON },
	{ .name = "user", .value = LOG_USER },
	{ .name = "local0", .value = LOG_LOCAL0 },
	{ .name = "local1", .value = LOG_LOCAL1 },
	{ .name = "local2", .value = LOG_LOCAL2 },
	{ .name = "local3", .value = LOG_LOCAL3 },
	{ .name = "local4", .value = LOG_LOCAL4 },
	{ .name = "local5", .value = LOG_LOCAL5 },
	{ .name = "local6", .value = LOG_LOCAL6 },
	{ .name = "local7", .value = LOG_LOCAL7 },
	{ .name = "auth", .value = LOG_AUTH },
	{ .name = "authpriv", .value = LOG_AUTHPRIV },
	{ .name = "cron", .value = LOG_CRON },
	{ .name = "ftp", .value = LOG_FTP },
	{ .name = "lpr", .value = LOG_LPR },
	{ .name = "mail", .value = LOG_MAIL },
	{ .name = "news", .value = LOG_NEWS },
	{ .name = "syslog", .value = LOG_SYSLOG },
	{ .name = "uucp", .value = LOG_UUCP },
	{ .name = NULL },
};

static const struct conf_word *
find(const struct conf_word *words, const char *name, size_t len)
{
	for (; words->name != NULL; words++) {
		if (strlen(words->name) == len &&
		    strncmp(words->name, name, len) == 0)
			return words;
	}
	return NULL;
}

/* Returns the words as "a, b or FILE", allocated. */
static char *
enumerate(const struct conf_word *words)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return conf_strdup("?");
	for (const struct conf_word *w = words; w->name != NULL; w++) {
		if (w != words)
			fputs(w[1].name == NULL ? " or " : ", ", out);
		if (w->form == CONF_WORD_PATH)
			fputs("a file (with a '/')", out);
		else
			fputs(w->name, out);
		if (w->form == CONF_WORD_PREFIX)
			fputs(":FILE", out);
	}
	fclose(out);
	return text;
}

bool
conf_bad_word(const struct conf_input *in, const struct conf_word *words,
    const char *word)
{
	char *valid = enumerate(words);

	(void)conf_bad(in, "'%s' is not one of %s", word, valid);
	free(valid);
	return false;
}

/* ---- bool ---- */

static bool
bool_parse(const struct conf_input *in, void *base)
{
	static const char *const yes[] = { "true", "on", "yes" };
	static const char *const no[] = { "false", "off", "no" };
	bool *field = CONF_FIELD(in->option, base);

	for (size_t i = 0; i < 3; i++) {
		bool is_yes = strcasecmp(in->values[0], yes[i]) == 0;

		if (is_yes || strcasecmp(in->values[0], no[i]) == 0) {
			*field = is_yes;
			return true;
		}
	}
	return conf_bad(in,
	    "'%s' is not one of true, on, yes, false, off or no",
	    in->values[0]);
}

static bool
bool_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const bool *)CONF_FIELD(o, a) ==
	    *(const bool *)CONF_FIELD(o, b);
}

static bool
bool_print(const struct conf_option *o, const void *base, FILE *out)
{
	fputs(*(const bool *)CONF_FIELD(o, base) ? "true" : "false", out);
	return true;
}

const struct conf_type conf_type_bool = {
	.parse = bool_parse,
	.equal = bool_equal,
	.print = bool_print,
};

/* ---- words, beside which a file may be named ---- */

static const struct conf_word *
find_with_file(
    const struct conf_word *words, const char *text, const char **file_out)
{
	size_t len = strcspn(text, ":");
	const struct conf_word *w = find(words, text, strlen(text));

	*file_out = NULL;
	if (w != NULL && w->form == CONF_WORD_PLAIN)
		return w;
	w = find(words, text, len);
	if (w != NULL && w->form == CONF_WORD_PREFIX && text[len] == ':' &&
	    text[len + 1] != '\0') {
		*file_out = text + len + 1;
		return w;
	}
	for (w = words; w->name != NULL; w++) {
		if (w->form == CONF_WORD_PATH && strchr(text, '/') != NULL) {
			*file_out = text;
			return w;
		}
	}
	return NULL;
}

static void
file_set(const struct conf_input *in, void *base, const char *file)
{
	char **field = CONF_EXTRA(in->option, base);

	free(*field);
	*field = file != NULL ? conf_path_join(in->dir, file) : NULL;
}

/* The enumerations of conf.h are stored as what the compiler makes of them. */
_Static_assert(sizeof(enum conf_handoff) == sizeof(unsigned), "enum");

static bool
word_parse(const struct conf_input *in, void *base)
{
	unsigned *field = CONF_FIELD(in->option, base);
	const char *file;
	const struct conf_word *w =
	    find_with_file(in->option->words, in->values[0], &file);

	if (w == NULL)
		return conf_bad_word(in, in->option->words, in->values[0]);
	if (w->not_in_force)
		return conf_bad(
		    in, "'%s' is not in force yet in this version", w->name);
	*field = w->value;
	if (in->option->extra != 0)
		file_set(in, base, file);
	return true;
}

static bool
file_equal(const struct conf_option *o, const void *a, const void *b)
{
	const char *x = *(char *const *)CONF_EXTRA(o, a);
	const char *y = *(char *const *)CONF_EXTRA(o, b);

	return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static bool
word_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const unsigned *)CONF_FIELD(o, a) ==
	    *(const unsigned *)CONF_FIELD(o, b) &&
	    (o->extra == 0 || file_equal(o, a, b));
}

static bool
word_print(const struct conf_option *o, const void *base, FILE *out)
{
	unsigned value = *(const unsigned *)CONF_FIELD(o, base);
	const struct conf_word *w = o->words;
	const char *file;
	char *text;

	while (w->value != value)
		w++;
	if (w->form == CONF_WORD_PLAIN) {
		fputs(w->name, out);
		return true;
	}
	file = *(char *const *)CONF_EXTRA(o, base);
	text = w->form == CONF_WORD_PREFIX ? conf_printf("%s:%s", w->name, file)
					   : conf_strdup(file);
	conf_print_quoted(text, out);
	free(text);
	return true;
}

static void
word_fini(const struct conf_option *o, void *base)
{
	if (o->extra != 0)
		free(*(char **)CONF_EXTRA(o, base));
}

const struct conf_type conf_type_word = {
	.parse = word_parse,
	.equal = word_equal,
	.print = word_print,
	.fini = word_fini,
};

/* ---- log = stderr | syslog[:FACILITY] | FILE, of struct conf ---- */

static bool
log_parse(const struct conf_input *in, void *base)
{
	struct conf *conf = base;
	const char *text = in->values[0];
	const struct conf_word *facility = facility_words;
	const struct conf_word *w;
	const char *file;

	if (strncmp(text, "syslog:", 7) == 0) {
		facility = find(facility_words, text + 7, strlen(text + 7));
		if (facility == NULL)
			return conf_bad_word(in, facility_words, text + 7);
		text = "syslog";
	}
	w = find_with_file(log_words, text, &file);
	if (w == NULL)
		return conf_bad(in,
		    "'%s' is not one of stderr, syslog, syslog:FACILITY or a "
		    "file (with a '/')",
		    text);
	conf->log = (enum conf_log)w->value;
	conf->log_facility = (int)facility->value;
	file_set(in, base, file);
	return true;
}

static bool
log_equal(const struct conf_option *o, const void *a, const void *b)
{
	const struct conf *x = a;
	const struct conf *y = b;

	return x->log == y->log && x->log_facility == y->log_facility &&
	    file_equal(o, a, b);
}

static bool
log_print(const struct conf_option *o, const void *base, FILE *out)
{
	const struct conf *conf = base;

	(void)o;
	if (conf->log == CONF_LOG_FILE)
		conf_print_quoted(conf->log_file, out);
	else if (conf->log == CONF_LOG_SYSLOG)
		fprintf(out, "syslog:%s",
		    conf_word_name(
			facility_words, (unsigned)conf->log_facility));
	else
		fputs("stderr", out);
	return true;
}

const struct conf_type conf_type_log = {
	.parse = log_parse,
	.equal = log_equal,
	.print = log_print,
	.fini = word_fini,
};
