/* Clients that keep their connections, by the thousand. */

#include <sys/epoll.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "core/prng.h"
#include "keepers.h"

enum {
	BATCH = 256,
	OPENING = 64, /* first requests at a time */
	ANSWER_MAX = 1024
};

/* An answer takes no longer, or else the program ends. */
#define PATIENCE TSPAN_SECONDS(30)

struct keeper {
	int fd;
	bool asks;
	tstamp due; /* when it was to ask */
	size_t used;
	char answer[ANSWER_MAX];
};

struct keepers {
	struct keeper *all;
	int count;
	int epfd;
	int asking;
	struct samples *times; /* of the load that runs, or NULL */
	struct keepers_totals totals;
};

static const char request[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";

static void
keeper_connect(struct keepers *k, struct keeper *c, const struct endpoint *to)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

	c->fd = endpoint_connect(to);
	if (c->fd == -1)
		err(EX_OSERR, "connect");
	if (epoll_ctl(k->epfd, EPOLL_CTL_ADD, c->fd, &event) == -1)
		err(EX_OSERR, "epoll_ctl");
}

static void
keeper_ask(struct keepers *k, struct keeper *c, tstamp due)
{
	const size_t len = sizeof(request) - 1;

	c->due = due;
	c->used = 0;
	c->asks = true;
	k->asking++;
	k->totals.asked++;
	if (send(c->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
		err(EX_SOFTWARE, "send");
}

/* Whether all of an answer is there; anything but 200 ends the program. */
static bool
keeper_is_answered(const struct keeper *c)
{
	static const char status[] = "HTTP/1.1 200 ",
			  field[] = "Content-Length: ";
	const char *end = memmem(c->answer, c->used, "\r\n\r\n", 4);
	const char *length;

	if (end == NULL)
		return false;
	length = memmem(
	    c->answer, (size_t)(end - c->answer), field, sizeof(field) - 1);
	if (strncmp(c->answer, status, sizeof(status) - 1) != 0 ||
	    length == NULL)
		errx(EX_SOFTWARE, "not the answer: %.*s", (int)c->used,
		    c->answer);
	end += 4 + strtol(length + sizeof(field) - 1, NULL, 10);
	if (end < c->answer + c->used)
		errx(EX_SOFTWARE, "more than an answer");
	return end == c->answer + c->used;
}

static void
keeper_ready(struct keepers *k, struct keeper *c)
{
	ssize_t n = recv(
	    c->fd, c->answer + c->used, ANSWER_MAX - c->used, MSG_DONTWAIT);

	if (n == -1 && errno == EAGAIN)
		return;
	if (n <= 0)
		errx(EX_SOFTWARE, "a connection has ended: %s",
		    n == 0 ? "end of file" : strerror(errno));
	c->used += (size_t)n;
	if (!c->asks)
		errx(EX_SOFTWARE, "an answer without a request");
	if (!keeper_is_answered(c))
		return;
	c->asks = false;
	k->asking--;
	k->totals.answered++;
	if (k->times != NULL)
		samples_add(k->times, (double)(client_now() - c->due) / 1e3);
}

/* Takes answers until the time. */
static void
keepers_turn(struct keepers *k, tstamp until)
{
	struct epoll_event ev[BATCH];
	tspan left = until - client_now();
	struct timespec patience = { 0 };
	int n;

	if (left > 0)
		patience = (struct timespec){ .tv_sec = left / TSPAN_SECONDS(1),
			.tv_nsec = left % TSPAN_SECONDS(1) };
	n = epoll_pwait2(k->epfd, ev, BATCH, &patience, NULL);
	for (int i = 0; i < n; i++)
		keeper_ready(k, ev[i].data.ptr);
}

/* Returns when no more than `most` clients wait for an answer. */
static void
keepers_await(struct keepers *k, int most)
{
	tstamp limit = tstamp_add(client_now(), PATIENCE);

	while (k->asking > most) {
		keepers_turn(k, limit);
		if (client_now() >= limit)
			errx(EX_SOFTWARE, "%d clients are not answered",
			    k->asking);
	}
}

struct keepers *
keepers_open(const struct endpoint *to, int count)
{
	struct keepers *k = calloc(1, sizeof(*k));

	if (k == NULL ||
	    (k->all = calloc((size_t)count, sizeof(*k->all))) == NULL)
		err(EX_OSERR, NULL);
	k->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (k->epfd == -1)
		err(EX_OSERR, "epoll_create1");
	for (k->count = 0; k->count < count; k->count++) {
		struct keeper *c = &k->all[k->count];

		keepers_await(k, OPENING - 1);
		keeper_connect(k, c, to);
		keeper_ask(k, c, client_now());
	}
	keepers_await(k, 0);
	return k;
}

static struct keeper *
keepers_draw(struct keepers *k, struct prng *r)
{
	int at = (int)prng_span(r, k->count - 1);

	while (k->all[at].asks)
		at = (at + 1) % k->count;
	return &k->all[at];
}

void
keepers_run(struct keepers *k, const struct keepers_load *load,
    struct keepers_totals *out)
{
	struct prng r = { load->seed };
	const tstamp began = client_now(), end = tstamp_add(began, load->span);
	tstamp due = began;

	k->times = load->times;
	k->totals = (struct keepers_totals){ 0 };
	while (due < end) {
		keepers_turn(k, due);
		if (client_now() < due)
			continue;
		keepers_await(k, k->count - 1);
		keeper_ask(k, keepers_draw(k, &r), due);
		due += (tspan)(-log1p(-(double)prng_next(&r) / 0x1p64) * 1e9 /
		    load->rate);
	}
	keepers_await(k, 0);
	k->times = NULL;
	k->totals.elapsed = client_now() - began;
	*out = k->totals;
}

/* A reset leaves no address in use, as the end of a TCP connection would. */
void
keepers_close(struct keepers *k)
{
	const struct linger reset = { .l_onoff = 1 };

	for (int i = 0; i < k->count; i++) {
		(void)setsockopt(
		    k->all[i].fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		(void)close(k->all[i].fd);
	}
	(void)close(k->epfd);
	free(k->all);
	free(k);
}
