/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include <check.h>

#include "shortcut.h"

static void
check_full(const char *written, const char *want)
{
	char *full = shortcut_expand(written);

	ck_assert_str_eq(full, want);
	free(full);
}

START_TEST(a_short_word_stands_for_a_statement)
{
	check_full("check 'my web'", "CHECK SERVICE 'my web'");
	check_full(" CHECK  web ", "CHECK SERVICE web ");
	check_full("check", "CHECK SERVICE ");
	check_full("events", "SHOW EVENTS ");
	check_full("events 2026-11-30 09:00", "SHOW EVENTS SINCE 2026-11-30 09:00");
	check_full("events since 10m", "SHOW EVENTS since 10m");
	check_full("top", "SHOW MIRRORS ");
	check_full("why '192.0.2.7:5' web", "EXPLAIN '192.0.2.7:5' TO web");
}
END_TEST

START_TEST(a_statement_stays_as_it_is)
{
	check_full("check service web", "check service web");
	check_full("why web.m1", "why web.m1");
	check_full("why [2001:db8::1]:5", "why [2001:db8::1]:5");
	check_full("checks", "checks");
	check_full("", "");
}
END_TEST

START_TEST(top_is_told_from_others)
{
	char *service;

	ck_assert(shortcut_is_top("TOP 'my web';\n", &service));
	ck_assert_str_eq(service, "my web");
	free(service);
	ck_assert(shortcut_is_top("top", &service));
	ck_assert_ptr_null(service);
	ck_assert(!shortcut_is_top("top a b", &service));
	ck_assert(!shortcut_is_top("tops", &service));
	ck_assert(!shortcut_is_top("", &service));
	ck_assert_ptr_null(service);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shortcut");
	TCase *tc = tcase_create("shortcut");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_short_word_stands_for_a_statement);
	tcase_add_test(tc, a_statement_stays_as_it_is);
	tcase_add_test(tc, top_is_told_from_others);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
