/* The text of requests, of whatever a client sends. */

#include "core/request.h"

#include "check.h"

/* The text of these bytes; "-": there is none. */
static const char *
text_of(bool fastcgi, const void *bytes, size_t len)
{
	static char out[REQUEST_SIZE];
	/* No byte behind the last one is read: sanitizers see that. */
	uint8_t *copy = memcpy(malloc(len), bytes, len);

	if (!request_text(fastcgi, copy, len, out))
		strcpy(out, "-");
	free(copy);
	return out;
}

#define HTTP(text) text_of(false, text, sizeof(text) - 1)

TEST(the_first_line_of_http_is_the_text)
{
	CHECK_STR("GET /a?b=c HTTP/1.1",
	    HTTP("GET /a?b=c HTTP/1.1\r\nHost: d\r\n\r\n"));
	CHECK_STR("GET / HTTP/1.0", HTTP("\r\n\nGET / HTTP/1.0\n"));
	CHECK_STR("POST /...", HTTP("POST /"));
	CHECK_STR("-", HTTP(""));
	CHECK_STR("-", HTTP("\r\n\r\n"));
}

TEST(what_could_deceive_a_reader_of_the_text_is_escaped)
{
	CHECK_STR("GET /\\x22\\x5c\\x1b[1m\\xc3\\xa4\\x00\\x7f H",
	    HTTP("GET /\"\\\33[1m\303\244\0\177 H\n"));
}

TEST(a_text_has_200_bytes_at_most)
{
	char line[400];

	memset(line, 'a', sizeof(line));
	for (size_t len = 1; len < sizeof(line); len++) {
		const char *text;

		line[len] = '\n';
		text = text_of(false, line, len + 1);
		CHECK(strlen(text) <= 200);
		CHECK(len > 197 ? strstr(text, "a...") != NULL
				: strlen(text) == len);
		line[len] = '\33';
		CHECK(strlen(text_of(false, line, len + 1)) <= 200);
		line[len] = 'a';
	}
}

/* A record, with so many bytes of padding. */
#define RECORD(type, len, padding) "\1" type "\0\1\0" len padding "\0"
#define BEGIN RECORD("\1", "\10", "\0") "\0\1\0\0\0\0\0\0"
#define FASTCGI(text) text_of(true, text, sizeof(text) - 1)

TEST(the_script_and_the_address_are_the_text_of_fastcgi)
{
	CHECK_STR("/a.php /b?c",
	    FASTCGI(BEGIN RECORD("\4", "\57", "\2") "\13\4REQUEST_URI/b?c"
						    "\17\6SCRIPT_FILENAME/a.php"
						    "\2\3ABxyz__" RECORD(
							"\4", "\0", "\0")));
	CHECK_STR("/b?c",
	    FASTCGI(BEGIN RECORD("\4", "\21", "\0") "\13\4REQUEST_URI/b?c"));
	CHECK_STR("-", FASTCGI(BEGIN RECORD("\4", "\5", "\0") "\1\2Axy"));
	CHECK_STR("-", FASTCGI(BEGIN));
	CHECK_STR("-", FASTCGI("GET / HTTP/1.1\r\n"));
}

TEST(lengths_of_parameters_may_have_four_bytes)
{
	CHECK_STR("/b?c",
	    FASTCGI(BEGIN RECORD(
		"\4", "\27", "\0") "\200\0\0\13\200\0\0\4REQUEST_URI/b?c"));
}

TEST(parameters_that_have_not_come_are_left_out)
{
	static const char all[] = BEGIN RECORD(
	    "\4", "\57", "\0") "\17\6SCRIPT_FILENAME/a.php\13\4REQUEST_URI/b?c";
	const char *whole = "/a.php /b?c";

	for (size_t len = 0; len < sizeof(all); len++) {
		const char *text = text_of(true, all, len);
		size_t has = strlen(text);

		if (strcmp(text, "-") == 0)
			CHECK(len <= sizeof(all) - 24);
		else
			CHECK(has <= 11 && memcmp(text, whole, has) == 0);
	}
	CHECK_STR("/a.php /b?c", text_of(true, all, sizeof(all) - 1));
	CHECK_STR("-",
	    FASTCGI(BEGIN RECORD("\4", "\11", "\0") "\377\377\377\377\4REQU"));
	CHECK_STR("/b",
	    FASTCGI(BEGIN RECORD("\4", "\377", "\0") "\13\177REQUEST_URI/b"));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check_all();
	return check_finish();
}
