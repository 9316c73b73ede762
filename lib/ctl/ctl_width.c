/* How wide a table may be. */

#include <sys/ioctl.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl_width.h"
#include "sys/number.h"

size_t
ctl_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns != NULL && number_parse(columns, strlen(columns), &n))
		return n > SIZE_MAX / 2 ? 0 : (size_t)n;
	if (isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		return size.ws_col;
	return 0;
}
