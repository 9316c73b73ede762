/* What can be shown where. */

#include <sys/ioctl.h>

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/view_private.h"

/* Less is no chart; in more, nobody finds the line again. */
#define WIDTH_MIN 40
#define WIDTH_MAX 200
#define WIDTH_DEFAULT 80

static unsigned
clamp(unsigned long width)
{
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width > WIDTH_MAX ? WIDTH_MAX : (unsigned)width;
}

static unsigned
find_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int fd = fileno(out);

	if (fd != -1 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return clamp(size.ws_col);
	if (columns != NULL && *columns >= '1' && *columns <= '9')
		return clamp(strtoul(columns, NULL, 10));
	return WIDTH_DEFAULT;
}

/* By the environment alone: the program itself stays in the C locale. */
static bool
is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool result;

	if (locale == (locale_t)0)
		return false;
	result = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return result;
}

struct view_style
view_style(FILE *out)
{
	return (struct view_style){
		.width = find_width(out),
		.utf8 = is_utf8(),
	};
}
