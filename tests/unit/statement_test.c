/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "command_list.h"
#include "err.h"
#include "statement.h"
#include "text.h"

static const struct {
	const char *syntax, *help, *example;
} rows[] = {
#define X(name, kind, syntax, help, example) {syntax, help, example},
	COMMANDS(X)
#undef X
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const syntaxes[] = {
#define X(name, kind, syntax, help, example) syntax,
	COMMANDS(X)
#undef X
};

/* What later versions need of the grammar, so that it stays able to carry it. */
static const char *const later[] = {
	"SHOW FLOWS [FROM service] [LIMIT n]",
	"EXPLAIN 'src:port' TO 'vip:port/proto'",
	"SET MIRROR mirror OF service STATE = DRAIN [WITHIN time]",
	"SET MIRROR mirror OF service STATE = MAINTENANCE|ACTIVE",
	"ALTER SERVICE service ADD|DROP MIRROR mirror",
};

static struct statement st;
static struct err err;

static int
read_text(const char *text)
{
	return statement_read(&st, text, strlen(text), &err);
}

static int
match(const char *text)
{
	ck_assert_int_eq(read_text(text), 0);
	return statement_match(&st, syntaxes, N_ROWS, &err);
}

static const char *
refused(const char *text)
{
	err.sentence[0] = '\0';
	if (read_text(text) == 0)
		ck_assert_int_lt(statement_match(&st, syntaxes, N_ROWS, &err), 0);
	ck_assert_int_ne(err.sentence[0], '\0');
	return err.sentence;
}

START_TEST(every_row_has_help_and_an_example_that_is_its_own)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		size_t length = strlen(rows[i].help);

		ck_assert_msg(length > 10 && length < 100, "%s", rows[i].syntax);
		ck_assert_int_ne(rows[i].help[length - 1], '.');
		ck_assert_msg(match(rows[i].example) == (int)i, "%s", rows[i].example);
	}
}
END_TEST

START_TEST(keywords_are_taken_in_any_case_but_never_quoted)
{
	ck_assert_int_eq(match("show services"), match("SHOW SERVICES"));
	ck_assert_int_eq(match("  sHoW\tServices\r\n ; ;"), match("SHOW SERVICES"));
	refused("SHOW 'SERVICES'");
}
END_TEST

START_TEST(arguments_come_quoted_or_bare)
{
	static const char *const same[] = {
		"SET SERVICE web ha_strategy = 'nodeads'",
		"set service web ha_strategy=nodeads",
		"SET SERVICE 'web' \"ha_strategy\" = `nodeads`;",
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		ck_assert_int_ge(match(same[i]), 0);
		ck_assert_str_eq(statement_argument(&st, "service"), "web");
		ck_assert_str_eq(statement_argument(&st, "setting"), "ha_strategy");
		ck_assert_str_eq(statement_argument(&st, "value"), "nodeads");
		ck_assert_ptr_null(statement_argument(&st, "pattern"));
	}
}
END_TEST

START_TEST(a_quote_written_twice_is_itself)
{
	ck_assert_int_ge(match("SHOW STATUS LIKE 'it''s; \"x\" = `y`'"), 0);
	ck_assert_str_eq(statement_argument(&st, "pattern"), "it's; \"x\" = `y`");
	ck_assert_int_ge(match("SHOW STATUS LIKE ''"), 0);
	ck_assert_str_eq(statement_argument(&st, "pattern"), "");
}
END_TEST

START_TEST(optional_parts_may_be_left_out)
{
	ck_assert_int_ge(match("SHOW MIRRORS"), 0);
	ck_assert_ptr_null(statement_argument(&st, "service"));
	ck_assert_int_ge(match("SHOW MIRRORS OF from"), 0);
	ck_assert_str_eq(statement_argument(&st, "service"), "from");
}
END_TEST

START_TEST(the_earlier_row_is_meant_where_two_fit)
{
	int all = match("SHOW AGENT STATUS"), one = match("SHOW AGENT web STATUS");

	ck_assert_int_ne(all, one);
	ck_assert_str_eq(statement_argument(&st, "service"), "web");
	ck_assert_int_eq(match("SHOW AGENT STATUS LIKE 'a%'"), all);
	ck_assert_int_eq(match("SHOW AGENT STATUS STATUS LIKE 'a%'"), one);
	ck_assert_int_eq(match("SHOW AGENT '10.0.0.1:80' STATUS"), one);
	ck_assert_str_eq(statement_argument(&st, "service"), "10.0.0.1:80");
}
END_TEST

