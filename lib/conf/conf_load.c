/*
 * libconfuse at work. It parses copies that conf_copy() made, stops at its
 * first mistake, and is then given the same files again without the statement
 * that held it. What it accepts is recorded as settings; it converts nothing.
 *
 * Its scanner is one for the whole process, so there is one load at a time.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <confuse.h>

#include "conf/conf_private.h"

#define ATTEMPTS_MAX 100
#define INCLUDE_DEPTH_MAX 8
#define INCLUDE_FILES_MAX 2000

struct loader {
	struct conf_text *text;
	struct conf_findings *findings;
	struct conf_source *open[INCLUDE_DEPTH_MAX]; /* being parsed */
	unsigned depth;
	unsigned files; /* parsed in this attempt */
	bool stopped; /* libconfuse found a mistake in this attempt */
	bool given_up; /* no use to try again */
};

/* libconfuse hands no pointer of ours to its callbacks. */
static struct loader *loading;

/* The token that libconfuse has read last. */
static unsigned
token_now(const cfg_t *cfg)
{
	const struct conf_source *source = loading->open[loading->depth - 1];
	unsigned i = cfg->line > 0 ? (unsigned)cfg->line - 1 : 0;

	return i < source->tokens_len ? i : source->tokens_len - 1;
}

static struct conf_where
token_where(const struct conf_source *source, unsigned i)
{
	return (struct conf_where){ source, source->tokens[i].line };
}

/* ---- what libconfuse says ---- */

static void on_error(cfg_t *cfg, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void
on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	struct conf_source *source = loading->open[loading->depth - 1];
	char *text;

	if (loading->stopped)
		return;
	loading->stopped = true;
	if (source->tokens_len == 0 || vasprintf(&text, fmt, ap) == -1) {
		loading->given_up = true;
		return;
	}
	conf_judge(source, token_now(cfg), text, loading->findings);
	free(text);
}

/* How many values the statement itself has; "+=" adds to those before. */
static unsigned
values_in(const struct conf_source *source, const struct conf_stmt *s)
{
	unsigned n = 0;

	for (unsigned i = s->first + 2; i <= s->value; i++) {
		if (source->tokens[i].kind == CONF_TOKEN_WORD ||
		    source->tokens[i].kind == CONF_TOKEN_STRING)
			n++;
	}
	return n;
}

/* Called with each value and at the end of a list. */
static int
on_value(cfg_t *cfg, cfg_opt_t *opt)
{
	struct conf_source *source = loading->open[loading->depth - 1];
	unsigned i = token_now(cfg);
	unsigned stmt = source->tokens[i].stmt;
	const struct conf_stmt *s = &source->stmts[stmt];
	unsigned size = cfg_opt_size(opt);
	size_t len = values_in(source, s);
	char **values;

	if (i != s->value)
		return 0;
	values = conf_calloc(len + 1, sizeof(*values));
	for (unsigned n = 0; n < len; n++)
		values[n] =
		    conf_strdup(cfg_opt_getnstr(opt, size - (unsigned)len + n));
	conf_text_setting(loading->text,
	    conf_option_find(s->parent != CONF_STMT_NONE, opt->name), source,
	    stmt, values, len);
	return 0;
}

/* Called at the end of a section. */
static int
on_section(cfg_t *cfg, cfg_opt_t *opt)
{
	struct conf_source *source = loading->open[loading->depth - 1];
	unsigned stmt = source->tokens[token_now(cfg)].stmt;
	cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);

	conf_text_section(loading->text, source, stmt, cfg_title(section));
	if (loading->text->sections_len <= CONF_APPS_MAX + 1)
		return 0;
	conf_mistake(loading->findings,
	    token_where(source, source->stmts[stmt].first), "more than %d apps",
	    CONF_APPS_MAX);
	loading->stopped = true;
	loading->given_up = true;
	return -1;
}

/* ---- files ---- */

static struct conf_source *
source_find(const char *path)
{
	struct conf_source *s;

	for (s = loading->text->sources; s != NULL; s = s->next) {
		if (strcmp(s->path, path) == 0)
			return s;
	}
	return NULL;
}

/* The source of that path, scanned; NULL and why if there is none. */
static struct conf_source *
source_get(const char *path, char **why_out)
{
	struct conf_source **end = &loading->text->sources;
	struct conf_source *source = source_find(path);

	if (source != NULL)
		return source;
	source = conf_source_open(path);
	if (source == NULL) {
		*why_out = conf_file_why(CONF_FILE_MAX);
		return NULL;
	}
	for (; *end != NULL; end = &(*end)->next)
		source->order = (*end)->order + 1;
	*end = source;
	conf_scan(source, loading->findings);
	conf_stmt_scan(source, loading->findings);
	return source;
}

/* Returns 0, or -1 if libconfuse found a mistake. */
static int
parse_source(cfg_t *cfg, struct conf_source *source)
{
	int line = cfg->line;
	size_t len = 0;
	char *copy = conf_copy(source, &len);
	FILE *fp = fmemopen(copy, len, "r");
	int rc = -1;

	if (fp != NULL) {
		loading->open[loading->depth++] = source;
		rc = cfg_parse_fp(cfg, fp) == CFG_SUCCESS ? 0 : -1;
		loading->depth--;
		fclose(fp);
	}
	if (rc == -1 && !loading->stopped) {
		loading->stopped = true;
		loading->given_up = true;
	}
	free(copy);
	cfg->line = line;
	return rc;
}

