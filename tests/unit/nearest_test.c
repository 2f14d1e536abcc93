/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "nearest.h"

static const char *
nearest_of(const char *typed)
{
	static const char *const names[] = {
		"name", "listen", "mirrors", "ha_strategy", "ha_period_karma", "ping", "ping_port"};
	struct nearest nearest = nearest_to(typed);

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_offer(&nearest, names[i]);
	return nearest.name == NULL ? "" : nearest.name;
}

START_TEST(a_slip_of_the_finger_finds_its_name)
{
	ck_assert_str_eq(nearest_of("ha_stratgy"), "ha_strategy");   /* one missing */
	ck_assert_str_eq(nearest_of("ha_strattegy"), "ha_strategy"); /* one too many */
	ck_assert_str_eq(nearest_of("ha_startegy"), "ha_strategy");  /* two swapped */
	ck_assert_str_eq(nearest_of("ha-strategy"), "ha_strategy");  /* one other */
	ck_assert_str_eq(nearest_of("HA_STRATEGY"), "ha_strategy");
	ck_assert_str_eq(nearest_of("mirror"), "mirrors");
	ck_assert_str_eq(nearest_of("pign"), "ping");
	ck_assert_str_eq(nearest_of("karma_period"), "");
}
END_TEST

START_TEST(what_resembles_nothing_finds_nothing)
{
	char longer[500];

	memset(longer, 'p', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	ck_assert_str_eq(nearest_of(""), "");
	ck_assert_str_eq(nearest_of("x"), "");
	ck_assert_str_eq(nearest_of("certificate"), "");
	ck_assert_str_eq(nearest_of(longer), "");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("nearest");
	TCase *tc = tcase_create("nearest");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_slip_of_the_finger_finds_its_name);
	tcase_add_test(tc, what_resembles_nothing_finds_nothing);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
