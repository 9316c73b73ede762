/*
 * Any bytes as what two workers print, one on standard output and one on
 * standard error: the keeper passes on each line, whole or cut after
 * KEEPER_LINE_MAX bytes, and tells how much it has left out, of a dead worker
 * before its last line, too. Its pipes and its socket are memory.
 *
 * The input is a list of steps: a byte that says which of them and by whom,
 * and what belongs to it.
 */

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"

static ssize_t fake_read(int fd, void *buf, size_t size);
static ssize_t fake_send(int sock, const void *buf, size_t len, int fd);
static int fake_ioctl(int fd, unsigned long request, int *out);
static int fake_epoll_ctl(int ep, int op, int fd, struct epoll_event *event);
static int fake_close(int fd);

int keeper_main(void);

#define read fake_read
#define fdpass_send fake_send
#define ioctl fake_ioctl
#define epoll_ctl fake_epoll_ctl
#define close fake_close
#define main keeper_main
#include "keeper/keeper.c"
#undef read
#undef fdpass_send
#undef ioctl
#undef epoll_ctl
#undef close
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORKERS 2
#define PRINT_MAX (3 * KEEPER_LINE_MAX)
#define STEPS_MAX 32

enum step {
	STEP_PRINT,
	STEP_PRINT_LONG,
	STEP_TAKE,
	STEP_LEAVE,
	STEPS
};

#define APP "web"
#define HEAD (KEEPER_HEAD + sizeof(APP))

/* The descriptor of a pipe is its number. */
static struct worker {
	char id[KEEPER_ID_LEN];
	char verb;
	char printed[PRINT_MAX];
	size_t len;
	size_t taken; /* of it, by the keeper */
	size_t heard; /* of it, by the daemon; a newline with what follows */
	bool partly; /* a line was heard */
	bool cut; /* that may be too long */
	bool dead;
	size_t skipped; /* bytes before its last line */
	uint32_t left_out;
} workers[WORKERS] = {
	{ .id = "aaaaaaaa", .verb = KEEPER_OUTPUT },
	{ .id = "bbbbbbbb", .verb = KEEPER_ERRORS },
};

/* --- the daemon --------------------------------------------------------- */

/* Goes behind the newline of the line that was heard last. */
static void
end_line(struct worker *w)
{
	const char *at = w->printed + w->heard;
	const char *newline = memchr(at, '\n', w->len - w->heard);

	assert(newline != NULL && (w->cut || newline == at));
	w->heard += (size_t)(newline - at) + 1;
	w->partly = w->cut = false;
}

static void
hear_line(struct worker *w, const char *line, size_t len)
{
	if (w->partly)
		end_line(w);
	/* Beyond what is passed on there is the last line of all. */
	if (w->dead && w->skipped == 0 &&
	    (len > w->len - w->heard ||
		memcmp(w->printed + w->heard, line, len) != 0)) {
		size_t end = w->taken - (w->printed[w->taken - 1] == '\n');

		assert(allowed == 0 && end > w->heard + len);
		w->skipped = end - w->heard - len;
		w->heard = end - len;
		assert(w->printed[w->heard - 1] == '\n');
		assert(memchr(line, '\n', len) == NULL);
	}
	assert(len <= w->len - w->heard);
	assert(memcmp(w->printed + w->heard, line, len) == 0);
	w->heard += len;
	w->partly = true;
	w->cut = len == KEEPER_LINE_MAX;
}

static void
hear_lines(struct worker *w, const char *at, size_t len)
{
	const char *newline;
	unsigned lines = 1;

	assert(len <= KEEPER_LINE_MAX);
	assert(len <= KEEPER_TEXT || memchr(at, '\n', len) == NULL);
	while ((newline = memchr(at, '\n', len)) != NULL) {
		hear_line(w, at, (size_t)(newline - at));
		len -= (size_t)(newline + 1 - at);
		at = newline + 1;
		lines++;
	}
	hear_line(w, at, len);
	assert(lines <= KEEPER_LINES);
}

