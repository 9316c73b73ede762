/*
 * Options that are lists of addresses, and whether two addresses can be had
 * at the same time.
 */

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"
#include "sys/listener.h"

/* Each address is compared with each other one. */
#define ADDRESSES_MAX 256

static bool
copy_text(char **out, const char *text)
{
	*out = text == NULL ? NULL : strdup(text);
	return text == NULL || *out != NULL;
}

bool
conf_listen_copy(struct conf_listen *out, const struct conf_listen *l)
{
	bool text, path, name;

	*out = *l;
	text = copy_text(&out->text, l->text);
	path = copy_text(&out->path, l->path);
	name = copy_text(&out->fd_name, l->fd_name);
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

static void
list_free(struct conf_listen *list, size_t len)
{
	for (size_t i = 0; i < len; i++)
		conf_listen_fini(&list[i]);
	free(list);
}

static bool
listen_parse(const struct conf_input *in, void *base)
{
	struct conf_listen **field = CONF_FIELD(in->option, base);
	size_t *len = CONF_EXTRA(in->option, base);
	struct conf_listens out = { NULL, 0 };
	bool good = true;

	if (in->len > ADDRESSES_MAX)
		return conf_bad(in, "%zu addresses are over the limit of %d",
		    in->len, ADDRESSES_MAX);
	for (size_t i = 0; i < in->len; i++) {
		good =
		    conf_address_parse(in, base, in->values[i], &out) && good;
	}
	if (!good) {
		list_free(out.list, out.len);
		return false;
	}
	list_free(*field, *len);
	*field = out.list;
	*len = out.len;
	return true;
}

static bool
listen_equal(const struct conf_option *o, const void *a, const void *b)
{
	const struct conf_listen *x =
	    *(struct conf_listen *const *)CONF_FIELD(o, a);
	const struct conf_listen *y =
	    *(struct conf_listen *const *)CONF_FIELD(o, b);
	size_t x_len = *(const size_t *)CONF_EXTRA(o, a);
	size_t y_len = *(const size_t *)CONF_EXTRA(o, b);

	if (x_len != y_len)
		return false;
	for (size_t i = 0; i < x_len; i++) {
		if (strcmp(x[i].text, y[i].text) != 0)
			return false;
	}
	return true;
}

static bool
listen_print(const struct conf_option *o, const void *base, FILE *out)
{
	const struct conf_listen *list =
	    *(struct conf_listen *const *)CONF_FIELD(o, base);
	size_t len = *(const size_t *)CONF_EXTRA(o, base);

	fputc('{', out);
	for (size_t i = 0; i < len; i++) {
		fputs(i > 0 ? ", " : " ", out);
		conf_print_quoted(list[i].text, out);
	}
	fputs(len > 0 ? " }" : "}", out);
	return true;
}

static void
listen_fini(const struct conf_option *o, void *base)
{
	list_free(*(struct conf_listen **)CONF_FIELD(o, base),
	    *(size_t *)CONF_EXTRA(o, base));
}

const struct conf_type conf_type_listen = {
	.list = true,
	.parse = listen_parse,
	.equal = listen_equal,
	.print = listen_print,
	.fini = listen_fini,
};

/* ---- who is in whose way ---- */

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

bool
conf_listen_overlaps(const struct conf_listen *a, const struct conf_listen *b)
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
	/* Of both families, only a wildcard that has both is in the way. */
	if (a->addr.ss_family == AF_INET6)
		return is_any(a) && !a->v6only;
	return is_any(b) && !b->v6only;
}
