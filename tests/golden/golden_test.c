/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole files against whole outputs.  good/NAME.conf yields NAME.normal and NAME.arguments; each
 * case of bad.txt yields exactly the lines behind its ">>>".
 *
 * In bad.txt a case begins with "### its_promise"; %head stands for what every file needs before
 * its services, %rest for what a service needs besides its name.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "config.h"
#include "dataplane_arguments.h"

static const char head[] = "config_version = 1; dataplane = { ports = ( { name = \"p\"; "
			   "device = \"af_xdp:eth0\"; } ); sources = [ \"10.0.0.1\" ]; };";
static const char rest[] = "listen = [ \"192.0.2.1:80/tcp\" ]; "
			   "mirrors = ( { name = \"m\"; address = \"10.0.0.2\"; } );";

static const struct {
	const char *conf, *name;
} good_files[] = {
	{GOLDEN_DIR "/good/minimal.conf", "minimal"},
	{GOLDEN_DIR "/good/everything.conf", "everything"},
	{EXAMPLES_DIR "/karmalb.conf", "example"},
};

/* The whole file, to be freed.  Also called outside of tests, hence no ck_assert. */
static char *
read_all(const char *path)
{
	FILE *input = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (input == NULL || getdelim(&text, &size, '\0', input) < 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fclose(input);
	return text;
}

static const struct config *
load_good(const char *path)
{
	struct config_errors errors;
	const struct config *config = config_load(path, &errors);

	if (config == NULL)
		config_errors_print(&errors, stderr);
	ck_assert_msg(config != NULL, "%s is refused", path);
	return config;
}

static char *
normal_form(const struct config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	config_print(config, out);
	fclose(out);
	return text;
}

START_TEST(a_good_file_has_this_normal_form)
{
	char path[256];
	const struct config *config = load_good(good_files[_i].conf);
	char *normal = normal_form(config);

	snprintf(path, sizeof(path), "%s/good/%s.normal", GOLDEN_DIR, good_files[_i].name);
	char *expected = read_all(path);

	ck_assert_str_eq(normal, expected);
	free(expected);
	free(normal);
	config_free(config);
}
END_TEST

START_TEST(a_normal_form_is_its_own_normal_form)
{
	struct config_errors errors;
	const struct config *config = load_good(good_files[_i].conf);
	char *first = normal_form(config);
	const struct config *again = config_parse("first", first, strlen(first), &errors);

	ck_assert_ptr_nonnull(again);
	char *second = normal_form(again);

	ck_assert_str_eq(second, first);
	free(second);
	config_free(again);
	free(first);
	config_free(config);
}
END_TEST

START_TEST(a_good_file_asks_for_these_arguments)
{
	char path[256];
	char *arguments = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&arguments, &size);
	const struct config *config = load_good(good_files[_i].conf);

	dataplane_arguments_print(&config->dataplane, out);
	fclose(out);
	snprintf(path, sizeof(path), "%s/good/%s.arguments", GOLDEN_DIR, good_files[_i].name);
	char *expected = read_all(path);

	ck_assert_str_eq(arguments, expected);
	free(expected);
	free(arguments);
	config_free(config);
}
END_TEST

/* One case of bad.txt; the texts point into 'bad_text' and end where their lengths say. */
struct bad {
	const char *text, *expected;
	size_t text_length, expected_length;
};

static char *bad_text;
static struct bad bads[200];
static unsigned n_bads;

static void
split_bads(void)
{
	bad_text = read_all(GOLDEN_DIR "/bad.txt");
	for (const char *p = strstr(bad_text, "### "); p != NULL; n_bads++) {
		struct bad *bad = &bads[n_bads];

		assert(n_bads < sizeof(bads) / sizeof(bads[0]));
		bad->text = strchr(p, '\n') + 1;
		const char *mark = strstr(bad->text, ">>>\n");

		assert(mark != NULL);
		bad->text_length = (size_t)(mark - bad->text);
		bad->expected = mark + 4;
		p = strstr(bad->expected, "\n### ");
		p = p != NULL ? p + 1 : NULL;
		bad->expected_length =
			p != NULL ? (size_t)(p - bad->expected) : strlen(bad->expected);
	}
}

/* The case's file, with %head and %rest replaced; to be freed. */
static char *
file_of(const struct bad *bad)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < bad->text_length;) {
		bool is_head = strncmp(bad->text + i, "%head", 5) == 0;

		if (is_head || strncmp(bad->text + i, "%rest", 5) == 0) {
			fputs(is_head ? head : rest, out);
			i += 5;
		} else {
			fputc(bad->text[i++], out);
		}
	}
	fclose(out);
	return text;
}

START_TEST(a_bad_file_is_answered_with_these_sentences)
{
	struct config_errors errors;
	char *text = file_of(&bads[_i]), *said = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&said, &size);

	ck_assert_ptr_null(config_parse("case.conf", text, strlen(text), &errors));
	config_errors_print(&errors, out);
	fclose(out);
	char *expected = strndup(bads[_i].expected, bads[_i].expected_length);

	ck_assert_msg(
		strcmp(said, expected) == 0, "%s\nsaid:\n%s\nexpected:\n%s", text, said, expected);
	free(expected);
	free(said);
	free(text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("golden");
	TCase *tc = tcase_create("golden");
	SRunner *runner = srunner_create(suite);
	int n_good = sizeof(good_files) / sizeof(good_files[0]);

	split_bads();
	suite_add_tcase(suite, tc);
	tcase_add_loop_test(tc, a_good_file_has_this_normal_form, 0, n_good);
	tcase_add_loop_test(tc, a_normal_form_is_its_own_normal_form, 0, n_good);
	tcase_add_loop_test(tc, a_good_file_asks_for_these_arguments, 0, n_good);
	tcase_add_loop_test(tc, a_bad_file_is_answered_with_these_sentences, 0, (int)n_bads);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	free(bad_text);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
