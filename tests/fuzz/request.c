/* Any bytes as the beginning of a request; the first chooses the protocol. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(REQUEST_SIZE);
	uint8_t *bytes = malloc(size);

	if (size > 0) {
		memcpy(bytes, data + 1, size - 1);
		if (request_text(data[0] & 1, bytes, size - 1, text)) {
			assert(strnlen(text, REQUEST_SIZE) < REQUEST_SIZE);
			assert(text[0] != '\0' && strchr(text, '"') == NULL);
			for (const char *c = text; *c != '\0'; c++)
				assert(*c >= ' ' && *c <= '~');
		}
	}
	free(bytes);
	free(text);
	return 0;
}
