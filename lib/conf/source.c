/*
 * Files that are read as a whole, and what is found at their lines: mistakes
 * and warnings. libconfuse never opens a file itself: its scanner ends the
 * process at a directory or a read error.
 */

#include <sys/mman.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/room.h"

/* Memory for a load: for itself, and for each byte of a file. */
#define LOAD_MEMORY ((size_t)16 * 1024 * 1024)
#define LOAD_MEMORY_BYTE 256

bool
source_affordable(size_t len)
{
	size_t size = LOAD_MEMORY + LOAD_MEMORY_BYTE * len;
	void *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		return false;
	(void)munmap(room, size);
	return true;
}

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

const char *
source_why(struct arena *a, int error, size_t max)
{
	switch (error) {
	case EISDIR:
		return "is a directory";
	case EINVAL:
		return "is not a regular file";
	case EFBIG:
		return arena_printf(a, "is larger than %zu bytes", max);
	default:
		return arena_strdup(a, strerror(error));
	}
}

struct source *
source_read(struct arena *a, const char *path, size_t max)
{
	struct source *s = arena_alloc(a, 1, sizeof(*s));
	const char *slash = strrchr(path, '/');
	size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
	/* O_NONBLOCK: a FIFO must not hold up a reload. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char cwd[PATH_MAX], *text = NULL;
	struct stat st;
	size_t size = 0;
	ssize_t n = 1;

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		strcpy(cwd, "/");
	s->path = arena_strdup(a, path);
	s->dir = source_join(a, cwd, arena_strndup(a, path, folder));
	if (fd == -1 || fstat(fd, &st) == -1)
		s->error = errno;
	else if (S_ISDIR(st.st_mode))
		s->error = EISDIR;
	else if (!S_ISREG(st.st_mode))
		s->error = EINVAL;
	else if (st.st_size > (off_t)max)
		s->error = EFBIG;
	else if (!source_affordable((size_t)st.st_size))
		s->error = ENOMEM;
	else
		text = arena_alloc(a, size = (size_t)st.st_size + 1, 1);
	while (text != NULL && s->error == 0 && n != 0) {
		n = pread(fd, text + s->len, size - s->len, (off_t)s->len);
		s->len += n > 0 ? (size_t)n : 0;
		if (n == -1 && errno != EINTR)
			s->error = errno;
		else if (s->len == max + 1)
			s->error = EFBIG;
		if (s->error == 0 && s->len == size) {
			/* A file that has grown since, or one of /proc. */
			size = max + 1;
			text = memcpy(arena_alloc(a, size, 1), text, s->len);
		}
	}
	if (fd != -1)
		(void)close(fd);
	if (s->error != 0)
		return s;
	text[s->len] = '\0';
	s->text = text;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return s;
}

/* --- findings ------------------------------------------------------------ */

char *
where_text(struct arena *a, struct where where)
{
	const struct source *s = where.source;

	return s->typed != NULL ? arena_strdup(a, s->typed[where.line - 1])
				: arena_printf(a, "%s:%d", s->path, where.line);
}

/* More findings than anybody reads are dropped. */
#define FINDINGS_MAX 1000
#define LINES_MAX 100
#define TEXT_MAX 500

struct finding {
	struct where where;
	size_t seq; /* findings of one line stay in the order they came */
	bool mistake;
	const char *text;
};

void
findings_say(struct findings *f, enum said said, struct where where,
    const char *fmt, ...)
{
	bool strict = (f->flags & CONF_OUTSIDE_STRICT) != 0;
	bool mistake = said == SAID_MISTAKE || (said == SAID_OUTSIDE && strict);
	char text[TEXT_MAX + 4];
	va_list ap;

	if (said != SAID_MISTAKE && !strict &&
	    (f->flags & CONF_OUTSIDE_WARN) == 0)
		return;
	f->mistakes += mistake;
	if (f->len >= FINDINGS_MAX)
		return;
	va_start(ap, fmt);
	/* Quoted parts may hold line ends, terminal commands, megabytes. */
	if (vsnprintf(text, sizeof(text), fmt, ap) > TEXT_MAX)
		strcpy(text + TEXT_MAX, "...");
	va_end(ap);
	for (char *p = text; *p != '\0'; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	f->list = arena_grow(f->arena, f->list, f->len, sizeof(*f->list));
	f->list[f->len] = (struct finding){ where, f->len, mistake,
		arena_strdup(f->arena, text) };
	f->len++;
}

static int
findings_compare(const void *left, const void *right)
{
	const struct finding *a = left;
	const struct finding *b = right;

	if (a->where.source->order != b->where.source->order)
		return a->where.source->order < b->where.source->order ? -1 : 1;
	if (a->where.line != b->where.line)
		return a->where.line < b->where.line ? -1 : 1;
	return a->seq < b->seq ? -1 : 1;
}

/* Returns lines "FILE:LINE: text", ended by NULL, each of them once. */
static char **
findings_lines(
    const struct findings *f, bool mistakes, struct arena *out, size_t *len_out)
{
	char **lines = arena_alloc(out, f->len + 2, sizeof(*lines));
	size_t n = 0;

	for (size_t i = 0; i < f->len && !(mistakes && n == LINES_MAX); i++) {
		const struct finding *found = &f->list[i];
		size_t same = 0;

		if (found->mistake != mistakes)
			continue;
		lines[n] = arena_printf(
		    out, "%s: %s", where_text(out, found->where), found->text);
		/* A mistake in `defaults` is found again with each app. */
		while (strcmp(lines[same], lines[n]) != 0)
			same++;
		n += same == n;
	}
	if (n == LINES_MAX && mistakes)
		lines[n++] = arena_printf(
		    out, "only the first %d mistakes are shown", LINES_MAX);
	lines[n] = NULL;
	*len_out = n;
	return lines;
}

void
findings_report(
    struct findings *f, struct arena *out, struct conf_report *report)
{
	if (f->len > 0)
		qsort(f->list, f->len, sizeof(*f->list), findings_compare);
	report->mistakes = findings_lines(f, true, out, &report->mistakes_len);
	report->warnings = findings_lines(f, false, out, &report->warnings_len);
}
