/*
 * Options that take one of a few words: bools, enumerations, and words beside
 * which a file may be named.
 */

#include <string.h>
#include <strings.h>
#include <syslog.h>

#include "conf/source.h"
#include "conf/type.h"

const char *const type_handoff_words[] = { "native", "accept", "stdio",
	"listen", "none", NULL };
const char *const type_on_full_words[] = { "wait", "close", "refuse",
	"reply:", NULL };
const char *const type_protocol_words[] = { "raw", "http", "fastcgi", NULL };
const char *const type_queue_words[] = { "global", "private", NULL };
const char *const type_limit_fail_words[] = { "open", "closed", NULL };
const char *const type_wait_for_request_words[] = { "none", "http", NULL };
const char *const type_start_delay_step_words[] = { "double", "linear", "all",
	NULL };
const char *const type_output_words[] = { "log", "inherit", "null", "/", NULL };
const char *const type_log_level_words[] = { "error", "warn", "=warning",
	"info", "debug", NULL };
const char *const type_log_format_words[] = { "text", "json", NULL };

static const char *const log_words[] = { "stderr", "syslog", "/", NULL };
static const char *const facility_words[] = { "daemon", "user", "local0",
	"local1", "local2", "local3", "local4", "local5", "local6", "local7",
	"auth", "authpriv", "cron", "ftp", "lpr", "mail", "news", "syslog",
	"uucp", NULL };
static const int facilities[] = { LOG_DAEMON, LOG_USER, LOG_LOCAL0, LOG_LOCAL1,
	LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7,
	LOG_AUTH, LOG_AUTHPRIV, LOG_CRON, LOG_FTP, LOG_LPR, LOG_MAIL, LOG_NEWS,
	LOG_SYSLOG, LOG_UUCP };

/* The word of that value, or NULL. */
static const char *
word_of(const char *const *words, unsigned value)
{
	for (; *words != NULL; words++) {
		if (**words != '=' && value-- == 0)
			break;
	}
	return *words;
}

/*
 * The value of text, or false: it is not one of the words. file_out: what is
 * named beside the word or instead of it, NULL if nothing is.
 */
static bool
find(const char *const *words, const char *text, unsigned *out,
    const char **file_out)
{
	unsigned value = 0;

	for (; *words != NULL; words++) {
		bool alias = **words == '=';
		size_t len = strlen(*words);
		bool prefix = (*words)[len - 1] == ':';
		bool path = strcmp(*words, "/") == 0;

		if (alias)
			value--;
		if (path && strchr(text, '/') != NULL)
			*file_out = text;
		else if (prefix && strncmp(text, *words, len) == 0 &&
		    text[len] != '\0')
			*file_out = text + len;
		else if (!path && !prefix && strcmp(text, *words + alias) == 0)
			*file_out = NULL;
		else {
			value++;
			continue;
		}
		*out = value;
		return true;
	}
	return false;
}

const char *
conf_handoff_name(enum conf_handoff value)
{
	return word_of(type_handoff_words, value);
}

const char *
conf_protocol_name(enum conf_protocol value)
{
	return word_of(type_protocol_words, value);
}

bool
conf_protocol_find(const char *name, enum conf_protocol *out)
{
	const char *file;
	unsigned value;

	if (!find(type_protocol_words, name, &value, &file))
		return false;
	*out = (enum conf_protocol)value;
	return true;
}

/* "'WORD' is not one of a, b or c", as a mistake. Returns false. */
static bool
bad_word(const struct input *in, const char *const *words, const char *word)
{
	struct arena *a = in->findings->arena;
	const char *valid = "";

	for (size_t i = 0; words[i] != NULL; i++)
		valid = arena_printf(a, "%s%s%s%s", valid,
		    i == 0                     ? ""
			: words[i + 1] == NULL ? " or "
					       : ", ",
		    strcmp(words[i], "/") == 0 ? "a file (with a '/')"
					       : words[i] + (*words[i] == '='),
		    strchr(words[i], ':') != NULL ? "FILE" : "");
	return type_bad(in, "'%s' is not one of %s", word, valid);
}

