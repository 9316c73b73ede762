/*
 * What stands around a fuzzer in the place of libFuzzer: a test that runs each
 * file of its folder, tests/fuzz/NAME. Found inputs stay good that way without
 * clang. Files as arguments are run instead.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
run(const char *path)
{
	struct stat st;
	uint8_t *data;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1 || fstat(fd, &st) == -1)
		err(EX_NOINPUT, "%s", path);
	/* Of its very size, for the sanitizers. */
	data = malloc((size_t)st.st_size);
	if (read(fd, data, (size_t)st.st_size) != st.st_size)
		err(EX_IOERR, "%s", path);
	(void)close(fd);
	/* An assert that fails ends it all, and this is the last line. */
	(void)printf("%s\n", path);
	(void)fflush(stdout);
	(void)LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	free(data);
}

static int
is_file(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Returns the number of files. */
static int
run_folder(const char *folder)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct dirent **list;
	int n = scandir(folder, &list, is_file, alphasort);

	if (n == -1)
		err(EX_NOINPUT, "%s", folder);
	for (int i = 0; i < n; i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/%s", folder, list[i]->d_name);
		run(path);
		free(list[i]);
	}
	free(list);
	return n;
}

int
main(int argc, char **argv)
{
	char folder[PATH_MAX];
	int n = argc - 1;

	for (int i = 1; i < argc; i++)
		run(argv[i]);
	if (argc < 2) {
		(void)snprintf(
		    folder, sizeof(folder), "tests/fuzz/%s", basename(argv[0]));
		n = run_folder(folder);
	}
	(void)printf("## passed=%d total=%d\n", n, n);
	return 0;
}
