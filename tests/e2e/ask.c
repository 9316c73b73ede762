/*
 * ask: one client, or a few, and their answers.
 *
 *     ask [--count N] [--together] [--timeout SECONDS] [--times]
 *         --to ADDRESS [--text TEXT]
 *
 * Connects, sends TEXT and a line end, and prints the beginning of the answer
 * as a line, in the order the answers end; --times puts the milliseconds from
 * connect to the end and the connection's number before it.  Count clients do
 * so, one after the other or --together.
 *
 * Exit status: 0 all were answered, 1 one was not (stderr tells why),
 * 64 usage, 71 system.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "../support/clients.h"
#include "../support/options.h"
#include "core/tstamp.h"

/* A look for leaks would take longer than all the work, and find none. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

static const char usage[] = "ask [--count N] [--together] [--timeout SECONDS] "
			    "[--times] --to ADDRESS [--text TEXT]";

static struct {
	const char *to;
	const char *text;
	int64_t count;
	int64_t timeout;
	bool together;
	bool times;
} opt = { .text = "hello", .count = 1, .timeout = 10 };

static size_t
write_request(void *arg, int64_t number, char *buf, size_t size)
{
	int len = snprintf(buf, size, "%s\n", opt.text);

	(void)arg;
	(void)number;
	return (size_t)len < size ? (size_t)len : size;
}

static void
print_answer(void *arg, const struct client_result *r)
{
	int *unanswered = arg;
	size_t len = r->len;

	if (r->end != CLIENT_ANSWERED) {
		warnx("%" PRId64 ": %s%s%s", r->number, client_end_name(r->end),
		    r->error != 0 ? ": " : "",
		    r->error != 0 ? strerror(r->error) : "");
		++*unanswered;
		return;
	}
	if (opt.times)
		printf("%" PRId64 " %" PRId64 " ",
		    (r->ended - r->started) / TSPAN_MSECONDS(1), r->number);
	if (r->answer[len - 1] == '\n')
		len--;
	printf("%.*s\n", (int)len, r->answer);
}

static void
read_options(int argc, char **argv)
{
	const struct option_place places[] = {
		{ .name = "to", .text = &opt.to },
		{ .name = "text", .text = &opt.text },
		{ .name = "count", .number = &opt.count, 1, 1000 },
		{ .name = "timeout", .number = &opt.timeout, 1, 600 },
		{ .name = "together", .flag = &opt.together },
		{ .name = "times", .flag = &opt.times },
		{ 0 },
	};

	options_parse(places, argc, argv, usage);
	if (opt.to == NULL)
		errx(EX_USAGE, "usage: %s", usage);
}

int
main(int argc, char **argv)
{
	int unanswered = 0;
	struct clients_totals totals;
	struct client_plan plan = { .request = write_request,
		.ended = print_answer,
		.arg = &unanswered };

	read_options(argc, argv);
	if (endpoint_parse(opt.to, &plan.to) == -1)
		errx(EX_USAGE, "not an address: %s", opt.to);
	plan.count = opt.count;
	plan.concurrency = opt.together ? (int)opt.count : 1;
	plan.timeout = TSPAN_SECONDS(opt.timeout);
	plan.limit = TSTAMP_NEVER;
	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	return unanswered > 0;
}
