#ifndef TESTS_E2E_WORKERS_TWORKER_OPTIONS_H
#define TESTS_E2E_WORKERS_TWORKER_OPTIONS_H

/* The command line of tworker. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A length of time in microseconds. */
typedef int64_t useconds;

static struct {
	/* Effects before READY. */
	const char *print;
	const char *print_error;
	long exit_at_once;
	bool ignore_term;
	long grandchildren;
	bool setsid;
	useconds start_delay;
	const char *start_when;
	const char *fail;
	bool never_ready;

	/* Effects after READY, or in the request that --at counts to. */
	long at;
	bool double_ready;
	const char *say;
	bool empty_packet;
	bool long_packet;
	bool send_fd;
	long events;
	bool close_channel;
	bool shutdown_channel;
	bool stop_self;

	/* Effects in each request. */
	long concurrency;
	useconds work;
	useconds cpu;
	long crash_every;
	long retire_after;
	const char *text;

	/* Effects at the end. */
	bool ignore_stop;
} opt = { .exit_at_once = -1, .concurrency = 1, .text = "hello" };

enum kind {
	KIND_FLAG,
	KIND_NUMBER,
	KIND_SPAN,
	KIND_TEXT
};

static const struct option_row {
	const char *name;
	enum kind kind;
	void *value;
	const char *meaning;
} option_rows[] = {
	{ "--print", KIND_TEXT, &opt.print, "write it to stdout; knows \\n" },
	{ "--print-error", KIND_TEXT, &opt.print_error, "the same on stderr" },
	{ "--exit-at-once", KIND_NUMBER, &opt.exit_at_once, "with this code" },
	{ "--ignore-term", KIND_FLAG, &opt.ignore_term, "ignore SIGTERM" },
	{ "--grandchildren", KIND_NUMBER, &opt.grandchildren,
	    "start processes that sleep for a minute" },
	{ "--setsid", KIND_FLAG, &opt.setsid, "each in a session of its own" },
	{ "--start-delay", KIND_SPAN, &opt.start_delay, "wait before READY" },
	{ "--start-when", KIND_TEXT, &opt.start_when,
	    "wait until there is that file before READY" },
	{ "--fail", KIND_TEXT, &opt.fail, "say FAIL before READY, exit 1" },
	{ "--never-ready", KIND_FLAG, &opt.never_ready, "sleep instead" },

	{ "--at", KIND_NUMBER, &opt.at,
	    "do the following in request N, not after READY" },
	{ "--double-ready", KIND_FLAG, &opt.double_ready, "READY once more" },
	{ "--say", KIND_TEXT, &opt.say, "send this packet" },
	{ "--empty-packet", KIND_FLAG, &opt.empty_packet, "of no bytes" },
	{ "--long-packet", KIND_FLAG, &opt.long_packet, "of 5,000 bytes" },
	{ "--send-fd", KIND_FLAG, &opt.send_fd, "an EVENT and a descriptor" },
	{ "--events", KIND_NUMBER, &opt.events, "send N EVENTs" },
	{ "--close-channel", KIND_FLAG, &opt.close_channel, "then sleep" },
	{ "--shutdown-channel", KIND_FLAG, &opt.shutdown_channel,
	    "then sleep" },
	{ "--stop-self", KIND_FLAG, &opt.stop_self, "raise SIGSTOP" },

	{ "--concurrency", KIND_NUMBER, &opt.concurrency, "threads" },
	{ "--work", KIND_SPAN, &opt.work, "sleep in each request" },
	{ "--cpu", KIND_SPAN, &opt.cpu, "use the processor in each request" },
	{ "--crash-every", KIND_NUMBER, &opt.crash_every,
	    "SIGKILL itself in each Nth request, unanswered" },
	{ "--retire-after", KIND_NUMBER, &opt.retire_after, "N requests" },
	{ "--text", KIND_TEXT, &opt.text, "end of the answer" },

	{ "--ignore-stop", KIND_FLAG, &opt.ignore_stop, "sleep when asked" },
};

#define OPTION_ROWS (sizeof(option_rows) / sizeof(option_rows[0]))

static inline void
options_usage(void)
{
	fprintf(stderr, "usage: tworker [OPTION [VALUE]]...\n");
	for (size_t i = 0; i < OPTION_ROWS; i++)
		fprintf(stderr, "  %-20s %s\n", option_rows[i].name,
		    option_rows[i].meaning);
	exit(64);
}

/* Parses a number with us, ms or s; a bare number is seconds. */
static inline bool
span_read(const char *text, useconds *out)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || n < 0)
		return false;
	if (strcmp(end, "us") == 0)
		*out = n;
	else if (strcmp(end, "ms") == 0)
		*out = (useconds)n * 1000;
	else if (*end == '\0' || strcmp(end, "s") == 0)
		*out = (useconds)n * 1000000;
	else
		return false;
	return true;
}

static inline bool
option_set(const struct option_row *row, const char *value)
{
	char *end;

	if (row->kind == KIND_FLAG) {
		*(bool *)row->value = true;
		return true;
	}
	if (value == NULL)
		return false;
	switch (row->kind) {
	case KIND_NUMBER:
		*(long *)row->value = strtol(value, &end, 10);
		return end != value && *end == '\0';
	case KIND_SPAN:
		return span_read(value, row->value);
	default:
		*(const char **)row->value = value;
		return true;
	}
}

static inline void
options_read(char **argv)
{
	while (*++argv != NULL) {
		const struct option_row *row = NULL;

		for (size_t i = 0; i < OPTION_ROWS; i++)
			if (strcmp(*argv, option_rows[i].name) == 0)
				row = &option_rows[i];
		if (row == NULL || !option_set(row, argv[1]))
			options_usage();
		if (row->kind != KIND_FLAG)
			argv++;
	}
}

#endif
