/*
 * Addresses: 127.0.0.1:8080 [::1]:80 *:80 name:80 unix:PATH fd:NAME, lists of
 * them, and the lock of a PoolCounter at some. Names of hosts are resolved here
 * and now; later nothing may wait for that.
 */

#include <sys/un.h>

#include <ctype.h>
#include <netdb.h>
#include <unistd.h>

#include "conf/room.h"
#include "sys/address.h"
#include "sys/listener.h"
#include "sys/serverlist.h"

/* As systemd bounds the names of its sockets. */
#define FD_NAME_MAX 255

/* Each address is compared with each other one. */
#define ADDRESSES_MAX 256

struct listens {
	struct conf_listen *list;
	size_t len;
};

static struct conf_listen *
listen_add(const struct input *in, struct listens *out,
    enum conf_listen_kind kind, char *text)
{
	struct conf_listen *l;

	out->list =
	    arena_grow(in->arena, out->list, out->len, sizeof(*out->list));
	l = &out->list[out->len++];
	l->kind = kind;
	l->text = text;
	return l;
}

/* ---- unix:PATH and fd:NAME ---- */

static bool
parse_unix(const struct input *in, const char *text, struct listens *out)
{
	const struct sockaddr_un *sun = NULL;
	struct conf_listen *l;
	const char *path;

	if (*text == '\0')
		return type_bad(in, "unix: without a path");
	if (*text == '@')
		return type_bad(in,
		    "'%s': abstract sockets are not supported, since they have "
		    "no owner and no mode; write ./%s for a file of that name",
		    text, text);
	path = source_join(in->arena, in->dir, text);
	if (strlen(path) >= sizeof(sun->sun_path))
		return type_bad(in,
		    "'%s' is too long for a socket: %zu bytes of at most %zu",
		    path, strlen(path), sizeof(sun->sun_path) - 1);
	l = listen_add(in, out, CONF_LISTEN_UNIX,
	    arena_printf(in->arena, "unix:%s", path));
	l->addr_len = address_of_path(path, (struct sockaddr_un *)&l->addr);
	return true;
}

static bool
parse_fd(const struct input *in, const char *text, struct listens *out)
{
	for (const char *p = text; *p != '\0'; p++)
		if (!isgraph((unsigned char)*p) || *p == ':')
			return type_bad(
			    in, "'%s' is not a name of a socket", text);
	if (*text == '\0' || strlen(text) > FD_NAME_MAX)
		return type_bad(
		    in, "fd: needs a name of at most %d bytes", FD_NAME_MAX);
	(void)listen_add(
	    in, out, CONF_LISTEN_FD, arena_printf(in->arena, "fd:%s", text));
	return true;
}

/* ---- HOST:PORT ---- */

static bool
have_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return false;
	(void)close(fd);
	return true;
}

/* Adds the addresses of a host, each once; 0, or as for gai_strerror(). */
static int
listen_resolve(const struct input *in, const char *host, const char *port,
    bool numeric, struct listens *out)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0),
	};
	struct addrinfo *found = NULL;
	size_t first = out->len;
	int rc = getaddrinfo(host, port, &hints, &found);

	if (rc != 0)
		return rc;
	for (struct addrinfo *ai = found; ai != NULL; ai = ai->ai_next) {
		char text[ADDRESS_TEXT_SIZE];
		struct conf_listen *l;
		size_t same = first;

		/* /etc/hosts has ::1 even where the kernel has no IPv6. */
		if (!numeric && ai->ai_family == AF_INET6 && !have_ipv6())
			continue;
		(void)address_format(
		    ai->ai_addr, ai->ai_addrlen, text, sizeof(text));
		while (
		    same < out->len && strcmp(out->list[same].text, text) != 0)
			same++;
		if (same < out->len)
			continue;
		l = listen_add(
		    in, out, CONF_LISTEN_TCP, arena_strdup(in->arena, text));
		memcpy(&l->addr, ai->ai_addr, ai->ai_addrlen);
		l->addr_len = ai->ai_addrlen;
		l->v6only = ai->ai_family == AF_INET6;
	}
	freeaddrinfo(found);
	return out->len > first ? 0 : EAI_NONAME;
}

