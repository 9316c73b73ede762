/* What the parts of apppool-accept share. */

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "adapter/accept_adapter.h"
#include "sys/wire.h"
#include "worker/channel.h"

void
adapter_ready(struct adapter *a)
{
	if (a->ready)
		return;
	a->ready = true;
	(void)channel_say(a->channel, WIRE_READY, strlen(WIRE_READY));
}

void
adapter_retire(struct adapter *a)
{
	if (!a->ready || a->retired || a->stopped)
		return;
	a->retired = true;
	(void)channel_say(a->channel, WIRE_RETIRE, strlen(WIRE_RETIRE));
}

void
adapter_fail(struct adapter *a, const char *fmt, ...)
{
	char text[WIRE_MAX];
	size_t verb = sizeof(WIRE_FAIL);
	va_list ap;
	int len;

	memcpy(text, WIRE_FAIL " ", verb);
	va_start(ap, fmt);
	len = vsnprintf(text + verb, sizeof(text) - verb, fmt, ap);
	va_end(ap);
	if ((size_t)len > sizeof(text) - verb - 1)
		len = (int)(sizeof(text) - verb - 1);
	(void)channel_say(a->channel, text, verb + (size_t)len);
	if (a->program.pid > 0)
		(void)kill(a->program.pid, SIGKILL);
	exit(EX_OSERR);
}
