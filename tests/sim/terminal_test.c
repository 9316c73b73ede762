/* The bar of a run: a terminal gets it, and nothing else does. */

#include <sys/ioctl.h>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include "../unit/check.h"
#include "sim/terminal.h"

static int reader = -1;

/* Makes standard error a terminal, `columns` wide. */
static void
on_terminal(unsigned short columns)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	int writer;

	if (openpty(&reader, &writer, NULL, NULL, &size) == -1)
		abort();
	(void)fcntl(reader, F_SETFL, O_NONBLOCK);
	(void)dup2(writer, STDERR_FILENO);
	(void)setenv("TERM", "xterm", 1);
}

static void
on_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK) == -1)
		abort();
	reader = ends[0];
	(void)dup2(ends[1], STDERR_FILENO);
}

/* Gives what was written, and forgets it. */
static const char *
seen(void)
{
	static char text[4096];
	ssize_t n = read(reader, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* Gives the bar of a run that began so many seconds ago. */
static struct terminal_bar
begun(double ago, tspan length)
{
	struct terminal_bar p = { .name = "apppoold", .length = length };

	terminal_bar(&p, 0);
	p.began -= ago;
	return p;
}

static void
a_terminal_sees_a_bar(void)
{
	struct terminal_bar p;

	on_terminal(80);
	/* The few seconds that a slow test may take make no difference. */
	p = begun(5000, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	CHECK(strcmp(seen(),
		  "\rapppoold [####################....................]  50 "
		  "%, 1h23m left\033[K") == 0);
}

/* The monotonic clock of a machine that has just started is near zero. */
static void
a_run_that_began_at_zero_has_begun(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(0, TSPAN_SECONDS(100));
	p.began = -1;
	terminal_bar(&p, TSPAN_SECONDS(50));
	CHECK(strstr(seen(), "]  50 %") != NULL);
}

static void
the_bar_is_erased_in_the_end(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	(void)seen();
	terminal_bar_end(&p);
	CHECK(strcmp(seen(), "\r\033[K") == 0);
}

static void
a_short_run_shows_nothing(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(0, TSPAN_SECONDS(100));
	p.began += 1000;
	terminal_bar(&p, TSPAN_SECONDS(50));
	terminal_bar_end(&p);
	CHECK(strcmp(seen(), "") == 0);
}

static void
the_bar_is_drawn_ten_times_a_second_at_most(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	(void)seen();
	p.shown += 1000;
	terminal_bar(&p, TSPAN_SECONDS(60));
	CHECK(strcmp(seen(), "") == 0);
}

static void
the_bar_fits_into_a_line(void)
{
	struct terminal_bar p;

	on_terminal(40);
	p = begun(5000, TSPAN_SECONDS(100));
	p.name = "a name that is longer than others";
	terminal_bar(&p, TSPAN_SECONDS(50));
	/* The return, and the order to clear the rest, come on top. */
	CHECK(strlen(seen()) <= 1 + 40 + 3);
}

static void
a_run_without_a_length_shows_the_time(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(10, 0);
	terminal_bar(&p, TSPAN_SECONDS(90));
	CHECK(strcmp(seen(), "\rapppoold: 1m30s so far\033[K") == 0);
}

/* Workers start before the load. */
static void
the_bar_is_empty_before_the_load_starts(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, -TSPAN_SECONDS(5));
	CHECK(strstr(seen(), "]   0 %, ? left") != NULL);
}

static void
a_pipe_sees_no_bar(void)
{
	struct terminal_bar p;

	on_pipe();
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	terminal_bar_end(&p);
	CHECK(strcmp(seen(), "") == 0);
}

static void
a_dumb_terminal_sees_no_bar(void)
{
	struct terminal_bar p;

	on_terminal(80);
	(void)setenv("TERM", "dumb", 1);
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	terminal_bar_end(&p);
	CHECK(strcmp(seen(), "") == 0);
}

/* Each test has a standard error of its own. */
int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ALONE(a_terminal_sees_a_bar);
	RUN_ALONE(a_run_that_began_at_zero_has_begun);
	RUN_ALONE(the_bar_is_erased_in_the_end);
	RUN_ALONE(a_short_run_shows_nothing);
	RUN_ALONE(the_bar_is_drawn_ten_times_a_second_at_most);
	RUN_ALONE(the_bar_fits_into_a_line);
	RUN_ALONE(a_run_without_a_length_shows_the_time);
	RUN_ALONE(the_bar_is_empty_before_the_load_starts);
	RUN_ALONE(a_pipe_sees_no_bar);
	RUN_ALONE(a_dumb_terminal_sees_no_bar);
	return check_finish();
}
