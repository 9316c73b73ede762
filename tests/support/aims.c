/* A file of figures with an aim: value, aim and name in each line. */

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "aims.h"

void
aims_note(double value, const char *bound, double aim, const char *what, ...)
{
	const char *path = getenv("BENCH_AIMS");
	va_list ap;
	FILE *f;

	if (path == NULL)
		return;
	f = fopen(path, "ae");
	if (f == NULL)
		err(EX_CANTCREAT, "%s", path);
	(void)fprintf(f, "%.3g %s %.3g ", value, bound, aim);
	va_start(ap, what);
	(void)vfprintf(f, what, ap);
	va_end(ap);
	if (fputc('\n', f) == EOF || fclose(f) != 0)
		err(EX_IOERR, "%s", path);
}
