#ifndef TESTS_UNIT_CONF_HELP_H
#define TESTS_UNIT_CONF_HELP_H

/*
 * Configurations in a folder of their own. Findings are shown without the path
 * of that folder: "pool.conf:3: text".
 */

#include <sys/stat.h>

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>

#include "conf/conf.h"

#include "check.h"
#include "descriptors.h"

static char conf_folder[] = "/tmp/apppoold-conf-test.XXXXXX";

/* The smallest app without a mistake, to go with the text under test. */
#define ANY_APP "app \"any\" { handoff = none command = \"/bin/true\" }\n"

/* An app with these options, on line 1. */
#define APP(options) \
	"app \"a\" { listen = \"127.0.0.1:0\" command = \"/bin/true\" " options \
	" }\n"

static inline int
conf_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void
conf_folder_remove(void)
{
	(void)nftw(conf_folder, conf_remove, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((constructor)) static inline void
conf_folder_make(void)
{
	if (mkdtemp(conf_folder) == NULL || chmod(conf_folder, 0755) == -1) {
		perror(conf_folder);
		exit(1);
	}
	atexit(conf_folder_remove);
}

/* The path of a file in the folder; of a ring of a few buffers. */
static inline const char *
in_folder(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", conf_folder, name);
	return path;
}

static inline void
conf_write_bytes(const char *name, const void *bytes, size_t len)
{
	FILE *out = fopen(in_folder(name), "w");

	if (out == NULL || fwrite(bytes, 1, len, out) != len ||
	    fclose(out) != 0) {
		perror(name);
		exit(1);
	}
}

static inline void
conf_write(const char *name, const char *text)
{
	conf_write_bytes(name, text, strlen(text));
}

/* Copies text without the name of the folder. */
static inline void
conf_shorten(const char *text, FILE *out)
{
	char prefix[sizeof(conf_folder) + 1];
	const char *at;

	snprintf(prefix, sizeof(prefix), "%s/", conf_folder);
	while ((at = strstr(text, prefix)) != NULL) {
		fprintf(out, "%.*s", (int)(at - text), text);
		text = at + strlen(prefix);
	}
	fputs(text, out);
}

static inline char *
conf_lines(char *const *list, size_t len)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < len; i++) {
		conf_shorten(list[i], out);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

/* Loads pool.conf of the folder; the findings go to the lists. */
static inline struct conf *
conf_try(unsigned flags, char **mistakes_out, char **warnings_out)
{
	struct conf_report report;
	struct conf *conf;

	conf = conf_load(in_folder("pool.conf"), flags, NULL, &report);
	CHECK((conf == NULL) == (report.mistakes_len > 0));
	*mistakes_out = conf_lines(report.mistakes, report.mistakes_len);
	*warnings_out = conf_lines(report.warnings, report.warnings_len);
	conf_report_fini(&report);
	return conf;
}

/* All that is said of text: mistakes, then warnings. To be freed. */
static inline char *
mistakes_with(unsigned flags, const char *text)
{
	char *mistakes, *warnings, *all;

	if (text != NULL)
		conf_write("pool.conf", text);
	conf_free(conf_try(flags, &mistakes, &warnings));
	all = malloc(strlen(mistakes) + strlen(warnings) + 1);
	strcpy(stpcpy(all, mistakes), warnings);
	free(mistakes);
	free(warnings);
	return all;
}

/* text has exactly these mistakes. */
#define MISTAKES(expected, text) MISTAKES_WITH(0, expected, text)
#define MISTAKES_WITH(flags, expected, text) \
	do { \
		char *mistakes_found = mistakes_with(flags, text); \
		CHECK_STR(expected, mistakes_found); \
		free(mistakes_found); \
	} while (0)

/* text has mistakes, and part stands in the messages. */
#define MISTAKE(part, text) \
	do { \
		char *mistakes_found = mistakes_with(0, text); \
		if (strstr(mistakes_found, part) == NULL) \
			CHECK_STR(part, mistakes_found); \
		free(mistakes_found); \
	} while (0)

/* The findings in a text, which is loaded with these flags. */
struct fact {
	const char *name; /* NULL: goes on with the fact before */
	unsigned flags;
	const char *expected; /* all mistakes, or PART of them, or SHOWN */
	const char *text;
};

#define PART "\1"
/* Of a text without a mistake: stands in it as conf_print() gives it back. */
#define SHOWN "\2"

/* Runs a table of facts behind the tests. */
#define FACT_TESTS(facts) \
	int main(int argc, char **argv) \
	{ \
		check_start(argc, argv); \
		check_all(); \
		RUN_FACTS(facts); \
		return check_finish(); \
	}

/* Runs a table of facts. */
#define RUN_FACTS(facts) \
	fact_end = (facts) + sizeof(facts) / sizeof(*(facts)); \
	RUN_ROWS(facts, fact_now, name, fact_check)

/* Loads text, which has no mistake; NULL, and a failed test, if it has. */
static inline struct conf *
conf_right(const char *text)
{
	char *mistakes;
	char *warnings;
	struct conf *conf;

	conf_write("pool.conf", text);
	conf = conf_try(0, &mistakes, &warnings);
	CHECK_STR("", mistakes);
	free(mistakes);
	free(warnings);
	return conf;
}

static inline char *
conf_printed(const struct conf *conf)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_print(conf, out);
	fclose(out);
	return text;
}

/* What conf_print() makes of text, without the folder. */
static inline char *
conf_shown(const char *text)
{
	struct conf *conf = conf_right(text);
	char *printed = conf == NULL ? strdup("") : conf_printed(conf);
	char *shown = conf_lines(&printed, 1);

	conf_free(conf);
	free(printed);
	return shown;
}

#define SHOWS(part, text) \
	fact_check_one(&(struct fact){ NULL, 0, SHOWN part, text })

static inline void
fact_check_one(const struct fact *f)
{
	char *found = f->expected[0] == *SHOWN
	    ? conf_shown(f->text)
	    : mistakes_with(f->flags, f->text);
	bool part = f->expected[0] == *PART || f->expected[0] == *SHOWN;

	if (!part || strstr(found, f->expected + 1) == NULL)
		CHECK_STR(f->expected + part, found);
	free(found);
}

static const struct fact *fact_now, *fact_end;

static inline void
fact_check(void)
{
	const struct fact *f = fact_now;

	do
		fact_check_one(f);
	while (++f < fact_end && f->name == NULL);
}

/* Loads text as at a start, where this stands in the warnings. */
static inline struct conf *
conf_warned(const char *part, const char *text)
{
	char *mistakes, *warnings;
	struct conf *conf;

	conf_write("pool.conf", text);
	conf = conf_try(CONF_OUTSIDE_WARN, &mistakes, &warnings);
	CHECK_STR("", mistakes);
	if (strstr(warnings, part) == NULL)
		CHECK_STR(part, warnings);
	free(mistakes);
	free(warnings);
	return conf;
}

/* Prints what text becomes, loads that, and compares both. */
static inline void
conf_read_back(const char *text)
{
	struct conf *conf = conf_right(text), *again;
	char *first, *second;

	NEED(conf != NULL);
	first = conf_printed(conf);
	again = conf_right(first);
	NEED(again != NULL);
	second = conf_printed(again);
	CHECK_STR(first, second);
	for (size_t i = 0; i < conf->apps_len; i++)
		CHECK_EQ(0, conf_app_changes(&conf->apps[i], &again->apps[i]));
	conf_free(conf);
	conf_free(again);
	free(first);
	free(second);
}

#endif
