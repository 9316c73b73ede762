/* Loads a configuration, prints it, and compares two as they are printed. */

#include <sys/param.h>

#include <assert.h>
#include <errno.h>

#include "conf/room.h"
#include "core/pool.h"

/* ---- loading ---- */

/* All values of an app, or global ones; of a command line those it sets. */
static char **
print_values(const struct build *b, const struct conf_app *app)
{
	const struct option *options = app ? options_app : options_global;
	size_t len = app ? options_app_len : options_global_len;
	const void *base = app ? (const void *)app : b->conf;
	char **values = arena_alloc(b->arena, len, sizeof(*values));

	for (size_t i = 0; i < len; i++)
		if (b->conf->choice == NULL ||
		    build_level(b, app, options[i].name) != LEVEL_PRESET)
			values[i] =
			    options[i].type->print(&options[i], base, b->arena);
	return values;
}

/* Loads the text, the command line, or, without both, the file. */
static struct conf *
load_either(const char *file, const char *choice, const char *text,
    const struct conf_run *run, unsigned flags,
    bool (*is_ours)(const struct conf_listen *), struct conf_report *report)
{
	const char *slash = strrchr(file, '/');
	size_t len = text != NULL ? strlen(text) : 0;
	static char exhausted[PATH_MAX + 64];
	static char *exhausted_list[] = { exhausted, NULL };
	struct arena work = { NULL }, kept = { NULL }, told = { NULL };
	struct findings findings = { .arena = &work, .flags = flags };
	struct parse parse;
	struct build b = {
		.arena = &kept,
		.findings = &findings,
		.parse = &parse,
		.is_ours = is_ours,
	};
	struct source *source;
	struct conf *conf;

	if (!source_affordable(len)) {
		(void)snprintf(exhausted, sizeof(exhausted), "%s: %s", file,
		    strerror(ENOMEM));
		*report = (struct conf_report){ exhausted_list, 1,
			exhausted_list + 1, 0, NULL };
		return NULL;
	}
	if (text != NULL) {
		source = arena_alloc(&work, 1, sizeof(*source));
		source->path = file;
		source->choice = choice;
		source->dir = arena_strndup(&work, file,
		    slash != NULL ? (size_t)(slash - file) : strlen(file));
		source->text = arena_strdup(&work, text);
		source->len = len;
	} else {
		source = run != NULL ? run_source(&work, run, &findings)
				     : source_read(&work, file, SOURCE_MAX);
	}
	parse_source(&parse, source, &findings);
	conf = b.conf = arena_alloc(&kept, 1, sizeof(*b.conf));
	if (parse.sources->error == 0 && build_conf(&b)) {
		resolve_conf(&b);
		check_conf(&b);
	}
	findings_report(&findings, &told, report);
	report->memory = told.blocks;
	if (findings.mistakes == 0) {
		conf->values = print_values(&b, NULL);
		for (size_t i = 0; i < conf->apps_len; i++)
			conf->apps[i].values = print_values(&b, &conf->apps[i]);
		conf->memory = kept.blocks;
		conf->refs = 1;
	} else {
		arena_fini(&kept);
		conf = NULL;
	}
	arena_fini(&work);
	return conf;
}

struct conf *
conf_load(const char *file, unsigned flags,
    bool (*is_ours)(const struct conf_listen *), struct conf_report *report)
{
	return load_either(file, NULL, NULL, NULL, flags, is_ours, report);
}

struct conf *
conf_run(const struct conf_run *run, struct conf_report *report)
{
	return load_either(
	    "apppoold run", NULL, NULL, run, CONF_OUTSIDE_WARN, NULL, report);
}

struct conf *
conf_load_text(const char *file, const char *choice, const char *text,
    struct conf_report *report)
{
	return load_either(
	    file, choice, text, NULL, CONF_OUTSIDE_WARN, NULL, report);
}

struct conf *
conf_ref(struct conf *conf)
{
	conf->refs++;
	return conf;
}

void
conf_free(struct conf *conf)
{
	struct arena a = { .blocks = conf != NULL ? conf->memory : NULL };

	assert(conf == NULL || conf->refs > 0);
	if (conf != NULL && --conf->refs == 0)
		arena_fini(&a);
}

void
conf_report_fini(struct conf_report *report)
{
	struct arena a = { .blocks = report->memory };

	arena_fini(&a);
}

