/* Any bytes as the answer to a health check; the first chooses the protocol. */

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ctl/ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(const char *text, size_t size)
{
	assert(memchr(text, '\0', size) != NULL);
	for (; *text != '\0'; text++)
		assert(*text >= ' ' && *text <= '~');
}

static void
check_answer(const struct ping_answer *a)
{
	assert(a->ended || a->why != NULL);
	assert(a->head_len < sizeof(a->head));
	assert(a->body <= a->total);
	check_text(a->reason, sizeof(a->reason));
	check_text(a->complaint, sizeof(a->complaint));
	if (a->why == NULL)
		assert(a->status >= 100 && a->status <= 999);
	assert(!ping_is_good(a) || a->status < 400);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ping_answer answer;
	FILE *from;

	if (size < 2)
		return 0;
	from = fmemopen((void *)(data + 1), size - 1, "r");
	assert(from != NULL);
	memset(&answer, 0, sizeof(answer));
	answer.protocol =
	    data[0] & 1 ? CONF_PROTOCOL_FASTCGI : CONF_PROTOCOL_HTTP;
	assert(ping_read(&answer, from));
	fclose(from);
	check_answer(&answer);
	return 0;
}
