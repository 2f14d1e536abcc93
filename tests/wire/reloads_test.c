/* SPDX-License-Identifier: BSD-3-Clause */
/* Reloads that the data plane turns down, that nobody confirms, or that it never answers: what is
 * in force, what SHOW DIFF compares with and what the authors are told agree in the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "web.h"

/* The same service with another time limit. */
static void
write_file(const char *timeout)
{
	char services[500];

	snprintf(services, sizeof(services),
		"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; ha_strategy = \"nodeads\";\n"
		"  karma_rule = \"documented\"; ha_period_karma = \"1s\"; ping = \"none\"; slow_start = 0;\n"
		"  agent_connect_timeout = \"%s\"; mirrors = (\n"
		"  { name = \"m1\"; address = \"10.0.0.1\"; }, { name = \"m2\"; address = \"10.0.0.2\"; },\n"
		"  { name = \"m3\"; address = \"10.0.0.3\"; }, { name = \"m4\"; address = \"10.0.0.4\"; }\n"
		"  ); }",
		timeout);
	fake_configure(&web.fake, services);
}

static void
assert_reloads(const char *ok, const char *failed)
{
	char pair[64];

	snprintf(pair, sizeof(pair), "\nreloads_ok  %s\n", ok);
	web_assert_shows("SHOW STATUS LIKE 'reloads_ok'", pair);
	snprintf(pair, sizeof(pair), "\nreloads_failed  %s\n", failed);
	web_assert_shows("SHOW STATUS LIKE 'reloads_failed'", pair);
}

START_TEST(a_refused_reload_leaves_the_former_file)
{
	struct web_change reload;

	web_begin();
	write_file("111ms");
	reload = web_send_change("RELOAD");
	ck_assert_uint_eq(reload.intent->services[0].connect_timeout_ms, 111);
	fake_refuse(&web.fake, reload.intent, -ENOSPC, "no room");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&reload, "all is as before: no room");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("0", "1");
	web_assert_shows("SHOW EVENTS", "RELOAD: turned down by the data plane, all is as before");
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "RELOAD: read "), 0);

	/* the same once more, and it is taken */
	reload = web_send_change("RELOAD");
	fake_apply(&web.fake, reload.intent);
	web_assert_told(&reload, "in force after");
	assert_reloads("1", "1");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

START_TEST(a_file_that_says_the_same_is_not_sent)
{
	web_begin();
	web_assert_shows("RELOAD", "Nothing to change: it is so already");
	web_expect_silence();
	assert_reloads("1", "0");
}
END_TEST

START_TEST(a_refused_reload_has_nothing_to_confirm)
{
	struct web_change reload;

	web_begin();
	write_file("111ms");
	reload = web_send_change("RELOAD CONFIRM WITHIN 1s");
	fake_refuse(&web.fake, reload.intent, -ENOSPC, "no room");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&reload, "no room");
	web_assert_shows("CONFIRM RELOAD", "no reload waits to be confirmed");
	ck_assert_ptr_null(fake_next_intent(&web.fake, 1500)); /* no way back to walk */
	assert_reloads("0", "1");
}
END_TEST

START_TEST(two_reloads_refused_leave_the_file_before_both)
{
	struct web_change first, second;

	web_begin();
	write_file("111ms");
	first = web_send_change("RELOAD");
	write_file("222ms");
	second = web_send_change("RELOAD");
	ck_assert_uint_eq(second.intent->services[0].connect_timeout_ms, 222);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&first, "no room");
	web_assert_told(&second, "with a change before it");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("0", "2");
}
END_TEST

START_TEST(an_unconfirmed_reload_goes_back_by_itself)
{
	struct web_change reload;

	web_begin();
	write_file("111ms");
	reload = web_send_change("RELOAD CONFIRM WITHIN 1s");
	fake_apply(&web.fake, reload.intent);
	web_assert_told(&reload, "in force after");
	assert_reloads("1", "0");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	web_assert_shows("SHOW EVENTS", "not confirmed in time");
	web_assert_shows("CONFIRM RELOAD", "no reload waits to be confirmed");
}
END_TEST

