/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * karmalb-controlplane as a process, seen from the other end of its socket: what it announces, and
 * when.  Real time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "web.h"

#define PERIOD_US   KARMALB_SECOND
#define SOME_ERRORS 4

/* ---- the transaction ---- */

START_TEST(it_sends_everything_as_configured)
{
	struct intent *intent;

	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(intent->epoch, 1);
	ck_assert_uint_eq(intent->n_services, 1);
	ck_assert_uint_eq(intent->n_mirrors, 4);
	ck_assert_str_eq(intent->services[0].name, "web");
	ck_assert_str_eq(intent->mirrors[2].name, "m3");
	ck_assert_uint_eq(intent->services[0].connect_timeout_ms, 1000);
	ck_assert_uint_eq(intent->services[0].query_timeout_ms, 3000);
	web_assert_shares(intent, web_equal, 1e-12);
	web_apply_and_free(intent);
	ck_assert_ptr_null(fake_next_intent(&web.fake, 300)); /* nothing new, nothing sent */
}
END_TEST

START_TEST(shares_in_force_are_announced_again)
{
	struct intent *intent;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	ck_assert_ptr_null(fake_next_intent(&web.fake, 100)); /* not before all slots are known */
	web_send_pairs(web_w1);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(intent->epoch, 42);
	web_assert_shares(intent, web_w1, 1e-12);
	intent_free(intent);
}
END_TEST

START_TEST(a_killed_control_plane_comes_back_with_the_same_shares)
{
	struct intent *intent;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	web_send_pairs(web_w1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	fake_kill(&web.fake);
	fake_run(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, 42, 4, -1);
	web_send_pairs(web_w1);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(intent->epoch, 43);
	web_assert_shares(intent, web_w1, 1e-12);
	intent_free(intent);
}
END_TEST

START_TEST(after_a_reconnect_everything_is_sent_again)
{
	struct intent *first, *again;

	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	first = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	fake_apply(&web.fake, first);
	fake_close(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, first->epoch, 4, -1);
	web_send_pairs(web_equal);
	again = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_gt(again->epoch, first->epoch);
	ck_assert_uint_eq(again->n_mirrors, first->n_mirrors);
	ck_assert_mem_eq(again->services, first->services, sizeof(first->services[0]));
	ck_assert_mem_eq(again->mirrors, first->mirrors, 4 * sizeof(first->mirrors[0]));
	intent_free(first);
	intent_free(again);
}
END_TEST

START_TEST(a_new_instance_gets_the_shares_that_were_decided)
{
	static const double none[4] = {0, 0, 0, 0};
	struct intent *intent;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	web_send_pairs(web_w1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	fake_close(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE + 1, 0, 4, -1);
	web_send_pairs(none);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	web_assert_shares(intent, web_w1, 1e-12);
	intent_free(intent);
}
END_TEST

/* ---- the loop ---- */

START_TEST(reweighting_uses_the_first_whole_block)
{
	uint64_t synced_us, came_us, first_whole_us;
	struct intent *intent;

	/* in the middle of a block, so that the rest of it must not count */
	usleep((useconds_t)((2 * PERIOD_US - karmalb_now_us() % PERIOD_US + PERIOD_US / 2) %
			    PERIOD_US));
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	synced_us = karmalb_now_us();
	first_whole_us = (synced_us / PERIOD_US + 1) * PERIOD_US;
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	while ((intent = fake_next_intent(&web.fake, 50)) == NULL)
		web_send_answers(5);
	came_us = karmalb_now_us();
	ck_assert_uint_ge(came_us, first_whole_us + PERIOD_US);
	ck_assert_uint_lt(came_us, first_whole_us + 2 * PERIOD_US);
	web_assert_shares(intent, web_w1, 1e-9);
	web_apply_and_free(intent);

	/* and one period later the next */
	while ((intent = fake_next_intent(&web.fake, 50)) == NULL)
		web_send_answers(5);
	ck_assert_double_eq_tol(intent->mirrors[3].share, 0.684932, 1e-6);
	intent_free(intent);
}
END_TEST

/* Sends what a data plane would; returns the answer to the last failure, and how long it took. */
static struct intent *
die_of_refused_connects(unsigned mirror, uint64_t *took_us)
{
	struct karmalb_slot_totals *t = &web.totals[mirror];
	struct intent *intent;

	t->slot = (uint16_t)mirror;
	for (unsigned i = 0; i < SOME_ERRORS; i++) {
		ck_assert_ptr_null(fake_next_intent(&web.fake, 3));
		t->outcomes[KARMALB_OUTCOME_CONNECT_FAILURES]++;
		t->last_error = KARMALB_OUTCOME_CONNECT_FAILURES;
		t->last_error_us = t->stamp_us = karmalb_now_us();
		if (t->errors_in_row++ == 0)
			t->row_began_us = karmalb_now_us();
		fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, t);
	}
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	*took_us = karmalb_now_us() - t->last_error_us;
	return intent;
}

/* One answer; what it changes is in the transaction that follows. */
static struct intent *
answer_again(unsigned mirror)
{
	struct karmalb_slot_totals *t = &web.totals[mirror];

	t->errors_in_row = 0;
	t->row_began_us = 0;
	t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES]++;
	t->stamp_us = t->last_success_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, t);
	return fake_expect_intent(&web.fake, WEB_PROMPT_MS);
}

