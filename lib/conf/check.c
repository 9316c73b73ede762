/* Checks values that are right by themselves and wrong together. */

#include <sys/un.h>

#include <netinet/in.h>
#include <string.h>

#include "conf/room.h"
#include "sys/child.h"

/* ---- within an app ---- */

struct app_check {
	struct build *b;
	const struct conf_app *app;
};

static bool
both_sound(const struct app_check *c, const char *x, const char *y)
{
	return build_sound(c->b, c->app, x) && build_sound(c->b, c->app, y);
}

/* The place of x if that is set, else of y. */
static struct where
place(const struct app_check *c, const char *x, const char *y)
{
	return build_where(
	    c->b, c->app, build_level(c->b, c->app, x) != LEVEL_PRESET ? x : y);
}

static void
check_counts(const struct app_check *c, const char *low, unsigned low_value,
    const char *high, unsigned high_value)
{
	if (low_value > high_value && both_sound(c, low, high))
		findings_mistake(c->b->findings, place(c, low, high),
		    "app '%s': %s (%u) is over %s (%u)", c->app->name, low,
		    low_value, high, high_value);
}

static void
check_needs(const struct app_check *c, const char *option, bool used,
    const char *needed, bool there)
{
	if (used && !there && both_sound(c, option, needed))
		findings_mistake(c->b->findings,
		    build_where(c->b, c->app, option),
		    "app '%s': %s has no effect without %s", c->app->name,
		    option, needed);
}

static void
check_order(const struct app_check *c)
{
	const struct conf_app *app = c->app;

	if (app->pool.restart_delay > app->pool.restart_delay_max &&
	    both_sound(c, "restart_delay", "restart_delay_max"))
		findings_mistake(c->b->findings,
		    place(c, "restart_delay", "restart_delay_max"),
		    "app '%s': restart_delay is over restart_delay_max",
		    app->name);
	if (app->pool.multi_threshold > app->pool.grow_threshold &&
	    both_sound(c, "multi_threshold", "grow_threshold"))
		findings_mistake(c->b->findings,
		    place(c, "multi_threshold", "grow_threshold"),
		    "app '%s': multi_threshold (%g) is over grow_threshold "
		    "(%g)",
		    app->name, app->pool.multi_threshold,
		    app->pool.grow_threshold);
}

static void
check_required(const struct app_check *c)
{
	const struct conf_app *app = c->app;
	struct findings *f = c->b->findings;
	struct where listen = build_where(c->b, app, "listen");

	if (app->program.command[0] == NULL &&
	    build_sound(c->b, app, "command"))
		findings_mistake(f, build_where(c->b, app, "command"),
		    "app '%s' has no command", app->name);
	if (!both_sound(c, "listen", "handoff"))
		return;
	if (app->listen.len == 0 && app->handoff != CONF_HANDOFF_NONE)
		findings_mistake(f, listen,
		    "app '%s' has no listen address (only handoff = none needs "
		    "none)",
		    app->name);
	if (app->listen.len > CHILD_FDS_MAX &&
	    app->handoff == CONF_HANDOFF_LISTEN)
		findings_mistake(f, listen,
		    "app '%s' has %zu listen addresses: with handoff = listen "
		    "a process can be given %d",
		    app->name, app->listen.len, CHILD_FDS_MAX);
}

/* Facts that all workers of a template have in common. */
static void
check_common(const struct app_check *c, const char *option, char *const *list)
{
	for (; *list != NULL; list++) {
		if (!placeholder_has_slot(*list) ||
		    !both_sound(c, option, "template"))
			continue;
		findings_mistake(c->b->findings,
		    build_where(c->b, c->app, option),
		    "app '%s': %s has {slot}, but with template = true all "
		    "processes have the same one",
		    c->app->name, option);
		return;
	}
}

/* --- target_wait, and what else decides how many processes there are --- */

static int
level(const struct app_check *c, const char *option)
{
	return build_level(c->b, c->app, option);
}

static bool
is_default(const struct app_check *c, const char *option)
{
	const struct option *o = options_find(true, option);
	const char *value = o->type->print(o, c->app, c->b->findings->arena);

	return strcmp(value, o->preset) == 0;
}

/*
 * A threshold has no effect with target_wait: the one that is set nearer to the
 * app rules.  Both at one place are a mistake, unless the threshold is set to
 * its default.
 */
static void
check_threshold(
    const struct app_check *c, struct conf_app *app, const char *option)
{
	int target = level(c, "target_wait"), other = level(c, option);

	if (other > target)
		app->pool.target_wait = 0;
	if (other < target || app->pool.target_wait == 0 ||
	    is_default(c, option) || !both_sound(c, option, "target_wait"))
		return;
	findings_mistake(c->b->findings, build_where(c->b, app, option),
	    "app '%s': %s has no effect with target_wait; with target_wait = 0 "
	    "it has",
	    app->name, option);
}

/* Decides whether the default of target_wait is in force. */
static void
check_target(const struct app_check *c, struct conf_app *app)
{
	bool private = app->pool.private_queue;

	if (!options_allowed(options_find(true, "target_wait"), app->handoff))
		app->pool.target_wait = 0;
	if (private && level(c, "queue") > level(c, "target_wait"))
		app->pool.target_wait = 0;
	check_threshold(c, app, "grow_threshold");
	check_threshold(c, app, "multi_threshold");
	check_threshold(c, app, "single_threshold");
	if (private && app->pool.target_wait > 0 &&
	    both_sound(c, "queue", "target_wait"))
		findings_mistake(c->b->findings,
		    build_where(c->b, app, "target_wait"),
		    "app '%s': target_wait cannot be kept with queue = "
		    "private, where connections wait for one process each",
		    app->name);
}

