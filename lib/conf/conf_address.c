/*
 * Addresses: 127.0.0.1:8080 [::1]:80 *:80 name:80 unix:PATH fd:NAME.
 * Names of hosts are resolved here and now; later nothing may wait for that.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_private.h"

/* As systemd bounds the names of its sockets. */
#define FD_NAME_MAX 255

static struct conf_listen *
add(struct conf_listens *out, enum conf_listen_kind kind, char *text)
{
	struct conf_listen *l;

	out->list = conf_grow(out->list, out->len, sizeof(*out->list));
	l = &out->list[out->len++];
	memset(l, 0, sizeof(*l));
	l->kind = kind;
	l->text = text;
	return l;
}

/* ---- unix:PATH and fd:NAME ---- */

static bool
parse_unix(
    const struct conf_input *in, const char *text, struct conf_listens *out)
{
	struct sockaddr_un *sun;
	struct conf_listen *l;
	char *path;

	if (*text == '\0')
		return conf_bad(in, "unix: without a path");
	if (*text == '@')
		return conf_bad(in,
		    "'%s': abstract sockets are not supported, since they have "
		    "no owner and no mode; write ./%s for a file of that name",
		    text, text);
	path = conf_path_join(in->dir, text);
	if (strlen(path) >= sizeof(sun->sun_path)) {
		(void)conf_bad(in,
		    "'%s' is too long for a socket: %zu bytes "
		    "of at most %zu",
		    path, strlen(path), sizeof(sun->sun_path) - 1);
		free(path);
		return false;
	}
	l = add(out, CONF_LISTEN_UNIX, conf_printf("unix:%s", path));
	l->path = path;
	sun = (struct sockaddr_un *)&l->addr;
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path, path, strlen(path) + 1);
	l->addr_len = sizeof(*sun);
	return true;
}

