/* The terminal: what it can show, and how far a run is. */

#include <sys/ioctl.h>

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/terminal.h"
#include "sim/words.h"

/* A narrower chart shows nothing; in a wider one the eye gets lost. */
#define WIDTH_MIN 40
#define WIDTH_MAX 200
#define WIDTH_DEFAULT 80

/* Seconds before the first bar, and from one to the next. */
#define PROGRESS_FIRST 0.5
#define PROGRESS_NEXT 0.1

/* Characters of the bar, and of the name beside it, at most. */
#define BAR 40
#define NAME 16

static unsigned
clamp(unsigned long width)
{
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width > WIDTH_MAX ? WIDTH_MAX : (unsigned)width;
}

unsigned
terminal_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int fd = fileno(out);

	if (fd != -1 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return clamp(size.ws_col);
	if (columns != NULL && *columns >= '1' && *columns <= '9')
		return clamp(strtoul(columns, NULL, 10));
	return WIDTH_DEFAULT;
}

/* The environment decides: the program itself stays in the C locale. */
bool
terminal_is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool result;

	if (locale == (locale_t)0)
		return false;
	result = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return result;
}

/* --- how far a run is --------------------------------------------------- */

static double
real_time(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* True if a line on standard error can be written over. */
static bool
is_seen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && *term != '\0' &&
	    strcmp(term, "dumb") != 0;
}

/* The share of the run that is over; less than 0: unknown. */
static double
share_of(const struct terminal_bar *p, tstamp at)
{
	double share = -1;

	if (p->length > 0)
		share = at > 0 ? (double)at / (double)p->length : 0;
	else if (p->load != NULL)
		share = load_read(p->load);
	return share > 1 ? 1 : share;
}

/* The bar fits into one line, or it could not be taken back. */
static void
put_bar(const struct terminal_bar *p, double share, double passed)
{
	unsigned width = terminal_width(stderr);
	unsigned room =
	    width - NAME - (unsigned)strlen(" [] 100 %, 59m59s left");
	struct words rest = { "?" };
	char bar[BAR + 1] = "";

	if (room > BAR)
		room = BAR;
	for (unsigned i = 0; i < room; i++)
		(void)strlcat(bar, i < share * room ? "#" : ".", sizeof(bar));
	/* The first hundredth says little about the rest. */
	if (share > 0.01)
		rest = words_span(
		    (tspan)ceil(passed / share - passed) * TSPAN_SECONDS(1));
	(void)fprintf(stderr, "\r%.*s [%s] %3.0f %%, %s left\033[K", NAME,
	    p->name, bar, share * 100, rest.text);
}

static void
put_time(const struct terminal_bar *p, tstamp at)
{
	(void)fprintf(stderr, "\r%.*s: %s so far\033[K", NAME, p->name,
	    words_span(at > 0 ? at : 0).text);
}

static void
begin(struct terminal_bar *p, double now)
{
	p->state = is_seen() ? TERMINAL_BAR_HIDDEN : TERMINAL_BAR_UNSEEN;
	p->began = now;
}

/* True if the bar is to be drawn now. */
static bool
is_due(const struct terminal_bar *p, double now)
{
	switch (p->state) {
	case TERMINAL_BAR_HIDDEN:
		return now - p->began >= PROGRESS_FIRST;
	case TERMINAL_BAR_SHOWN:
		return now - p->shown >= PROGRESS_NEXT;
	default:
		return false;
	}
}

void
terminal_bar(struct terminal_bar *p, tstamp at)
{
	double now = real_time(), share;

	if (p->state == TERMINAL_BAR_NOT_BEGUN)
		begin(p, now);
	if (!is_due(p, now))
		return;
	p->state = TERMINAL_BAR_SHOWN;
	p->shown = now;
	share = share_of(p, at);
	if (share >= 0)
		put_bar(p, share, now - p->began);
	else
		put_time(p, at);
	(void)fflush(stderr);
}

void
terminal_bar_end(struct terminal_bar *p)
{
	if (p->state == TERMINAL_BAR_SHOWN)
		(void)fputs("\r\033[K", stderr);
	p->state = TERMINAL_BAR_NOT_BEGUN;
}
