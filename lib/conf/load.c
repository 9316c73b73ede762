/*
 * Loads a configuration from end to end, prints it, and compares two by the
 * values as printed.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/build.h"
#include "conf/check.h"
#include "conf/conf.h"
#include "conf/options.h"
#include "conf/outside.h"
#include "conf/parse.h"
#include "conf/resolve.h"
#include "core/pool.h"

struct loading {
	const char *file;
	unsigned flags;
	bool (*is_ours)(const struct conf_listen *);
	struct conf_report *report;
	struct arena work; /* freed at the end of the load */
	struct arena kept; /* the memory of the configuration */
	struct arena told; /* the memory of the report */
	int error; /* errno of what kept the file from being read */
	jmp_buf exhausted;
};

/* Returns what run() returns; NULL, too, if memory runs out. */
static void *
guarded(struct loading *l, void *(*run)(struct loading *))
{
	l->work.exhausted = &l->exhausted;
	l->kept.exhausted = &l->exhausted;
	l->told.exhausted = &l->exhausted;
	return setjmp(l->exhausted) == 0 ? run(l) : NULL;
}

/* ---- loading ---- */

/* Returns the values of all options as they would be written. */
static char **
print_values(
    const struct option *options, size_t len, const void *base, struct arena *a)
{
	char **values = arena_alloc(a, len, sizeof(*values));

	for (size_t i = 0; i < len; i++)
		values[i] = options[i].type->print(&options[i], base, a);
	return values;
}

static void
print_all(struct conf *conf, struct arena *a)
{
	conf->values =
	    print_values(options_global, options_global_len, conf, a);
	for (size_t i = 0; i < conf->apps_len; i++)
		conf->apps[i].values = print_values(
		    options_app, options_app_len, &conf->apps[i], a);
}

/* Returns the struct conf, or NULL: there are mistakes. */
static void *
load(struct loading *l)
{
	struct findings findings = { .arena = &l->work, .flags = l->flags };
	struct parse parse;
	struct build b = {
		.arena = &l->kept, .findings = &findings, .parse = &parse
	};

	parse_file(&parse, l->file, NULL, &findings);
	b.conf = arena_alloc(&l->kept, 1, sizeof(*b.conf));
	if (build_conf(&b) && !parse.stopped) {
		resolve_conf(&b);
		check_conf(&b);
		outside_check(&b, l->is_ours);
	}
	findings_sort(&findings);
	l->report->mistakes =
	    findings_lines(&findings, true, &l->told, &l->report->mistakes_len);
	l->report->warnings = findings_lines(
	    &findings, false, &l->told, &l->report->warnings_len);
	if (findings.mistakes > 0)
		return NULL;
	print_all(b.conf, &l->kept);
	return b.conf;
}

/*
 * The report of a load that ran out of memory has one line, with the name of
 * the file if there is memory for that.
 */
static void
report_exhausted(struct loading *l)
{
	static char untold[] = "out of memory";
	static char *untold_list[] = { untold, NULL };
	size_t size = strlen(l->file) + 64;
	char **list;
	char *text;

	arena_fini(&l->told);
	list = arena_try(&l->told, 2 * sizeof(*list));
	text = arena_try(&l->told, size);
	l->report->mistakes = list;
	if (list == NULL || text == NULL)
		l->report->mistakes = untold_list;
	else
		list[0] = text;
	if (text != NULL)
		(void)snprintf(text, size, "%s: %s", l->file, strerror(ENOMEM));
	l->report->mistakes_len = 1;
	l->report->warnings = untold_list + 1;
	l->report->warnings_len = 0;
}

struct conf *
conf_load(const char *file, unsigned flags,
    bool (*is_ours)(const struct conf_listen *), struct conf_report *report)
{
	struct loading l = { .file = file,
		.flags = flags,
		.is_ours = is_ours,
		.report = report };
	struct conf *conf = guarded(&l, load);

	arena_fini(&l.work);
	if (conf != NULL)
		conf->memory = l.kept.blocks;
	else
		arena_fini(&l.kept);
	if (conf == NULL && report->mistakes_len == 0)
		report_exhausted(&l);
	report->memory = l.told.blocks;
	return conf;
}

void
conf_free(struct conf *conf)
{
	struct arena a = { .blocks = conf != NULL ? conf->memory : NULL };

	arena_fini(&a);
}

void
conf_report_init(struct conf_report *report)
{
	memset(report, 0, sizeof(*report));
}