START_TEST(a_confirmed_reload_stays)
{
	struct web_change reload;

	web_begin();
	write_file("111ms");
	reload = web_send_change("RELOAD CONFIRM WITHIN 2s");
	fake_apply(&web.fake, reload.intent);
	web_assert_told(&reload, "in force after");
	web_assert_shows("CONFIRM RELOAD", "confirmed: the reload stays in force.\n");
	ck_assert_ptr_null(fake_next_intent(&web.fake, 2500));
	assert_reloads("1", "0");
}
END_TEST

START_TEST(a_way_back_that_is_turned_down_leaves_the_reload)
{
	struct web_change reload;
	struct intent *back;

	web_begin();
	write_file("111ms");
	reload = web_send_change("RELOAD CONFIRM WITHIN 1s");
	fake_apply(&web.fake, reload.intent);
	web_assert_told(&reload, "in force after");
	back = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	fake_refuse(&web.fake, back, -ENOSPC, "no room");
	intent_free(back);
	web_expect_limits(111, WEB_QUERY_MS);
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("1", "1");
	web_assert_shows("SHOW STATUS", "the way back was turned down");
}
END_TEST

START_TEST(a_reload_that_changes_nothing_waits_for_nobody)
{
	web_begin();
	web_assert_shows("RELOAD CONFIRM WITHIN 1s",
		"Nothing to change: it is so already. Nothing waits for CONFIRM RELOAD.\n");
	web_assert_shows("CONFIRM RELOAD", "no reload waits to be confirmed");
	ck_assert_ptr_null(fake_next_intent(&web.fake, 1500));
	assert_reloads("1", "0");
}
END_TEST

/* Of a file with many mistakes each is told; for programs, log and events on one line. */
START_TEST(all_mistakes_of_a_file_are_told_on_one_line)
{
	static const char both[] = ": dead_after = 0: expected a whole number from 1 to 1000; ";
	const char *answer;

	web_begin();
	fake_configure(&web.fake,
		"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; dead_after = 0;\n"
		" nonsense = 1; mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; } ); }");
	answer = web_read_answer(web_ask_json("RELOAD"));
	web_assert_says(answer, both);
	ck_assert_ptr_null(strstr(answer, "x0a"));
	web_assert_shows("SHOW EVENTS", both);
	web_expect_in_log(both, 1);
	web_assert_shows("RELOAD", "from 1 to 1000\n/tmp/karmalb-wire-");
}
END_TEST

START_TEST(a_lost_data_plane_turns_nothing_down)
{
	struct web_change reload;

	web_begin();
	write_file("111ms");
	reload = web_send_change("RELOAD");
	fake_close(&web.fake);
	web_assert_told(&reload, "when the data plane is back");
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE + 1, 0, 0, -1);
	web_expect_limits(111, WEB_QUERY_MS);
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("1", "0");
}
END_TEST
int
main(void)
{
	Suite *suite = suite_create("reloads");
	TCase *tc = tcase_create("reloads");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 45);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, a_refused_reload_leaves_the_former_file);
	tcase_add_test(tc, a_file_that_says_the_same_is_not_sent);
	tcase_add_test(tc, a_refused_reload_has_nothing_to_confirm);
	tcase_add_test(tc, two_reloads_refused_leave_the_file_before_both);
	tcase_add_test(tc, an_unconfirmed_reload_goes_back_by_itself);
	tcase_add_test(tc, a_confirmed_reload_stays);
	tcase_add_test(tc, a_way_back_that_is_turned_down_leaves_the_reload);
	tcase_add_test(tc, a_lost_data_plane_turns_nothing_down);
	tcase_add_test(tc, a_reload_that_changes_nothing_waits_for_nobody);
	tcase_add_test(tc, all_mistakes_of_a_file_are_told_on_one_line);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
