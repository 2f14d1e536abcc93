/* SPDX-License-Identifier: BSD-3-Clause */
/* What SAVE CONFIG kept, before a live control plane: at its start, and by RELOAD. */
#include <stdio.h>
#include <stdlib.h>

#include <check.h>

#include "web.h"

/* As the file that SAVE CONFIG writes. */
static void
write_saved(const char *lines)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/saved.statements", web.fake.dir);
	out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	fputs(lines, out);
	fclose(out);
}

static void
start_again(void)
{
	fake_kill(&web.fake);
	fake_run(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE + 1, 0, 0, -1);
}

START_TEST(a_saved_line_that_this_version_cannot_do_does_not_keep_it_from_starting)
{
	write_saved("ALTER SERVICE web DEFAULT load_balancing;\n"
		    "SET SERVICE web agent_connect_timeout = '111ms';\n");
	start_again();
	web_expect_limits(111, WEB_QUERY_MS);
	web_expect_in_log("load_balancing is not available in this version", 1);
}
END_TEST

START_TEST(mirrors_that_were_all_replaced_are_there_again_at_start)
{
	struct web_change c;
	struct intent *intent;

	web_begin();
	c = web_send_change("ALTER SERVICE web ADD MIRROR n1 '10.0.0.9'");
	fake_apply(&web.fake, c.intent);
	web_assert_told(&c, "in force after");
	for (unsigned i = 1; i <= 4; i++) {
		char statement[64];

		snprintf(statement, sizeof(statement), "ALTER SERVICE web DROP MIRROR m%u", i);
		c = web_send_change(statement);
		fake_apply(&web.fake, c.intent);
		web_assert_told(&c, "in force after");
	}
	web_assert_shows("SAVE CONFIG", "5 statements saved");
	start_again();
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(intent->n_mirrors, 1);
	ck_assert_str_eq(intent->mirrors[0].name, "n1");
	web_apply_and_free(intent);
}
END_TEST

START_TEST(a_reload_says_what_it_left_out)
{
	struct web_change reload;

	web_begin();
	write_saved("SET MIRROR web.gone STATE = drain;\n"
		    "SET SERVICE web agent_connect_timeout = '111ms';\n"
		    "SET MIRROR web.gone2 STATE = drain;\n");
	reload = web_send_change("RELOAD");
	fake_apply(&web.fake, reload.intent);
	web_assert_told(&reload,
		"ms. Left out of what was saved: SET MIRROR web.gone STATE = drain: service web "
		"has no mirror \"gone\" (and 1 more).\n");
	/* also where nothing has changed */
	web_assert_shows(
		"RELOAD", "it is so already. Left out of what was saved: SET MIRROR web.g");
	web_assert_shows("SHOW STATUS", "; left out of what was saved: SET MIRROR web.gone STATE");
}
END_TEST

START_TEST(a_change_is_answered_with_what_the_next_start_has)
{
	web_begin();
	web_assert_shows("SET SERVICE web dead_after = 4",
		"web: dead_after was 4 already, as in defaults; from now on it is the service's "
		"own. Not saved: the next start takes it from defaults again.\n");
	web_assert_shows(
		"SHOW DIFF", "service web: dead_after 4 (the service's own from now on)\n");
	web_expect_in_log(": service web: dead_after 4 (the service's own from now on) (", 1);
	web_assert_shows("SET GLOBAL dead_after = 9", "(0 of 1 services have no value of their");
	web_assert_shows("SET SERVICE web dead_after = 5",
		". Not saved: the configuration file still says 4.\n");
	web_assert_shows("SAVE CONFIG", "2 statements saved");
	web_assert_shows("SET SERVICE web dead_after = 5",
		"was 5 already. Saved; the configuration file itself says 4.\n");
	web_assert_says(
		web_read_answer(web_ask_json("SET SERVICE web dead_after = 5")), "\"saved\": true");
	web_assert_shows("SET SERVICE web dead_after = 6",
		". Not saved: what SAVE CONFIG kept still says 5.\n");
	web_assert_shows("SET SERVICE web ha_strategy = nodeads",
		"was nodeads already. The configuration file says so too.\n");
}
END_TEST

START_TEST(what_goes_back_to_what_is_saved_is_not_called_unsaved)
{
	web_begin();
	web_assert_shows("SET GLOBAL dead_after = 9", ". Not saved (SAVE CONFIG keeps it).\n");
	web_assert_shows("SET GLOBAL dead_after = 4", ". The next start has all of it so, too.\n");
	web_assert_shows("SET GLOBAL dead_after = 9", ". Not saved (SAVE CONFIG keeps it).\n");
	web_assert_shows("SAVE CONFIG", "1 statement saved");
	web_assert_shows("SET GLOBAL dead_after = 4", ". Not saved (SAVE CONFIG keeps it).\n");
	web_assert_shows("SET GLOBAL dead_after = 9", ". The next start has all of it so, too.\n");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("saved");
	TCase *tc = tcase_create("saved");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 45);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, a_saved_line_that_this_version_cannot_do_does_not_keep_it_from_starting);
	tcase_add_test(tc, mirrors_that_were_all_replaced_are_there_again_at_start);
	tcase_add_test(tc, a_reload_says_what_it_left_out);
	tcase_add_test(tc, a_change_is_answered_with_what_the_next_start_has);
	tcase_add_test(tc, what_goes_back_to_what_is_saved_is_not_called_unsaved);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
