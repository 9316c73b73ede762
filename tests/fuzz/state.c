/* Any bytes as the state of a daemon, which another one reads in a dry run. */

#include <stdint.h>

#include "../support/inherited.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct conf *conf;
	struct carry c;
	bool good;

	if (conf == NULL)
		conf = inherited_conf();
	good = inherited_read(conf, (const char *)data, size, &c);
	/* A state is refused for a reason. */
	assert(good || c.why[0] != '\0');
	carry_fini(&c);
	inherited_free();
	return 0;
}