char *
conf_control_path(const char *file)
{
	const struct option *control = options_find(false, "control");
	struct arena work = { NULL };
	struct findings ignored = { .arena = &work };
	const char *path = CONF_DEFAULT_CONTROL;
	const struct stmt *s;
	struct parse parse;
	char *out = NULL;
	int error;

	parse_source(&parse, source_read(&work, file, SOURCE_MAX), &ignored);
	error = parse.sources->error;
	STAILQ_FOREACH(s, &parse.stmts, next)
		if (s->option == control && s->values[0][0] != '\0')
			path = source_join(
			    &work, s->where.source->dir, s->values[0]);
		else if (s->option == control)
			path = "";
	if (error == 0) {
		out = strdup(path);
		error = ENOMEM;
	}
	arena_fini(&work);
	errno = error;
	return out;
}

/* ---- using it ---- */

const struct conf_app *
conf_find_app(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->apps_len; i++)
		if (strcmp(conf->apps[i].name, name) == 0)
			return &conf->apps[i];
	return NULL;
}

bool
conf_app_needs(const struct conf_app *app, const char *name)
{
	char *const *needs = app->needs;

	while (*needs != NULL && strcmp(*needs, name) != 0)
		needs++;
	return *needs != NULL;
}

bool
conf_makes_folder(const struct conf *conf)
{
	static const char folder[] = CONF_DEFAULT_FOLDER "/";
	const char *control = conf->control;

	return control != NULL &&
	    strncmp(control, folder, sizeof(folder) - 1) == 0 &&
	    strchr(control + sizeof(folder) - 1, '/') == NULL;
}

/* As many connections as serial numbers can tell apart. */
#define CONNS_MAX (1u << 24)

void
conf_pool_limits(const struct conf *conf, struct pool_limits *out)
{
	uint64_t conns = 0;

	out->apps = MAX(out->apps, (uint32_t)conf->apps_len);
	/*
	 * Processes that leave are still there when their successors come, so
	 * there is room for twice the ceiling; living ones it never exceeds.
	 */
	out->processes = MAX(out->processes, 2 * conf->max_processes);
	out->sessions = MAX(out->sessions, 1);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct app_options *o = &conf->apps[i].pool;

		out->sessions =
		    MAX(out->sessions, o->concurrency + o->prefetch);
		conns += o->max_queue + 1;
	}
	conns += (uint64_t)out->processes * out->sessions;
	out->conns = MAX(out->conns, (uint32_t)MIN(conns, CONNS_MAX));
}

void
conf_print_app(const struct conf_app *app, FILE *out)
{
	(void)fprintf(out, "\napp \"%s\" {\n", app->name);
	for (size_t i = 0; i < options_app_len; i++)
		if (options_allowed(&options_app[i], app->handoff) &&
		    app->values[i] != NULL)
			(void)fprintf(out, "\t%s = %s\n", options_app[i].name,
			    app->values[i]);
	(void)fputs("}\n", out);
}

void
conf_print_global(const struct conf *conf, FILE *out)
{
	if (conf->choice != NULL)
		(void)fprintf(out, "# apppoold run: %s\n", conf->choice);
	for (size_t i = 0; i < options_global_len; i++) {
		if (conf->values[i] != NULL)
			(void)fprintf(out, "%s = %s\n", options_global[i].name,
			    conf->values[i]);
	}
}

void
conf_print(const struct conf *conf, FILE *out)
{
	conf_print_global(conf, out);
	for (size_t n = 0; n < conf->apps_len; n++)
		conf_print_app(&conf->apps[n], out);
}

static bool
value_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

unsigned
conf_app_changes(const struct conf_app *old, const struct conf_app *new)
{
	const struct conf_identity *a = &old->program.identity;
	const struct conf_identity *b = &new->program.identity;
	unsigned bits = 0;

	for (size_t i = 0; i < options_app_len; i++)
		if (!value_same(old->values[i], new->values[i]))
			bits |= options_app[i].cost;
	/* The same name may mean another user than before. */
	if (a->change != b->change || a->uid != b->uid || a->gid != b->gid ||
	    a->groups_len != b->groups_len ||
	    (a->groups_len > 0 &&
		memcmp(a->groups, b->groups,
		    a->groups_len * sizeof(*a->groups)) != 0) ||
	    !value_same(a->user, b->user) || !value_same(a->home, b->home) ||
	    !value_same(a->shell, b->shell) ||
	    !value_same(old->broken, new->broken))
		bits |= CONF_CHANGED_PROCESS;
	if (old->listen.uid != new->listen.uid ||
	    old->listen.gid != new->listen.gid)
		bits |= CONF_CHANGED_LISTEN;
	/* The file of the reply may have other bytes than before. */
	if (old->refusal.reply_len != new->refusal.reply_len ||
	    (new->refusal.reply_len > 0 &&
		memcmp(old->refusal.reply, new->refusal.reply,
		    new->refusal.reply_len) != 0))
		bits |= CONF_CHANGED_SIZES;
	return bits;
}
