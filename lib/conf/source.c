/*
 * Files that are read as a whole. libconfuse never opens one itself: its
 * scanner ends the process at a directory or a read error.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "conf/source.h"

char *
source_join(struct arena *a, const char *dir, const char *path)
{
	char *joined = path[0] == '/' ? arena_strdup(a, path)
				      : arena_printf(a, "%s/%s", dir, path);
	size_t n = 0;

	for (const char *p = joined; *p != '\0'; p++) {
		if (n > 0 && joined[n - 1] == '/' &&
		    (*p == '/' ||
			(p[0] == '.' && (p[1] == '/' || p[1] == '\0'))))
			continue;
		joined[n++] = *p;
	}
	if (n > 1 && joined[n - 1] == '/')
		n--;
	joined[n] = '\0';
	return joined;
}

char *
source_dir(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	char cwd[PATH_MAX];

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		strcpy(cwd, "/");
	if (slash == NULL)
		return arena_strdup(a, cwd);
	return source_join(
	    a, cwd, arena_strndup(a, path, (size_t)(slash - path) + 1));
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

/* Returns the length, or -1 and errno; EFBIG: the buffer is full. */
static ssize_t
read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = pread(fd, buf + len, size - len, (off_t)len);

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

char *
source_bytes(struct arena *a, const char *path, size_t max, struct stat *st_out,
    size_t *len_out)
{
	size_t size;
	ssize_t len = -1;
	char *text;
	int error;
	int fd = open_regular(path, max, st_out);

	if (fd == -1)
		return NULL;
	/* A file that has grown since, or one of /proc, is read up to max. */
	for (size = (size_t)st_out->st_size;; size = max) {
		text = arena_try(a, size + 1);
		if (text != NULL)
			len = read_all(fd, text, size + 1);
		if (len != -1 || errno != EFBIG || size == max)
			break;
	}
	error = errno;
	(void)close(fd);
	if (text == NULL)
		arena_exhausted(a);
	errno = error;
	if (len == -1)
		return NULL;
	text[len] = '\0';
	*len_out = (size_t)len;
	return text;
}

const char *
source_why(struct arena *a, size_t max)
{
	switch (errno) {
	case EISDIR:
		return "is a directory";
	case EINVAL:
		return "is not a regular file";
	case EFBIG:
		return arena_printf(a, "is larger than %zu bytes", max);
	default:
		return arena_strdup(a, strerror(errno));
	}
}

struct source *
source_read(struct arena *a, const char *path)
{
	struct source *s;
	struct stat st;
	size_t len = 0;
	char *text = source_bytes(a, path, SOURCE_MAX, &st, &len);

	if (text == NULL)
		return NULL;
	s = arena_alloc(a, 1, sizeof(*s));
	s->path = arena_strdup(a, path);
	s->dir = source_dir(a, path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->text = text;
	s->len = len;
	return s;
}
