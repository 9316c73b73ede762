/* The same load, time after time. */

#include <stdlib.h>
#include <sysexits.h>

#include "sim/compare.h"
#include "sim/policies.h"
#include "sim/pool_driver.h"
#include "sim/view.h"

/* One for our rules, which are the first, and one for each policy. */
#define COMPARE_ROWS (1 + POLICIES)

static int
compare_row(const struct simulation *s, unsigned row, struct result *out)
{
	struct manager *m;
	int status;

	if (row == 0)
		m = pool_driver_new(s->conf, s->load.seed);
	else
		m = policies_new(row - 1, s->conf, s->load.seed);
	if (m == NULL)
		return simulate_no_memory();
	status = simulate_run(s, m, out);
	m->ops->fini(m);
	return status;
}

int
compare_main(const struct simulation *s)
{
	struct result *rows = calloc(COMPARE_ROWS, sizeof(*rows));
	unsigned row = 0;
	int status = EX_OK;

	if (rows == NULL)
		return simulate_no_memory();
	while (status == EX_OK && row < COMPARE_ROWS) {
		status = compare_row(s, row, &rows[row]);
		if (status == EX_OK)
			row++;
	}
	if (status == EX_OK && !s->json)
		view_compare(s, rows, row, stdout);
	else if (status == EX_OK &&
	    view_compare_json(s, rows, row, stdout) == -1)
		status = simulate_no_memory();
	while (row > 0)
		result_fini(&rows[--row]);
	free(rows);
	return status;
}
