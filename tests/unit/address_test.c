/* Socket addresses as text, and addresses of Unix sockets. */

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>

#include "sys/address.h"

#include "check.h"

#define HEAD offsetof(struct sockaddr_un, sun_path)

static char text[ADDRESS_TEXT_SIZE];

static const char *
in4_text(socklen_t len)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(8080),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return address_format((void *)&in, len, text, sizeof(text));
}

static const char *
in6_text(const char *host, unsigned scope)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6,
		.sin6_port = htons(80),
		.sin6_scope_id = scope };

	inet_pton(AF_INET6, host, &in.sin6_addr);
	return address_format((void *)&in, sizeof(in), text, sizeof(text));
}

static const char *
unix_text(const char *path, size_t len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	memcpy(un.sun_path, path, len);
	return address_format(
	    (void *)&un, (socklen_t)(HEAD + len), text, sizeof(text));
}

TEST(addresses_are_in_the_words_of_pool_conf)
{
	CHECK_STR("127.0.0.1:8080", in4_text(sizeof(struct sockaddr_in)));
	CHECK_STR("[::1]:80", in6_text("::1", 0));
	CHECK_STR("unix:/run/web.sock", unix_text("/run/web.sock", 13));
	CHECK_STR("unix:/run/web", unix_text("/run/web\0sock", 13));
	CHECK_STR("unix:@web", unix_text("\0web", 4));
	CHECK_STR("unix:@a\\x00b", unix_text("\0a\0b", 4));
	CHECK_STR("unix:", unix_text("", 0));
	CHECK_STR("unix:/a\\x1b[1m", unix_text("/a\x1b[1m", 6));
}

TEST(a_scope_is_named_or_numbered)
{
	SKIP_IF(if_nametoindex("lo") == 0, "no interface lo here");
	CHECK_STR("[fe80::1%lo]:80", in6_text("fe80::1", if_nametoindex("lo")));
	CHECK_STR("[fe80::1%4000000000]:80", in6_text("fe80::1", 4000000000));
}

TEST(an_incomplete_address_is_unknown)
{
	CHECK_STR("unknown", in4_text(4));
	CHECK_STR("unknown", in4_text(0));
}

TEST(a_path_may_fill_the_address)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	memset(path, 'p', sizeof(path));
	CHECK_EQ(5 + sizeof(path), strlen(unix_text(path, sizeof(path))));
	memset(path, '\n', sizeof(path));
	CHECK_EQ(5 + 4 * sizeof(path), strlen(unix_text(path, sizeof(path))));
}

TEST(a_path_of_107_bytes_is_the_longest)
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

TEST(a_name_is_a_path_or_abstract)
{
	struct sockaddr_un u;
	socklen_t len = address_of_name("/run/a", &u);

	CHECK_STR("unix:/run/a", address_format((void *)&u, len, text, 80));
	len = address_of_name("@a b", &u);
	CHECK_EQ(HEAD + 4, len);
	CHECK_STR("unix:@a b", address_format((void *)&u, len, text, 80));
	CHECK_EQ(0, address_of_name("", &u));
}

TESTS(NULL, NULL)
