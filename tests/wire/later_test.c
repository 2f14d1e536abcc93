/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes that no data plane has confirmed when it goes, or that are made while there is none:
 * their authors are told so, and the next data plane decides. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <karmalb/clock.h>

#include "web.h"

#define CHANGE  "SET SERVICE web agent_connect_timeout = '111ms'"
#define UNKNOWN "HTTP/1.1 202 "

/* The next one comes; what it is sent first. */
static struct intent *
come_back(uint64_t instance)
{
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, instance, 0, 0, -1);
	return fake_expect_intent(&web.fake, WEB_PROMPT_MS);
}

static void
refuse(struct intent *intent)
{
	fake_refuse(&web.fake, intent, -ENOSPC, "no room");
	intent_free(intent);
}

static void
assert_waiting(unsigned n)
{
	const char *answer = web_read_answer(web_ask("SHOW STATUS"));
	const char *found = strstr(answer, "\nchanges_waiting ");

	ck_assert_ptr_nonnull(found);
	ck_assert_uint_eq(strtoul(found + strlen("\nchanges_waiting "), NULL, 10), n);
}

START_TEST(a_change_without_a_data_plane_is_told_as_not_in_force_yet)
{
	const char *answer;

	web_begin();
	fake_close(&web.fake);
	answer = web_read_answer(web_ask(CHANGE));
	web_assert_says(answer, UNKNOWN);
	web_assert_says(answer, "1s -> 111ms, taken, not in force yet");
	web_assert_says(answer, "when the data plane is back");
	answer = web_read_answer(web_ask("ALTER SERVICE web DROP MIRROR m4"));
	web_assert_says(answer, UNKNOWN);
	assert_waiting(2);
	web_assert_shows("SHOW DIFF", "2 differences from the configuration file, 2 changes wait");
	web_apply_and_free(come_back(WEB_INSTANCE + 1));
	web_expect_in_log("what was not confirmed in time is in force after", 1);
	assert_waiting(0);
	web_assert_shows("SHOW DIFF", "2 differences from the configuration file.");
}
END_TEST

START_TEST(what_the_next_data_plane_turns_down_is_taken_back)
{
	web_begin();
	fake_close(&web.fake);
	web_assert_shows(CHANGE, "when the data plane is back");
	refuse(come_back(WEB_INSTANCE + 1));
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_expect_in_log("data plane did not take epoch", 1);
	web_assert_shows("SHOW EVENTS",
		"taken back: user id 0: SET SERVICE web agent_connect_timeout = 111ms");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_waiting(0);
}
END_TEST

START_TEST(a_change_that_was_sent_waits_for_the_next_data_plane)
{
	struct web_change change;

	web_begin();
	change = web_send_change(CHANGE);
	fake_close(&web.fake);
	web_assert_told(&change, UNKNOWN);
	web_assert_shows("ALTER SERVICE web DROP MIRROR m4", UNKNOWN);
	refuse(come_back(WEB_INSTANCE));
	web_expect_limits(WEB_CONNECT_MS, WEB_QUERY_MS);
	web_assert_shows("SHOW EVENTS", "(and 1 after it)");
	web_assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

/* Slots as another instance numbers them: from behind. */
static void
send_slots(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct karmalb_slot slot = {
			.listen = {karmalb_address_from_v4(inet_addr("192.0.2.10")), htons(80),
				IPPROTO_TCP},
			.address = {karmalb_address_from_v4(htonl(0x0a000001 + i)), htons(80),
				IPPROTO_TCP},
			.slot = (uint16_t)(3 - i),
			.is_selected = 1,
			.share = web_equal[i],
		};
		struct karmalb_slot_totals totals = {
			.slot = slot.slot, .stamp_us = karmalb_now_us()};

		fake_send(&web.fake, KARMALB_MESSAGE_SLOT, &slot);
		fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, &totals);
	}
}

/* The data plane has the mirror, names its slot while nobody wants it, and never again. */
START_TEST(a_mirror_that_was_dropped_meanwhile_is_counted_on_when_it_returns)
{
	struct karmalb_slot_totals m4 = {
		.slot = 0,
		.errors_in_row = 4,
		.last_error = KARMALB_OUTCOME_CONNECT_FAILURES,
		.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES] = 4,
	};
	struct karmalb_applied taken = {0};
	struct intent *intent;

	web_begin();
	fake_close(&web.fake);
	web_assert_shows("ALTER SERVICE web DROP MIRROR m4", UNKNOWN);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE + 1, web.fake.epoch, 4, -1);
	send_slots();
	refuse(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(intent->n_mirrors, 4);
	taken.epoch = intent->epoch;
	taken.applied_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_APPLIED, &taken);
	intent_free(intent);
	m4.stamp_us = m4.row_began_us = m4.last_error_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, &m4);
	web_expect_in_log("mirror web/m4: up -> dead", 1);
}
END_TEST

/* Nobody's memory is to fill up with ways back. */
START_TEST(many_changes_without_a_data_plane_stay)
{
	char statement[80];

	web_begin();
	fake_close(&web.fake);
	for (unsigned i = 1; i <= 65; i++) {
		snprintf(statement, sizeof(statement),
			"SET SERVICE web agent_connect_timeout = '%ums'", i);
		web_assert_shows(statement, UNKNOWN);
	}
	assert_waiting(1);
	refuse(come_back(WEB_INSTANCE + 1));
	web_expect_limits(64, WEB_QUERY_MS);
	web_expect_in_log("stay whatever the data plane says", 1);
}
END_TEST

START_TEST(nothing_to_change_is_in_force_without_a_data_plane)
{
	const char *answer;

	web_begin();
	fake_close(&web.fake);
	answer = web_read_answer(web_ask("RELOAD"));
	web_assert_says(answer, "HTTP/1.1 200 ");
	web_assert_says(answer, "Nothing to change");
	web_assert_shows("SET SERVICE web agent_connect_timeout = '1s'", "HTTP/1.1 200 ");
	assert_waiting(0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("later");
	TCase *tc = tcase_create("later");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 45);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, a_change_without_a_data_plane_is_told_as_not_in_force_yet);
	tcase_add_test(tc, what_the_next_data_plane_turns_down_is_taken_back);
	tcase_add_test(tc, a_change_that_was_sent_waits_for_the_next_data_plane);
	tcase_add_test(tc, a_mirror_that_was_dropped_meanwhile_is_counted_on_when_it_returns);
	tcase_add_test(tc, many_changes_without_a_data_plane_stay);
	tcase_add_test(tc, nothing_to_change_is_in_force_without_a_data_plane);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