static bool
parse_fd(
    const struct conf_input *in, const char *text, struct conf_listens *out)
{
	struct conf_listen *l;

	for (const char *p = text; *p != '\0'; p++) {
		if (!isgraph((unsigned char)*p) || *p == ':')
			return conf_bad(
			    in, "'%s' is not a name of a socket", text);
	}
	if (*text == '\0' || strlen(text) > FD_NAME_MAX)
		return conf_bad(
		    in, "fd: needs a name of at most %d bytes", FD_NAME_MAX);
	l = add(out, CONF_LISTEN_FD, conf_printf("fd:%s", text));
	l->fd_name = conf_strdup(text);
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

static void
add_any(uint16_t port, struct conf_listens *out)
{
	struct conf_listen *l =
	    add(out, CONF_LISTEN_TCP, conf_printf("*:%u", (unsigned)port));

	if (have_ipv6()) {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&l->addr;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = in6addr_any;
		sin6->sin6_port = htons(port);
		l->addr_len = sizeof(*sin6);
	} else {
		struct sockaddr_in *sin = (struct sockaddr_in *)&l->addr;

		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		l->addr_len = sizeof(*sin);
	}
}

static char *
numeric_text(const struct addrinfo *ai)
{
	char host[NI_MAXHOST];
	char port[NI_MAXSERV];

	if (getnameinfo(ai->ai_addr, ai->ai_addrlen, host, sizeof(host), port,
		sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return NULL;
	return conf_printf(
	    ai->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static void
add_resolved(const struct addrinfo *ai, struct conf_listens *out)
{
	struct conf_listen *l;
	char *text = numeric_text(ai);

	if (text == NULL)
		return;
	for (size_t i = 0; i < out->len; i++) {
		if (strcmp(out->list[i].text, text) == 0) {
			free(text);
			return;
		}
	}
	l = add(out, CONF_LISTEN_TCP, text);
	memcpy(&l->addr, ai->ai_addr, ai->ai_addrlen);
	l->addr_len = ai->ai_addrlen;
	l->v6only = ai->ai_family == AF_INET6;
}

/* Returns 0, or what gai_strerror() explains. */
static int
resolve(
    const char *host, const char *port, bool numeric, struct conf_listens *out)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0),
	};
	struct addrinfo *found = NULL;
	struct conf_listens mine = { NULL, 0 };
	int rc = getaddrinfo(host, port, &hints, &found);

	if (rc != 0)
		return rc;
	for (struct addrinfo *ai = found; ai != NULL; ai = ai->ai_next) {
		/* /etc/hosts has ::1 even where the kernel has no IPv6. */
		if (!numeric && ai->ai_family == AF_INET6 && !have_ipv6())
			continue;
		add_resolved(ai, &mine);
	}
	freeaddrinfo(found);
	for (size_t i = 0; i < mine.len; i++)
		*add(out, CONF_LISTEN_TCP, NULL) = mine.list[i];
	free(mine.list);
	return mine.len > 0 ? 0 : EAI_NONAME;
}

/* A host whose name nobody knows today makes an app fail, not the file. */
static bool
unresolved(const struct conf_input *in, void *base, const char *text, int why,
    struct conf_listens *out)
{
	if ((in->findings->flags & CONF_INSIDE) != 0) {
		(void)add(out, CONF_LISTEN_TCP, conf_strdup(text));
		return true;
	}
	if (!in->option->in_app)
		return conf_bad(
		    in, "address '%s': %s", text, gai_strerror(why));
	conf_outside_note(in->findings, in->where,
	    "option '%s': address '%s': %s", in->option->name, text,
	    gai_strerror(why));
	conf_app_break(base, "address '%s': %s", text, gai_strerror(why));
	(void)add(out, CONF_LISTEN_TCP, conf_strdup(text));
	return true;
}

/* Only then can it be a name, and not an address that is misspelt. */
static bool
is_host_name(const char *host)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz_-";
	static const char digits[] = "0123456789.";
	size_t before = strspn(host, digits);

	for (const char *p = host; *p != '\0'; p++) {
		if (strchr(letters, *p) == NULL && strchr(digits, *p) == NULL)
			return false;
	}
	return host[before] != '\0';
}

static bool
parse_host(const struct conf_input *in, void *base, const char *text,
    const char *colon, struct conf_listens *out)
{
	bool brackets = text[0] == '[' && colon[-1] == ']';
	const char *start = text + brackets;
	char *host = conf_strndup(start, (size_t)(colon - start) - brackets);
	int rc = resolve(host, colon + 1, true, out);
	bool good = rc != EAI_NONAME;

	if (rc == EAI_NONAME && !brackets && is_host_name(host)) {
		if ((in->findings->flags & CONF_INSIDE) == 0)
			rc = resolve(host, colon + 1, false, out);
		good = true;
	}
	free(host);
	if (!good)
		return conf_bad(in, "'%s' is not an address", text);
	return rc == 0 || unresolved(in, base, text, rc, out);
}

static bool
parse_tcp(const struct conf_input *in, void *base, const char *text,
    struct conf_listens *out)
{
	const char *colon = strrchr(text, ':');
	uint64_t port = 0;

	if (colon == NULL || colon == text ||
	    !conf_parse_uint(colon + 1, &port) || port > UINT16_MAX)
		return conf_bad(in,
		    "'%s' is not an address: write 127.0.0.1:8080, [::1]:8080, "
		    "*:8080, unix:PATH or fd:NAME",
		    text);
	if (colon == text + 1 && *text == '*') {
		add_any((uint16_t)port, out);
		return true;
	}
	if (*text != '[' && memchr(text, ':', (size_t)(colon - text)) != NULL)
		return conf_bad(in,
		    "'%s': an IPv6 address stands in brackets: [%.*s]:%s", text,
		    (int)(colon - text), text, colon + 1);
	return parse_host(in, base, text, colon, out);
}

bool
conf_address_parse(const struct conf_input *in, void *base, const char *text,
    struct conf_listens *out)
{
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(in, text + 5, out);
	if (strncmp(text, "fd:", 3) == 0)
		return parse_fd(in, text + 3, out);
	return parse_tcp(in, base, text, out);
}
