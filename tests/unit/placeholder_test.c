/* The words {app} and {slot} in commands. */

#include "conf/room.h"

#include "check.h"

/* text, for the process of slot 2 of the app "web", reads expected. */
#define READS(expected, text) \
	do { \
		char *filled = placeholder_fill(text, "web", 2); \
		CHECK_STR(expected, filled); \
		free(filled); \
	} while (0)

TEST(slot_is_the_number_of_the_slot)
{
	READS("2", "{slot}");
	READS("--port=2 2", "--port={slot} {slot}");
}

TEST(a_number_is_added_to_the_slot)
{
	READS("3102", "{slot+3100}");
	READS("127.0.0.1:3102/", "127.0.0.1:{slot+3100}/");
	READS("4294967297", "{slot+4294967295}");
}

TEST(app_is_the_name_of_the_app)
{
	READS("/run/web.sock", "/run/{app}.sock");
}

TEST(other_braces_stay)
{
	static const char *const texts[] = { "", "{", "}", "{}", "{ slot }",
		"{Slot}", "{slot", "{slot+}", "{slot+1", "{slot-1}",
		"{slot+ 1}", "{slot+1x}", "{slots}", "{app+1}", "{apps}",
		"${slot", "awk '{print $1}'", "{\"app\": {}}",
		"{slot+4294967296}", "{slot+99999999999999999999}" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		READS(texts[i], texts[i]);
}

TEST(a_brace_before_a_word_stays)
{
	READS("{2}{web", "{{slot}}{{app}");
}

TEST(a_slot_is_found_wherever_it_stands)
{
	CHECK(placeholder_has_slot("{slot}"));
	CHECK(placeholder_has_slot("{app}{{slot+7}"));
	CHECK(!placeholder_has_slot("{app} {slot+} slot"));
}

TESTS(NULL, NULL)