START_TEST(help_takes_all_words_to_the_end)
{
	ck_assert_int_ge(match("HELP SHOW AGENT STATUS"), 0);
	ck_assert_str_eq(statement_argument(&st, "statement"), "SHOW");
	ck_assert_int_ge(match("HELP"), 0);
	ck_assert_ptr_null(statement_argument(&st, "statement"));
}
END_TEST

START_TEST(the_beginning_of_a_statement_is_answered_with_what_may_follow)
{
	ck_assert_str_eq(refused("SHOW"),
		"SHOW what? SERVICES, MIRRORS, AGENT, KARMA, FLOWS, DROPS, STATUS, DIFF, "
		"EVENTS or SETTINGS");
	ck_assert_str_eq(refused("show mirrors from"), "show mirrors from what? service");
	ck_assert_str_eq(refused("SET SERVICE web x"), "SET SERVICE web x what? =");
	ck_assert_str_eq(refused("SHOW AGENT"), "SHOW AGENT what? STATUS or 'host:port'|service");
}
END_TEST

START_TEST(a_wrong_word_is_named_with_what_was_expected_and_meant)
{
	ck_assert_str_eq(refused("SHOW mirros"),
		"found \"mirros\" after SHOW, expected SERVICES, MIRRORS, AGENT, KARMA, FLOWS, DROPS, "
		"STATUS, DIFF, EVENTS or SETTINGS; did you mean MIRRORS?");
	ck_assert_str_eq(refused("shwo services"),
		"found \"shwo\", expected SHOW, EXPLAIN, CHECK, SET, STRATEGY, CREATE, ALTER, DROP, "
		"RESET, RELOAD, CONFIRM, SAVE, WHY or HELP; did you mean SHOW?");
	ck_assert_str_eq(refused("SHOW SERVICES now"),
		"found \"now\" after SHOW SERVICES, expected the end of the statement");
	ck_assert_str_eq(refused("SHOW MIRRORS form web"),
		"found \"form\" after SHOW MIRRORS, expected FROM|OF or the end of the statement; "
		"did you mean FROM?");
	ck_assert_str_eq(refused("SHOW MIRRORS FROM ="),
		"found \"=\" after SHOW MIRRORS FROM, expected service");
}
END_TEST

START_TEST(what_is_no_statement_gets_a_sentence)
{
	static char text[STATEMENT_SIZE_MAX + 2];

	ck_assert_str_eq(refused(""), "no statement was given; HELP lists them");
	ck_assert_str_eq(refused(" \n;;"), "no statement was given; HELP lists them");
	ck_assert_str_eq(
		refused("HELP; HELP"), "one statement at a time: there is more after the ';'");
	ck_assert_str_eq(
		refused("SHOW STATUS LIKE 'a"), "the quote ' opened at byte 18 is not closed");
	ck_assert_str_eq(refused("SHOW \x1b[2J"),
		"byte 6 of the statement is 0x1b, expected printable UTF-8 text");
	ck_assert_str_eq(refused("SHOW '\xc3('"),
		"byte 7 of the statement is 0xc3, expected printable UTF-8 text");
	ck_assert_str_eq(
		refused("\x7f"), "byte 1 of the statement is 0x7f, expected printable UTF-8 text");
	ck_assert_int_lt(statement_read(&st, "HELP\0HELP", 9, &err), 0);
	memset(text, 'x', sizeof(text) - 1);
	ck_assert_str_eq(
		refused(text), "the statement is 4097 bytes long, more than 4096 are not taken");
	for (size_t i = 0; i < STATEMENT_SIZE_MAX; i++)
		text[i] = "x "[i % 2];
	text[STATEMENT_SIZE_MAX] = '\0';
	ck_assert_str_eq(refused(text), "a statement has at most 128 words");
}
END_TEST

START_TEST(the_grammar_carries_what_is_to_come)
{
	static const char *const texts[] = {
		"show flows limit 10",
		"explain 10.0.0.1:1234 to '192.0.2.1:80/tcp'",
		"set mirror m1 of web state = drain within 30s",
		"set mirror m1 of web state = active",
		"alter service web drop mirror m1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_int_eq(read_text(texts[i]), 0);
		ck_assert_int_eq(statement_match(&st, later, 5, &err), (int)i);
	}
	ck_assert_str_eq(statement_argument(&st, "mirror"), "m1");
}
END_TEST

