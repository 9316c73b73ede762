/* The addresses of a configuration, for those who listen there. */

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sys/listener.h"

static bool
duplicate(char **out, const char *text)
{
	*out = text == NULL ? NULL : strdup(text);
	return text == NULL || *out != NULL;
}

bool
conf_listen_copy(struct conf_listen *out, const struct conf_listen *l)
{
	bool text, path, name;

	*out = *l;
	text = duplicate(&out->text, l->text);
	path = duplicate(&out->path, l->path);
	name = duplicate(&out->fd_name, l->fd_name);
	return text && path && name;
}

void
conf_listen_fini(struct conf_listen *l)
{
	free(l->text);
	free(l->path);
	free(l->fd_name);
}

void
conf_listen_spec(const struct conf_listen *l, struct listener_spec *out)
{
	*out = (struct listener_spec){
		.name = l->text,
		.inherited_fd = -1,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
	};
	if (l->kind == CONF_LISTEN_TCP) {
		out->addr = (const struct sockaddr *)&l->addr;
		out->addrlen = l->addr_len;
		out->v6only = l->v6only;
	} else if (l->kind == CONF_LISTEN_UNIX) {
		out->path = l->path;
	}
}
