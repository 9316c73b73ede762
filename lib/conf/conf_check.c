/*
 * What is right by itself and wrong together. Nothing is compared with a value
 * that is a default only because of another mistake.
 */

#include <sys/un.h>

#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"
#include "sys/child.h"

struct app_check {
	struct conf_build *b;
	const struct conf_app *app;
};

static bool
both_sound(const struct app_check *c, const char *x, const char *y)
{
	return conf_app_sound(c->b, c->app, x) &&
	    conf_app_sound(c->b, c->app, y);
}

/* The place of the one that was set; of x if both were. */
static struct conf_where
place(const struct app_check *c, const char *x, const char *y)
{
	if (conf_app_slot(c->b, c->app, x)->setting != NULL)
		return conf_app_where(c->b, c->app, x);
	return conf_app_where(c->b, c->app, y);
}

static void
check_counts(const struct app_check *c, const char *low, unsigned low_value,
    const char *high, unsigned high_value)
{
	if (low_value > high_value && both_sound(c, low, high))
		conf_mistake(c->b->findings, place(c, low, high),
		    "app '%s': %s (%u) is over %s (%u)", c->app->name, low,
		    low_value, high, high_value);
}

static void
check_needs(const struct app_check *c, const char *option, bool used,
    const char *needed, bool there)
{
	if (used && !there && both_sound(c, option, needed))
		conf_mistake(c->b->findings,
		    conf_app_where(c->b, c->app, option),
		    "app '%s': %s has no effect without %s", c->app->name,
		    option, needed);
}

static void
check_delays(const struct app_check *c)
{
	if (c->app->restart_delay > c->app->restart_delay_max &&
	    both_sound(c, "restart_delay", "restart_delay_max"))
		conf_mistake(c->b->findings,
		    place(c, "restart_delay", "restart_delay_max"),
		    "app '%s': restart_delay is over restart_delay_max",
		    c->app->name);
}

static void
check_thresholds(const struct app_check *c)
{
	if (c->app->multi_threshold > c->app->grow_threshold &&
	    both_sound(c, "multi_threshold", "grow_threshold"))
		conf_mistake(c->b->findings,
		    place(c, "multi_threshold", "grow_threshold"),
		    "app '%s': multi_threshold (%g) is over grow_threshold "
		    "(%g)",
		    c->app->name, c->app->multi_threshold,
		    c->app->grow_threshold);
}

static void
check_required(const struct app_check *c)
{
	const struct conf_app *app = c->app;

	if (app->command[0] == NULL && conf_app_sound(c->b, app, "command"))
		conf_mistake(c->b->findings,
		    conf_app_where(c->b, app, "command"),
		    "app '%s' has no command", app->name);
	if (app->listen_len == 0 && app->handoff != CONF_HANDOFF_NONE &&
	    both_sound(c, "listen", "handoff"))
		conf_mistake(c->b->findings,
		    conf_app_where(c->b, app, "listen"),
		    "app '%s' has no listen address (only handoff = none needs "
		    "none)",
		    app->name);
	if (app->listen_len > CHILD_FDS_MAX &&
	    app->handoff == CONF_HANDOFF_LISTEN &&
	    both_sound(c, "listen", "handoff"))
		conf_mistake(c->b->findings,
		    conf_app_where(c->b, app, "listen"),
		    "app '%s' has %zu listen addresses: with handoff = listen "
		    "a process can be given %d",
		    app->name, app->listen_len, CHILD_FDS_MAX);
}

static void
check_app(struct conf_build *b, const struct conf_app *app)
{
	struct app_check c = { b, app };

	check_required(&c);
	/* Job workers are as many as the minimum says, and never more. */
	if (app->handoff != CONF_HANDOFF_NONE)
		check_counts(&c, "min_processes", app->min_processes,
		    "max_processes", app->max_processes);
	check_counts(
	    &c, "min_idle", app->min_idle, "max_processes", app->max_processes);
	check_counts(
	    &c, "canary", app->canary, "max_processes", app->max_processes);
	check_delays(&c);
	check_thresholds(&c);
	check_needs(&c, "max_requests_jitter", app->max_requests_jitter > 0,
	    "max_requests", app->max_requests > 0);
	check_needs(&c, "max_lifetime_jitter", app->max_lifetime_jitter > 0,
	    "max_lifetime", app->max_lifetime > 0);
	if (app->limit.local && b->conf->counter_len == 0)
		conf_mistake(b->findings, conf_app_where(b, app, "limit"),
		    "app '%s': limit: local is the daemon's own counter, and "
		    "no counter is configured",
		    app->name);
	check_needs(&c, "queue", app->queue == CONF_QUEUE_PRIVATE, "prefetch",
	    app->prefetch > 0);
}

