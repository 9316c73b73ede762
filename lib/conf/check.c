/* Checks values that are right by themselves and wrong together. */

#include <sys/un.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"
#include "sys/child.h"

/* ---- within an app ---- */

static bool
both_sound(const struct build *b, const struct conf_app *app, const char *x,
    const char *y)
{
	return build_sound(b, app, x) && build_sound(b, app, y);
}

/* Reports it where low is set, else where high is. */
static void
check_over(const struct build *b, const struct conf_app *app, const char *low,
    double low_value, const char *high, double high_value)
{
	bool is_set = build_level(b, app, low) != LEVEL_PRESET;
	const char *where = is_set ? low : high;

	if (low_value <= high_value || !both_sound(b, app, low, high))
		return;
	if (options_find(true, low)->type == &type_span)
		build_say(
		    b, app, SAID_MISTAKE, where, "%s is over %s", low, high);
	else
		build_say(b, app, SAID_MISTAKE, where,
		    "%s (%g) is over %s (%g)", low, low_value, high,
		    high_value);
}

static void
check_needs(const struct build *b, const struct conf_app *app,
    const char *option, bool used, const char *needed, bool there)
{
	if (used && !there && both_sound(b, app, option, needed))
		build_say(b, app, SAID_MISTAKE, option,
		    "%s has no effect without %s", option, needed);
}

static void
check_required(const struct build *b, const struct conf_app *app)
{
	if (app->program.command[0] == NULL && build_sound(b, app, "command"))
		findings_mistake(b->findings, build_where(b, app, "command"),
		    "app '%s' has no command", app->name);
	if (!both_sound(b, app, "listen", "handoff"))
		return;
	if (app->listen.len == 0 && app->handoff != CONF_HANDOFF_NONE)
		findings_mistake(b->findings, build_where(b, app, "listen"),
		    "app '%s' has no listen address (only handoff = none needs "
		    "none)",
		    app->name);
	if (app->listen.len > CHILD_FDS_MAX &&
	    app->handoff == CONF_HANDOFF_LISTEN)
		findings_mistake(b->findings, build_where(b, app, "listen"),
		    "app '%s' has %zu listen addresses: with handoff = listen "
		    "a process can be given %d",
		    app->name, app->listen.len, CHILD_FDS_MAX);
}

/* Facts that all workers of a template have in common. */
static void
check_common(const struct build *b, const struct conf_app *app,
    const char *option, char *const *list)
{
	while (*list != NULL && !placeholder_has_slot(*list))
		list++;
	if (*list != NULL && app->template &&
	    both_sound(b, app, option, "template"))
		build_say(b, app, SAID_MISTAKE, option,
		    "%s has {slot}, but with template = true all processes "
		    "have the same one",
		    option);
}

/*
 * A threshold has no effect with target_wait: the one that is set nearer to the
 * app rules. Both at one place are a mistake, unless the threshold is set to
 * its default. A private queue cannot keep a target.
 */
static void
check_target(const struct build *b, struct conf_app *app)
{
	struct app_options *o = &app->pool;
	const struct {
		const char *option;
		double *value;
	} thresholds[] = {
		{ "grow_threshold", &o->grow_threshold },
		{ "multi_threshold", &o->multi_threshold },
		{ "single_threshold", &o->single_threshold },
	};
	enum build_level target = build_level(b, app, "target_wait");

	if (!options_allowed(options_find(true, "target_wait"), app->handoff) ||
	    (o->private_queue && build_level(b, app, "queue") > target))
		o->target_wait = 0;
	for (size_t i = 0; i < 3; i++) {
		const char *option = thresholds[i].option;
		double preset =
		    strtod(options_find(true, option)->preset, NULL);
		enum build_level own = build_level(b, app, option);

		if (own > target)
			o->target_wait = 0;
		if (o->target_wait == 0 || *thresholds[i].value == preset ||
		    !both_sound(b, app, option, "target_wait"))
			continue;
		if (own < target)
			*thresholds[i].value = preset;
		else
			build_say(b, app, SAID_MISTAKE, option,
			    "%s has no effect with target_wait; with "
			    "target_wait = 0 it has",
			    option);
	}
	if (o->private_queue && o->target_wait > 0 &&
	    both_sound(b, app, "queue", "target_wait"))
		build_say(b, app, SAID_MISTAKE, "target_wait",
		    "target_wait cannot be kept with queue = private, where "
		    "connections wait for one process each");
}

static void
check_one_app(struct build *b, struct conf_app *app)
{
	struct app_options *o = &app->pool;

	check_target(b, app);
	check_required(b, app);
	/* Job workers are as many as the minimum says, and never more. */
	if (app->handoff != CONF_HANDOFF_NONE)
		check_over(b, app, "min_processes", o->min_processes,
		    "max_processes", o->max_processes);
	check_over(
	    b, app, "min_idle", o->min_idle, "max_processes", o->max_processes);
	check_over(b, app, "restart_delay", (double)o->restart_delay,
	    "restart_delay_max", (double)o->restart_delay_max);
	check_over(b, app, "multi_threshold", o->multi_threshold,
	    "grow_threshold", o->grow_threshold);
	if (app->limit.local && b->conf->counter_len == 0)
		build_say(b, app, SAID_MISTAKE, "limit",
		    "limit: local is the daemon's own counter, and no counter "
		    "is configured");
	check_needs(b, app, "refork_after", app->refork_after > 0, "template",
	    app->template);
	check_common(b, app, "command", app->program.command);
	check_common(b, app, "environment", app->program.environment);
	check_needs(b, app, "wait_for_request",
	    app->parking.wait_for_request != CONF_WAIT_FOR_REQUEST_NONE,
	    "wait_for_data", app->parking.wait_for_data);
	check_needs(b, app, "queue", o->private_queue, "prefetch",
	    o->prefetch > 0 && !o->prefetch_auto);
}

