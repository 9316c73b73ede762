/* Limits of our own process. */

#include <limits.h>

#include "sys/limits.h"

int
limits_raise_descriptors(struct rlimit *out)
{
	struct rlimit before, raised;

	if (getrlimit(RLIMIT_NOFILE, &before) == -1)
		return -1;
	raised = before;
	raised.rlim_cur = raised.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &raised) == -1)
		return -1;
	*out = before;
	return 0;
}

int
limits_descriptors(void)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) == -1)
		return -1;
	return now.rlim_cur > INT_MAX ? INT_MAX : (int)now.rlim_cur;
}
