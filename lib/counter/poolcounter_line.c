/*
 * The language of PoolCounter. Nothing is decoded and nothing is forgiven:
 * words stand apart by spaces alone, and a command begins in column 1.
 */

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "counter/poolcounter_line.h"

struct word {
	const char *text;
	size_t len; /* 0: there is none */
};

/* The next word; p moves behind it. */
static struct word
next_word(const char **p, const char *end)
{
	const char *from = *p;
	const char *to;

	while (from < end && *from == ' ')
		from++;
	to = memchr(from, ' ', (size_t)(end - from));
	if (to == NULL)
		to = end;
	*p = to;
	return (struct word){ from, (size_t)(to - from) };
}

static bool
is_word(struct word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.text, text, w.len) == 0;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Returns how many digits the text begins with. *out is their value; a number
 * above INT_MAX, of any length, counts as INT_MAX.
 */
static size_t
read_digits(const char *text, size_t len, uint32_t *out)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len && is_digit(text[i]); i++)
		if (n <= INT_MAX)
			n = n * 10 + (uint64_t)(text[i] - '0');
	*out = n > INT_MAX ? INT_MAX : (uint32_t)n;
	return i;
}

/* The value of a word; 0 if it is not a number. */
static uint32_t
read_number(struct word w)
{
	uint32_t n;

	return read_digits(w.text, w.len, &n) == w.len ? n : 0;
}

/* Nanoseconds of ".25", rounded up: no TIMEOUT comes too early. */
static tspan
read_fraction(const char *digits, size_t len)
{
	tspan span = 0, unit = TSPAN_SECONDS(1) / 10;

	for (size_t i = 0; i < len; i++) {
		if (unit == 0 && digits[i] != '0')
			return span + 1;
		span += unit * (digits[i] - '0');
		unit /= 10;
	}
	return span;
}

/* The span of a word, which may have a fraction; 0 if it is not a number. */
static tspan
read_seconds(struct word w)
{
	uint32_t n, ignored;
	size_t whole = read_digits(w.text, w.len, &n);
	size_t rest = w.len - whole;

	if (rest == 0)
		return TSPAN_SECONDS(n);
	if (whole == 0 || rest < 2 || w.text[whole] != '.' ||
	    read_digits(w.text + whole + 1, rest - 1, &ignored) != rest - 1)
		return 0;
	return TSPAN_SECONDS(n) + read_fraction(w.text + whole + 1, rest - 1);
}

static void
parse_acquire(const char *p, const char *end, struct poolcounter_line *out)
{
	struct counter_request *r = &out->request;
	struct word key = next_word(&p, end);

	r->key = key.text;
	r->len = key.len;
	r->workers = read_number(next_word(&p, end));
	r->maxqueue = read_number(next_word(&p, end));
	r->timeout = read_seconds(next_word(&p, end));
	out->verb = r->len == 0 || r->workers == 0 || r->maxqueue == 0
	    ? POOLCOUNTER_BAD_SYNTAX
	    : POOLCOUNTER_ACQUIRE;
}

/* The rest of a line without the spaces around it. */
static struct word
rest_of_line(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	while (end > p && end[-1] == ' ')
		end--;
	return (struct word){ p, (size_t)(end - p) };
}

void
poolcounter_line_parse(
    const char *line, size_t len, struct poolcounter_line *out)
{
	const char *p = line, *end;
	struct word command, argument = { NULL, 0 };

	if (len > 0 && line[len - 1] == '\r')
		len--;
	end = line + len;
	*out = (struct poolcounter_line){ .verb = POOLCOUNTER_BAD_COMMAND };
	if (len == 0 || *line == ' ')
		return;
	command = next_word(&p, end);
	out->request.any = is_word(command, "ACQ4ANY");
	/* poolcounterd takes the space behind the word for a part of it. */
	if (p < end && (out->request.any || is_word(command, "ACQ4ME"))) {
		if (memchr(p, '\0', (size_t)(end - p)) != NULL)
			out->verb = POOLCOUNTER_BAD_SYNTAX;
		else
			parse_acquire(p, end, out);
		return;
	}
	if (memchr(line, '\0', len) != NULL)
		return;
	if (is_word(command, "RELEASE")) {
		out->verb = POOLCOUNTER_RELEASE;
		argument = next_word(&p, end);
	} else if (is_word(command, "STATS")) {
		out->verb = POOLCOUNTER_STATS;
		argument = rest_of_line(p, end);
	}
	out->text = argument.text;
	out->len = argument.len;
}
