/* How far a simulation is: a bar that a terminal gets, and nothing else. */

#include <sys/ioctl.h>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include "../unit/check.h"
#include "sim/terminal.h"

static int reader = -1;

/* Standard error is a terminal, `columns` wide. */
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

/* What has been written; what was checked must not go there too. */
static const char *
seen(void)
{
	static char text[4096];
	ssize_t n = read(reader, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* A run that began so many seconds ago. */
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
	/* A look that takes seconds makes no difference. */
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
in_the_end_it_is_erased(void)
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
it_is_not_drawn_all_the_time(void)
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
it_fits_into_a_line(void)
{
	struct terminal_bar p;

	on_terminal(40);
	p = begun(5000, TSPAN_SECONDS(100));
	p.name = "a name that is longer than others";
	terminal_bar(&p, TSPAN_SECONDS(50));
	/* But for the return, and for the order to clear the rest. */
	CHECK(strlen(seen()) <= 1 + 40 + 3);
}

static void
without_a_length_the_time_is_shown(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(10, 0);
	terminal_bar(&p, TSPAN_SECONDS(90));
	CHECK(strcmp(seen(), "\rapppoold: 1m30s so far\033[K") == 0);
}

/* Processes start before the load. */
static void
before_the_start_nothing_is_done(void)
{
	struct terminal_bar p;

	on_terminal(80);
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, -TSPAN_SECONDS(5));
	CHECK(strstr(seen(), "]   0 %, ? left") != NULL);
}

static void
nobody_else_sees_it(void)
{
	struct terminal_bar p;

	on_pipe();
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	terminal_bar_end(&p);
	CHECK(strcmp(seen(), "") == 0);
}

static void
a_dumb_terminal_does_not_either(void)
{
	struct terminal_bar p;

	on_terminal(80);
	(void)setenv("TERM", "dumb", 1);
	p = begun(10, TSPAN_SECONDS(100));
	terminal_bar(&p, TSPAN_SECONDS(50));
	terminal_bar_end(&p);
	CHECK(strcmp(seen(), "") == 0);
}

/* Each has a standard error of its own. */
int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ALONE(a_terminal_sees_a_bar);
	RUN_ALONE(a_run_that_began_at_zero_has_begun);
	RUN_ALONE(in_the_end_it_is_erased);
	RUN_ALONE(a_short_run_shows_nothing);
	RUN_ALONE(it_is_not_drawn_all_the_time);
	RUN_ALONE(it_fits_into_a_line);
	RUN_ALONE(without_a_length_the_time_is_shown);
	RUN_ALONE(before_the_start_nothing_is_done);
	RUN_ALONE(nobody_else_sees_it);
	RUN_ALONE(a_dumb_terminal_does_not_either);
	return check_finish();
}
