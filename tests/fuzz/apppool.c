/*
 * Any packets of a daemon, as libapppool and the adapters receive them: a
 * connection with the numbers that the packet has, a fork, a stop, or an error,
 * and no descriptor is left.
 *
 * The input is a list of packets: a byte that says how many descriptors come
 * with it, its length, and its bytes.
 */

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/wire.h"
#include "worker/worker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The socket, the daemon's end first. */
static int ends[2] = { -1, -1 };

static void
say(const void *packet, size_t len, uint8_t how)
{
	/* A message may be as long as WIRE_MAX, and is cut after it. */
	static char padded[WIRE_MAX + 2];
	const int three[] = { ends[0], ends[0], ends[1] };

	if (how >= 250) {
		memset(padded, '0', sizeof(padded));
		memcpy(padded, packet, len);
		packet = padded;
		len = WIRE_MAX - 2 + how % 4;
	}
	switch (how % 3) {
	case 0:
		(void)fdpass_send(ends[0], packet, len, -1);
		break;
	case 1:
		(void)fdpass_send(ends[0], packet, len, ends[0]);
		break;
	default:
		(void)fdpass_send_many(
		    ends[0], packet, len, three, how % 2 == 0 ? 2 : 3);
		break;
	}
}

/* The numbers in the text are those of the message, but for zeros. */
static void
check_conn(const struct channel_message *m, const char *text, size_t len)
{
	unsigned long long serial, waited;
	char *end;

	assert(len > 5 && memcmp(text, WIRE_CONN " ", 5) == 0);
	serial = strtoull(text + 5, &end, 10);
	assert(*end == ' ');
	waited = strtoull(end + 1, &end, 10);
	if (*end == ' ')
		assert((unsigned)m->load == strtoull(end + 1, &end, 10));
	else
		assert(m->load == -1);
	assert(*end == '\0');
	assert(m->serial == serial && m->waited == waited);
}

static void
hear(const char *text, size_t len, uint8_t how)
{
	struct channel_message m = { .fd = -1 };

	if (channel_receive(ends[1], MSG_DONTWAIT, &m) == -1) {
		assert(errno == EPROTO);
		return;
	}
	if (m.kind == CHANNEL_STOP) {
		assert(m.fd == -1);
		assert(len == 0 || text[0] == '\0' ||
		    strcmp(text, WIRE_STOP) == 0);
		return;
	}
	if (m.kind == CHANNEL_FORK) {
		assert(memcmp(text, WIRE_FORK " ", 5) == 0);
		/* One descriptor or three; else they are lost. */
		assert((m.fd == -1) ==
		    (how % 3 == 0 || (how % 3 == 2 && how % 2 == 0)));
		assert((m.output[0] != -1) == (how % 3 == 2 && how % 2 == 1));
		assert((m.output[1] != -1) == (m.output[0] != -1));
		assert(m.slot >= -1 && strlen(m.id) > 0);
		if (m.fd != -1)
			close(m.fd);
		if (m.output[0] != -1) {
			close(m.output[0]);
			close(m.output[1]);
		}
		return;
	}
	if (how < 250)
		check_conn(&m, text, len);
	assert((m.fd == -1) == (how % 3 == 0));
	if (m.fd != -1)
		close(m.fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	int before, after;

	if (ends[0] == -1 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		abort();
	before = dup(ends[0]);
	close(before);
	while (size > 2) {
		uint8_t how = data[0];
		size_t len = data[1];

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		if (len == 0)
			continue;
		memcpy(text, data, len);
		text[len] = '\0';
		say(text, len, how);
		hear(text, len, how);
		data += len;
		size -= len;
	}
	after = dup(ends[0]);
	close(after);
	assert(before == after);
	return 0;
}
