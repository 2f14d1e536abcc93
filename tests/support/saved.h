/* SPDX-License-Identifier: BSD-3-Clause */
/* What SAVE CONFIG keeps, for tests of both its ways. */
#pragma once

#include <stdio.h>

#include <check.h>

#include "plan.h"

/* The statements that lead from 'file' to 'config', one a line; to be freed. */
static inline char *
saved_statements(const struct config *file, const struct config *config)
{
	struct plan plan;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(plan_make(&plan, file, config), 0);
	plan_print_statements(&plan, out);
	plan_fini(&plan);
	fclose(out);
	return text;
}
