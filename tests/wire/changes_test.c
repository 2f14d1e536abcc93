/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes that the data plane turns down, in every order in which its answers may come: what is in
 * force, what the files are compared with and what the authors are told agree in the end.  Reloads:
 * reloads_test.c; changes while there is no data plane: later_test.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <check.h>

#include <karmalb/clock.h>

#include "web.h"

#define FIRST  "SET SERVICE web agent_connect_timeout = '111ms'"
#define SECOND "SET SERVICE web agent_query_timeout = '2222ms'"

/* ---- two statements ---- */

START_TEST(a_refused_change_takes_the_one_after_it_along)
{
	struct web_change first, second;

	web_begin();
	first = web_send_change(FIRST);
	second = web_send_change(SECOND);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	fake_apply(&web.fake, second.intent); /* it holds the first one, too */
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&first, "turned down by the data plane, all is as before: no room");
	web_assert_told(&second, "with a change before it: no room");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	web_expect_silence();
}
END_TEST

START_TEST(the_second_of_two_is_undone_and_the_first_stays)
{
	struct web_change first, second;

	web_begin();
	first = web_send_change(FIRST);
	second = web_send_change(SECOND);
	fake_apply(&web.fake, first.intent);
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room");
	web_expect_limits(111, WEB_QUERY_MS);
	web_assert_told(&first, "in force after");
	web_assert_told(&second, "all is as before: no room");
	web_assert_shows("SHOW DIFF", "1 difference ");
	web_expect_silence();
}
END_TEST

START_TEST(the_first_gave_way_and_the_second_was_turned_down)
{
	struct web_change first, second;

	web_begin();
	first = web_send_change(FIRST);
	second = web_send_change(SECOND);
	fake_refuse(&web.fake, first.intent, -ECANCELED, "gave way");
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&first, "all is as before: no room");
	web_assert_told(&second, "all is as before: no room");
	web_expect_silence();
}
END_TEST

START_TEST(both_turned_down_are_undone_once)
{
	struct web_change first, second;

	web_begin();
	first = web_send_change(FIRST);
	second = web_send_change(SECOND);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room either");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&first, "no room");
	web_assert_told(&second, "with a change before it");
	web_expect_silence();
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "is taken back"), 1);
}
END_TEST

START_TEST(a_change_after_the_way_back_is_not_taken_along)
{
	struct web_change first, second, third;
	struct intent *back;

	web_begin();
	first = web_send_change(FIRST);
	second = web_send_change(SECOND);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	back = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	third = web_send_change("SET SERVICE web agent_connect_timeout = '333ms'");
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room either"); /* late */
	web_apply_and_free(back);
	fake_apply(&web.fake, third.intent);
	ck_assert_uint_eq(third.intent->services[0].connect_timeout_ms, 333);
	ck_assert_uint_eq(third.intent->services[0].query_timeout_ms, WEB_QUERY_MS);
	web_assert_told(&first, "no room");
	web_assert_told(&second, "with a change before it");
	web_assert_told(&third, "in force after");
	web_expect_silence();
}
END_TEST

START_TEST(a_change_of_our_own_affairs_goes_with_what_it_stands_on)
{
	struct web_change first;
	int own;

	web_begin();
	first = web_send_change(FIRST);
	own = web_ask("SET SERVICE web karma_gain = '0.5'");
	web_expect_silence();
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_told(&first, "no room");
	web_assert_says(web_read_answer(own), "turned down");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

START_TEST(an_edit_that_nobody_confirms_is_told_as_taken)
{
	struct web_change drop;
	const char *answer;

	web_begin();
	drop = web_send_change("ALTER SERVICE web DROP MIRROR m4");
	answer = web_read_answer(drop.fd);
	web_assert_says(answer, "HTTP/1.1 202 ");
	web_assert_says(answer, "m4");
	web_assert_says(answer, "1 change: taken, but not confirmed");
	web_assert_shows("SHOW DIFF", "1 difference ");
	intent_free(drop.intent);
}
END_TEST

START_TEST(a_late_refusal_still_undoes)
{
	struct web_change first;

	web_begin();
	first = web_send_change(FIRST);
	web_assert_says(web_read_answer(first.fd), "taken, but not confirmed");
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	intent_free(first.intent);
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	web_assert_shows("SHOW EVENTS", "taken back");
}
END_TEST

/* The data plane never dropped it, so it names its slot no second time. */
START_TEST(a_mirror_whose_drop_was_refused_is_counted_on)
{
	struct karmalb_slot_totals m4 = {
		.slot = 3,
		.errors_in_row = 4,
		.last_error = KARMALB_OUTCOME_CONNECT_FAILURES,
		.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES] = 4,
	};
	struct karmalb_applied taken = {0};
	struct intent *back;
	struct web_change drop;

	web_begin();
	drop = web_send_change("ALTER SERVICE web DROP MIRROR m4");
	ck_assert_uint_eq(drop.intent->n_mirrors, 3);
	fake_refuse(&web.fake, drop.intent, -ENOSPC, "no room");
	back = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(back->n_mirrors, 4);
	taken.epoch = back->epoch;
	taken.applied_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_APPLIED, &taken);
	intent_free(back);
	web_assert_told(&drop, "all is as before: no room");
	m4.stamp_us = m4.row_began_us = m4.last_error_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, &m4);
	web_expect_in_log("mirror web/m4: up -> dead", 1);
}
END_TEST

