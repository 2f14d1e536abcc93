/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of fields.  Pure. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
table_add(struct table *t, const char *format, ...)
{
	char **cells = t->cells, *cell = NULL;
	va_list args;

	if ((t->n_cells & (t->n_cells - 1)) == 0) /* room is a power of two */
		cells = reallocarray(t->cells, t->n_cells > 0 ? 2 * t->n_cells : 1, sizeof(*cells));
	if (cells == NULL || t->is_incomplete) {
		t->is_incomplete = true;
		return;
	}
	t->cells = cells;
	va_start(args, format);
	if (format != NULL && vasprintf(&cell, format, args) < 0)
		t->is_incomplete = true;
	va_end(args);
	if (!t->is_incomplete)
		t->cells[t->n_cells++] = cell;
}

void
table_fini(struct table *t)
{
	for (unsigned i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	t->cells = NULL;
	t->n_cells = 0;
}