/* ---- bool ---- */

static bool
bool_parse(const struct input *in, void *base)
{
	static const char *const words[] = { "false", "true", "off", "on", "no",
		"yes" };
	bool *field = TYPE_FIELD(in->option, base);

	for (size_t i = 0; i < 6; i++) {
		if (strcasecmp(in->values[0], words[i]) == 0) {
			*field = i % 2 == 1;
			return true;
		}
	}
	return type_bad(in,
	    "'%s' is not one of true, on, yes, false, off or no",
	    in->values[0]);
}

static char *
bool_print(const struct option *o, const void *base, struct arena *a)
{
	return arena_strdup(
	    a, *(const bool *)TYPE_FIELD(o, base) ? "true" : "false");
}

const struct type type_flag = { .parse = bool_parse, .print = bool_print };

/* ---- words, of an enumeration or a bool; the companion is a file ---- */

/* The enumerations of conf.h are stored as what the compiler makes of them. */
_Static_assert(sizeof(enum conf_handoff) == sizeof(unsigned), "enum");

static bool
word_parse(const struct input *in, void *base)
{
	const struct option *o = in->option;
	const char *file;
	unsigned value;

	if (!find(o->words, in->values[0], &value, &file))
		return bad_word(in, o->words, in->values[0]);
	if (o->size == sizeof(bool))
		*(bool *)TYPE_FIELD(o, base) = value != 0;
	else
		*(unsigned *)TYPE_FIELD(o, base) = value;
	if (o->extra != 0)
		*(char **)TYPE_EXTRA(o, base) =
		    file == NULL ? NULL : source_join(in->arena, in->dir, file);
	return true;
}

static char *
word_print(const struct option *o, const void *base, struct arena *a)
{
	const void *field = TYPE_FIELD(o, base);
	const char *word = word_of(o->words,
	    o->size == sizeof(bool) ? *(const bool *)field
				    : *(const unsigned *)field);
	const char *file =
	    o->extra != 0 ? *(char *const *)TYPE_EXTRA(o, base) : NULL;

	if (file == NULL)
		return arena_strdup(a, word);
	return type_quote(
	    a, *word == '/' ? file : arena_printf(a, "%s%s", word, file));
}

const struct type type_word = { .parse = word_parse, .print = word_print };

/* ---- log = stderr | syslog[:FACILITY] | FILE, of struct conf ---- */

static bool
log_parse(const struct input *in, void *base)
{
	struct conf *conf = base;
	const char *text = in->values[0];
	const char *file;
	unsigned facility = 0, log;

	if (strncmp(text, "syslog:", 7) == 0) {
		if (!find(facility_words, text + 7, &facility, &file))
			return bad_word(in, facility_words, text + 7);
		text = "syslog";
	}
	if (!find(log_words, text, &log, &file))
		return type_bad(in,
		    "'%s' is not one of stderr, syslog, syslog:FACILITY or a "
		    "file (with a '/')",
		    text);
	conf->log = (enum conf_log)log;
	conf->log_facility = facilities[facility];
	conf->log_file =
	    file != NULL ? source_join(in->arena, in->dir, file) : NULL;
	return true;
}

static char *
log_print(const struct option *o, const void *base, struct arena *a)
{
	const struct conf *conf = base;
	size_t i = 0;

	(void)o;
	if (conf->log == CONF_LOG_FILE)
		return type_quote(a, conf->log_file);
	if (conf->log == CONF_LOG_STDERR)
		return arena_strdup(a, "stderr");
	while (facilities[i] != conf->log_facility)
		i++;
	return arena_printf(a, "syslog:%s", facility_words[i]);
}

const struct type type_log = { .parse = log_parse, .print = log_print };
