/* A load fails, and says so, when memory runs out; the process lives on. */

#include <sys/resource.h>

#include <pthread.h>

#include "conf_help.h"

/* More than the load takes, and the steps up to that. */
#define MOST (4 * 1024 * 1024)
#define STEP (8 * 1024)

#define LONG_VALUE 20000
#define LONG_LIST 1000
#define LONG_CALL 30

/* A file with includes, a long value, a long list and some apps. */
static void
write_large(void)
{
	FILE *out = fopen(in_folder("pool.conf"), "w");

	fputs("control = \"\"\nmax_processes = 1000\ninclude(\"more*.conf\"",
	    out);
	for (int i = 0; i < LONG_CALL; i++)
		fprintf(out, ", \"none%03000d*\"", i);
	fputs(")\n"
	      "app \"any\" { handoff = none command = { \"/bin/sh\", \"",
	    out);
	for (int i = 0; i < LONG_VALUE; i++)
		fputc('x', out);
	fputs("${PATH}${PATH}\"", out);
	for (int i = 0; i < LONG_LIST; i++)
		fputs(", a", out);
	fputs(" } }\n", out);
	for (int i = 0; i < 20; i++)
		fprintf(out,
		    "app a%d { handoff = none command = /bin/true "
		    "environment += \"A=%d\" }\n",
		    i, i);
	fclose(out);
	conf_write(
	    "more1.conf", "include(\"even_more.conf\")\nprocess_slack = 2\n");
	conf_write("even_more.conf", "defaults { environment = \"B=1\" }\n");
}

static size_t
address_space(void)
{
	unsigned long pages = 0;
	FILE *in = fopen("/proc/self/statm", "r");

	if (fscanf(in, "%lu", &pages) != 1)
		pages = 0;
	fclose(in);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
limit(rlim_t max)
{
	struct rlimit r = { max, RLIM_INFINITY };

	CHECK(setrlimit(RLIMIT_AS, &r) == 0);
}

struct tries {
	const char *mistake; /* of the file, or NULL */
	unsigned good; /* with that outcome */
	unsigned without; /* memory; the report says so */
	unsigned other;
};

/* Loads with left bytes of address space. */
static void
try_with(size_t left, struct tries *tries)
{
	struct conf_report report;
	struct conf *conf;
	size_t used = address_space();

	conf_report_init(&report);
	limit(used + left);
	conf = conf_load(in_folder("pool.conf"), 0, NULL, &report);
	limit(RLIM_INFINITY);
	if (tries->mistake == NULL ? conf != NULL
				   : conf == NULL &&
		    strstr(report.mistakes[0], tries->mistake) != NULL)
		tries->good++;
	else if (report.mistakes_len == 1 &&
	    (strstr(report.mistakes[0], "annot allocate memory") != NULL ||
		strcmp(report.mistakes[0], "out of memory") == 0))
		tries->without++;
	else
		tries->other++;
	conf_free(conf);
	conf_report_fini(&report);
}

static void *
try_all(void *arg)
{
	for (size_t left = 0; left <= MOST; left += STEP)
		try_with(left, arg);
	return NULL;
}

static void
check_tries(const struct tries *tries)
{
	CHECK(tries->good > 0);
	CHECK(tries->without > 0);
	CHECK_EQ(0, tries->other);
}

#ifdef __SANITIZE_ADDRESS__
#define SKIP_SANITIZED SKIP("a sanitizer has all the addresses there are")
#else
#define SKIP_SANITIZED
#endif

static void
the_file_is_loaded_where_there_is_memory(void)
{
	write_large();
	MISTAKES("", NULL);
}

static void
a_load_without_memory_fails_and_the_process_lives(void)
{
	struct tries tries = { 0 };

	SKIP_SANITIZED;
	write_large();
	try_all(&tries);
	check_tries(&tries);
}

/* libconfuse stops in an included file. */
static void
a_mistake_without_memory_is_no_end_of_the_process(void)
{
	struct tries tries = { .mistake = "bad escape sequence '\\9'" };

	SKIP_SANITIZED;
	write_large();
	conf_write("even_more.conf",
	    "app x { handoff = none command = { \"a\", \"\\9\" } }\n");
	try_all(&tries);
	check_tries(&tries);
}

/* A reload loads in such a thread. */
static void
a_load_without_memory_fails_in_another_thread_too(void)
{
	struct tries tries = { 0 };
	pthread_t thread;

	SKIP_SANITIZED;
	write_large();
	NEED(pthread_create(&thread, NULL, try_all, &tries) == 0);
	pthread_join(thread, NULL);
	check_tries(&tries);
}

int
main(int argc, char **argv)
{
	conf_folder_make();
	check_start(argc, argv);
	RUN(the_file_is_loaded_where_there_is_memory);
	RUN_ALONE(a_load_without_memory_fails_and_the_process_lives);
	RUN_ALONE(a_mistake_without_memory_is_no_end_of_the_process);
	RUN_ALONE(a_load_without_memory_fails_in_another_thread_too);
	return check_finish();
}
