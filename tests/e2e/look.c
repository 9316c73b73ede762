/*
 * look: values of a daemon's status, as JSON has them but for a string, which
 * is without its quotes.
 *
 *     look SOCKET SECONDS KEY...
 *
 * A word is a key, the name of an object in a list, or a place in it; * is
 * all, a line each. Words with a comma between are several, on one line:
 * apps web workers '*' pid,state
 *
 * Tests ask again and again: this program needs no time to start.
 * Exit status: 0, 1 if there is no such value, 64 usage, 69 no answer.
 */

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* --- the answer --------------------------------------------------------- */

static int
connect_to(const char *path, const char *seconds)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = atoi(seconds) };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof(addr.sun_path))
		errx(EX_USAGE, "too long: %s", path);
	memcpy(addr.sun_path, path, strlen(path));
	if (fd == -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ==
		-1 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ==
		-1 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1)
		err(EX_UNAVAILABLE, "%s", path);
	return fd;
}

/* Removes the ends of lines, which lie between tokens alone. */
static void
join_lines(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++)
		if (*from != '\n')
			*to++ = *from;
	*to = '\0';
}

/* Returns the whole answer, with a 0 at its end. */
static char *
ask(int fd, const char *command)
{
	size_t len = 0, size = 0;
	char *text = NULL, *more;
	ssize_t n;

	if (send(fd, command, strlen(command), MSG_NOSIGNAL) == -1)
		err(EX_UNAVAILABLE, "send");
	do {
		if (len + 1 >= size) {
			more = realloc(text, size = 2 * size + 65536);
			if (more == NULL)
				err(EX_OSERR, NULL);
			text = more;
		}
		/* A call with a timeout is interrupted by SIGSTOP. */
		do
			n = recv(fd, text + len, size - len - 1, 0);
		while (n == -1 && errno == EINTR);
		if (n == -1)
			err(EX_UNAVAILABLE, "recv");
		len += (size_t)n;
	} while (n > 0);
	text[len] = '\0';
	join_lines(text);
	return text;
}

/* --- values in it ------------------------------------------------------- */

/* Returns the end of the string that begins at `s`. */
static const char *
skip_string(const char *s)
{
	for (s++; *s != '"'; s++) {
		if (*s == '\\')
			s++;
		if (*s == '\0')
			errx(EX_UNAVAILABLE, "the answer is cut off");
	}
	return s + 1;
}

/* Returns the end of the value that begins at `s`. */
static const char *
skip(const char *s)
{
	int depth = 0;

	do {
		if (*s == '"') {
			s = skip_string(s);
			continue;
		}
		if (*s == '\0')
			errx(EX_UNAVAILABLE, "the answer is cut off");
		if (strchr("[{", *s) != NULL)
			depth++;
		if (strchr("]}", *s) != NULL)
			depth--;
		s++;
	} while (depth > 0 || strchr(",]}", *s) == NULL);
	return s;
}

/* Prints a string without its escapes, but for control characters. */
static void
print_string(const char *s, const char *end)
{
	for (; s < end; s++) {
		if (*s != '\\' || s[1] == 'u')
			putchar(*s);
		else if (*++s == 'n')
			putchar('\n');
		else
			putchar(*s);
	}
}

static void
print(const char *s)
{
	const char *end = skip(s), *next;

	if (*s == '"') {
		print_string(s + 1, end - 1);
		return;
	}
	for (; s < end; s = next) {
		next = *s == '"' ? skip_string(s) : s + 1;
		(void)fwrite(s, 1, (size_t)(next - s), stdout);
		if (*s == ',' || *s == ':')
			putchar(' ');
	}
}

/* Whether the string that begins at `s` is `text`. */
static bool
is_named(const char *s, const char *name, size_t len)
{
	return (size_t)(skip_string(s) - s) == len + 2 &&
	    strncmp(s + 1, name, len) == 0;
}

/*
 * The next value of an object or a list that `s` is in, its key if it has one;
 * NULL: there is none. `s` is at the opening bracket, or behind a value.
 */
static const char *
next_value(const char *s, bool object, const char **key_out)
{
	if (*s == ']' || *s == '}' || s[1] == ']' || s[1] == '}')
		return NULL;
	*key_out = object ? s + 1 : NULL;
	return object ? skip_string(s + 1) + 1 : s + 1;
}

/* The value of a key; NULL if there is none. */
static const char *
find(const char *s, const char *name, size_t len)
{
	bool object = *s == '{';
	const char *key, *own;
	int place = 0;

	if (!object && *s != '[')
		return NULL;
	while ((s = next_value(s, object, &key)) != NULL) {
		if (object && is_named(key, name, len))
			return s;
		if (!object && *s == '{') {
			own = find(s, "name", 4);
			if (own != NULL && *own == '"' &&
			    is_named(own, name, len))
				return s;
		}
		if (!object && isdigit((unsigned char)*name) &&
		    atoi(name) == place++)
			return s;
		s = skip(s);
	}
	return NULL;
}

/* --- the words ---------------------------------------------------------- */

static void
print_values(const char *s, const char *names)
{
	for (;;) {
		size_t len = strcspn(names, ",");
		const char *value = find(s, names, len);

		if (value == NULL)
			errx(1, "no %.*s", (int)len, names);
		print(value);
		if (names[len] == '\0')
			break;
		putchar(' ');
		names += len + 1;
	}
	putchar('\n');
}

static void
walk(const char *s, char *const *words)
{
	const char *key;

	for (; *words != NULL; words++) {
		if (strcmp(*words, "*") == 0) {
			bool object = *s == '{';

			if (!object && *s != '[')
				errx(1, "no list");
			while ((s = next_value(s, object, &key)) != NULL) {
				walk(s, words + 1);
				s = skip(s);
			}
			return;
		}
		if (words[1] == NULL) {
			print_values(s, *words);
			return;
		}
		s = find(s, *words, strlen(*words));
		if (s == NULL)
			errx(1, "no %s", *words);
	}
	print(s);
	putchar('\n');
}

int
main(int argc, char **argv)
{
	char *text;
	int fd;

	if (argc < 3)
		errx(EX_USAGE, "usage: look socket seconds key ...");
	fd = connect_to(argv[1], argv[2]);
	text = ask(fd, "json status\n");
	(void)close(fd);
	if (*text != '{')
		errx(EX_UNAVAILABLE, "%s", text);
	walk(text, argv + 3);
	free(text);
	return 0;
}
