#ifndef TESTS_E2E_WORKERS_TWORKER_OPTIONS_H
#define TESTS_E2E_WORKERS_TWORKER_OPTIONS_H

/* The command line of tworker. */

#include "options.h"

static struct {
	/* Effects before READY. */
	const char *print; /* write it to stdout; knows \n */
	const char *print_error; /* the same on stderr */
	long exit_at_once; /* with this code */
	bool ignore_term; /* ignore SIGTERM */
	long grandchildren; /* start processes that sleep for a minute */
	bool setsid; /* each in a session of its own */
	useconds start_delay; /* wait before READY */
	const char *start_when; /* wait until there is that file before READY */
	const char *fail; /* say FAIL before READY, exit 1 */
	bool never_ready; /* sleep instead */

	/* Effects after READY, or in the request that --at counts to. */
	long at; /* not after READY, but in request N */
	bool double_ready; /* READY once more */
	const char *say; /* send this packet */
	bool empty_packet; /* of no bytes */
	bool long_packet; /* of 5,000 bytes */
	bool send_fd; /* an EVENT and a descriptor */
	long events; /* send N EVENTs */
	bool close_channel; /* then sleep */
	bool shutdown_channel; /* then sleep */
	bool stop_self; /* raise SIGSTOP */

	/* Effects in each request. */
	long concurrency; /* threads */
	useconds work; /* sleep in each request */
	useconds cpu; /* use the processor in each request */
	long crash_every; /* SIGKILL itself in each Nth request, unanswered */
	long retire_after; /* N requests */
	const char *text; /* end of the answer */

	/* Effects at the end. */
	bool ignore_stop; /* sleep when asked */
} opt = { .exit_at_once = -1, .concurrency = 1, .text = "hello" };

static const struct option_row option_rows[] = {
	{ "--print", KIND_TEXT, &opt.print },
	{ "--print-error", KIND_TEXT, &opt.print_error },
	{ "--exit-at-once", KIND_NUMBER, &opt.exit_at_once },
	{ "--ignore-term", KIND_FLAG, &opt.ignore_term },
	{ "--grandchildren", KIND_NUMBER, &opt.grandchildren },
	{ "--setsid", KIND_FLAG, &opt.setsid },
	{ "--start-delay", KIND_SPAN, &opt.start_delay },
	{ "--start-when", KIND_TEXT, &opt.start_when },
	{ "--fail", KIND_TEXT, &opt.fail },
	{ "--never-ready", KIND_FLAG, &opt.never_ready },
	{ "--at", KIND_NUMBER, &opt.at },
	{ "--double-ready", KIND_FLAG, &opt.double_ready },
	{ "--say", KIND_TEXT, &opt.say },
	{ "--empty-packet", KIND_FLAG, &opt.empty_packet },
	{ "--long-packet", KIND_FLAG, &opt.long_packet },
	{ "--send-fd", KIND_FLAG, &opt.send_fd },
	{ "--events", KIND_NUMBER, &opt.events },
	{ "--close-channel", KIND_FLAG, &opt.close_channel },
	{ "--shutdown-channel", KIND_FLAG, &opt.shutdown_channel },
	{ "--stop-self", KIND_FLAG, &opt.stop_self },
	{ "--concurrency", KIND_NUMBER, &opt.concurrency },
	{ "--work", KIND_SPAN, &opt.work },
	{ "--cpu", KIND_SPAN, &opt.cpu },
	{ "--crash-every", KIND_NUMBER, &opt.crash_every },
	{ "--retire-after", KIND_NUMBER, &opt.retire_after },
	{ "--text", KIND_TEXT, &opt.text },
	{ "--ignore-stop", KIND_FLAG, &opt.ignore_stop },
	{ .name = NULL },
};

#endif
