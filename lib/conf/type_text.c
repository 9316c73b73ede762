/*
 * Options that are text: names, paths, lists of them, programs, variables; and
 * those that take one of a few words, beside which a file may be named.
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <strings.h>
#include <syslog.h>

#include "conf/room.h"
#include "sys/number.h"
#include "sys/text.h"

void
type_break(struct conf_app *app, struct arena *a, const char *why)
{
	if (app->broken == NULL)
		app->broken = arena_strdup(a, why);
}

/* The text as libconfuse reads it back. */
static char *
type_quote(struct arena *a, const char *text)
{
	char *quoted = arena_alloc(a, 4 * strlen(text) + 3, 1);
	char *out = quoted;

	*out++ = '"';
	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		/* "\$" keeps libconfuse from looking for a variable. */
		if (c == '"' || c == '\\' || c == '$' || iscntrl(c))
			*out++ = '\\';
		out += sprintf(out, iscntrl(c) ? "x%02x" : "%c", c);
	}
	*out = '"';
	return quoted;
}

/* ---- one text or path; "" is none ---- */

/* The absolute path, or NULL: a mistake. */
static char *
path_of(const struct input *in, const char *text)
{
	char *path;

	if (strncmp(text, "unix:", strlen("unix:")) == 0) {
		(void)type_bad(in, "a path stands here without 'unix:'");
		return NULL;
	}
	path = source_join(in->arena, in->dir, text);
	if (strlen(path) < PATH_MAX)
		return path;
	(void)type_bad(in, "path of over %d bytes", PATH_MAX - 1);
	return NULL;
}

static bool
has_control_byte(const char *text)
{
	while (*text != '\0' && !iscntrl((unsigned char)*text))
		text++;
	return *text != '\0';
}

static bool
string_parse(const struct input *in, void *base)
{
	bool is_path = in->option->type == &type_path;
	const char *text = in->values[0];
	char *value = NULL;

	if (has_control_byte(text))
		return type_bad(in,
		    is_path ? "a path cannot hold control characters"
			    : "control characters are not valid here");
	if (*text != '\0') {
		value =
		    is_path ? path_of(in, text) : arena_strdup(in->arena, text);
		if (value == NULL)
			return false;
	}
	*(char **)TYPE_FIELD(in->option, base) = value;
	return true;
}

static char *
string_print(const struct option *o, const void *base, struct arena *a)
{
	const char *text = *(char *const *)TYPE_FIELD(o, base);

	return type_quote(a, text != NULL ? text : "");
}

const struct type type_string = { false, string_parse, string_print };
const struct type type_path = { false, string_parse, string_print };

/* ---- words that stand for values of a process ---- */

/* More than the kernel takes as arguments of a program. */
#define FILLED_MAX ((size_t)8 * 1024 * 1024)

static const char app_word[] = "{app}";
static const char slot_word[] = "{slot";

/* The length of a "{slot}" or "{slot+N}" that begins here, and N; 0: none. */
static size_t
placeholder_slot(const char *text, uint64_t *plus_out)
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
		if (placeholder_slot(text, &plus) > 0)
			return true;
		text++;
	}
	return false;
}

bool
placeholder_in_list(char *const *list)
{
	while (*list != NULL && !placeholder_has_slot(*list))
		list++;
	return *list != NULL;
}

char *
placeholder_fill(const char *text, const char *app, uint32_t slot)
{
	struct text out;
	uint64_t plus;

	text_init(&out, FILLED_MAX);
	while (*text != '\0') {
		size_t len = strcspn(text, "{");
		size_t word = placeholder_slot(text + len, &plus);

		text_put(&out, text, len);
		text += len + word;
		if (word > 0) {
			text_printf(&out, "%" PRIu64, slot + plus);
		} else if (strncmp(text, app_word, strlen(app_word)) == 0) {
			text_puts(&out, app);
			text += strlen(app_word);
		} else if (*text != '\0') {
			text_put(&out, text++, 1);
		}
	}
	text_put(&out, "", 1);
	if (out.failed) {
		text_fini(&out);
		errno = ENOMEM;
	}
	return out.data;
}

