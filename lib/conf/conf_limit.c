/* limit = "SERVER KEY WORKERS MAXQUEUE TIMEOUT" */

#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

enum limit_word {
	LIMIT_SERVER,
	LIMIT_KEY,
	LIMIT_WORKERS,
	LIMIT_MAXQUEUE,
	LIMIT_TIMEOUT,
	LIMIT_WORDS
};

/* What the protocol can carry in one line beside the numbers. */
#define LIMIT_KEY_MAX 256

static void
words_free(char **words)
{
	for (size_t i = 0; i < LIMIT_WORDS; i++)
		free(words[i]);
}

/* Whether there are as many words as there must be; all are owned. */
static bool
limit_words(const struct conf_input *in, char **words)
{
	char *next = NULL;
	char *text = conf_strdup(in->values[0]);
	size_t n = 0;

	for (char *w = strtok_r(text, " ", &next); w != NULL;
	     w = strtok_r(NULL, " ", &next)) {
		if (n < LIMIT_WORDS)
			words[n] = conf_strdup(w);
		n++;
	}
	free(text);
	return n == LIMIT_WORDS;
}

static bool
limit_number(const char *word, unsigned *out)
{
	uint64_t n = 0;

	if (!conf_parse_uint(word, &n) || n == 0 || n > INT32_MAX)
		return false;
	*out = (unsigned)n;
	return true;
}

/*
 * Where the server is. A host that nobody knows today is a server that cannot
 * be reached, which limit_fail is for: it does not make the app fail.
 */
static bool
limit_server(const struct conf_input *in, void *base, const char *word,
    struct conf_limit *out)
{
	struct conf_option option = *in->option;
	struct conf_input mine = *in;
	struct conf_listens found = { NULL, 0 };
	bool good;

	out->local = strcmp(word, "local") == 0;
	if (out->local)
		return true;
	option.in_app = false;
	mine.option = &option;
	good = conf_address_parse(&mine, base, word, &found);
	if (good && (found.list[0].kind == CONF_LISTEN_FD || word[0] == '*'))
		good = conf_bad(in,
		    "'%s' is no server: write local, HOST:PORT or unix:PATH",
		    word);
	for (size_t i = good ? 1 : 0; i < found.len; i++)
		conf_listen_fini(&found.list[i]);
	if (good)
		out->where = found.list[0];
	free(found.list);
	return good;
}

static bool
limit_parse(const struct conf_input *in, void *base)
{
	struct conf_limit *field = CONF_FIELD(in->option, base);
	struct conf_limit limit = { 0 };
	char *words[LIMIT_WORDS] = { NULL };

	if (!limit_words(in, words) ||
	    strlen(words[LIMIT_KEY]) > LIMIT_KEY_MAX ||
	    !limit_number(words[LIMIT_WORKERS], &limit.workers) ||
	    !limit_number(words[LIMIT_MAXQUEUE], &limit.maxqueue) ||
	    !conf_parse_span(words[LIMIT_TIMEOUT], &limit.timeout)) {
		words_free(words);
		return conf_bad(in,
		    "'%s' is not of the form "
		    "\"SERVER KEY WORKERS MAXQUEUE TIMEOUT\"",
		    in->values[0]);
	}
	if (!limit_server(in, base, words[LIMIT_SERVER], &limit)) {
		words_free(words);
		return false;
	}
	limit.server = words[LIMIT_SERVER];
	limit.key = words[LIMIT_KEY];
	words[LIMIT_SERVER] = words[LIMIT_KEY] = NULL;
	words_free(words);
	conf_limit_fini(field);
	*field = limit;
	return true;
}

static bool
limit_equal(const struct conf_option *o, const void *a, const void *b)
{
	const struct conf_limit *x = CONF_FIELD(o, a);
	const struct conf_limit *y = CONF_FIELD(o, b);

	if (x->server == NULL || y->server == NULL)
		return x->server == y->server;
	return strcmp(x->server, y->server) == 0 &&
	    strcmp(x->key, y->key) == 0 && x->workers == y->workers &&
	    x->maxqueue == y->maxqueue && x->timeout == y->timeout;
}

static bool
limit_print(const struct conf_option *o, const void *base, FILE *out)
{
	const struct conf_limit *limit = CONF_FIELD(o, base);

	if (limit->server == NULL)
		return false;
	fprintf(out, "\"%s %s %u %u ", limit->server, limit->key,
	    limit->workers, limit->maxqueue);
	conf_print_span(limit->timeout, out);
	fputc('"', out);
	return true;
}

void
conf_limit_fini(struct conf_limit *limit)
{
	free(limit->server);
	free(limit->key);
	conf_listen_fini(&limit->where);
}

static void
limit_fini(const struct conf_option *o, void *base)
{
	conf_limit_fini(CONF_FIELD(o, base));
}

const struct conf_type conf_type_limit = {
	.parse = limit_parse,
	.equal = limit_equal,
	.print = limit_print,
	.fini = limit_fini,
};
