/*
 * paced: HTTP requests that come whether or not the earlier ones are served.
 *
 *     paced --to HOST:PORT [--path PATH] [--rate N] [--seconds N] [--seed N]
 *
 * They come in a Poisson stream, `rate` (100) of them a second, each in a
 * connection of its own.  Prints how many were answered in a second, the median
 * and the 99th percentile of their times in milliseconds, and how many were
 * not answered with 200.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "../../support/clients.h"
#include "../../support/options.h"
#include "../../support/samples.h"

static const char usage[] = "paced --to HOST:PORT [--path PATH] [--rate N] "
			    "[--seconds N] [--seed N]";

struct paced {
	const char *to, *path;
	int64_t rate, seconds, seed;
	struct samples times;
	int64_t failed;
};

static size_t
write_request(void *arg, int64_t number, char *buf, size_t size)
{
	const struct paced *p = arg;
	int len = snprintf(buf, size, "GET %s HTTP/1.0\r\n\r\n", p->path);

	(void)number;
	if (len < 0 || (size_t)len >= size)
		errx(EX_USAGE, "%s: too long", p->path);
	return (size_t)len;
}

static bool
is_ok(const struct client_result *r)
{
	static const char version[] = "HTTP/1.", status[] = " 200 ";
	const size_t at = sizeof(version); /* behind the last digit */

	return r->end == CLIENT_ANSWERED && r->len > at + sizeof(status) &&
	    memcmp(r->answer + at, status, sizeof(status) - 1) == 0;
}

static void
ended(void *arg, const struct client_result *r)
{
	struct paced *p = arg;

	if (is_ok(r))
		samples_add(&p->times, (double)(r->ended - r->started) / 1e6);
	else
		p->failed++;
}

static void
run(struct paced *p)
{
	struct client_plan plan = {
		.count = p->rate * p->seconds,
		.concurrency = 4000,
		.rate = (double)p->rate,
		.seed = (uint64_t)p->seed,
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(p->seconds * 2 + 20),
		.request = write_request,
		.ended = ended,
		.arg = p,
	};
	struct clients_totals totals;

	if (endpoint_parse(p->to, &plan.to) == -1)
		errx(EX_USAGE, "%s: not an address", p->to);
	(void)clients_raise_nofile();
	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	printf("%.1f %.3f %.3f %" PRId64 "\n",
	    (double)p->times.count * 1e9 / (double)totals.elapsed,
	    samples_median(&p->times), samples_quantile(&p->times, 0.99),
	    p->failed);
}

int
main(int argc, char **argv)
{
	struct paced p = { .path = "/", .rate = 100, .seconds = 2, .seed = 1 };
	const struct option_place options[] = {
		{ "to", .text = &p.to },
		{ "path", .text = &p.path },
		{ "rate", .number = &p.rate, .min = 1, .max = 100000 },
		{ "seconds", .number = &p.seconds, .min = 1, .max = 600 },
		{ "seed", .number = &p.seed, .min = 0, .max = INT32_MAX },
		{ .name = NULL },
	};

	options_parse(options, argc, argv, usage);
	if (p.to == NULL)
		errx(EX_USAGE, "usage: %s", usage);
	run(&p);
	samples_fini(&p.times);
	return 0;
}