/* ---- lists: paths, names, programs with arguments, variables ---- */

static bool
variable_check(const struct input *in, const char *text)
{
	size_t name = strcspn(text, "=");

	if (name == 0 || text[name] == '\0')
		return type_bad(in, "'%s' is not of the form NAME=VALUE", text);
	for (size_t i = 0; i < name; i++) {
		if (isspace((unsigned char)text[i]) ||
		    iscntrl((unsigned char)text[i]))
			return type_bad(in,
			    "'%.*s' is not the name of a variable", (int)name,
			    text);
	}
	/* The service of another machine may be the one to use. */
	if (strncmp(text, "APPPOOL_", 8) == 0 &&
	    strncmp(text, "APPPOOL_COUNTER=", 16) != 0)
		return type_bad(
		    in, "%.*s is set by apppoold itself", (int)name, text);
	return true;
}

/* The program is looked for when directory and chroot are known. */
static bool
list_parse(const struct input *in, void *base)
{
	const struct type *kind = in->option->type;
	char **list = arena_alloc(in->arena, in->len + 1, sizeof(*list));
	size_t n = 0;

	if (kind == &type_command && in->len > 0 && in->values[0][0] == '\0')
		return type_bad(in, "the first element names no program");
	if (kind == &type_command && in->len > 0 &&
	    placeholder_has_slot(in->values[0]))
		return type_bad(in,
		    "the program is one for all slots: {slot} stands in "
		    "arguments");
	for (size_t i = 0; i < in->len; i++) {
		const char *text = in->values[i];

		if (kind == &type_environment && !variable_check(in, text))
			return false;
		/* Of several values of one variable the last counts. */
		for (size_t k = 0; kind == &type_environment && k < n; k++) {
			if (strncmp(list[k], text, strcspn(text, "=") + 1) == 0)
				memmove(&list[k], &list[k + 1],
				    (--n - k) * sizeof(*list));
		}
		if (kind == &type_paths && *text == '\0')
			return type_bad(in, "an empty path names no file");
		if (kind == &type_paths && has_control_byte(text))
			return type_bad(
			    in, "a path cannot hold control characters");
		list[n] = kind == &type_paths ? path_of(in, text)
					      : arena_strdup(in->arena, text);
		if (list[n++] == NULL)
			return false;
	}
	*(char ***)TYPE_FIELD(in->option, base) = list;
	return true;
}

static char *
list_print(const struct option *o, const void *base, struct arena *a)
{
	char *const *list = *(char **const *)TYPE_FIELD(o, base);
	struct arena work = { NULL };
	char *out, *end, *quoted;
	size_t size = sizeof("{ }");

	for (size_t i = 0; list[i] != NULL; i++)
		size += 4 * strlen(list[i]) + strlen(", \"\"");
	out = arena_alloc(a, size, 1);
	end = stpcpy(out, "{");
	for (size_t i = 0; list[i] != NULL; i++) {
		quoted = type_quote(&work, list[i]);
		end = stpcpy(stpcpy(end, i > 0 ? ", " : " "), quoted);
	}
	strcpy(end, list[0] != NULL ? " }" : "}");
	arena_fini(&work);
	return out;
}

const struct type type_paths = { true, list_parse, list_print };
const struct type type_names = { true, list_parse, list_print };
const struct type type_command = { true, list_parse, list_print };
const struct type type_environment = { true, list_parse, list_print };

/* ---- words ---- */

const char *const conf_handoff_names[] = { "native", "accept", "stdio",
	"listen", "none", NULL };
const char *const conf_protocol_names[] = { "raw", "http", "fastcgi", NULL };
const char *const type_level_words[] = { "error", "warn", "=warning", "info",
	"debug", NULL };
const char *const type_signal_words[] = { "none", "TERM", "QUIT", "INT", "HUP",
	"USR1", "USR2", "ABRT", "WINCH", NULL };

static const char *const flag_words[] = { "true", "=on", "=yes", "false",
	"=off", "=no", NULL };
