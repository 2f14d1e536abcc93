/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "text.h"

START_TEST(like_knows_any_run_and_any_one_character)
{
	ck_assert(text_like("ag_0_errorsarow", "ag_0_errorsarow"));
	ck_assert(text_like("ag_0_errorsarow", "ag%errors%"));
	ck_assert(text_like("ag_0_errorsarow", "%arow"));
	ck_assert(text_like("ag_10_ping", "ag____ping"));
	ck_assert(text_like("", "%"));
	ck_assert(text_like("", ""));
	ck_assert(text_like("aaab", "%a%ab"));
	ck_assert(text_like("\xc3\xbc"
			    "x",
		"_x"));
	ck_assert(!text_like("ag_0_ping", "ag_0_pin"));
	ck_assert(!text_like("ag_0_ping", ""));
	ck_assert(!text_like("", "_"));
	ck_assert(!text_like("ab", "a%c"));
}
END_TEST

START_TEST(like_minds_case)
{
	ck_assert(!text_like("ag_0_ping", "AG_%"));
}
END_TEST

START_TEST(like_stays_quick_on_a_pattern_made_to_be_slow)
{
	char text[2001], pattern[2001];

	memset(text, 'a', 2000);
	for (size_t i = 0; i < 2000; i++)
		pattern[i] = "%a"[i % 2];
	text[2000] = '\0';
	pattern[2000] = '\0';
	pattern[1999] = 'b';
	ck_assert(!text_like(text, pattern));
}
END_TEST

/* The definition, spelt out; only for short texts. */
static bool
like_by_definition(const char *text, const char *pattern)
{
	if (*pattern == '\0')
		return *text == '\0';
	if (*pattern == '%')
		return like_by_definition(text, pattern + 1) ||
		       (*text != '\0' && like_by_definition(text + 1, pattern));
	return *text != '\0' && (*pattern == '_' || *pattern == *text) &&
	       like_by_definition(text + 1, pattern + 1);
}

START_TEST(like_agrees_with_its_definition_on_all_short_texts)
{
	char text[6], pattern[6];
	unsigned n_wrong = 0;

	for (unsigned t = 0; t < 3 * 3 * 3 * 3 * 3; t++) {
		for (unsigned p = 0; p < 5 * 5 * 5 * 5 * 5; p++) {
			for (unsigned i = 0, x = t; i < 5; i++, x /= 3)
				text[i] = "\0ab"[x % 3];
			for (unsigned i = 0, x = p; i < 5; i++, x /= 5)
				pattern[i] = "\0ab%_"[x % 5];
			text[5] = pattern[5] = '\0';
			n_wrong += text_like(text, pattern) != like_by_definition(text, pattern);
		}
	}
	ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

START_TEST(a_name_in_parts_is_like_by_its_whole_or_its_last)
{
	ck_assert(text_like_name("defaults.ha_strategy", "ha_%"));
	ck_assert(text_like_name("defaults.ha_strategy", "ha_strategy"));
	ck_assert(text_like_name("defaults.ha_strategy", "defaults.ha_%"));
	ck_assert(text_like_name("defaults.ha_strategy", "defaults.%"));
	ck_assert(text_like_name("my.web.ha_strategy", "ha_%")); /* a service may have points */
	ck_assert(!text_like_name("my.web.ha_strategy", "web.ha_%"));
	ck_assert(!text_like_name("defaults.ha_strategy", "defaults"));
	ck_assert(!text_like_name("defaults.ha_strategy", "strategy"));
	ck_assert(text_like_name("flows", "fl%"));
	ck_assert(!text_like_name("flows", "lows"));
}
END_TEST

START_TEST(control_characters_and_odd_bytes_are_escaped)
{
	char out[64];

	ck_assert_str_eq(text_escape("plain \xc3\xbc", out, sizeof(out)), "plain \xc3\xbc");
	ck_assert_str_eq(text_escape("a\x1b[2Jb\n\x7f", out, sizeof(out)), "a\\x1b[2Jb\\x0a\\x7f");
	ck_assert_str_eq(text_escape("\xc2\x9b", out, sizeof(out)), "\\xc2\\x9b");
	ck_assert_str_eq(text_escape("\xff\xc3", out, sizeof(out)), "\\xff\\xc3");
	ck_assert_str_eq(text_escape("\xe2\x80\xae", out, sizeof(out)), "\\xe2\\x80\\xae");
	ck_assert_str_eq(
		text_escape("\xc0\x80\xed\xa0\x80", out, sizeof(out)), "\\xc0\\x80\\xed\\xa0\\x80");
}
END_TEST

START_TEST(what_does_not_fit_is_cut_with_dots_and_never_inside_a_character)
{
	char out[8];

	ck_assert_str_eq(text_escape("1234567", out, sizeof(out)), "1234567");
	ck_assert_str_eq(text_escape("12345678", out, sizeof(out)), "1234...");
	ck_assert_str_eq(text_escape("123\xc3\xbc"
				     "678",
				 out, sizeof(out)),
		"123...");
	ck_assert_str_eq(text_escape("12\x01\x02", out, sizeof(out)), "12...");
	for (size_t size = 1; size < sizeof(out); size++)
		ck_assert_uint_lt(strlen(text_escape("1234567", out, size)), size);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("text");
	TCase *tc = tcase_create("text");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, like_knows_any_run_and_any_one_character);
	tcase_add_test(tc, like_minds_case);
	tcase_add_test(tc, like_stays_quick_on_a_pattern_made_to_be_slow);
	tcase_add_test(tc, like_agrees_with_its_definition_on_all_short_texts);
	tcase_add_test(tc, a_name_in_parts_is_like_by_its_whole_or_its_last);
	tcase_add_test(tc, control_characters_and_odd_bytes_are_escaped);
	tcase_add_test(tc, what_does_not_fit_is_cut_with_dots_and_never_inside_a_character);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
