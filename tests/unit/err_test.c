/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "err.h"

static struct err err;
static char text[ERR_TEXT_MAX];

START_TEST(a_sentence_says_its_place_as_far_as_it_is_known)
{
	ck_assert_int_eq(err_set(&err, "%d apples", 3), -EINVAL);
	ck_assert_str_eq(err_format(&err, text, sizeof(text)), "3 apples");
	err_locate(&err, "a.conf", 0);
	ck_assert_str_eq(err_format(&err, text, sizeof(text)), "a.conf: 3 apples");
	err_locate(&err, "a.conf", 7);
	ck_assert_str_eq(err_format(&err, text, sizeof(text)), "a.conf:7: 3 apples");
	ck_assert_int_eq(err_prefix(&err, "basket %s: ", "x"), -EINVAL);
	ck_assert_str_eq(err_format(&err, text, sizeof(text)), "a.conf:7: basket x: 3 apples");
	err_set(&err, "none");
	ck_assert_str_eq(err_format(&err, text, sizeof(text)), "none");
}
END_TEST

START_TEST(control_characters_do_not_reach_a_terminal)
{
	err_set(&err, "a%cb\nc\x1b[2J\xff", '\t');
	ck_assert_str_eq(err.sentence, "a?b?c?[2J?");
}
END_TEST

START_TEST(what_is_too_long_is_cut)
{
	char longer[2 * ERR_SENTENCE_MAX];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	err_set(&err, "%s", longer);
	ck_assert_uint_eq(strlen(err.sentence), ERR_SENTENCE_MAX - 1);
	err_prefix(&err, "%s", "yy");
	ck_assert_uint_eq(strlen(err.sentence), ERR_SENTENCE_MAX - 1);
	ck_assert_int_eq(strncmp(err.sentence, "yyxx", 4), 0);
	err_prefix(&err, "%s", longer);
	ck_assert_uint_eq(strlen(err.sentence), ERR_SENTENCE_MAX - 1);
	err_locate(&err, longer, 4294967295u);
	ck_assert_uint_lt(strlen(err_format(&err, text, sizeof(text))), sizeof(text) - 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("err");
	TCase *tc = tcase_create("err");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_sentence_says_its_place_as_far_as_it_is_known);
	tcase_add_test(tc, control_characters_do_not_reach_a_terminal);
	tcase_add_test(tc, what_is_too_long_is_cut);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
