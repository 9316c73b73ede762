#ifndef SYS_JSON_TREE_H
#define SYS_JSON_TREE_H

/* JSON (RFC 8259) that has been read, of a bounded depth. */

#include <stddef.h>

#define JSON_TREE_DEPTH 16

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_value {
	enum json_type type;
	const char *key; /* in an object; else NULL */
	const char *string; /* of JSON_STRING; else NULL */
	double number; /* of JSON_NUMBER; else NaN */
	struct json_value *first; /* element or member; NULL: none */
	struct json_value *next; /* behind it in the same value; NULL: none */
};

/*
 * Reads a text, which ends with a NUL, is written to and has to stay, for
 * strings lie in it. The whole is the first value; free() frees all of them.
 * NULL and errno, EINVAL: it is no JSON, or deeper than JSON_TREE_DEPTH.
 */
struct json_value *json_tree_read(char *text);

/* The member of an object; NULL: none. value may be NULL, or no object. */
const struct json_value *json_tree_member(
    const struct json_value *value, const char *key);

/* The member, if it is a number; else NaN. */
double json_tree_number(const struct json_value *value, const char *key);

/* The member, if it is a string; else NULL. */
const char *json_tree_string(const struct json_value *value, const char *key);

#endif
