/* JSON that is read into a tree. */

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "sys/json_tree.h"

static char text[4096];
static struct json_value *root;

static struct json_value *
read_text(const char *s)
{
	free(root);
	(void)strlcpy(text, s, sizeof(text));
	root = json_tree_read(text);
	return root;
}

/* The one string of an array; NULL: it is no JSON. */
static const char *
string_in(const char *s)
{
	return read_text(s) == NULL ? NULL : root->first->string;
}

static void
members_of_objects_in_arrays_are_found(void)
{
	const struct json_value *apps;

	CHECK(read_text("{\"apps\":[\n{\"name\":\"a\",\"n\":1.5},\n"
			"{\"name\":\"b\",\"n\":null}],\"pid\":-12}\n") != NULL);
	apps = json_tree_member(root, "apps");
	CHECK_EQ(JSON_ARRAY, apps->type);
	CHECK_STR("a", json_tree_string(apps->first, "name"));
	CHECK_STR("b", json_tree_string(apps->first->next, "name"));
	CHECK(apps->first->next->next == NULL);
	CHECK(json_tree_number(apps->first, "n") == 1.5);
	CHECK(json_tree_number(root, "pid") == -12);
}

static void
a_member_of_another_type_is_no_number_and_no_string(void)
{
	CHECK(read_text("{\"s\":\"1\",\"n\":null,\"t\":true}") != NULL);
	CHECK(isnan(json_tree_number(root, "s")));
	CHECK(isnan(json_tree_number(root, "n")));
	CHECK(isnan(json_tree_number(root, "none")));
	CHECK(json_tree_string(root, "n") == NULL);
	CHECK_EQ(JSON_TRUE, json_tree_member(root, "t")->type);
	CHECK(json_tree_member(root->first, "s") == NULL);
	CHECK(json_tree_member(NULL, "s") == NULL);
}

static void
escapes_are_the_characters_they_stand_for(void)
{
	CHECK_STR(
	    "\"\\/\b\f\n\r\t", string_in("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"));
	CHECK_STR("A\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e",
	    string_in("[\"\\u0041\\u00e9\\u20AC\\uD834\\uDD1E\"]"));
}

static void
what_is_no_json_is_refused(void)
{
	static const char *const bad[] = { "", "[", "[1,]", "[1 2]", "{1:2}",
		"{\"a\"}", "{\"a\":}", "[\"a]", "[\"\\q\"]", "[\"\\u12\"]",
		"[\"\\ud834\"]", "[\"\\u0000\"]", "[inf]", "[0x1]", "[+1]",
		"[.5]", "[--1]", "nul", "[]]", "[}", "[\"a\n\"]" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_text(bad[i]) == NULL)
			continue;
		CHECK_STR("no JSON", bad[i]);
	}
}

static void
a_tree_has_a_bounded_depth(void)
{
	char deep[2 * JSON_TREE_DEPTH + 3] = "";

	for (int i = 0; i < JSON_TREE_DEPTH; i++) {
		deep[i] = '[';
		deep[JSON_TREE_DEPTH + i] = ']';
	}
	CHECK(read_text(deep) != NULL);
	for (int i = 0; i <= JSON_TREE_DEPTH; i++) {
		deep[i] = '[';
		deep[JSON_TREE_DEPTH + 1 + i] = ']';
	}
	CHECK(read_text(deep) == NULL);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(members_of_objects_in_arrays_are_found);
	RUN(a_member_of_another_type_is_no_number_and_no_string);
	RUN(escapes_are_the_characters_they_stand_for);
	RUN(what_is_no_json_is_refused);
	RUN(a_tree_has_a_bounded_depth);
	free(root);
	return check_finish();
}
