/* Loads for a server of locks. */

#include <sys/socket.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "locks.h"

enum {
	TEXT = 4096
};

static tstamp
locks_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

static void
say(int fd, const char *text, size_t len)
{
	if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
		err(EX_IOERR, "send");
}

/* Reads so many lines; the last is left in buf. */
static void
hear(int fd, int lines, size_t len, char *buf)
{
	size_t got = 0;
	ssize_t n;

	while (lines > 0 && (len == 0 || got < len)) {
		n = recv(fd, buf + got, TEXT - 1 - got, 0);
		if (n <= 0)
			err(EX_PROTOCOL, "no answer");
		buf[got + (size_t)n] = '\0';
		for (const char *p = buf + got; (p = strchr(p, '\n')) != NULL;
		     p++)
			lines--;
		got += (size_t)n;
	}
}

static void
hear_word(int fd, const char *word)
{
	char buf[TEXT];

	hear(fd, 1, 0, buf);
	if (strcmp(buf, word) != 0)
		errx(EX_PROTOCOL, "heard %s instead of %s", buf, word);
}

/* --- round trips -------------------------------------------------------- */

/* Lines that a connection sends at a time: an even number. */
struct text {
	char line[2][TEXT];
	size_t len[2];
};

static void
make_text(struct text *t, int number, int depth)
{
	char lock[64];
	size_t n = 0;

	(void)snprintf(
	    lock, sizeof(lock), "ACQ4ME page:%d:parse 2 100 15\n", number);
	if (depth == 1) {
		t->len[0] = strlcpy(t->line[0], lock, TEXT);
		t->len[1] = strlcpy(t->line[1], "RELEASE\n", TEXT);
		return;
	}
	for (int i = 0; i < depth; i += 2) {
		n += strlcpy(t->line[0] + n, lock, TEXT - n);
		n += strlcpy(t->line[0] + n, "RELEASE\n", TEXT - n);
	}
	t->len[0] = t->len[1] = n;
	memcpy(t->line[1], t->line[0], n + 1);
}

void
locks_round_trips(struct locks *l)
{
	struct text *texts = calloc((size_t)l->count, sizeof(*texts));
	tstamp begin, end;
	char buf[TEXT];
	int turn = 0, i;

	if (texts == NULL)
		err(EX_OSERR, NULL);
	for (i = 0; i < l->count; i++)
		make_text(&texts[i], i, l->depth);
	l->operations = 0;
	begin = locks_now();
	for (i = 0; i < l->count; i++)
		say(l->fds[i], texts[i].line[0], texts[i].len[0]);
	/* After an even number of turns nothing is locked. */
	do {
		turn = !turn;
		end = locks_now();
		for (i = 0; i < l->count; i++) {
			hear(l->fds[i], l->depth,
			    l->echo ? texts[i].len[!turn] : 0, buf);
			if (turn == 1 || end - begin < l->span)
				say(l->fds[i], texts[i].line[turn],
				    texts[i].len[turn]);
		}
		l->operations += (int64_t)l->count * l->depth;
	} while (turn == 1 || end - begin < l->span);
	l->elapsed = locks_now() - begin;
	free(texts);
}

/* --- handing over ------------------------------------------------------- */

static const char shared_lock[] = "ACQ4ME shared 1 100000 60\n";
static const char shared_wait[] = "ACQ4ANY shared 1 100000 60\n";
static const char unlock[] = "RELEASE\n";

void
locks_handover(struct locks *l)
{
	tstamp begin = locks_now();
	int i;

	l->operations = 0;
	for (i = 0; i < l->count; i++) {
		say(l->fds[i], shared_lock, sizeof(shared_lock) - 1);
		if (i == 0)
			hear_word(l->fds[0], "LOCKED\n");
	}
	for (i = 0; l->elapsed = locks_now() - begin, l->elapsed < l->span;
	     i = (i + 1) % l->count) {
		say(l->fds[i], unlock, sizeof(unlock) - 1);
		hear_word(l->fds[(i + 1) % l->count], "LOCKED\n");
		hear_word(l->fds[i], "RELEASED\n");
		say(l->fds[i], shared_lock, sizeof(shared_lock) - 1);
		l->operations++;
	}
	/* All waiters withdraw first, so that none is handed the lock. */
	for (int k = 1; k <= l->count; k++) {
		int fd = l->fds[(i + k) % l->count];

		say(fd, unlock, sizeof(unlock) - 1);
		hear_word(fd, "RELEASED\n");
	}
}

/* Returns when the server knows that all of them wait. */
static void
await_waiters(int probe, int waiters)
{
	char line[64], buf[TEXT];
	int len =
	    snprintf(line, sizeof(line), "ACQ4ME shared 1 %d\n", waiters + 1);

	do {
		say(probe, line, (size_t)len);
		hear(probe, 1, 0, buf);
	} while (strcmp(buf, "QUEUE_FULL\n") != 0);
}

void
locks_wake_all(struct locks *l)
{
	int holder = l->fds[0], probe = l->fds[1], i;
	tstamp begin = locks_now();

	l->operations = 0;
	do {
		say(holder, shared_wait, sizeof(shared_wait) - 1);
		hear_word(holder, "LOCKED\n");
		for (i = 2; i < l->count; i++)
			say(l->fds[i], shared_wait, sizeof(shared_wait) - 1);
		await_waiters(probe, l->count - 2);
		say(holder, unlock, sizeof(unlock) - 1);
		for (i = 2; i < l->count; i++)
			hear_word(l->fds[i], "DONE\n");
		hear_word(holder, "RELEASED\n");
		l->operations += l->count - 2;
		l->elapsed = locks_now() - begin;
	} while (l->elapsed < l->span);
}

/* --- holding ------------------------------------------------------------ */

void
locks_hold(struct locks *l)
{
	char line[128];
	int i, k, len;

	for (i = 0; i < l->count; i++) {
		for (k = 0; k < 4; k++) {
			len = snprintf(line, sizeof(line),
			    "ACQ4ME enwiki:pcache:idhash:%d-%d 1 10 15\n", i,
			    k);
			say(l->fds[i], line, (size_t)len);
			hear_word(l->fds[i], "LOCKED\n");
		}
	}
}
