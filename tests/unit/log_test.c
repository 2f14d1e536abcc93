/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "log.h"

static int pipe_fds[2];
static int saved_stderr;
static char text[4096];

static void
catch_stderr(void)
{
	saved_stderr = dup(STDERR_FILENO);
	ck_assert_int_eq(pipe(pipe_fds), 0);
	ck_assert_int_eq(dup2(pipe_fds[1], STDERR_FILENO), STDERR_FILENO);
	close(pipe_fds[1]);
}

/* Ends the catching; returns what was written. */
static const char *
caught_text(void)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	ssize_t n = read(pipe_fds[0], text, sizeof(text) - 1);

	close(pipe_fds[0]);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(lines_above_the_level_are_not_written)
{
	enum log_level level;

	catch_stderr();
	log_set_level(LOG_LEVEL_WARNING);
	log_error("one");
	log_warning("two");
	log_info("three");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("four");
	caught_text();
	ck_assert_ptr_nonnull(strstr(text, " error: one\n"));
	ck_assert_ptr_nonnull(strstr(text, " warning: two\n"));
	ck_assert_ptr_null(strstr(text, "three"));
	ck_assert_ptr_nonnull(strstr(text, " debug: four\n"));
	ck_assert(log_level_find("info", &level) && level == LOG_LEVEL_INFO);
	ck_assert(!log_level_find("loud", &level));
}
END_TEST

START_TEST(the_level_moves_by_steps_and_stops_at_its_ends)
{
	log_set_level(LOG_LEVEL_INFO);
	ck_assert_str_eq(log_change_level(true), "debug");
	ck_assert_str_eq(log_change_level(true), "debug");
	ck_assert_str_eq(log_change_level(false), "info");
	ck_assert_str_eq(log_change_level(false), "warning");
	ck_assert_str_eq(log_change_level(false), "error");
	ck_assert_str_eq(log_change_level(false), "error");
}
END_TEST

START_TEST(the_journal_gets_its_marks_and_no_time)
{
	setenv("JOURNAL_STREAM", "8:1", 1);
	catch_stderr();
	log_set_level(LOG_LEVEL_DEBUG);
	log_error("one");
	log_warning("two");
	log_info("three");
	log_debug("four");
	unsetenv("JOURNAL_STREAM");
	ck_assert_str_eq(caught_text(), "<3>one\n<4>two\n<6>three\n<7>four\n");
}
END_TEST

START_TEST(an_event_is_one_line_whatever_it_quotes)
{
	catch_stderr();
	log_info("from the wire: %s", "a\nb\r\x1b[2J");
	caught_text();
	ck_assert_ptr_nonnull(strstr(text, " info: from the wire: a?b??[2J\n"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(a_line_that_is_too_long_still_ends)
{
	char longer[3000];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	catch_stderr();
	log_info("%s", longer);
	caught_text();
	ck_assert_uint_gt(strlen(text), 1000);
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(a_flood_is_cut_and_the_next_line_says_by_how_much)
{
	struct log_limit limit = {.interval_us = 10 * KARMALB_SECOND, .burst = 2};
	uint64_t start_us = 5 * KARMALB_SECOND;

	catch_stderr();
	for (unsigned i = 0; i < 7; i++)
		log_limited(&limit, start_us + i, LOG_LEVEL_WARNING, "flood %u", i);
	log_limited(&limit, start_us + 10 * KARMALB_SECOND, LOG_LEVEL_WARNING, "later");
	log_limited(&limit, start_us + 11 * KARMALB_SECOND, LOG_LEVEL_WARNING, "last");
	caught_text();
	ck_assert_ptr_nonnull(strstr(text, "flood 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "flood 1\n"));
	ck_assert_ptr_null(strstr(text, "flood 2"));
	ck_assert_ptr_nonnull(strstr(text, "later (5 lines like this kept back)\n"));
	ck_assert_ptr_nonnull(strstr(text, "last\n"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, lines_above_the_level_are_not_written);
	tcase_add_test(tc, the_level_moves_by_steps_and_stops_at_its_ends);
	tcase_add_test(tc, the_journal_gets_its_marks_and_no_time);
	tcase_add_test(tc, an_event_is_one_line_whatever_it_quotes);
	tcase_add_test(tc, a_line_that_is_too_long_still_ends);
	tcase_add_test(tc, a_flood_is_cut_and_the_next_line_says_by_how_much);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