START_TEST(what_may_stand_next_is_known_for_completion)
{
	struct statement_expected expected;

	ck_assert_int_eq(read_text("SHOW MIRRORS"), 0);
	statement_expect(&st, syntaxes, N_ROWS, &expected);
	ck_assert(expected.is_complete);
	ck_assert_uint_eq(expected.at, 2);
	ck_assert_uint_eq(expected.n_items, 1);
	ck_assert_uint_eq(expected.items[0].length, 7);
	ck_assert_int_eq(strncmp(expected.items[0].text, "FROM|OF", 7), 0);
	st.n_tokens = 0;
	statement_expect(&st, syntaxes, N_ROWS, &expected);
	ck_assert_uint_eq(expected.n_items, 14);
	ck_assert(!expected.is_complete);
}
END_TEST

START_TEST(a_text_of_several_statements_is_split_outside_quotes)
{
	const char *text = "SHOW STATUS LIKE ';';HELP\nHELP";

	ck_assert_uint_eq(statement_length(text, strlen(text)), 20);
	ck_assert_uint_eq(statement_length(text + 21, strlen(text + 21)), 4);
	ck_assert_uint_eq(statement_length("", 0), 0);
}
END_TEST

/* xorshift64; the seed is fixed so that a failure comes back. */
static uint64_t random_state = 88172645463325252;

static unsigned
random_below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % n);
}

static void
try_bytes(const char *text, size_t size)
{
	/* On the heap and without a terminator, so that ASan sees a byte too many. */
	char *copy = malloc(size > 0 ? size : 1);

	memcpy(copy, text, size);
	err.sentence[0] = '\0';
	int rc = statement_read(&st, copy, size, &err);

	if (rc == 0)
		rc = statement_match(&st, syntaxes, N_ROWS, &err);
	ck_assert_int_lt(rc, (int)N_ROWS);
	ck_assert_int_eq(rc < 0, err.sentence[0] != '\0');
	ck_assert_uint_eq(text_printable(err.sentence, strlen(err.sentence)), strlen(err.sentence));
	ck_assert_uint_le(statement_length(copy, size), size);
	free(copy);
}

START_TEST(random_bytes_are_answered_with_a_printable_sentence)
{
	char text[300];

	for (unsigned round = 0; round < 5000; round++) {
		size_t size = random_below(sizeof(text));

		for (size_t i = 0; i < size; i++)
			text[i] = (char)random_below(256);
		try_bytes(text, size);
	}
}
END_TEST

START_TEST(random_mixes_of_real_words_are_taken_or_answered)
{
	static const char *const words[] = {"SHOW ", "MIRRORS ", "FROM ", "AGENT ", "STATUS ",
		"LIKE ", "SET ", "SERVICE ", "HELP ", "STRATEGY ", "x ", "'", "\"", "= ", ";", "ü ",
		"\n", "'%' ", ",", "\x80"};
	char text[600];

	for (unsigned round = 0; round < 10000; round++) {
		size_t size = 0;

		for (unsigned n = random_below(12); n > 0; n--)
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%s",
				words[random_below(sizeof(words) / sizeof(words[0]))]);
		try_bytes(text, size);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("statement");
	TCase *tc = tcase_create("statement");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, every_row_has_help_and_an_example_that_is_its_own);
	tcase_add_test(tc, keywords_are_taken_in_any_case_but_never_quoted);
	tcase_add_test(tc, arguments_come_quoted_or_bare);
	tcase_add_test(tc, a_quote_written_twice_is_itself);
	tcase_add_test(tc, optional_parts_may_be_left_out);
	tcase_add_test(tc, the_earlier_row_is_meant_where_two_fit);
	tcase_add_test(tc, help_takes_all_words_to_the_end);
	tcase_add_test(tc, the_beginning_of_a_statement_is_answered_with_what_may_follow);
	tcase_add_test(tc, a_wrong_word_is_named_with_what_was_expected_and_meant);
	tcase_add_test(tc, what_is_no_statement_gets_a_sentence);
	tcase_add_test(tc, the_grammar_carries_what_is_to_come);
	tcase_add_test(tc, what_may_stand_next_is_known_for_completion);
	tcase_add_test(tc, a_text_of_several_statements_is_split_outside_quotes);
	tcase_add_test(tc, random_bytes_are_answered_with_a_printable_sentence);
	tcase_add_test(tc, random_mixes_of_real_words_are_taken_or_answered);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
