/* Times and sizes, as short as a table wants them. */

#include <inttypes.h>
#include <stdio.h>

#include "sys/figure.h"

const char *
figure_span(tspan span, char *buf, size_t size)
{
	int64_t us = span / TSPAN_USECONDS(1), s = span / TSPAN_SECONDS(1);

	if (span == 0)
		(void)snprintf(buf, size, "0");
	else if (us < 1000)
		(void)snprintf(buf, size, "%" PRId64 "us", us);
	else if (s < 1)
		(void)snprintf(buf, size, "%.1fms", (double)us / 1e3);
	else if (s < 60)
		(void)snprintf(buf, size, "%.1fs", (double)us / 1e6);
	else if (s < 3600)
		(void)snprintf(
		    buf, size, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
	else if (s < 86400)
		(void)snprintf(buf, size, "%" PRId64 "h%02" PRId64 "m",
		    s / 3600, s / 60 % 60);
	else
		(void)snprintf(buf, size, "%" PRId64 "d%02" PRId64 "h",
		    s / 86400, s / 3600 % 24);
	return buf;
}

const char *
figure_size(int64_t bytes, char *buf, size_t size)
{
	static const char units[] = "KMGTPE";
	double n = (double)bytes;
	int unit = -1;

	while (n >= 1024 && units[unit + 1] != '\0') {
		n /= 1024;
		unit++;
	}
	if (unit == -1)
		(void)snprintf(buf, size, "%" PRId64, bytes);
	else
		(void)snprintf(buf, size, "%.1f%c", n, units[unit]);
	return buf;
}
