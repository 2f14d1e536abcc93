/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes that the data plane turns down, in every order in which its answers may come: what is in
 * force, what the files are compared with and what the authors are told agree in the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "web.h"

#define CONNECT_AS_CONFIGURED 1000
#define QUERY_AS_CONFIGURED   3000
#define FIRST                 "SET SERVICE web agent_connect_timeout = '111ms'"
#define SECOND                "SET SERVICE web agent_query_timeout = '2222ms'"

/* A statement on its way, and the transaction that it led to. */
struct sent {
	int fd;
	struct intent *intent;
};

static void
begin(void)
{
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
}

static struct sent
send_statement(const char *statement)
{
	struct sent s = {.fd = web_ask(statement)};

	s.intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	return s;
}

static void
assert_says(const char *answer, const char *words)
{
	ck_assert_msg(strstr(answer, words) != NULL, "'%s' lacks '%s'", answer, words);
}

static void
assert_told(struct sent *s, const char *words)
{
	assert_says(web_read_answer(s->fd), words);
	intent_free(s->intent);
}

static void
assert_shows(const char *statement, const char *words)
{
	assert_says(web_read_answer(web_ask(statement)), words);
}

/* The next transaction has these time limits, and is taken. */
static void
expect_limits(unsigned connect_ms, unsigned query_ms)
{
	struct intent *intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);

	ck_assert_uint_eq(intent->services[0].connect_timeout_ms, connect_ms);
	ck_assert_uint_eq(intent->services[0].query_timeout_ms, query_ms);
	web_apply_and_free(intent);
}

static void
expect_silence(void)
{
	ck_assert_ptr_null(fake_next_intent(&web.fake, 200));
}

/* The log has it 'n' times, soon. */
static void
expect_in_log(const char *words, unsigned n)
{
	for (unsigned i = 0; i < WEB_PROMPT_MS / 10; i++) {
		if (fake_count_in_log(&web.fake, words) >= n)
			break;
		usleep(10000);
	}
	ck_assert_uint_eq(fake_count_in_log(&web.fake, words), n);
}

/* ---- two statements ---- */

START_TEST(a_refused_change_takes_the_one_after_it_along)
{
	struct sent first, second;

	begin();
	first = send_statement(FIRST);
	second = send_statement(SECOND);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	fake_apply(&web.fake, second.intent); /* it holds the first one, too */
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&first, "turned down by the data plane, all is as before: no room");
	assert_told(&second, "with a change before it: no room");
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	expect_silence();
}
END_TEST

START_TEST(the_second_of_two_is_undone_and_the_first_stays)
{
	struct sent first, second;

	begin();
	first = send_statement(FIRST);
	second = send_statement(SECOND);
	fake_apply(&web.fake, first.intent);
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room");
	expect_limits(111, QUERY_AS_CONFIGURED);
	assert_told(&first, "in force after");
	assert_told(&second, "all is as before: no room");
	assert_shows("SHOW DIFF", "1 difference ");
	expect_silence();
}
END_TEST

START_TEST(the_first_gave_way_and_the_second_was_turned_down)
{
	struct sent first, second;

	begin();
	first = send_statement(FIRST);
	second = send_statement(SECOND);
	fake_refuse(&web.fake, first.intent, -ECANCELED, "gave way");
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&first, "all is as before: no room");
	assert_told(&second, "all is as before: no room");
	expect_silence();
}
END_TEST

START_TEST(both_turned_down_are_undone_once)
{
	struct sent first, second;

	begin();
	first = send_statement(FIRST);
	second = send_statement(SECOND);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room either");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&first, "no room");
	assert_told(&second, "with a change before it");
	expect_silence();
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "is taken back"), 1);
}
END_TEST