static const char *const log_words[] = { "stderr", "syslog", "/", NULL };
static const char *const facility_words[] = { "daemon", "user", "local0",
	"local1", "local2", "local3", "local4", "local5", "local6", "local7",
	"auth", "authpriv", "cron", "ftp", "lpr", "mail", "news", "syslog",
	"uucp", NULL };
static const int facilities[] = { LOG_DAEMON, LOG_USER, LOG_LOCAL0, LOG_LOCAL1,
	LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7,
	LOG_AUTH, LOG_AUTHPRIV, LOG_CRON, LOG_FTP, LOG_LPR, LOG_MAIL, LOG_NEWS,
	LOG_SYSLOG, LOG_UUCP };

/*
 * The value of text, or false: it is not one of the words. file_out: what is
 * named beside the word or instead of it, NULL if nothing is.
 */
static bool
word_find(const char *const *words, const char *text, unsigned *out,
    const char **file_out)
{
	int (*compare)(const char *, const char *) =
	    words == flag_words ? strcasecmp : strcmp;
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
		else if (!path && !prefix && compare(text, *words + alias) == 0)
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

int
conf_signal(unsigned word)
{
	static const int signals[] = { 0, SIGTERM, SIGQUIT, SIGINT, SIGHUP,
		SIGUSR1, SIGUSR2, SIGABRT, SIGWINCH };

	return signals[word];
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

/* ---- words, of an enumeration or a bool; the companion is a file ---- */

/* The enumerations of conf.h are stored as what the compiler makes of them. */
_Static_assert(sizeof(enum conf_handoff) == sizeof(unsigned), "enum");

static bool
word_parse(const struct input *in, void *base)
{
	const struct option *o = in->option;
	bool flag = o->type == &type_flag;
	const char *const *words = flag ? flag_words : o->words;
	const char *file;
	unsigned value;

	if (!word_find(words, in->values[0], &value, &file))
		return bad_word(in, words, in->values[0]);
	if (o->size == sizeof(bool))
		*(bool *)TYPE_FIELD(o, base) = (value != 0) != flag;
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
	bool flag = o->type == &type_flag;
	const void *field = TYPE_FIELD(o, base);
	const char *const *word = flag ? flag_words : o->words;
	unsigned value = o->size == sizeof(bool) ? *(const bool *)field != flag
						 : *(const unsigned *)field;
	const char *file =
	    o->extra != 0 ? *(char *const *)TYPE_EXTRA(o, base) : NULL;

	while (**word == '=' || value-- > 0)
		word++;
	if (file == NULL)
		return arena_strdup(a, *word);
	return type_quote(
	    a, **word == '/' ? file : arena_printf(a, "%s%s", *word, file));
}

const struct type type_flag = { false, word_parse, word_print };
const struct type type_word = { false, word_parse, word_print };

/* ---- log = stderr | syslog[:FACILITY] | FILE ---- */

static bool
log_parse(const struct input *in, void *base)
{
	struct log_spec *log = TYPE_FIELD(in->option, base);
	const char *text = in->values[0];
	const char *file;
	unsigned facility = 0, dest;

	if (strncmp(text, "syslog:", 7) == 0) {
		if (!word_find(facility_words, text + 7, &facility, &file))
			return bad_word(in, facility_words, text + 7);
		text = "syslog";
	}
	if (!word_find(log_words, text, &dest, &file))
		return type_bad(in,
		    "'%s' is not one of stderr, syslog, syslog:FACILITY or a "
		    "file (with a '/')",
		    text);
	log->dest = (enum log_dest)dest;
	log->facility = facilities[facility];
	log->path = file != NULL ? source_join(in->arena, in->dir, file) : NULL;
	return true;
}

static char *
log_print(const struct option *o, const void *base, struct arena *a)
{
	const struct log_spec *log = TYPE_FIELD(o, base);
	size_t i = 0;

	if (log->dest == LOG_DEST_FILE)
		return type_quote(a, log->path);
	if (log->dest == LOG_DEST_STDERR)
		return arena_strdup(a, "stderr");
	while (facilities[i] != log->facility)
		i++;
	return arena_printf(a, "syslog:%s", facility_words[i]);
}

const struct type type_log = { false, log_parse, log_print };
