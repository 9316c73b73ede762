/* Servers of a PoolCounter service, in the order of a key. */

#include <stdint.h>
#include <string.h>

#include <md5.h>

#include "sys/serverlist.h"

bool
serverlist_split(char *text, struct serverlist *out)
{
	out->len = 0;
	for (char *name; (name = strsep(&text, ",")) != NULL;) {
		if (*name == '\0' || out->len == SERVERLIST_MAX)
			return false;
		for (unsigned i = 0; i < out->len; i++)
			if (strcmp(out->names[i], name) == 0)
				return false;
		out->names[out->len++] = name;
	}
	return true;
}

void
serverlist_order(
    const struct serverlist *list, const char *key, unsigned *order)
{
	uint8_t digests[SERVERLIST_MAX][MD5_DIGEST_LENGTH];

	/* A server alone needs no sum. */
	for (unsigned i = 0; i < list->len && list->len > 1; i++) {
		MD5_CTX ctx;

		MD5Init(&ctx);
		MD5Update(&ctx, (const uint8_t *)list->names[i],
		    strlen(list->names[i]));
		MD5Update(&ctx, (const uint8_t *)key, strlen(key));
		MD5Final(digests[i], &ctx);
	}
	for (unsigned i = 0; i < list->len; i++) {
		unsigned at = i;

		for (; at > 0 &&
		     memcmp(digests[order[at - 1]], digests[i],
			 MD5_DIGEST_LENGTH) > 0;
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}
