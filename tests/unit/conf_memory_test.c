/* A load fails, and says so, when memory runs out; the process lives on. */

#include <sys/resource.h>

#include <pthread.h>

#include "conf_help.h"

#define MEGABYTE ((size_t)1024 * 1024)

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

/* Loads with that many bytes of address space left. */
static struct conf *
load_with(size_t left, struct conf_report *report)
{
	struct rlimit limit = { address_space() + left, RLIM_INFINITY };
	struct conf *conf;

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	conf = conf_load(in_folder("pool.conf"), 0, NULL, report);
	limit.rlim_cur = RLIM_INFINITY;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	return conf;
}

#ifdef __SANITIZE_ADDRESS__
#define SKIP_SANITIZED \
	SKIP_IF(true, "a sanitizer has all the addresses there are")
#else
#define SKIP_SANITIZED
#endif

static void *
try_all(void *arg)
{
	struct conf_report report;
	struct conf *conf;

	(void)arg;
	for (size_t left = 0; left < 64 * MEGABYTE; left += MEGABYTE) {
		conf = load_with(left, &report);
		if (left < MEGABYTE || left >= 60 * MEGABYTE)
			CHECK((conf != NULL) == (left >= MEGABYTE));
		if (conf == NULL) {
			CHECK_EQ(1, report.mistakes_len);
			CHECK(strstr(report.mistakes[0], "emory") != NULL);
		}
		conf_free(conf);
		conf_report_fini(&report);
	}
	return NULL;
}

/* The largest file that there may be, of the shortest statements. */
static void
write_large(void)
{
	char *text = malloc(MEGABYTE);
	size_t len = 0;

	while (len < MEGABYTE - 64)
		len += (size_t)sprintf(text + len, "a=1\n");
	conf_write_bytes("pool.conf", text, len);
	free(text);
}

TEST_ALONE(a_load_without_memory_fails_and_the_process_lives)
{
	SKIP_SANITIZED;
	conf_write("pool.conf", "include(\"more.conf\")\n");
	conf_write("more.conf", ANY_APP);
	(void)try_all(NULL);
}

/* A reload loads in such a thread. */
TEST_ALONE(a_load_without_memory_fails_in_another_thread_too)
{
	pthread_t thread;

	SKIP_SANITIZED;
	conf_write("pool.conf", ANY_APP);
	NEED(pthread_create(&thread, NULL, try_all, NULL) == 0);
	pthread_join(thread, NULL);
}

TEST_ALONE(a_large_file_is_not_read_without_the_memory_for_it)
{
	struct conf_report report;

	SKIP_SANITIZED;
	write_large();
	for (size_t left = 16; left <= 400; left += 16) {
		CHECK(load_with(left * MEGABYTE, &report) == NULL);
		if (left < 256 || left > 288)
			CHECK_EQ(left < 256 ? 1 : 101, report.mistakes_len);
		conf_report_fini(&report);
	}
}

TESTS(NULL, NULL)
