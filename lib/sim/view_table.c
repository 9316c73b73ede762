/* Cells in rows, as wide as they need to be. */

#include <assert.h>
#include <string.h>

#include "sim/view_private.h"

void
view_table(const struct words *cells, size_t rows, size_t columns, FILE *out)
{
	int width[VIEW_COLUMNS] = { 0 };

	assert(columns <= VIEW_COLUMNS);

	for (size_t i = 0; i < rows * columns; i++) {
		int len = (int)strlen(cells[i].text);

		if (len > width[i % columns])
			width[i % columns] = len;
	}
	for (size_t i = 0; i < rows * columns; i++) {
		size_t column = i % columns;

		if (column == 0)
			(void)fprintf(
			    out, "%-*s", width[column], cells[i].text);
		else
			(void)fprintf(
			    out, "  %*s", width[column], cells[i].text);
		if (column == columns - 1)
			(void)fputc('\n', out);
	}
}
