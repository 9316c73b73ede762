/*
 * The words of the enumerations of pool.conf.
 */

#include <string.h>

#include "conf/conf_private.h"

const struct conf_word conf_handoff_words[] = {
	{ .name = "native", .value = CONF_HANDOFF_NATIVE },
	{ .name = "accept", .value = CONF_HANDOFF_ACCEPT },
	{ .name = "stdio", .value = CONF_HANDOFF_STDIO },
	{ .name = "listen", .value = CONF_HANDOFF_LISTEN },
	{ .name = "none", .value = CONF_HANDOFF_NONE },
	{ .name = NULL },
};

const struct conf_word conf_on_full_words[] = {
	{ .name = "wait", .value = CONF_ON_FULL_WAIT },
	{ .name = "close", .value = CONF_ON_FULL_CLOSE },
	{ .name = "refuse", .value = CONF_ON_FULL_REFUSE },
	{ .name = "reply",
	    .value = CONF_ON_FULL_REPLY,
	    .form = CONF_WORD_PREFIX },
	{ .name = NULL },
};

const struct conf_word conf_protocol_words[] = {
	{ .name = "raw", .value = CONF_PROTOCOL_RAW },
	{ .name = "http", .value = CONF_PROTOCOL_HTTP },
	{ .name = "fastcgi", .value = CONF_PROTOCOL_FASTCGI },
	{ .name = NULL },
};

const struct conf_word conf_queue_words[] = {
	{ .name = "global", .value = CONF_QUEUE_GLOBAL },
	{ .name = "private", .value = CONF_QUEUE_PRIVATE },
	{ .name = NULL },
};

const struct conf_word conf_limit_fail_words[] = {
	{ .name = "open", .value = CONF_LIMIT_FAIL_OPEN },
	{ .name = "closed", .value = CONF_LIMIT_FAIL_CLOSED },
	{ .name = NULL },
};

const struct conf_word conf_output_words[] = {
	{ .name = "log", .value = CONF_OUTPUT_LOG },
	{ .name = "inherit", .value = CONF_OUTPUT_INHERIT },
	{ .name = "null", .value = CONF_OUTPUT_NULL },
	{ .name = "file", .value = CONF_OUTPUT_FILE, .form = CONF_WORD_PATH },
	{ .name = NULL },
};

const struct conf_word conf_log_level_words[] = {
	{ .name = "error", .value = CONF_LOG_LEVEL_ERROR },
	{ .name = "warn", .value = CONF_LOG_LEVEL_WARN },
	{ .name = "warning", .value = CONF_LOG_LEVEL_WARN },
	{ .name = "info", .value = CONF_LOG_LEVEL_INFO },
	{ .name = "debug", .value = CONF_LOG_LEVEL_DEBUG },
	{ .name = NULL },
};

const struct conf_word conf_log_format_words[] = {
	{ .name = "text", .value = CONF_LOG_FORMAT_TEXT },
	{ .name = "json", .value = CONF_LOG_FORMAT_JSON },
	{ .name = NULL },
};

const char *
conf_word_name(const struct conf_word *words, unsigned value)
{
	while (words->name != NULL && words->value != value)
		words++;
	return words->name;
}

const char *
conf_handoff_name(enum conf_handoff value)
{
	return conf_word_name(conf_handoff_words, value);
}

const char *
conf_protocol_name(enum conf_protocol value)
{
	return conf_word_name(conf_protocol_words, value);
}

bool
conf_protocol_find(const char *name, enum conf_protocol *out)
{
	const struct conf_word *word = conf_protocol_words;

	while (word->name != NULL && strcmp(word->name, name) != 0)
		word++;
	if (word->name == NULL)
		return false;
	*out = (enum conf_protocol)word->value;
	return true;
}