START_TEST(a_change_after_the_way_back_is_not_taken_along)
{
	struct sent first, second, third;
	struct intent *back;

	begin();
	first = send_statement(FIRST);
	second = send_statement(SECOND);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	back = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	third = send_statement("SET SERVICE web agent_connect_timeout = '333ms'");
	fake_refuse(&web.fake, second.intent, -ENOSPC, "no room either"); /* late */
	web_apply_and_free(back);
	fake_apply(&web.fake, third.intent);
	ck_assert_uint_eq(third.intent->services[0].connect_timeout_ms, 333);
	ck_assert_uint_eq(third.intent->services[0].query_timeout_ms, QUERY_AS_CONFIGURED);
	assert_told(&first, "no room");
	assert_told(&second, "with a change before it");
	assert_told(&third, "in force after");
	expect_silence();
}
END_TEST

START_TEST(a_change_of_our_own_affairs_goes_with_what_it_stands_on)
{
	struct sent first;
	int own;

	begin();
	first = send_statement(FIRST);
	own = web_ask("SET SERVICE web karma_gain = '0.5'");
	expect_silence();
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&first, "no room");
	assert_says(web_read_answer(own), "turned down");
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

START_TEST(an_edit_that_nobody_confirms_is_told_as_taken)
{
	struct sent drop;
	const char *answer;

	begin();
	drop = send_statement("ALTER SERVICE web DROP MIRROR m4");
	answer = web_read_answer(drop.fd);
	assert_says(answer, "HTTP/1.1 202 ");
	assert_says(answer, "m4");
	assert_says(answer, "1 change: taken, but not confirmed");
	assert_shows("SHOW DIFF", "1 difference ");
	intent_free(drop.intent);
}
END_TEST

START_TEST(a_late_refusal_still_undoes)
{
	struct sent first;

	begin();
	first = send_statement(FIRST);
	assert_says(web_read_answer(first.fd), "taken, but not confirmed");
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	intent_free(first.intent);
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_shows("SHOW EVENTS", "taken back");
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
	struct sent drop;

	begin();
	drop = send_statement("ALTER SERVICE web DROP MIRROR m4");
	ck_assert_uint_eq(drop.intent->n_mirrors, 3);
	fake_refuse(&web.fake, drop.intent, -ENOSPC, "no room");
	back = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(back->n_mirrors, 4);
	taken.epoch = back->epoch;
	taken.applied_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_APPLIED, &taken);
	intent_free(back);
	assert_told(&drop, "all is as before: no room");
	m4.stamp_us = m4.row_began_us = m4.last_error_us = karmalb_now_us();
	fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, &m4);
	expect_in_log("mirror web/m4: up -> dead", 1);
}
END_TEST

/* As docs/configuration.md has it: nobody waits for the answer any more. */
START_TEST(a_change_made_without_a_data_plane_stays_wanted_when_refused)
{
	struct intent *first;
	struct sent mend;

	begin();
	fake_close(&web.fake);
	assert_shows(FIRST, "when the data plane is back");
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE + 1, 0, 0, -1);
	first = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(first->services[0].connect_timeout_ms, 111);
	fake_refuse(&web.fake, first, -ENOSPC, "no room");
	intent_free(first);
	expect_in_log("data plane did not take epoch", 1);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "is taken back"), 0);
	assert_shows("SHOW DIFF", "1 difference ");
	assert_shows("SHOW STATUS", "no room");
	mend = send_statement(SECOND);
	ck_assert_uint_eq(mend.intent->services[0].connect_timeout_ms, 111);
	fake_apply(&web.fake, mend.intent);
	assert_told(&mend, "in force after");
}
END_TEST

/* ---- reloads ---- */

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

	snprintf(pair, sizeof(pair), "\nreloads_ok                   %s\n", ok);
	assert_shows("SHOW STATUS", pair);
	snprintf(pair, sizeof(pair), "\nreloads_failed               %s\n", failed);
	assert_shows("SHOW STATUS", pair);
}

START_TEST(a_refused_reload_leaves_the_former_file)
{
	struct sent reload;

	begin();
	write_file("111ms");
	reload = send_statement("RELOAD");
	ck_assert_uint_eq(reload.intent->services[0].connect_timeout_ms, 111);
	fake_refuse(&web.fake, reload.intent, -ENOSPC, "no room");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&reload, "all is as before: no room");
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("0", "1");
	assert_shows("SHOW EVENTS", "RELOAD: turned down by the data plane, all is as before");
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "RELOAD: read "), 0);

	/* the same once more, and it is taken */
	reload = send_statement("RELOAD");
	fake_apply(&web.fake, reload.intent);
	assert_told(&reload, "in force after");
	assert_reloads("1", "1");
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