void
conf_report_fini(struct conf_report *report)
{
	struct arena a = { .blocks = report->memory };

	arena_fini(&a);
	memset(report, 0, sizeof(*report));
}

/* ---- the control socket alone ---- */

/* Returns an allocated path; NULL, and l->error unless memory ran out. */
static void *
control_path(struct loading *l)
{
	const struct option *control = options_find(false, "control");
	struct findings ignored = { .arena = &l->work };
	const char *path = CONF_DEFAULT_CONTROL;
	const struct stmt *s;
	struct parse parse;

	parse_file(&parse, l->file, control, &ignored);
	l->error = parse.error;
	if (l->error != 0)
		return NULL;
	STAILQ_FOREACH(s, &parse.stmts, next)
		path = s->values[0][0] == '\0'
		    ? ""
		    : source_join(&l->work, s->where.source->dir, s->values[0]);
	return strdup(path);
}

char *
conf_control_path(const char *file)
{
	struct loading l = { .file = file };
	char *path = guarded(&l, control_path);

	arena_fini(&l.work);
	if (path == NULL)
		errno = l.error != 0 ? l.error : ENOMEM;
	return path;
}

/* ---- using it ---- */

const struct conf_app *
conf_find_app(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->apps_len; i++) {
		if (strcmp(conf->apps[i].name, name) == 0)
			return &conf->apps[i];
	}
	return NULL;
}

/* As many connections as serial numbers can tell apart. */
#define CONNS_MAX (1u << 24)

static void
raise_to(uint32_t *n, uint64_t least)
{
	if (*n < least)
		*n = (uint32_t)least;
}

void
conf_pool_limits(const struct conf *conf, struct pool_limits *out)
{
	uint64_t conns = 0;

	raise_to(&out->apps, conf->apps_len);
	/*
	 * Processes that leave are still there when their successors come, so
	 * there is room for twice the ceiling; living ones it never exceeds.
	 */
	raise_to(&out->processes, 2 * (uint64_t)conf->max_processes);
	raise_to(&out->sessions, 1);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct app_options *o = &conf->apps[i].pool;

		raise_to(&out->sessions, o->concurrency + o->prefetch);
		conns += o->max_queue + 1;
	}
	conns += (uint64_t)out->processes * out->sessions;
	raise_to(&out->conns, conns < CONNS_MAX ? conns : CONNS_MAX);
}

static void
print_line(
    const char *indent, const struct option *o, const char *value, FILE *out)
{
	if (value != NULL)
		(void)fprintf(out, "%s%s = %s\n", indent, o->name, value);
}

void
conf_print(const struct conf *conf, FILE *out)
{
	for (size_t i = 0; i < options_global_len; i++)
		print_line("", &options_global[i], conf->values[i], out);
	for (size_t n = 0; n < conf->apps_len; n++) {
		const struct conf_app *app = &conf->apps[n];

		(void)fprintf(out, "\napp \"%s\" {\n", app->name);
		for (size_t i = 0; i < options_app_len; i++) {
			if (options_allowed(&options_app[i], app->handoff))
				print_line(
				    "\t", &options_app[i], app->values[i], out);
		}
		(void)fputs("}\n", out);
	}
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
	return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

/* The same name may mean another user than before. */
static bool
same_identity(const struct conf_identity *a, const struct conf_identity *b)
{
	return a->change == b->change && a->uid == b->uid && a->gid == b->gid &&
	    same_bytes(a->groups, a->groups_len * sizeof(*a->groups), b->groups,
		b->groups_len * sizeof(*b->groups)) &&
	    same_text(a->user, b->user) && same_text(a->home, b->home) &&
	    same_text(a->shell, b->shell);
}

unsigned
conf_app_changes(const struct conf_app *old, const struct conf_app *new)
{
	unsigned bits = 0;

	for (size_t i = 0; i < options_app_len; i++) {
		if (!same_text(old->values[i], new->values[i]))
			bits |= options_app[i].cost;
	}
	if (!same_identity(&old->program.identity, &new->program.identity) ||
	    !same_text(old->broken, new->broken))
		bits |= CONF_CHANGED_PROCESS;
	if (old->listen.uid != new->listen.uid ||
	    old->listen.gid != new->listen.gid)
		bits |= CONF_CHANGED_LISTEN;
	/* The file of the reply may have other bytes than before. */
	if (!same_bytes(old->refusal.reply, old->refusal.reply_len,
		new->refusal.reply, new->refusal.reply_len))
		bits |= CONF_CHANGED_SIZES;
	return bits;
}