/* The best of several deaths, since a busy machine adds to each, but never takes away. */
START_TEST(a_dead_mirror_is_out_within_50_ms_of_its_fourth_failure)
{
	static const double without_m4[4] = {0.3, 0.6, 0.1, 0};
	uint64_t best_us = UINT64_MAX, took_us;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	web_send_pairs(web_w1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	for (unsigned i = 0; i < 5; i++) {
		struct intent *intent = die_of_refused_connects(3, &took_us);

		web_assert_shares(intent, without_m4, 1e-12);
		web_apply_and_free(intent);
		best_us = took_us < best_us ? took_us : best_us;
		web_apply_and_free(answer_again(3)); /* on trial */
		web_apply_and_free(answer_again(3)); /* up */
	}
	ck_assert_uint_le(best_us, 50 * KARMALB_MILLISECOND);
	/* the log has had enough after ten of the twenty lines */
	ck_assert_uint_eq(
		fake_count_in_log(&web.fake, "mirror web/m4: up -> dead (4 connects refused"), 3);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "mirror web/m4: "), 10);
}
END_TEST

START_TEST(with_pings_off_a_trial_follows_one_quiet_period)
{
	static const double trial[4] = {0.99 * 0.3, 0.99 * 0.6, 0.99 * 0.1, 0.01};
	struct intent *intent;
	uint64_t took_us;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	web_send_pairs(web_w1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	web_apply_and_free(die_of_refused_connects(3, &took_us));
	ck_assert_ptr_null(fake_next_intent(&web.fake, 800));
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	web_assert_shares(intent, trial, 1e-12);
	web_apply_and_free(intent);
	intent = answer_again(3);
	web_assert_shares(intent, web_w1, 1e-12);
	intent_free(intent);
}
END_TEST

/* ---- changes ---- */

START_TEST(a_change_is_answered_when_every_worker_has_it)
{
	struct intent *intent;
	struct pollfd waiting = {.events = POLLIN};
	const char *answer;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	web_send_pairs(web_w1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	waiting.fd = web_ask("SET SERVICE web ha_strategy = 'random'");
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	web_assert_shares(intent, web_equal, 1e-12);
	ck_assert_int_eq(poll(&waiting, 1, 100), 0); /* not before that */
	web_apply_and_free(intent);
	answer = web_read_answer(waiting.fd);
	ck_assert_msg(strstr(answer, "200 OK") != NULL && strstr(answer, "in force after") != NULL,
		"%s", answer);

	/* back again: what karma had learnt is still there */
	waiting.fd = web_ask("SET SERVICE web ha_strategy = 'nodeads'");
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	web_assert_shares(intent, web_w1, 1e-12);
	web_apply_and_free(intent);
	close(waiting.fd);
}
END_TEST

START_TEST(an_epoch_that_gave_way_to_a_newer_one_was_not_turned_down)
{
	struct karmalb_applied gave_way = {.error = -ECANCELED, .sentence = "gave way"};
	struct pollfd waiting = {.events = POLLIN};
	struct intent *intent;
	const char *answer;

	fake_welcome(&web.fake, WEB_INSTANCE, 41, 4, -1);
	web_send_pairs(web_w1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	waiting.fd = web_ask("SET SERVICE web ha_strategy = 'random'");
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	gave_way.epoch = intent->epoch;
	fake_send(&web.fake, KARMALB_MESSAGE_APPLIED, &gave_way);
	ck_assert_int_eq(poll(&waiting, 1, 200), 0);
	web_apply_and_free(intent);
	answer = web_read_answer(waiting.fd);
	ck_assert_msg(strstr(answer, "200 OK") != NULL && strstr(answer, "in force after") != NULL,
		"%s", answer);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "turned"), 0);
}
END_TEST

START_TEST(a_change_of_our_own_affairs_is_in_force_at_once)
{
	const char *answer;

	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	answer = web_read_answer(web_ask("SET SERVICE web karma_gain = '0.5'"));
	ck_assert_msg(strstr(answer, "in force at once") != NULL, "%s", answer);
	ck_assert_ptr_null(fake_next_intent(&web.fake, 100));
}
END_TEST

START_TEST(without_a_data_plane_a_change_waits_for_it)
{
	const char *answer;
	struct intent *intent;

	fake_close(&web.fake);
	answer = web_read_answer(web_ask("SET SERVICE web agent_connect_timeout = '123ms'"));
	ck_assert_msg(strstr(answer, "when the data plane is back") != NULL, "%s", answer);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(intent->services[0].connect_timeout_ms, 123);
	intent_free(intent);
}
END_TEST

START_TEST(a_change_that_nobody_confirms_is_said_to_be_so)
{
	struct intent *intent;
	const char *answer;

	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	answer = web_read_answer(web_ask("SET SERVICE web agent_query_timeout = '4s'"));
	ck_assert_msg(strncmp(answer, "HTTP/1.1 202 ", 13) == 0, "%s", answer);
	ck_assert_msg(
		strstr(answer, "agent_query_timeout 3s -> 4s, taken, but not confirmed") != NULL,
		"%s", answer);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);

	/* and how it ended */
	answer = web_read_answer(web_ask("SHOW EVENTS"));
	ck_assert_msg(strstr(answer, "is in force after") == NULL, "%s", answer);
	web_apply_and_free(intent);
	for (unsigned i = 0; i < WEB_PROMPT_MS / 10; i++) {
		answer = web_read_answer(web_ask("SHOW EVENTS"));
		if (strstr(answer, "what was not confirmed in time is in force after") != NULL)
			return;
		usleep(10000);
	}
	ck_abort_msg("%s", answer);
}
END_TEST