START_TEST(a_refused_reload_has_nothing_to_confirm)
{
	struct sent reload;

	begin();
	write_file("111ms");
	reload = send_statement("RELOAD CONFIRM WITHIN 1s");
	fake_refuse(&web.fake, reload.intent, -ENOSPC, "no room");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&reload, "no room");
	assert_shows("CONFIRM RELOAD", "no reload waits to be confirmed");
	ck_assert_ptr_null(fake_next_intent(&web.fake, 1500)); /* no way back to walk */
	assert_reloads("0", "1");
}
END_TEST

START_TEST(two_reloads_refused_leave_the_file_before_both)
{
	struct sent first, second;

	begin();
	write_file("111ms");
	first = send_statement("RELOAD");
	write_file("222ms");
	second = send_statement("RELOAD");
	ck_assert_uint_eq(second.intent->services[0].connect_timeout_ms, 222);
	fake_refuse(&web.fake, first.intent, -ENOSPC, "no room");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_told(&first, "no room");
	assert_told(&second, "with a change before it");
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("0", "2");
}
END_TEST

START_TEST(an_unconfirmed_reload_goes_back_by_itself)
{
	struct sent reload;

	begin();
	write_file("111ms");
	reload = send_statement("RELOAD CONFIRM WITHIN 1s");
	fake_apply(&web.fake, reload.intent);
	assert_told(&reload, "in force after");
	assert_reloads("1", "0");
	expect_limits(CONNECT_AS_CONFIGURED, QUERY_AS_CONFIGURED);
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_shows("SHOW EVENTS", "not confirmed in time");
	assert_shows("CONFIRM RELOAD", "no reload waits to be confirmed");
}
END_TEST

START_TEST(a_confirmed_reload_stays)
{
	struct sent reload;

	begin();
	write_file("111ms");
	reload = send_statement("RELOAD CONFIRM WITHIN 2s");
	fake_apply(&web.fake, reload.intent);
	assert_told(&reload, "in force after");
	assert_shows("CONFIRM RELOAD", "it stays");
	ck_assert_ptr_null(fake_next_intent(&web.fake, 2500));
	assert_reloads("1", "0");
}
END_TEST

START_TEST(a_way_back_that_is_turned_down_leaves_the_reload)
{
	struct sent reload;
	struct intent *back;

	begin();
	write_file("111ms");
	reload = send_statement("RELOAD CONFIRM WITHIN 1s");
	fake_apply(&web.fake, reload.intent);
	assert_told(&reload, "in force after");
	back = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	fake_refuse(&web.fake, back, -ENOSPC, "no room");
	intent_free(back);
	expect_limits(111, QUERY_AS_CONFIGURED);
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("1", "1");
	assert_shows("SHOW STATUS", "the way back was turned down");
}
END_TEST

START_TEST(a_lost_data_plane_turns_nothing_down)
{
	struct sent reload;

	begin();
	write_file("111ms");
	reload = send_statement("RELOAD");
	fake_close(&web.fake);
	assert_told(&reload, "when the data plane is back");
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE + 1, 0, 0, -1);
	expect_limits(111, QUERY_AS_CONFIGURED);
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
	assert_reloads("1", "0");
}
END_TEST

/* ---- drains that end ---- */

#define DRAIN_OVER "the drain's time is over: mirror web.m4: state drain until "

/* m4 gets no new connections for so long; the data plane has that. */
static void
drain_m4(const char *within)
{
	char statement[80];
	struct sent drain;

	snprintf(statement, sizeof(statement), "SET MIRROR web.m4 STATE = drain WITHIN %s", within);
	drain = send_statement(statement);
	ck_assert_double_eq(drain.intent->mirrors[3].share, 0);
	fake_apply(&web.fake, drain.intent);
	assert_told(&drain, "state active -> drain until 2");
}

