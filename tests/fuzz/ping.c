/*
 * Any bytes as the answer to a health check. The first byte chooses the
 * protocol and the cut of the rest into pieces, which must not change the
 * result.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "ctl/ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ping_answer whole, cut;

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
	assert(a->state == PING_DONE || a->state == PING_BROKEN);
	assert((a->state == PING_BROKEN) == (a->why != NULL));
	assert(a->head_len < sizeof(a->head));
	assert(a->body <= a->total);
	check_text(a->reason, sizeof(a->reason));
	check_text(a->complaint, sizeof(a->complaint));
	if (a->state == PING_DONE)
		assert(a->status >= 100 && a->status <= 999);
	assert(!ping_is_good(a) || a->status < 400);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	enum conf_protocol protocol;
	size_t piece;

	if (size < 1)
		return 0;
	size--;
	protocol = data[0] & 1 ? CONF_PROTOCOL_FASTCGI : CONF_PROTOCOL_HTTP;
	piece = 1 + data[0] / 2;
	memset(&whole, 0, sizeof(whole));
	whole.protocol = protocol;
	ping_take(&whole, text, size);
	ping_end(&whole);
	check_answer(&whole);
	memset(&cut, 0, sizeof(cut));
	cut.protocol = protocol;
	for (size_t at = 0; at < size && cut.state == PING_MORE; at += piece)
		ping_take(
		    &cut, text + at, size - at < piece ? size - at : piece);
	ping_end(&cut);
	check_answer(&cut);
	assert(whole.state == cut.state && whole.why == cut.why);
	assert(whole.status == cut.status);
	assert(whole.app_status == cut.app_status);
	assert(strcmp(whole.reason, cut.reason) == 0);
	assert(strcmp(whole.complaint, cut.complaint) == 0);
	return 0;
}
