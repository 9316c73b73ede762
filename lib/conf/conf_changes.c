/*
 * What a reload has to do: which kinds of options differ.
 */

#include <string.h>

#include "conf/conf_private.h"

static unsigned
changes(const struct conf_option *options, size_t len, const void *old,
    const void *new)
{
	unsigned bits = 0;

	for (size_t i = 0; i < len; i++) {
		if (!options[i].type->equal(&options[i], old, new))
			bits |= options[i].change;
	}
	return bits;
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* A name may mean somebody else than it did. */
static bool
same_identity(const struct conf_identity *a, const struct conf_identity *b)
{
	return a->change == b->change && a->uid == b->uid && a->gid == b->gid &&
	    a->groups_len == b->groups_len &&
	    (a->groups_len == 0 ||
		memcmp(a->groups, b->groups,
		    a->groups_len * sizeof(*a->groups)) == 0) &&
	    same_text(a->user, b->user) && same_text(a->home, b->home) &&
	    same_text(a->shell, b->shell);
}

/* The file may have been written anew. */
static bool
same_reply(const struct conf_app *a, const struct conf_app *b)
{
	return a->on_full_reply_len == b->on_full_reply_len &&
	    (a->on_full_reply_len == 0 ||
		memcmp(a->on_full_reply, b->on_full_reply,
		    a->on_full_reply_len) == 0);
}

unsigned
conf_app_changes(const struct conf_app *old, const struct conf_app *new)
{
	unsigned bits =
	    changes(conf_app_options, conf_app_options_len, old, new);

	if (!same_identity(&old->identity, &new->identity) ||
	    !same_text(old->broken, new->broken))
		bits |= CONF_CHANGED_PROCESS;
	if (!same_reply(old, new))
		bits |= CONF_CHANGED_SIZES;
	if (old->socket_uid != new->socket_uid ||
	    old->socket_gid != new->socket_gid)
		bits |= CONF_CHANGED_LISTEN;
	return bits;
}

bool
conf_app_equal(const struct conf_app *a, const struct conf_app *b)
{
	return conf_app_changes(a, b) == 0;
}

unsigned
conf_globals_changed(const struct conf *old, const struct conf *new)
{
	unsigned bits =
	    changes(conf_global_options, conf_global_options_len, old, new);

	if (old->control_gid != new->control_gid)
		bits |= CONF_CHANGED_CONTROL;
	return bits;
}