/* ---- two addresses in each other's way ---- */

/*
 * True if one of the addresses could not be bound while the other listens.
 * Their texts are canonical.
 */
static bool
overlap(const struct conf_listen *a, const struct conf_listen *b)
{
	static const char *const any[] = { "*:", "0.0.0.0:", "[::]:" };
	const struct conf_listen *both[] = { a, b };
	const char *port = strrchr(a->text, ':');

	if (a->kind != b->kind)
		return false;
	if (a->kind != CONF_LISTEN_TCP || a->addr_len == 0 || b->addr_len == 0)
		return strcmp(a->text, b->text) == 0;
	if (strcmp(port, strrchr(b->text, ':')) != 0 || strcmp(port, ":0") == 0)
		return false;
	if (strcmp(a->text, b->text) == 0)
		return true;
	for (size_t i = 0; i < 6; i++) {
		const struct conf_listen *l = both[i / 3];

		/* Between the families only a wildcard for both conflicts. */
		if (strncmp(l->text, any[i % 3], strlen(any[i % 3])) == 0 &&
		    (a->addr.ss_family == b->addr.ss_family ||
			(l->addr.ss_family == AF_INET6 && !l->v6only)))
			return true;
	}
	return false;
}

/* ---- between apps ---- */

/* An address of the file; each is compared with each other. */
struct use {
	const char *owner; /* "app 'NAME'", "option 'counter'" */
	const struct conf_listen *listen;
	struct where where;
};

struct uses {
	struct use *list;
	size_t len;
};

static void
use_add(struct build *b, struct uses *all, const char *owner,
    struct where where, const struct conf_listen *list, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		all->list = arena_grow(b->findings->arena, all->list, all->len,
		    sizeof(*all->list));
		all->list[all->len++] = (struct use){ owner, &list[i], where };
	}
}

static void
check_addresses(struct build *b)
{
	struct conf_listen control = { .kind = CONF_LISTEN_UNIX };
	const struct conf *conf = b->conf;
	struct arena *a = b->findings->arena;
	struct uses all = { NULL, 0 };

	/* The daemon's own come first: a conflict is told of the app. */
	if (conf->control != NULL) {
		control.text = arena_printf(a, "unix:%s", conf->control);
		use_add(b, &all, "option 'control'",
		    build_where(b, NULL, "control"), &control, 1);
	}
	use_add(b, &all, "option 'counter'", build_where(b, NULL, "counter"),
	    conf->counter, conf->counter_len);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		use_add(b, &all, arena_printf(a, "app '%s'", app->name),
		    build_where(b, app, "listen"), app->listen.list,
		    app->listen.len);
	}
	for (size_t late = 1; late < all.len; late++) {
		const struct use *l = &all.list[late], *e = all.list;

		while (e < l && !overlap(l->listen, e->listen))
			e++;
		if (e < l && e->owner == l->owner)
			findings_mistake(b->findings, l->where,
			    "%s: %s and %s are one address", l->owner,
			    e->listen->text, l->listen->text);
		else if (e < l)
			findings_mistake(b->findings, l->where,
			    "%s: %s is taken by %s of %s (%s:%d)", l->owner,
			    l->listen->text, e->listen->text, e->owner,
			    e->where.source->path, e->where.line);
	}
}

static void
check_sum(struct build *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->conf->apps_len; i++) {
		if (!build_sound(b, &b->conf->apps[i], "min_processes"))
			return;
		sum += b->conf->apps[i].pool.min_processes;
	}
	if (sum > b->conf->max_processes &&
	    build_sound(b, NULL, "max_processes"))
		findings_mistake(b->findings,
		    build_where(b, NULL, "max_processes"),
		    "the apps' min_processes add up to %ju, over max_processes "
		    "(%u)",
		    (uintmax_t)sum, b->conf->max_processes);
}

void
check_conf(struct build *b)
{
	const struct sockaddr_un *sun = NULL;
	const char *control = b->conf->control;

	for (size_t i = 0; i < b->conf->apps_len; i++)
		check_one_app(b, &b->conf->apps[i]);
	if (control != NULL && strlen(control) >= sizeof(sun->sun_path))
		build_say(b, NULL, SAID_MISTAKE, "control",
		    "'%s' is too long for a socket: %zu bytes of at most %zu",
		    control, strlen(control), sizeof(sun->sun_path) - 1);
	check_addresses(b);
	check_sum(b);
	if (b->conf->apps_len == 0 && b->conf->counter_len == 0 &&
	    b->findings->mistakes == 0)
		findings_mistake(b->findings,
		    (struct where){ b->parse->sources, 1 },
		    "neither an app nor a counter is configured");
}