static ssize_t
fake_send(int sock, const void *buf, size_t len, int fd)
{
	const char *at = buf;
	struct worker *w = NULL;

	assert(sock == KEEPER_FD && fd == -1 && len >= KEEPER_HEAD);
	for (int i = 0; i < WORKERS; i++)
		if (memcmp(workers[i].id, at + 1, KEEPER_ID_LEN) == 0)
			w = &workers[i];
	assert(w != NULL);
	assert(w->left_out == 0 && strcmp(at + KEEPER_HEAD, APP) == 0);
	if (at[0] == w->verb) {
		hear_lines(w, at + HEAD, len - HEAD);
	} else {
		assert(at[0] == KEEPER_LEFT_OUT);
		assert(len == HEAD + sizeof(w->left_out));
		memcpy(&w->left_out, at + HEAD, sizeof(w->left_out));
		assert(w->left_out > 0);
	}
	return (ssize_t)len;
}

/* --- the pipes ---------------------------------------------------------- */

static ssize_t
fake_read(int fd, void *buf, size_t size)
{
	struct worker *w = &workers[fd];
	size_t n = w->len - w->taken;

	if (n == 0)
		return -1;
	if (n > size)
		n = size;
	memcpy(buf, w->printed + w->taken, n);
	w->taken += n;
	return (ssize_t)n;
}

static int
fake_ioctl(int fd, unsigned long request, int *out)
{
	assert(request == FIONREAD);
	*out = (int)(workers[fd].len - workers[fd].taken);
	return 0;
}

static int
fake_epoll_ctl(int ep, int op, int fd, struct epoll_event *event)
{
	(void)ep;
	(void)op;
	(void)fd;
	(void)event;
	return 0;
}

static int
fake_close(int fd)
{
	return fd < WORKERS ? 0 : -1;
}

/* --- steps -------------------------------------------------------------- */

static void
come(int i)
{
	struct worker *w = &workers[i];
	char head[HEAD] = "";

	memcpy(head + 1, w->id, KEEPER_ID_LEN);
	memcpy(head + KEEPER_HEAD, APP, sizeof(APP));
	w->len = w->taken = w->heard = 0;
	w->partly = w->cut = false;
	w->left_out = 0;
	w->dead = false;
	w->skipped = 0;
	keeper_hold(head, w->verb, i);
}

static void
go(int i)
{
	struct worker *w = &workers[i];
	size_t left;

	w->dead = true;
	keeper_leave(w->id);
	left = w->skipped + w->len - w->heard;
	assert(w->left_out <= left);
	/* The newline was read with its line; and the rest of one too long. */
	if (!w->cut)
		assert(left - w->left_out <= (w->partly ? 1 : 0));
}

static void
print(struct worker *w, const void *bytes, size_t len)
{
	if (len > PRINT_MAX - w->len)
		return;
	memcpy(w->printed + w->len, bytes, len);
	w->len += len;
}

/* Two bytes, many times: lines not as often, for each takes its time. */
static void
print_long(struct worker *w, const uint8_t *bytes, unsigned doublings)
{
	const size_t from = w->len;

	doublings %= memchr(bytes, '\n', 2) == NULL ? 16 : 11;
	print(w, bytes, 2);
	for (; doublings > 0; doublings--)
		print(w, w->printed + from, w->len - from);
}

static struct source *
source_of(const struct worker *w)
{
	struct source *s = sources;

	while (memcmp(s->head + 1, w->id, KEEPER_ID_LEN) != 0)
		s = s->next;
	return s;
}

/* Takes a step, whose first byte is at data; the length of what it used. */
static size_t
step(const uint8_t *data, size_t size)
{
	int i = data[0] / STEPS % WORKERS;
	struct worker *w = &workers[i];
	size_t len = size > 1 ? data[1] : 0;

	switch ((enum step)(data[0] % STEPS)) {
	case STEP_PRINT:
		if (size < 2)
			return size;
		if (len > size - 2)
			len = size - 2;
		print(w, data + 2, len);
		return 2 + len;
	case STEP_PRINT_LONG:
		if (size < 4)
			return size;
		print_long(w, data + 2, len);
		return 4;
	case STEP_TAKE:
		keeper_read(source_of(w));
		return 1;
	default:
		go(i);
		come(i);
		return 1;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct keeper_page shared = { .watched = 1 };

	page = &shared;
	for (int i = 0; i < WORKERS; i++)
		come(i);
	for (int left = STEPS_MAX; size > 0 && left > 0; left--) {
		size_t used = step(data, size);

		data += used;
		size -= used;
	}
	for (int i = 0; i < WORKERS; i++)
		go(i);
	return 0;
}