START_TEST(a_drain_ends_by_itself)
{
	begin();
	drain_m4("200ms");
	expect_in_log(DRAIN_OVER, 1);
	assert_shows("SHOW DIFF", "mirror web.m4: state active -> maintenance");
}
END_TEST

START_TEST(a_drain_that_somebody_ended_stays_ended)
{
	struct sent active;

	begin();
	drain_m4("3s");
	active = send_statement("SET MIRROR web.m4 STATE = active");
	fake_apply(&web.fake, active.intent);
	assert_told(&active, "-> active");
	usleep(3500 * 1000);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, DRAIN_OVER), 0);
	assert_shows("SHOW DIFF", "In force is what the configuration file says");
}
END_TEST

START_TEST(a_drain_whose_end_was_not_to_be_still_ends)
{
	struct sent active;

	begin();
	drain_m4("500ms");
	active = send_statement("SET MIRROR web.m4 STATE = active");
	usleep(700 * 1000); /* its time comes while nobody knows */
	fake_refuse(&web.fake, active.intent, -ENOSPC, "no room");
	assert_told(&active, "all is as before: no room");
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS)); /* the way back */
	expect_in_log(DRAIN_OVER, 1);
}
END_TEST

/* The end is a moment of the wall clock, and a start in between changes nothing about it. */
START_TEST(a_saved_drain_ends_after_a_restart)
{
	struct intent *intent;

	begin();
	drain_m4("8s");
	assert_shows("SAVE CONFIG", "1 statement saved");
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
	assert_shows("SHOW DIFF", "mirror web.m4: state active -> maintenance");
}
END_TEST

/* ---- what is not wanted by anybody ---- */

START_TEST(a_port_that_goes_and_comes_is_an_event_each)
{
	struct karmalb_port_status port = {.name = "front", .device = "af_xdp:eth1", .is_up = 1};
	static const uint8_t states[] = {1, 0, 0, 1};

	begin();
	for (unsigned i = 0; i < sizeof(states); i++) {
		port.is_up = states[i];
		port.steered += 1; /* news of another kind */
		fake_send(&web.fake, KARMALB_MESSAGE_PORT_STATUS, &port);
	}
	expect_in_log("port front (af_xdp:eth1): down -> up", 1);
	expect_in_log("port front (af_xdp:eth1): up -> down", 1);
	assert_shows("SHOW EVENTS", "port front (af_xdp:eth1): down -> up");

	port.link_losses = 5; /* too short to be seen */
	fake_send(&web.fake, KARMALB_MESSAGE_PORT_STATUS, &port);
	expect_in_log("port front (af_xdp:eth1): up -> down -> up", 1);

	/* one that went while nobody looked */
	fake_close(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, web.fake.epoch, 0, -1);
	port.is_up = 0;
	fake_send(&web.fake, KARMALB_MESSAGE_PORT_STATUS, &port);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	expect_in_log("port front (af_xdp:eth1): up -> down", 3);
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
	tcase_add_test(tc, a_change_made_without_a_data_plane_stays_wanted_when_refused);
	tcase_add_test(tc, a_refused_reload_leaves_the_former_file);
	tcase_add_test(tc, a_refused_reload_has_nothing_to_confirm);
	tcase_add_test(tc, two_reloads_refused_leave_the_file_before_both);
	tcase_add_test(tc, an_unconfirmed_reload_goes_back_by_itself);
	tcase_add_test(tc, a_confirmed_reload_stays);
	tcase_add_test(tc, a_way_back_that_is_turned_down_leaves_the_reload);
	tcase_add_test(tc, a_lost_data_plane_turns_nothing_down);
	tcase_add_test(tc, a_drain_ends_by_itself);
	tcase_add_test(tc, a_drain_that_somebody_ended_stays_ended);
	tcase_add_test(tc, a_drain_whose_end_was_not_to_be_still_ends);
	tcase_add_test(tc, a_saved_drain_ends_after_a_restart);
	tcase_add_test(tc, a_port_that_goes_and_comes_is_an_event_each);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
