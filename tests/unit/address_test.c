/* Socket addresses as text, and addresses of Unix sockets. */

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>

#include "sys/address.h"

#include "check.h"

static char text[ADDRESS_TEXT_SIZE];

static struct sockaddr_in
in4(const char *host, unsigned short port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(port) };

	inet_pton(AF_INET, host, &in.sin_addr);
	return in;
}

static struct sockaddr_in6
in6(const char *host, unsigned short port, unsigned scope)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_scope_id = scope };

	inet_pton(AF_INET6, host, &in.sin6_addr);
	return in;
}

/* Returns the length that belongs to the path. */
static socklen_t
un(const char *path, size_t len, struct sockaddr_un *out)
{
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(out->sun_path, path, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static const char *
unix_text(const char *path, size_t len)
{
	struct sockaddr_un addr;
	socklen_t addrlen = un(path, len, &addr);

	return address_format((void *)&addr, addrlen, text, sizeof(text));
}

static void
ipv4_is_host_and_port(void)
{
	struct sockaddr_in a = in4("127.0.0.1", 8080);

	CHECK_STR("127.0.0.1:8080",
	    address_format((void *)&a, sizeof(a), text, sizeof(text)));
}

static void
ipv6_is_in_brackets(void)
{
	struct sockaddr_in6 a = in6("::1", 80, 0);

	CHECK_STR("[::1]:80",
	    address_format((void *)&a, sizeof(a), text, sizeof(text)));
}

static void
a_scope_is_named_or_numbered(void)
{
	unsigned lo = if_nametoindex("lo");
	struct sockaddr_in6 a = in6("fe80::1", 80, lo);

	if (lo == 0)
		SKIP("no interface lo here");
	CHECK_STR("[fe80::1%lo]:80",
	    address_format((void *)&a, sizeof(a), text, sizeof(text)));
	a.sin6_scope_id = 4000000000;
	CHECK_STR("[fe80::1%4000000000]:80",
	    address_format((void *)&a, sizeof(a), text, sizeof(text)));
}

static void
unix_is_its_path(void)
{
	CHECK_STR("unix:/run/web.sock", unix_text("/run/web.sock", 13));
	CHECK_STR("unix:/run/web", unix_text("/run/web\0sock", 13));
}

static void
an_abstract_name_begins_with_an_at_sign(void)
{
	CHECK_STR("unix:@web", unix_text("\0web", 4));
	CHECK_STR("unix:@a\\x00b", unix_text("\0a\0b", 4));
}

static void
an_unnamed_socket_has_no_path(void)
{
	CHECK_STR("unix:", unix_text("", 0));
}

static void
a_path_may_fill_the_address(void)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	memset(path, 'p', sizeof(path));
	CHECK_EQ(5 + sizeof(path), strlen(unix_text(path, sizeof(path))));
	memset(path, '\n', sizeof(path));
	CHECK_EQ(5 + 4 * sizeof(path), strlen(unix_text(path, sizeof(path))));
}

static void
controls_in_a_path_are_escaped(void)
{
	CHECK_STR("unix:/a\\x1b[1m", unix_text("/a\x1b[1m", 6));
}

static void
an_incomplete_address_is_unknown(void)
{
	struct sockaddr_in a = in4("127.0.0.1", 8080);

	CHECK_STR("unknown", address_format((void *)&a, 4, text, sizeof(text)));
	CHECK_STR("unknown", address_format((void *)&a, 0, text, sizeof(text)));
}

static void
a_path_of_107_bytes_is_the_longest(void)
{
	struct sockaddr_un u;
	char path[109];

	memset(path, 'p', sizeof(path));
	path[107] = '\0';
	CHECK_EQ(sizeof(u), address_of_path(path, &u));
	CHECK_STR(path, u.sun_path);
	path[107] = 'p';
	path[108] = '\0';
	u.sun_family = AF_UNSPEC;
	CHECK_EQ(0, address_of_path(path, &u));
	CHECK_EQ(AF_UNSPEC, u.sun_family);
}

static void
a_name_is_a_path_or_abstract(void)
{
	struct sockaddr_un u;
	socklen_t len = address_of_name("/run/a", &u);

	CHECK_STR("unix:/run/a", address_format((void *)&u, len, text, 80));
	len = address_of_name("@a b", &u);
	CHECK_EQ(offsetof(struct sockaddr_un, sun_path) + 4, len);
	CHECK_STR("unix:@a b", address_format((void *)&u, len, text, 80));
	CHECK_EQ(0, address_of_name("", &u));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(ipv4_is_host_and_port);
	RUN(ipv6_is_in_brackets);
	RUN(a_scope_is_named_or_numbered);
	RUN(unix_is_its_path);
	RUN(an_abstract_name_begins_with_an_at_sign);
	RUN(an_unnamed_socket_has_no_path);
	RUN(a_path_may_fill_the_address);
	RUN(controls_in_a_path_are_escaped);
	RUN(an_incomplete_address_is_unknown);
	RUN(a_path_of_107_bytes_is_the_longest);
	RUN(a_name_is_a_path_or_abstract);
	return check_finish();
}
