/* The table of options agrees with man/pool.conf.5. */

#include "conf/room.h"

#include "check.h"

static char *manual;

static char *
read_manual(void)
{
	FILE *in = fopen("man/pool.conf.5", "r");
	char *text = NULL;
	size_t size = 0;

	if (in == NULL || getdelim(&text, &size, '\0', in) == -1) {
		perror("man/pool.conf.5");
		exit(1);
	}
	fclose(in);
	return text;
}

/* The section of that name, up to the next one; allocated. */
static char *
section(const char *name)
{
	char title[64];
	const char *begin, *end;

	snprintf(title, sizeof(title), "\n.Sh %s\n", name);
	begin = strstr(manual, title);
	if (begin == NULL)
		return strdup("");
	begin += strlen(title);
	end = strstr(begin, "\n.Sh ");
	return end != NULL ? strndup(begin, (size_t)(end - begin))
			   : strdup(begin);
}

/* The text behind "Ic NAME No =" up to the next option; allocated. */
static char *
entry(const char *section_text, const char *name)
{
	char head[128];
	const char *at;

	snprintf(head, sizeof(head), "Ic %s No = ", name);
	at = strstr(section_text, head);
	if (at == NULL)
		return NULL;
	at += strlen(head);
	for (size_t len = 0;; len++) {
		if (at[len] == '\n' || at[len] == '\0' ||
		    strncmp(at + len, " , Ic ", 6) == 0)
			return strndup(at, len);
	}
}

/* True if an entry ends with that default. */
static bool
has_default(const char *text, const char *preset)
{
	char shown[128];
	size_t len;

	snprintf(
	    shown, sizeof(shown), preset[0] == '/' ? "Pa %s" : "(%s)", preset);
	len = strlen(shown);
	return strlen(text) >= len &&
	    strcmp(text + strlen(text) - len, shown) == 0;
}

/* True if an entry begins with that range, or its option has none. */
static bool
has_range(const char *text, const struct option *o)
{
	char shown[64];

	if (o->type != &type_uint && o->type != &type_real)
		return true;
	snprintf(shown, sizeof(shown), "%.10g..%.10g ", o->min, o->max);
	return strncmp(text, shown, strlen(shown)) == 0;
}

/* True if an entry has all words of its option, synonyms aside. */
static bool
has_words(const char *text, const struct option *o)
{
	/* One list under Values has all signals. */
	if (o->words == NULL || o->words == type_signal_words ||
	    o->words == type_signal_words + 1)
		return true;
	for (const char *const *w = o->words; *w != NULL; w++)
		if (**w != '=' &&
		    strstr(text, **w == '/' ? "path" : *w) == NULL)
			return false;
	return true;
}

/* The manual has one sentence for the default of the five limits. */
static bool
is_limit(const struct option *o)
{
	return strncmp(o->name, "limit_", 6) == 0 &&
	    strcmp(o->preset, "inherit") == 0;
}

static void
check_entries(
    const struct option *options, size_t len, const char *section_name)
{
	char *text = section(section_name);

	for (size_t i = 0; i < len; i++) {
		const struct option *o = &options[i];
		char *found = entry(text, o->name);

		if (found == NULL)
			CHECK_STR(o->name, "not in the manual");
		else if (o->preset != NULL && !is_limit(o) &&
		    !has_default(found, o->preset))
			CHECK_STR(o->preset, found);
		else if (!has_range(found, o) || !has_words(found, o))
			CHECK_STR("the values of the table", found);
		free(found);
	}
	free(text);
}

TEST(each_option_stands_in_the_manual_with_its_values_and_its_default)
{
	check_entries(options_global, options_global_len, "GLOBAL OPTIONS");
	check_entries(options_app, options_app_len, "OPTIONS OF AN APP");
}

/* Whether the names of the index have this one, as "Ic NAME" or ", NAME". */
static bool
is_listed(const char *index, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = index; (at = strstr(at, name)) != NULL; at++)
		if (at > index && at[-1] == ' ' &&
		    (at[len] == ' ' || at[len] == '\n'))
			return true;
	return false;
}

TEST(the_index_has_each_option)
{
	char *index = section("INDEX");

	for (size_t i = 0; i < options_global_len; i++)
		if (!is_listed(index, options_global[i].name))
			CHECK_STR(options_global[i].name, "not in the index");
	for (size_t i = 0; i < options_app_len; i++)
		if (!is_listed(index, options_app[i].name))
			CHECK_STR(options_app[i].name, "not in the index");
	free(index);
}

int
main(int argc, char **argv)
{
	manual = read_manual();
	check_start(argc, argv);
	check_all();
	free(manual);
	return check_finish();
}
