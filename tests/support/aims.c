/* A file of figures with an aim: value, aim and name in each line. */

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "aims.h"

static void
note(double value, const char *bound, double aim, const char *what, va_list ap)
{
	const char *path = getenv("BENCH_AIMS");
	FILE *f;

	if (path == NULL)
		return;
	f = fopen(path, "ae");
	if (f == NULL)
		err(EX_CANTCREAT, "%s", path);
	(void)fprintf(f, "%.3g %s %.3g ", value, bound, aim);
	(void)vfprintf(f, what, ap);
	if (fputc('\n', f) == EOF || fclose(f) != 0)
		err(EX_IOERR, "%s", path);
}

void
aims_at_most(double value, double aim, const char *what, ...)
{
	va_list ap;

	va_start(ap, what);
	note(value, "<=", aim, what, ap);
	va_end(ap);
}

void
aims_at_least(double value, double aim, const char *what, ...)
{
	va_list ap;

	va_start(ap, what);
	note(value, ">=", aim, what, ap);
	va_end(ap);
}