/* ---- between apps ---- */

/* Every address of the file, to be compared with every other one. */
struct use {
	const char *owner; /* "app 'NAME'", "option 'counter'"; of uses */
	const struct conf_listen *listen;
	struct conf_where where;
};

struct uses {
	struct use *list;
	size_t len;
	char **owners;
	size_t owners_len;
};

static void
say_taken(struct conf_build *b, const struct use *late, const struct use *early)
{
	if (early->owner == late->owner)
		conf_mistake(b->findings, late->where,
		    "%s: %s and %s are one address", late->owner,
		    early->listen->text, late->listen->text);
	else
		conf_mistake(b->findings, late->where,
		    "%s: %s is taken by %s of %s (%s:%d)", late->owner,
		    late->listen->text, early->listen->text, early->owner,
		    early->where.source->path, early->where.line);
}

/* Takes owner over. */
static void
collect(struct uses *all, char *owner, struct conf_where where,
    const struct conf_listen *list, size_t len)
{
	all->owners =
	    conf_grow(all->owners, all->owners_len, sizeof(*all->owners));
	all->owners[all->owners_len++] = owner;
	for (size_t i = 0; i < len; i++) {
		struct use use = { owner, &list[i], where };

		all->list = conf_grow(all->list, all->len, sizeof(*all->list));
		all->list[all->len++] = use;
	}
}

/* Our own first, so that it is the apps that are in the way. */
static void
collect_all(const struct conf_build *b, const struct conf_listen *control,
    struct uses *all)
{
	const struct conf *conf = b->conf;

	collect(all, conf_strdup("option 'control'"),
	    conf_global_where(b, "control"), control, control->text != NULL);
	collect(all, conf_strdup("option 'counter'"),
	    conf_global_where(b, "counter"), conf->counter, conf->counter_len);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		collect(all, conf_printf("app '%s'", app->name),
		    conf_app_where(b, app, "listen"), app->listen,
		    app->listen_len);
	}
}

static void
check_addresses(struct conf_build *b)
{
	struct conf_listen control = { .kind = CONF_LISTEN_UNIX };
	struct uses all = { 0 };

	if (b->conf->control != NULL)
		control.text = conf_printf("unix:%s", b->conf->control);
	collect_all(b, &control, &all);
	for (size_t late = 1; late < all.len; late++) {
		for (size_t early = 0; early < late; early++) {
			if (conf_listen_overlaps(all.list[late].listen,
				all.list[early].listen)) {
				say_taken(b, &all.list[late], &all.list[early]);
				break;
			}
		}
	}
	for (size_t i = 0; i < all.owners_len; i++)
		free(all.owners[i]);
	free(all.owners);
	free(all.list);
	free(control.text);
}

static void
check_control(struct conf_build *b)
{
	const struct sockaddr_un *sun = NULL;
	const char *path = b->conf->control;

	if (path != NULL && strlen(path) >= sizeof(sun->sun_path))
		conf_mistake(b->findings, conf_global_where(b, "control"),
		    "option 'control': '%s' is too long for a socket: %zu "
		    "bytes of at most %zu",
		    path, strlen(path), sizeof(sun->sun_path) - 1);
}

static void
check_sum(struct conf_build *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->conf->apps_len; i++) {
		if (!conf_app_sound(b, &b->conf->apps[i], "min_processes"))
			return;
		sum += b->conf->apps[i].min_processes;
	}
	if (sum > b->conf->max_processes &&
	    !conf_global_slot(b, "max_processes")->failed)
		conf_mistake(b->findings, conf_global_where(b, "max_processes"),
		    "the apps' min_processes add up to %ju, over max_processes "
		    "(%u)",
		    (uintmax_t)sum, b->conf->max_processes);
}

void
conf_check(struct conf_build *b)
{
	for (size_t i = 0; i < b->conf->apps_len; i++)
		check_app(b, &b->conf->apps[i]);
	check_control(b);
	check_addresses(b);
	check_sum(b);
	if (b->conf->apps_len == 0 && b->conf->counter_len == 0 &&
	    b->findings->mistakes == 0)
		conf_mistake(b->findings,
		    (struct conf_where){ b->text->sources, 1 },
		    "neither an app nor a counter is configured");
}
