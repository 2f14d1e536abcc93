/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "err.h"
#include "options.h"

static struct options options;
static struct err err;

/* Parses "karmalb-controlplane" and the given words. */
static bool
parse(const char *words)
{
	static char copy[400];
	static char program[] = "karmalb-controlplane";
	char *argv[16] = {program}, *next = copy;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word; (word = strsep(&next, " ")) != NULL;) {
		if (word[0] != '\0')
			argv[argc++] = word;
	}
	return options_parse(argc, argv, &options, &err) == 0;
}

START_TEST(without_words_it_runs_with_the_defaults)
{
	ck_assert(parse(""));
	ck_assert_int_eq(options.action, OPTIONS_RUN);
	ck_assert_int_eq(options.log_level, LOG_LEVEL_INFO);
	ck_assert_str_eq(options.run_dir, "/run/karmalb");
	ck_assert_str_eq(options.config_path, "/etc/karmalb/karmalb.conf");
}
END_TEST

START_TEST(words_say_otherwise_in_any_order)
{
	ck_assert(parse("a.conf --run-dir /tmp/x --log-level=debug"));
	ck_assert_int_eq(options.action, OPTIONS_RUN);
	ck_assert_int_eq(options.log_level, LOG_LEVEL_DEBUG);
	ck_assert_str_eq(options.run_dir, "/tmp/x");
	ck_assert_str_eq(options.config_path, "a.conf");
	ck_assert(parse("--check a.conf"));
	ck_assert_int_eq(options.action, OPTIONS_CHECK);
	ck_assert_str_eq(options.config_path, "a.conf");
	ck_assert(parse("--check"));
	ck_assert_str_eq(options.config_path, "/etc/karmalb/karmalb.conf");
	ck_assert(parse("--dataplane-arguments a.conf"));
	ck_assert_int_eq(options.action, OPTIONS_DATAPLANE_ARGUMENTS);
	ck_assert(parse("--help"));
	ck_assert_int_eq(options.action, OPTIONS_HELP);
	ck_assert(parse("--version"));
	ck_assert_int_eq(options.action, OPTIONS_VERSION);
	ck_assert(parse("-- --check"));
	ck_assert_int_eq(options.action, OPTIONS_RUN);
	ck_assert_str_eq(options.config_path, "--check");
}
END_TEST

START_TEST(wrong_words_are_answered_with_a_sentence)
{
	static const struct {
		const char *words, *sentence;
	} rows[] = {
		{"--chek a.conf", "--chek is not an option, see --help"},
		{"-x a.conf", "-x is not an option, see --help"},
		{"a.conf --run-dir", "--run-dir needs a value, see --help"},
		{"--run-dir tmp", "--run-dir tmp: expected an absolute path"},
		{"--log-level loud", "--log-level loud: expected error, warning, info or debug"},
		{"--check --version", "expected at most one of --check, "
				      "--dataplane-arguments, --help and --version"},
		{"--check=yes a.conf", "--check=yes takes no value, see --help"},
		{"a.conf b.conf", "b.conf: expected one configuration file only"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(!parse(rows[i].words), "%s", rows[i].words);
		ck_assert_str_eq(err.sentence, rows[i].sentence);
	}
}
END_TEST

START_TEST(a_run_dir_leaves_room_for_its_sockets)
{
	char words[OPTIONS_RUN_DIR_MAX + 20] = "--run-dir ";

	memset(words + strlen("--run-dir "), '/', OPTIONS_RUN_DIR_MAX);
	ck_assert(parse(words));
	words[strlen(words)] = '/';
	ck_assert(!parse(words));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("options");
	TCase *tc = tcase_create("options");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, without_words_it_runs_with_the_defaults);
	tcase_add_test(tc, words_say_otherwise_in_any_order);
	tcase_add_test(tc, wrong_words_are_answered_with_a_sentence);
	tcase_add_test(tc, a_run_dir_leaves_room_for_its_sockets);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
