/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "arguments.h"
#include "err.h"

/* getopt and we move these words, but never write into them. */
#define WORDS(...)        ((char **)(const char *[]){__VA_ARGS__, NULL})
#define N_WORDS(...)      (sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))
#define JOINED(text, ...) check_joined(text, WORDS(__VA_ARGS__), N_WORDS(__VA_ARGS__))

static void
check_joined(const char *want, char *const *words, unsigned n_words)
{
	char *text = arguments_join(words, n_words);

	ck_assert_str_eq(text, want);
	free(text);
}

START_TEST(words_make_a_statement)
{
	JOINED("show mirrors", "show", "mirrors");
	JOINED("set service web ha_strategy = nodeads", "set", "service", "web", "ha_strategy", "=",
		"nodeads");
	JOINED("set service web ha_strategy=nodeads", "set", "service", "web",
		"ha_strategy=nodeads");
}
END_TEST

START_TEST(a_single_word_is_a_statement_as_it_is)
{
	JOINED("show mirrors; show drops", "show mirrors; show drops");
	JOINED("", "");
}
END_TEST

START_TEST(quotes_that_the_shell_took_away_are_put_back)
{
	JOINED("set x = 'a b'", "set", "x", "=", "a b");
	JOINED("set x = ''", "set", "x", "=", "");
	JOINED("set x = 'it''s'", "set", "x", "=", "it's");
	JOINED("set x = 'a;b'", "set", "x", "=", "a;b");
}
END_TEST

START_TEST(quotes_that_are_still_there_stay)
{
	JOINED("set x = 'a b'", "set", "x", "=", "'a b'");
	JOINED("set x='a'", "set", "x='a'");
}
END_TEST

static int
parse(struct arguments *arguments, struct err *err, char **words, int n_words)
{
	return arguments_parse(n_words, words, arguments, err);
}

START_TEST(options_may_stand_behind_the_words)
{
	struct arguments a;
	struct err err;

	ck_assert_int_eq(
		parse(&a, &err, WORDS("karmactl", "show", "mirrors", "-j", "-s", "/x"), 6), 0);
	ck_assert_int_eq(a.action, ARGUMENTS_STATEMENTS);
	ck_assert_str_eq(a.statements[0], "show mirrors");
	ck_assert_str_eq(a.socket, "/x");
	ck_assert_int_eq(a.form, CLIENT_JSON);
	arguments_free(&a);
}
END_TEST

START_TEST(top_takes_a_count_and_a_service)
{
	struct arguments a;
	struct err err;

	ck_assert_int_eq(parse(&a, &err, WORDS("karmactl", "-n", "3", "TOP", "web"), 5), 0);
	ck_assert_int_eq(a.action, ARGUMENTS_TOP);
	ck_assert_uint_eq(a.count, 3);
	ck_assert_str_eq(a.service, "web");
	arguments_free(&a);
}
END_TEST

START_TEST(nothing_at_all_means_standard_input)
{
	struct arguments a;
	struct err err;

	ck_assert_int_eq(parse(&a, &err, WORDS("karmactl"), 1), 0);
	ck_assert_int_eq(a.action, ARGUMENTS_STDIN);
	arguments_free(&a);
}
END_TEST

START_TEST(what_does_not_fit_is_named)
{
	struct arguments a;
	struct err err;

	ck_assert_int_lt(parse(&a, &err, WORDS("karmactl", "--nonsense"), 2), 0);
	ck_assert_str_eq(err.sentence, "there is no option --nonsense");
	arguments_free(&a);
	ck_assert_int_lt(parse(&a, &err, WORDS("karmactl", "-e"), 2), 0);
	ck_assert_str_eq(err.sentence, "-e needs a value");
	arguments_free(&a);
	ck_assert_int_lt(parse(&a, &err, WORDS("karmactl", "-e", "HELP", "show"), 4), 0);
	ck_assert_str_eq(err.sentence, "found \"show\" beside -e; expected the one or the other");
	arguments_free(&a);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("arguments");
	TCase *tc = tcase_create("arguments");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, words_make_a_statement);
	tcase_add_test(tc, a_single_word_is_a_statement_as_it_is);
	tcase_add_test(tc, quotes_that_the_shell_took_away_are_put_back);
	tcase_add_test(tc, quotes_that_are_still_there_stay);
	tcase_add_test(tc, options_may_stand_behind_the_words);
	tcase_add_test(tc, top_takes_a_count_and_a_service);
	tcase_add_test(tc, nothing_at_all_means_standard_input);
	tcase_add_test(tc, what_does_not_fit_is_named);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