static void
check_one_app(struct build *b, struct conf_app *app)
{
	struct app_check c = { b, app };

	check_target(&c, app);
	check_required(&c);
	/* Job workers are as many as the minimum says, and never more. */
	if (app->handoff != CONF_HANDOFF_NONE)
		check_counts(&c, "min_processes", app->pool.min_processes,
		    "max_processes", app->pool.max_processes);
	check_counts(&c, "min_idle", app->pool.min_idle, "max_processes",
	    app->pool.max_processes);
	check_order(&c);
	if (app->limit.local && b->conf->counter_len == 0)
		findings_mistake(b->findings, build_where(b, app, "limit"),
		    "app '%s': limit: local is the daemon's own counter, and "
		    "no counter is configured",
		    app->name);
	check_needs(&c, "refork_after", app->refork_after > 0, "template",
	    app->template);
	if (app->template) {
		check_common(&c, "command", app->program.command);
		check_common(&c, "environment", app->program.environment);
	}
	check_needs(&c, "wait_for_request",
	    app->parking.wait_for_request != CONF_WAIT_FOR_REQUEST_NONE,
	    "wait_for_data", app->parking.wait_for_data);
	check_needs(&c, "queue", app->pool.private_queue, "prefetch",
	    app->pool.prefetch > 0 && !app->pool.prefetch_auto);
}

/* ---- two addresses in each other's way ---- */

static unsigned
port_of(const struct conf_listen *l)
{
	if (l->addr.ss_family == AF_INET6)
		return ntohs(
		    ((const struct sockaddr_in6 *)&l->addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)&l->addr)->sin_port);
}

static bool
is_any(const struct conf_listen *l)
{
	if (l->addr.ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(
		    &((const struct sockaddr_in6 *)&l->addr)->sin6_addr);
	return ((const struct sockaddr_in *)&l->addr)->sin_addr.s_addr ==
	    htonl(INADDR_ANY);
}

/* True if one of the addresses could not be bound while the other listens. */
static bool
overlap(const struct conf_listen *a, const struct conf_listen *b)
{
	if (a->kind != b->kind)
		return false;
	if (strcmp(a->text, b->text) == 0)
		return a->kind != CONF_LISTEN_TCP || a->addr_len == 0 ||
		    port_of(a) != 0;
	if (a->kind != CONF_LISTEN_TCP || a->addr_len == 0 ||
	    b->addr_len == 0 || port_of(a) != port_of(b) || port_of(a) == 0)
		return false;
	if (a->addr.ss_family == b->addr.ss_family)
		return is_any(a) || is_any(b);
	/* Between the families only a wildcard for both conflicts. */
	if (a->addr.ss_family == AF_INET6)
		return is_any(a) && !a->v6only;
	return is_any(b) && !b->v6only;
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
say_taken(struct build *b, const struct use *late, const struct use *early)
{
	if (early->owner == late->owner)
		findings_mistake(b->findings, late->where,
		    "%s: %s and %s are one address", late->owner,
		    early->listen->text, late->listen->text);
	else
		findings_mistake(b->findings, late->where,
		    "%s: %s is taken by %s of %s (%s:%d)", late->owner,
		    late->listen->text, early->listen->text, early->owner,
		    early->where.source->path, early->where.line);
}

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

/* The daemon's own addresses come first: a conflict is reported for the app. */
static void
use_add_all(
    struct build *b, const struct conf_listen *control, struct uses *all)
{
	const struct conf *conf = b->conf;

	use_add(b, all, "option 'control'", build_where(b, NULL, "control"),
	    control, conf->control != NULL);
	use_add(b, all, "option 'counter'", build_where(b, NULL, "counter"),
	    conf->counter, conf->counter_len);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		use_add(b, all,
		    arena_printf(b->findings->arena, "app '%s'", app->name),
		    build_where(b, app, "listen"), app->listen.list,
		    app->listen.len);
	}
}

static void
check_addresses(struct build *b)
{
	struct conf_listen control = { .kind = CONF_LISTEN_UNIX };
	struct uses all = { NULL, 0 };

	if (b->conf->control != NULL)
		control.text = arena_printf(
		    b->findings->arena, "unix:%s", b->conf->control);
	use_add_all(b, &control, &all);
	for (size_t late = 1; late < all.len; late++) {
		size_t early = 0;

		while (early < late &&
		    !overlap(all.list[late].listen, all.list[early].listen))
			early++;
		if (early < late)
			say_taken(b, &all.list[late], &all.list[early]);
	}
}

static void
check_control(struct build *b)
{
	const struct sockaddr_un *sun = NULL;
	const char *path = b->conf->control;

	if (path != NULL && strlen(path) >= sizeof(sun->sun_path))
		findings_mistake(b->findings, build_where(b, NULL, "control"),
		    "option 'control': '%s' is too long for a socket: %zu "
		    "bytes of at most %zu",
		    path, strlen(path), sizeof(sun->sun_path) - 1);
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
	for (size_t i = 0; i < b->conf->apps_len; i++)
		check_one_app(b, &b->conf->apps[i]);
	check_control(b);
	check_addresses(b);
	check_sum(b);
	if (b->conf->apps_len == 0 && b->conf->counter_len == 0 &&
	    b->findings->mistakes == 0)
		findings_mistake(b->findings,
		    (struct where){ b->parse->sources, 1 },
		    "neither an app nor a counter is configured");
}