/* Why path cannot be included now (allocated), or NULL. */
static char *
include_refused(const struct conf_source *source)
{
	for (unsigned i = 0; i < loading->depth; i++) {
		if (loading->open[i]->dev == source->dev &&
		    loading->open[i]->ino == source->ino)
			return conf_strdup("the file includes itself");
	}
	if (loading->depth == INCLUDE_DEPTH_MAX)
		return conf_printf(
		    "includes are nested more than %d deep", INCLUDE_DEPTH_MAX);
	if (++loading->files > INCLUDE_FILES_MAX)
		return conf_printf(
		    "more than %d files are included", INCLUDE_FILES_MAX);
	return NULL;
}

/* A bad include is left out of the next attempt; this one can go on. */
static void
include_bad(
    struct conf_source *from, unsigned stmt, const char *path, char *why)
{
	conf_mistake(loading->findings,
	    token_where(from, from->stmts[stmt].first), "include: %s%s%s", path,
	    path[0] != '\0' ? ": " : "", why);
	conf_stmt_blank(from, stmt);
	free(why);
}

static int
include_one(
    cfg_t *cfg, struct conf_source *from, unsigned stmt, const char *path)
{
	char *why = NULL;
	struct conf_source *source = source_get(path, &why);

	if (source != NULL)
		why = include_refused(source);
	if (why == NULL)
		return parse_source(cfg, source);
	include_bad(from, stmt, path, why);
	return 0;
}

static int
on_include(cfg_t *cfg, cfg_opt_t *opt, int argc, const char **argv)
{
	struct conf_source *from = loading->open[loading->depth - 1];
	unsigned stmt = from->tokens[token_now(cfg)].stmt;
	struct conf_include files;
	char *why = NULL;
	int rc = 0;

	(void)opt;
	if (argc == 0)
		include_bad(from, stmt, "", conf_strdup("no file is named"));
	for (int i = 0; i < argc && rc == 0; i++) {
		if (!conf_include_expand(from, argv[i], &files, &why)) {
			include_bad(from, stmt, argv[i], why);
			continue;
		}
		for (size_t n = 0; n < files.len && rc == 0; n++)
			rc = include_one(cfg, from, stmt, files.paths[n]);
		conf_include_fini(&files);
	}
	return rc;
}

/* ---- the whole ---- */

/* Room for extra more behind them; all zero: the end mark. */
static cfg_opt_t *
library_options(const struct conf_option *options, size_t len, size_t extra)
{
	cfg_opt_t *opts = conf_calloc(len + extra + 1, sizeof(*opts));

	for (size_t i = 0; i < len; i++) {
		cfg_opt_t scalar =
		    CFG_STR(options[i].name, NULL, CFGF_NODEFAULT);
		cfg_opt_t list =
		    CFG_STR_LIST(options[i].name, NULL, CFGF_NODEFAULT);

		opts[i] = options[i].type->list ? list : scalar;
		opts[i].validcb = on_value;
	}
	return opts;
}

static void
attempt(struct conf_source *source)
{
	size_t n = conf_global_options_len;
	cfg_opt_t *app_opts =
	    library_options(conf_app_options, conf_app_options_len, 0);
	cfg_opt_t *opts = library_options(conf_global_options, n, 3);
	cfg_opt_t app = CFG_SEC(
	    "app", app_opts, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
	cfg_opt_t defaults = CFG_SEC("defaults", app_opts, CFGF_NONE);
	cfg_opt_t include = CFG_FUNC("include", on_include);
	cfg_t *cfg;

	app.validcb = on_section;
	defaults.validcb = on_section;
	opts[n] = app;
	opts[n + 1] = defaults;
	opts[n + 2] = include;

	loading->stopped = false;
	loading->files = 0;
	conf_text_clear(loading->text);
	cfg = cfg_init(opts, CFGF_NONE);
	if (cfg != NULL) {
		cfg_set_error_function(cfg, on_error);
		(void)parse_source(cfg, source);
		cfg_free(cfg);
	} else {
		loading->given_up = true;
	}
	free(opts);
	free(app_opts);
}

/* A source without text, so that there is a place to complain of. */
static void
unreadable(const char *file, char *why)
{
	struct conf_source *source = conf_calloc(1, sizeof(*source));

	source->path = conf_strdup(file);
	source->dir = conf_path_dir(file);
	loading->text->sources = source;
	conf_mistake(loading->findings, (struct conf_where){ source, 1 },
	    "cannot be read: %s", why);
	free(why);
}

bool
conf_text_read(
    struct conf_text *text, const char *file, struct conf_findings *findings)
{
	struct loader loader = { .text = text, .findings = findings };
	struct conf_source *source;
	char *why = NULL;

	assert(loading == NULL);
	memset(text, 0, sizeof(*text));
	loading = &loader;
	source = source_get(file, &why);
	if (source == NULL) {
		unreadable(file, why);
		loading = NULL;
		return false;
	}
	for (unsigned n = 0; n < ATTEMPTS_MAX && !loader.given_up; n++) {
		attempt(source);
		if (!loader.stopped)
			break;
	}
	if (loader.given_up && findings->mistakes == 0)
		conf_mistake(findings, (struct conf_where){ source, 1 },
		    "the file cannot be parsed");
	else if (loader.stopped && !loader.given_up)
		conf_mistake(findings,
		    (struct conf_where){ source, source->lines },
		    "too many mistakes: the rest was not looked at");
	loading = NULL;
	return !loader.stopped;
}
