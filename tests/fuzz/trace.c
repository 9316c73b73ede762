/*
 * Any bytes are a trace: connections in the order of time, or a mistake that
 * names the file.
 */

#include <sys/mman.h>

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/simulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes a file in memory, with a name that can be opened. */
static int
file_of(const void *data, size_t size, char *path, size_t path_size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd == -1 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
}

/* Every line names the file, and has no controls. */
static void
check_mistake(const char *said, const char *path)
{
	assert(said != NULL && strlen(said) < 65536);
	for (;;) {
		size_t len = strcspn(said, "\n");

		assert(len > strlen(path) + 2);
		assert(memcmp(said, path, strlen(path)) == 0);
		assert(said[strlen(path)] == ':');
		for (size_t i = 0; i < len; i++)
			assert((unsigned char)said[i] >= ' ');
		if (said[len] == '\0')
			break;
		said += len + 1;
	}
}

static void
try_load(const struct load_spec *spec)
{
	struct load_source *l = load_open(spec);
	struct arrival a = { 0 };
	enum load_got got;
	tstamp last = 0, at;

	assert(l != NULL);
	while ((got = load_look(l, &at)) == LOAD_ARRIVAL) {
		a = load_take(l);
		assert(a.at == at);
		assert(a.at >= last && a.app < spec->apps_len);
		assert(a.service > 0);
		assert(spec->length == 0 || a.at < spec->length);
		last = a.at;
	}
	assert(load_look(l, &at) == got);
	if (got == LOAD_MISTAKE)
		check_mistake(load_mistake(l), spec->trace);
	else
		assert(load_mistake(l) == NULL);
	load_close(l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct load_app apps[] = {
		{ .name = "web" },
		{ .name = "a" },
		{ .name = "ap" },
	};
	char path[64];
	int fd = file_of(data, size, path, sizeof(path));
	struct load_spec spec = { .apps = apps, .trace = path };

	spec.apps_len = 1 + size % 3;
	spec.length = size % 2 == 0 ? 0 : TSPAN_SECONDS(size);
	try_load(&spec);
	(void)close(fd);
	return 0;
}
