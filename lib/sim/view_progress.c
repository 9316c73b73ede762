/* How far it is, on standard error. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/view.h"
#include "sim/view_private.h"

/* Seconds without a bar, and from one to the next. */
#define PROGRESS_FIRST 0.5
#define PROGRESS_NEXT 0.1

/* Characters at most. */
#define BAR 40
#define NAME 16

static double
real_time(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Whether a line there can be written over. */
static bool
is_seen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && *term != '\0' &&
	    strcmp(term, "dumb") != 0;
}

/* Less than 0: unknown. */
static double
share_of(const struct view_progress *p, tstamp at)
{
	double share = -1;

	if (p->length > 0)
		share = at > 0 ? (double)at / (double)p->length : 0;
	else if (p->load != NULL)
		share = load_read(p->load);
	return share > 1 ? 1 : share;
}

/* In one line, or it could not be taken back. */
static void
put_bar(const struct view_progress *p, double share, double passed)
{
	unsigned width = view_style(stderr).width;
	unsigned room =
	    width - NAME - (unsigned)strlen(" [] 100 %, 59m59s left");
	struct words rest = { "?" };
	char bar[BAR + 1] = "";

	if (room > BAR)
		room = BAR;
	for (unsigned i = 0; i < room; i++)
		(void)strlcat(bar, i < share * room ? "#" : ".", sizeof(bar));
	/* Sooner, nobody can tell. */
	if (share > 0.01)
		rest = words_span(
		    (tspan)ceil(passed / share - passed) * TSPAN_SECONDS(1));
	(void)fprintf(stderr, "\r%.*s [%s] %3.0f %%, %s left\033[K", NAME,
	    p->name, bar, share * 100, rest.text);
}

static void
put_time(const struct view_progress *p, tstamp at)
{
	(void)fprintf(stderr, "\r%.*s: %s so far\033[K", NAME, p->name,
	    words_span(at > 0 ? at : 0).text);
}

static void
begin(struct view_progress *p, double now)
{
	p->state = is_seen() ? VIEW_PROGRESS_HIDDEN : VIEW_PROGRESS_UNSEEN;
	p->began = now;
}

/* Whether a bar is to be drawn now. */
static bool
is_due(const struct view_progress *p, double now)
{
	switch (p->state) {
	case VIEW_PROGRESS_HIDDEN:
		return now - p->began >= PROGRESS_FIRST;
	case VIEW_PROGRESS_SHOWN:
		return now - p->shown >= PROGRESS_NEXT;
	default:
		return false;
	}
}

void
view_progress(struct view_progress *p, tstamp at)
{
	double now = real_time(), share;

	if (p->state == VIEW_PROGRESS_NOT_BEGUN)
		begin(p, now);
	if (!is_due(p, now))
		return;
	p->state = VIEW_PROGRESS_SHOWN;
	p->shown = now;
	share = share_of(p, at);
	if (share >= 0)
		put_bar(p, share, now - p->began);
	else
		put_time(p, at);
	(void)fflush(stderr);
}

void
view_progress_end(struct view_progress *p)
{
	if (p->state == VIEW_PROGRESS_SHOWN)
		(void)fputs("\r\033[K", stderr);
	p->state = VIEW_PROGRESS_NOT_BEGUN;
}
