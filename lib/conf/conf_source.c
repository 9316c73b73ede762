/*
 * The bytes of one configuration file. libconfuse never opens a file itself:
 * its scanner ends the process at a directory or a read error.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_private.h"

/* Copies path to out without its "//" and "/./". */
static void
tidy(const char *path, char *out)
{
	size_t n = 0;

	for (const char *p = path; *p != '\0'; p++) {
		if (n > 0 && out[n - 1] == '/') {
			if (*p == '/')
				continue;
			if (p[0] == '.' && (p[1] == '/' || p[1] == '\0'))
				continue;
		}
		out[n++] = *p;
	}
	if (n > 1 && out[n - 1] == '/')
		n--;
	out[n] = '\0';
}

char *
conf_path_join(const char *dir, const char *path)
{
	char *joined;
	char *out;

	if (path[0] == '/')
		joined = conf_strdup(path);
	else
		joined = conf_printf("%s/%s", dir, path);
	out = conf_calloc(strlen(joined) + 1, 1);
	tidy(joined, out);
	free(joined);
	return out;
}

char *
conf_path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	char cwd[PATH_MAX];
	char *here;
	char *dir;

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		strcpy(cwd, "/");
	if (slash == NULL)
		return conf_strdup(cwd);
	here = conf_strndup(path, (size_t)(slash - path) + 1);
	dir = conf_path_join(cwd, here);
	free(here);
	return dir;
}

/* Returns the length, or -1 and errno; EFBIG: it fills the whole buffer. */
static ssize_t
read_whole(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			return (ssize_t)len;
		len += (size_t)n;
	}
	errno = EFBIG;
	return -1;
}

/* Returns the descriptor of a regular file, or -1 and errno. */
static int
open_regular(const char *path, size_t max, struct stat *st)
{
	/* O_NONBLOCK: a FIFO must not hold up a reload. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error;

	if (fd == -1)
		return -1;
	if (fstat(fd, st) == -1)
		error = errno;
	else if (S_ISDIR(st->st_mode))
		error = EISDIR;
	else if (!S_ISREG(st->st_mode))
		error = EINVAL;
	else if (st->st_size > (off_t)max)
		error = EFBIG;
	else
		return fd;
	(void)close(fd);
	errno = error;
	return -1;
}

char *
conf_file_why(size_t max)
{
	switch (errno) {
	case EISDIR:
		return conf_strdup("is a directory");
	case EINVAL:
		return conf_strdup("is not a regular file");
	case EFBIG:
		return conf_printf("is larger than %zu bytes", max);
	default:
		return conf_strdup(strerror(errno));
	}
}

char *
conf_file_read(
    const char *path, size_t max, struct stat *st_out, size_t *len_out)
{
	char *text;
	ssize_t len;
	int error;
	int fd = open_regular(path, max, st_out);

	if (fd == -1)
		return NULL;
	text = conf_calloc(max + 1, 1);
	len = read_whole(fd, text, max + 1);
	error = errno;
	(void)close(fd);
	if (len == -1) {
		free(text);
		errno = error;
		return NULL;
	}
	*len_out = (size_t)len;
	return conf_realloc(text, (size_t)len + 1, 1);
}

struct conf_source *
conf_source_open(const char *path)
{
	struct conf_source *source;
	struct stat st;
	size_t len;
	char *text = conf_file_read(path, CONF_FILE_MAX, &st, &len);

	if (text == NULL)
		return NULL;
	source = conf_calloc(1, sizeof(*source));
	source->path = conf_strdup(path);
	source->dir = conf_path_dir(path);
	source->dev = st.st_dev;
	source->ino = st.st_ino;
	source->text = text;
	source->len = len;
	source->text[len] = '\0';
	return source;
}

void
conf_source_free(struct conf_source *source)
{
	free(source->path);
	free(source->dir);
	free(source->text);
	free(source->tokens);
	free(source->stmts);
	free(source);
}