/* ---- what is not wanted by anybody ---- */

START_TEST(a_port_that_goes_and_comes_is_an_event_each)
{
	struct karmalb_port_status port = {.name = "front", .device = "af_xdp:eth1", .is_up = 1};
	static const uint8_t states[] = {1, 0, 0, 1};

	web_begin();
	for (unsigned i = 0; i < sizeof(states); i++) {
		port.is_up = states[i];
		port.steered += 1; /* news of another kind */
		fake_send(&web.fake, KARMALB_MESSAGE_PORT_STATUS, &port);
	}
	web_expect_in_log("port front (af_xdp:eth1): down -> up", 1);
	web_expect_in_log("port front (af_xdp:eth1): up -> down", 1);
	web_assert_shows("SHOW EVENTS", "port front (af_xdp:eth1): down -> up");

	port.link_losses = 5; /* too short to be seen */
	fake_send(&web.fake, KARMALB_MESSAGE_PORT_STATUS, &port);
	web_expect_in_log("port front (af_xdp:eth1): up -> down -> up", 1);

	/* one that went while nobody looked */
	fake_close(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, web.fake.epoch, 0, -1);
	port.is_up = 0;
	fake_send(&web.fake, KARMALB_MESSAGE_PORT_STATUS, &port);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	web_expect_in_log("port front (af_xdp:eth1): up -> down", 3);
}
END_TEST
/* Once it is sent flows may end: it has not failed because nobody says so. */
START_TEST(a_reset_of_flows_that_nobody_answers_is_not_confirmed)
{
	int fd;
	const char *answer;

	web_begin();
	fd = web_ask("RESET FLOWS FROM web");
	web_expect_in_log("audit: user id 0: RESET FLOWS of web", 1);
	fake_close(&web.fake);
	answer = web_read_answer(fd);
	web_assert_says(answer, "HTTP/1.1 202 ");
	web_assert_says(answer,
		"RESET FLOWS of web: sent, but not confirmed: the data plane did not answer in "
		"time, or has gone.\n");
	web_assert_shows("SHOW EVENTS", "RESET FLOWS by user id 0: flows of web: not confirmed");
	fake_accept(&web.fake, WEB_PROMPT_MS);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("changes");
	TCase *tc = tcase_create("changes");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 45);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, a_refused_change_takes_the_one_after_it_along);
	tcase_add_test(tc, the_second_of_two_is_undone_and_the_first_stays);
	tcase_add_test(tc, the_first_gave_way_and_the_second_was_turned_down);
	tcase_add_test(tc, both_turned_down_are_undone_once);
	tcase_add_test(tc, a_change_after_the_way_back_is_not_taken_along);
	tcase_add_test(tc, a_change_of_our_own_affairs_goes_with_what_it_stands_on);
	tcase_add_test(tc, an_edit_that_nobody_confirms_is_told_as_taken);
	tcase_add_test(tc, a_late_refusal_still_undoes);
	tcase_add_test(tc, a_mirror_whose_drop_was_refused_is_counted_on);
	tcase_add_test(tc, a_port_that_goes_and_comes_is_an_event_each);
	tcase_add_test(tc, a_reset_of_flows_that_nobody_answers_is_not_confirmed);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
