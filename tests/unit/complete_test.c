/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "complete.h"

static const char help[] =
	"{\"statements\": [{\"statement\": \"SHOW SERVICES\"},"
	" {\"statement\": \"SHOW MIRRORS [FROM|OF service]\"},"
	" {\"statement\": \"SHOW AGENT STATUS\"},"
	" {\"statement\": \"SHOW AGENT 'host:port'|service STATUS\"},"
	" {\"statement\": \"SET SERVICE service setting = 'value'\"},"
	" {\"statement\": \"CHECK SERVICE service\"},"
	" {\"statement\": \"RESET FLOWS [FROM mirror|service]\"},"
	" {\"statement\": \"ALTER SERVICE service DROP MIRROR mirror\"},"
	" {\"statement\": \"SHOW EVENTS [SINCE time...]\"},"
	" {\"statement\": \"WHY [mirror|service]\"},"
	" {\"statement\": \"EXPLAIN 'src:port' TO 'vip:port/proto'|service\"},"
	" {\"statement\": \"HELP [statement...]\"}],"
	" \"arguments\": {\"service\": [\"web\", \"web-2\", \"search\"],"
	" \"mirror\": [\"web.m1\", \"web.m2\", \"search.m1\"],"
	" \"host:port\": [\"10.0.0.1:80\"], \"vip:port/proto\": [\"192.0.2.1:80/tcp\"],"
	" \"setting\": [\"ha_strategy\", \"karma_gain\"], \"ha_strategy\": [\"random\", \"nodeads\"]}}";

static struct complete *complete;
static struct completions completions;

static void
setup(void)
{
	complete = complete_create(help);
	ck_assert_ptr_nonnull(complete);
}

static void
teardown(void)
{
	complete_free(complete);
}

/* The words that 'text' may go on with, in one line. */
static const char *
words(const char *text)
{
	static char line[COMPLETE_WORDS_MAX * COMPLETE_WORD_MAX];
	size_t n = 0;

	complete_text(complete, text, strlen(text), &completions);
	line[0] = '\0';
	for (unsigned i = 0; i < completions.n_words; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i == 0 ? "" : " ",
			completions.words[i]);
	return line;
}

START_TEST(what_may_follow_is_offered)
{
	ck_assert_str_eq(words(""), "SHOW SET CHECK RESET ALTER WHY EXPLAIN HELP top events");
	ck_assert_str_eq(words("S"), "SHOW SET");
	ck_assert_uint_eq(completions.common, 1);
	ck_assert_str_eq(words("SHOW "), "SERVICES MIRRORS AGENT EVENTS");
	ck_assert_str_eq(words("SHOW MIRRORS "), "FROM OF");
	ck_assert_str_eq(words("SHOW MIRRORS FROM "), "web web-2 search");
	ck_assert_str_eq(words("SHOW AGENT "), "STATUS 10.0.0.1:80 web web-2 search");
	ck_assert_str_eq(words("SHOW SERVICES "), "");
	ck_assert_str_eq(words("nonsense "), "");
}
END_TEST

START_TEST(keywords_go_on_in_the_case_they_were_begun_in)
{
	ck_assert_str_eq(words("sh"), "show");
	ck_assert_str_eq(words("SH"), "SHOW");
	ck_assert_str_eq(words("show mir"), "mirrors");
}
END_TEST

START_TEST(what_all_candidates_share_is_known)
{
	ck_assert_str_eq(words("SHOW MIRRORS FROM w"), "web web-2");
	ck_assert_uint_eq(completions.typed, 1);
	ck_assert_uint_eq(completions.common, 3);
}
END_TEST

START_TEST(a_settings_values_are_offered_and_the_sign_before_them)
{
	ck_assert_str_eq(words("set service web h"), "ha_strategy");
	ck_assert_str_eq(words("set service web ha_strategy "), "=");
	ck_assert_str_eq(words("set service web ha_strategy = "), "random nodeads");
	ck_assert_str_eq(words("set service web ha_strategy=no"), "nodeads");
	ck_assert_str_eq(words("set service web karma_gain = "), "");
}
END_TEST

START_TEST(an_open_quote_is_respected)
{
	ck_assert_str_eq(words("set service web ha_strategy = 'r"), "random");
	ck_assert(completions.is_open);
	ck_assert_int_eq(completions.quote, '\'');
	ck_assert_str_eq(words("SHOW 'M"), "");
}
END_TEST

