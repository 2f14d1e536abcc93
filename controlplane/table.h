/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of named fields, built once and shown in any form.  Pure; an allocation that fails is
 * remembered, not reported each time. */
#pragma once

#include <stdbool.h>

#define TABLE_COLUMNS_MAX 12

struct table_column {
	const char *name;  /* "answer_mean_ms" */
	const char *title; /* "MEAN ms" */
	bool is_number;
};

/* Zeroed but for the columns: empty. */
struct table {
	const struct table_column *columns;
	unsigned n_columns;
	unsigned n_cells; /* row by row */
	bool is_incomplete;
	char **cells; /* NULL: not known */
};

/* The next cell; NULL 'format': not known. */
void
table_add(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

void
table_fini(struct table *t);