/* Adds HOST:PORT. A name that is unknown today fails the app, not the file. */
static bool
parse_host(const struct input *in, void *base, const char *text,
    const char *colon, struct listens *out)
{
	bool inside = (in->findings->flags & CONF_INSIDE) != 0;
	bool brackets = text[0] == '[' && colon[-1] == ']';
	const char *start = text + brackets;
	char *host =
	    arena_strndup(in->arena, start, (size_t)(colon - start) - brackets);
	int rc = listen_resolve(in, host, colon + 1, true, out);
	const char *why;

	/* A name, or an address that is misspelt. */
	if (rc == EAI_NONAME &&
	    (brackets || host[strspn(host, NAME_BYTES)] != '\0' ||
		host[strspn(host, "0123456789.")] == '\0'))
		return type_bad(in, "'%s' is not an address", text);
	if (rc == EAI_NONAME && !inside)
		rc = listen_resolve(in, host, colon + 1, false, out);
	if (rc == 0)
		return true;
	if (!inside && !in->option->in_app)
		return type_bad(in, "address '%s': %s", text, gai_strerror(rc));
	if (!inside) {
		why = arena_printf(
		    in->arena, "address '%s': %s", text, gai_strerror(rc));
		findings_say(in->findings, SAID_OUTSIDE, in->where,
		    "option '%s': %s", in->option->name, why);
		type_break(base, in->arena, why);
	}
	(void)listen_add(
	    in, out, CONF_LISTEN_TCP, arena_strdup(in->arena, text));
	return true;
}

/* A hint for a text that is no address: "write ...". */
static const char *
meant(const struct input *in, const char *text)
{
	struct arena *a = in->findings->arena;
	const char *host = strstr(text, "://");
	const char *port = text[0] == ':' ? text + 1 : text;
	uint64_t number;

	if (text[0] == '/')
		return arena_printf(a, "unix:%s", text);
	if (host != NULL && strchr(host + 3, ':') != NULL)
		return arena_printf(
		    a, "%.*s", (int)strcspn(host + 3, "/"), host + 3);
	if (type_parse_uint(port, &number) && number <= UINT16_MAX)
		return arena_printf(a, "*:%s, or 127.0.0.1:%s", port, port);
	return "127.0.0.1:8080, [::1]:8080, *:8080, unix:PATH or fd:NAME";
}

/* Adds what one address means; false: a mistake. */
static bool
parse_address(
    const struct input *in, void *base, const char *text, struct listens *out)
{
	const char *colon = strrchr(text, ':');
	uint64_t port = 0;

	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(in, text + 5, out);
	if (strncmp(text, "fd:", 3) == 0)
		return parse_fd(in, text + 3, out);
	if (colon == NULL || colon == text || strstr(text, "://") != NULL ||
	    !type_parse_uint(colon + 1, &port) || port > UINT16_MAX)
		return type_bad(in, "'%s' is not an address: write %s", text,
		    meant(in, text));
	if (colon == text + 1 && *text == '*') {
		(void)listen_resolve(
		    in, have_ipv6() ? "::" : "0.0.0.0", colon + 1, true, out);
		out->list[out->len - 1].v6only = false;
		out->list[out->len - 1].text =
		    arena_printf(in->arena, "*:%u", (unsigned)port);
		return true;
	}
	if (*text != '[' && memchr(text, ':', (size_t)(colon - text)) != NULL)
		return type_bad(in,
		    "'%s': an IPv6 address stands in brackets: [%.*s]:%s", text,
		    (int)(colon - text), text, colon + 1);
	return parse_host(in, base, text, colon, out);
}

/* ---- lists; the companion of the option is their length ---- */

static bool
listen_parse(const struct input *in, void *base)
{
	struct listens out = { NULL, 0 };
	bool good = true;

	if (in->len > ADDRESSES_MAX)
		return type_bad(in, "%zu addresses are over the limit of %d",
		    in->len, ADDRESSES_MAX);
	for (size_t i = 0; i < in->len; i++)
		good = parse_address(in, base, in->values[i], &out) && good;
	if (!good)
		return false;
	*(struct conf_listen **)TYPE_FIELD(in->option, base) = out.list;
	*(size_t *)TYPE_EXTRA(in->option, base) = out.len;
	return true;
}

static char *
listen_print(const struct option *o, const void *base, struct arena *a)
{
	static const struct option texts_only = { .offset = 0 };
	const struct conf_listen *list =
	    *(struct conf_listen *const *)TYPE_FIELD(o, base);
	size_t len = *(const size_t *)TYPE_EXTRA(o, base);
	char **texts = arena_alloc(a, len + 1, sizeof(*texts));

	for (size_t i = 0; i < len; i++)
		texts[i] = list[i].text;
	return type_paths.print(&texts_only, &texts, a);
}