START_TEST(each_of_the_things_that_may_stand_there_is_offered)
{
	ck_assert_str_eq(words("RESET FLOWS FROM "), "web.m1 web.m2 search.m1 web web-2 search");
	ck_assert_str_eq(words("WHY web."), "web.m1 web.m2");
	ck_assert_str_eq(words("SHOW AGENT '1"), "10.0.0.1:80");
	ck_assert_str_eq(words("EXPLAIN '192.0.2.7:5' TO 1"), "192.0.2.1:80/tcp");
}
END_TEST

START_TEST(behind_its_service_a_mirror_has_no_other_name)
{
	ck_assert_str_eq(words("ALTER SERVICE web DROP MIRROR "), "m1 m2");
	ck_assert_str_eq(words("ALTER SERVICE search DROP MIRROR m"), "m1");
}
END_TEST

START_TEST(help_goes_on_with_the_words_of_statements)
{
	ck_assert_str_eq(words("HELP "), "SHOW SET CHECK RESET ALTER WHY EXPLAIN HELP");
	ck_assert_str_eq(words("help show m"), "mirrors");
	ck_assert_str_eq(words("HELP SHOW MIRRORS FROM "), "");
}
END_TEST

START_TEST(karmactls_own_words_go_on_like_the_statements_that_they_stand_for)
{
	ck_assert_str_eq(words("to"), "top");
	ck_assert_str_eq(words("check "), "web web-2 search");
	ck_assert_str_eq(words("check service s"), "search");
	ck_assert_str_eq(words("SHOW SERVICES; top s"), "search");
	ck_assert_str_eq(words("events "), "SINCE");
	ck_assert_str_eq(words("why w"), "web.m1 web.m2 web web-2");
	ck_assert_str_eq(words("why 192.0.2.7:5 w"), "web web-2");
}
END_TEST

START_TEST(only_the_last_statement_counts)
{
	ck_assert_str_eq(words("SHOW SERVICES; HE"), "HELP");
	ck_assert_str_eq(words("SHOW SERVICES; W"), "WHY");
}
END_TEST

START_TEST(what_is_no_help_is_refused)
{
	ck_assert_ptr_null(complete_create(""));
	ck_assert_ptr_null(complete_create("[1, 2]"));
	ck_assert_ptr_null(complete_create("{\"error\": \"out of memory\"}"));
	ck_assert_ptr_null(complete_create("{\"statements\": 3, \"arguments\": {}}"));
	ck_assert_ptr_null(complete_create("{\"statements\": [], \"arguments\": 7}"));
	struct complete *odd = complete_create("{\"statements\": [1, {\"statement\": null}, {},"
					       " {\"statement\": \"SHOW [[A [a b c d e f g h i\"}],"
					       " \"arguments\": {\"service\": 3}}");

	ck_assert_ptr_nonnull(odd);
	complete_text(odd, "SHOW a b c d e f g h i j k ", 27, &completions);
	complete_free(odd);
}
END_TEST

START_TEST(random_text_is_completed_without_harm)
{
	uint64_t state = 88172645463325252;

	for (unsigned round = 0; round < 5000; round++) {
		char text[40];
		size_t size = state % sizeof(text);

		for (size_t i = 0; i < size; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			text[i] = "SHOWMIRFAsetvicew -2='\";\n\xff"[state % 26];
		}
		char *copy = malloc(size > 0 ? size : 1);

		memcpy(copy, text, size);
		complete_text(complete, copy, size, &completions);
		ck_assert_uint_ge(completions.common, completions.typed);
		free(copy);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("complete");
	TCase *tc = tcase_create("complete");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_may_follow_is_offered);
	tcase_add_test(tc, keywords_go_on_in_the_case_they_were_begun_in);
	tcase_add_test(tc, what_all_candidates_share_is_known);
	tcase_add_test(tc, a_settings_values_are_offered_and_the_sign_before_them);
	tcase_add_test(tc, an_open_quote_is_respected);
	tcase_add_test(tc, each_of_the_things_that_may_stand_there_is_offered);
	tcase_add_test(tc, behind_its_service_a_mirror_has_no_other_name);
	tcase_add_test(tc, help_goes_on_with_the_words_of_statements);
	tcase_add_test(tc, karmactls_own_words_go_on_like_the_statements_that_they_stand_for);
	tcase_add_test(tc, only_the_last_statement_counts);
	tcase_add_test(tc, what_is_no_help_is_refused);
	tcase_add_test(tc, random_text_is_completed_without_harm);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
