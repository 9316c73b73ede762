/*
 * Servers of a PoolCounter service: their text, and their order for a key.
 */

#include <string.h>

#include "check.h"
#include "sys/serverlist.h"

static char text[256];
static struct serverlist list;

static bool
split(const char *servers)
{
	(void)snprintf(text, sizeof(text), "%s", servers);
	return serverlist_split(text, &list);
}

/* The names in the order of the key, with spaces between them. */
static const char *
order(const char *key)
{
	static char names[256];
	unsigned indices[SERVERLIST_MAX];

	serverlist_order(&list, key, indices);
	names[0] = '\0';
	for (unsigned i = 0; i < list.len; i++) {
		(void)strcat(names, i == 0 ? "" : " ");
		(void)strcat(names, list.names[indices[i]]);
	}
	return names;
}

TEST(commas_stand_between_servers)
{
	CHECK(split("a:7531,[::1]:7531,unix:/run/c"));
	CHECK_EQ(3, list.len);
	CHECK_STR("a:7531", list.names[0]);
	CHECK_STR("[::1]:7531", list.names[1]);
	CHECK_STR("unix:/run/c", list.names[2]);
}

TEST(empty_and_repeated_names_are_refused)
{
	CHECK(!split(""));
	CHECK(!split(","));
	CHECK(!split("a,"));
	CHECK(!split(",a"));
	CHECK(!split("a,,b"));
	CHECK(!split("a,b,a"));
}

/*
 * The expected orders are those of md5(server . key) in PHP, whatever the order
 * of the text.
 */
TEST(servers_are_tried_in_the_order_of_mediawiki)
{
	static const char *const texts[] = {
		"10.64.0.1,10.64.0.2,10.64.0.3:7532",
		"10.64.0.3:7532,10.64.0.1,10.64.0.2",
	};
	static const char *const other = "10.64.0.2 10.64.0.1 10.64.0.3:7532";

	for (int i = 0; i < 2; i++) {
		CHECK(split(texts[i]));
		CHECK_STR("10.64.0.1 10.64.0.2 10.64.0.3:7532",
		    order("enwiki:pcache:idhash:1"));
		CHECK_STR(other, order("ArticleView:7"));
		CHECK_STR(other, order("k"));
		CHECK_STR(other, order("_elasticsearch"));
	}
}

TESTS(NULL, NULL)
