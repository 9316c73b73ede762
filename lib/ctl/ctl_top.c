/* apppoolctl top: a program of its own. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/ctl_top.h"

int
ctl_top(char **argv)
{
	static const char name[] = "apppool-top";
	char path[PATH_MAX];

	if (!conf_our_program(name, path, sizeof(path))) {
		(void)fprintf(stderr, "apppoolctl: %s is not in %s\n", name,
		    CONF_LIBEXECDIR);
		return EX_UNAVAILABLE;
	}
	(void)execv(path, argv);
	(void)fprintf(stderr, "apppoolctl: %s: %s\n", path, strerror(errno));
	return EX_OSERR;
}