const struct type type_listen = { true, listen_parse, listen_print };

/* ---- limit = "SERVER KEY WORKERS MAXQUEUE TIMEOUT" ---- */

/* The longest key: a line of the protocol has room for no more. */
#define LIMIT_KEY_MAX 256

/*
 * The servers of the limit, in the order of its key. A host that nobody knows
 * today is a mistake, as it is for a global option: the app could not do
 * without it later.
 */
static bool
limit_servers(const struct input *in, void *base, struct conf_limit *limit)
{
	struct option option = *in->option;
	struct input mine = *in;
	struct serverlist list;
	unsigned order[SERVERLIST_MAX];

	option.in_app = false;
	mine.option = &option;
	if (!serverlist_split(arena_strdup(in->arena, limit->server), &list))
		return type_bad(in,
		    "'%s' is no list of servers: at most %d, all different, "
		    "with commas between them",
		    limit->server, SERVERLIST_MAX);
	serverlist_order(&list, limit->key, order);
	limit->servers =
	    arena_alloc(in->arena, list.len, sizeof(*limit->servers));
	limit->servers_len = list.len;
	for (unsigned i = 0; i < list.len; i++) {
		const char *name = list.names[order[i]], *address = name;
		const char *colon = strrchr(name, ':');
		struct listens found = { NULL, 0 };

		if (strcmp(name, "local") == 0)
			return type_bad(in,
			    "'%s': local, the daemon's own counter, stands "
			    "alone: others would not know it by that name",
			    in->values[0]);
		/* "10.0.0.1" and "[::1]" have a port, as with MediaWiki. */
		if (strncmp(name, "unix:", 5) != 0 &&
		    (colon == NULL || strchr(colon, ']') != NULL))
			address = arena_printf(in->arena, "%s:7531", name);
		if (!parse_address(&mine, base, address, &found))
			return false;
		if (found.list[0].kind == CONF_LISTEN_FD || *name == '*')
			return type_bad(in,
			    "'%s' is no server: write local, HOST:PORT or "
			    "unix:PATH",
			    name);
		limit->servers[i] = (struct conf_server){ name, found.list[0] };
	}
	return true;
}

static bool
limit_parse(const struct input *in, void *base)
{
	struct conf_limit *field = TYPE_FIELD(in->option, base);
	struct conf_limit limit = { .fail_closed = field->fail_closed };
	char *words[6], *text = arena_strdup(in->arena, in->values[0]);
	uint64_t workers, maxqueue;
	size_t n = 0;

	for (char *w; n < 6 && (w = strsep(&text, " ")) != NULL;)
		if (*w != '\0')
			words[n++] = w;
	if (n != 5 || strlen(words[1]) > LIMIT_KEY_MAX ||
	    !type_parse_uint(words[2], &workers) || workers == 0 ||
	    workers > INT32_MAX || !type_parse_uint(words[3], &maxqueue) ||
	    maxqueue == 0 || maxqueue > INT32_MAX ||
	    !conf_parse_span(words[4], &limit.timeout))
		return type_bad(in,
		    "'%s' is not of the form "
		    "\"SERVER KEY WORKERS MAXQUEUE TIMEOUT\"",
		    in->values[0]);
	limit.server = words[0];
	limit.key = words[1];
	limit.workers = (unsigned)workers;
	limit.maxqueue = (unsigned)maxqueue;
	limit.local = strcmp(limit.server, "local") == 0;
	if (!limit.local && !limit_servers(in, base, &limit))
		return false;
	*field = limit;
	return true;
}

static char *
limit_print(const struct option *o, const void *base, struct arena *a)
{
	static const struct option timeout = {
		.offset = offsetof(struct conf_limit, timeout)
	};
	const struct conf_limit *limit = TYPE_FIELD(o, base);

	if (limit->server == NULL)
		return NULL;
	return arena_printf(a, "\"%s %s %u %u %s\"", limit->server, limit->key,
	    limit->workers, limit->maxqueue,
	    type_span.print(&timeout, limit, a));
}

const struct type type_limit = { false, limit_parse, limit_print };

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
		out->path = conf_listen_name(l);
	}
}