/* ---- pings ---- */

static int
listen_on_loopback(uint16_t *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 100), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

START_TEST(a_mirror_that_refuses_pings_is_out_and_returns_on_trial)
{
	char services[600];
	uint16_t port[2];
	int fd[2] = {listen_on_loopback(&port[0]), listen_on_loopback(&port[1])};
	int one = 1;
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port[1])};
	struct intent *intent;

	fake_stop(&web.fake);
	snprintf(services, sizeof(services),
		"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; ha_strategy = \"nodeads\";\n"
		"  ha_ping_interval = \"50ms\"; mirrors = (\n"
		"  { name = \"m1\"; address = \"127.0.0.1:%u\"; },\n"
		"  { name = \"m2\"; address = \"127.0.0.1:%u\"; } ); }",
		port[0], port[1]);
	fake_start(&web.fake, services);
	web.fake.is_on_loopback = true;
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	ck_assert_ptr_null(fake_next_intent(&web.fake, 300)); /* both answer: nothing moves */

	close(fd[1]);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_double_eq(intent->mirrors[0].share, 1);
	ck_assert_double_eq(intent->mirrors[1].share, 0);
	web_apply_and_free(intent);
	ck_assert_uint_eq(fake_count_in_log(&web.fake,
				  "web/m2: up -> dead (ping: connection refused 4 times)"),
		1);

	fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd[1], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ck_assert_int_eq(bind(fd[1], (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd[1], 100), 0);
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_double_eq_tol(intent->mirrors[1].share, 0.01, 1e-12);
	intent_free(intent);
	close(fd[0]);
	close(fd[1]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("controlplane");
	TCase *tc = tcase_create("dataplane.sock");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 20);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, it_sends_everything_as_configured);
	tcase_add_test(tc, shares_in_force_are_announced_again);
	tcase_add_test(tc, a_killed_control_plane_comes_back_with_the_same_shares);
	tcase_add_test(tc, after_a_reconnect_everything_is_sent_again);
	tcase_add_test(tc, a_new_instance_gets_the_shares_that_were_decided);
	tcase_add_test(tc, reweighting_uses_the_first_whole_block);
	tcase_add_test(tc, a_dead_mirror_is_out_within_50_ms_of_its_fourth_failure);
	tcase_add_test(tc, with_pings_off_a_trial_follows_one_quiet_period);
	tcase_add_test(tc, a_change_is_answered_when_every_worker_has_it);
	tcase_add_test(tc, an_epoch_that_gave_way_to_a_newer_one_was_not_turned_down);
	tcase_add_test(tc, a_change_of_our_own_affairs_is_in_force_at_once);
	tcase_add_test(tc, without_a_data_plane_a_change_waits_for_it);
	tcase_add_test(tc, a_change_that_nobody_confirms_is_said_to_be_so);
	tcase_add_test(tc, a_mirror_that_refuses_pings_is_out_and_returns_on_trial);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
