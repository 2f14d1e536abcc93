/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <check.h>

#include "columns.h"

static char *
printed(struct columns *c, bool has_titles)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(has_titles ? columns_print : columns_print_rows)(c, out);
	fclose(out);
	columns_free(c);
	return text;
}

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
	struct columns *c = columns_create("NAME|>N|WHY");

	columns_add(c, "%s", "a");
	columns_add(c, "%d", 12345);
	columns_add(c, "%s", "because");
	columns_add(c, "%s", "longer");
	columns_add(c, "%d", 1);
	columns_add(c, "%s", "");
	char *text = printed(c, true);

	ck_assert_str_eq(text, "NAME        N  WHY\n"
			       "a       12345  because\n"
			       "longer      1\n");
	free(text);
}
END_TEST

START_TEST(no_line_ends_in_a_blank)
{
	struct columns *c = columns_create("A|B|>C");

	for (unsigned i = 0; i < 6; i++)
		columns_add(c, "%s", i == 3 ? "x" : "");
	char *text = printed(c, false);

	ck_assert_str_eq(text, "\nx\n");
	free(text);
}
END_TEST

START_TEST(width_counts_characters_and_control_characters_are_escaped)
{
	struct columns *c = columns_create("A|B");

	columns_add(c, "%s", "\xc3\xbc\xc3\xbc\xc3\xbc");
	columns_add(c, "%s", "x");
	columns_add(c, "%s", "\x1b");
	columns_add(c, "%s", "y");
	char *text = printed(c, false);

	ck_assert_str_eq(text, "\xc3\xbc\xc3\xbc\xc3\xbc   x\n\\x1b  y\n");
	free(text);
}
END_TEST

START_TEST(a_row_that_is_not_full_is_not_shown)
{
	struct columns *c = columns_create("A|B");

	columns_add(c, "%s", "x");
	char *text = printed(c, true);

	ck_assert_str_eq(text, "A  B\n");
	free(text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("columns");
	TCase *tc = tcase_create("columns");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, columns_are_as_wide_as_their_widest_cell);
	tcase_add_test(tc, no_line_ends_in_a_blank);
	tcase_add_test(tc, width_counts_characters_and_control_characters_are_escaped);
	tcase_add_test(tc, a_row_that_is_not_full_is_not_shown);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
