/* SPDX-License-Identifier: BSD-3-Clause */
/* Drains that end by themselves, by the wall clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <check.h>

#include "web.h"

#define DRAIN_OVER "the drain's time is over: mirror web.m4: state drain until "

/* m4 gets no new connections for so long; the data plane has that. */
static void
drain_m4(const char *within)
{
	char statement[80];
	struct web_change drain;

	snprintf(statement, sizeof(statement), "SET MIRROR web.m4 STATE = drain WITHIN %s", within);
	drain = web_send_change(statement);
	ck_assert_double_eq(drain.intent->mirrors[3].share, 0);
	fake_apply(&web.fake, drain.intent);
	web_assert_told(&drain, "state active -> drain until 2");
}

START_TEST(a_drain_ends_by_itself)
{
	web_begin();
	drain_m4("200ms");
	web_expect_in_log(DRAIN_OVER, 1);
	web_assert_shows("SHOW DIFF", "mirror web.m4: state active -> maintenance");
}
END_TEST

START_TEST(a_drain_that_somebody_ended_stays_ended)
{
	struct web_change active;

	web_begin();
	drain_m4("3s");
	active = web_send_change("SET MIRROR web.m4 STATE = active");
	fake_apply(&web.fake, active.intent);
	web_assert_told(&active, "-> active");
	usleep(3500 * 1000);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, DRAIN_OVER), 0);
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

START_TEST(a_drain_whose_end_was_not_to_be_still_ends)
{
	struct web_change active;

	web_begin();
	drain_m4("500ms");
	active = web_send_change("SET MIRROR web.m4 STATE = active");
	usleep(700 * 1000); /* its time comes while nobody knows */
	fake_refuse(&web.fake, active.intent, -ENOSPC, "no room");
	web_assert_told(&active, "all is as before: no room");
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS)); /* the way back */
	web_expect_in_log(DRAIN_OVER, 1);
}
END_TEST

/* The end is a moment of the wall clock, and a start in between changes nothing about it. */
START_TEST(a_saved_drain_ends_after_a_restart)
{
	struct intent *intent;

	web_begin();
	drain_m4("8s");
	web_assert_shows("SHOW SETTINGS LIKE 'web.m4.state'", " statement ");
	web_assert_shows("SAVE CONFIG", "1 statement saved");
	web_assert_shows("SHOW SETTINGS LIKE 'web.m4.state'", " saved ");
	fake_kill(&web.fake);
	fake_run(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, web.fake.epoch, 0, -1);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_double_eq(intent->mirrors[3].share, 0);
	web_apply_and_free(intent);
	for (unsigned i = 0; i < 25 && fake_count_in_log(&web.fake, DRAIN_OVER) == 0; i++)
		sleep(1);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, DRAIN_OVER), 1);
	web_assert_shows("SHOW DIFF", "mirror web.m4: state active -> maintenance");
}
END_TEST
int
main(void)
{
	Suite *suite = suite_create("drains");
	TCase *tc = tcase_create("drains");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 45);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, a_drain_ends_by_itself);
	tcase_add_test(tc, a_drain_that_somebody_ended_stays_ended);
	tcase_add_test(tc, a_drain_whose_end_was_not_to_be_still_ends);
	tcase_add_test(tc, a_saved_drain_ends_after_a_restart);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
