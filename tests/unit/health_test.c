/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of a mirror, on a clock that the test moves. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "health.h"

#define S  KARMALB_SECOND
#define MS KARMALB_MILLISECOND

static struct health health;
static struct health_evidence seen;
static struct health_rule rule;
static uint64_t now_us;

static void
set_up(void)
{
	now_us = 1000 * S;
	memset(&seen, 0, sizeof(seen));
	rule = (struct health_rule){.dead_after = 4, .is_pinged = true, .wait_us = S};
	health_init(&health, MIRROR_UP, now_us);
}

static bool
update(void)
{
	return health_update(&health, &seen, &rule, now_us);
}

static void
query_fails(enum karmalb_outcome kind)
{
	if (seen.errors_in_row++ == 0) {
		seen.row_began_us = now_us;
		memset(seen.row, 0, sizeof(seen.row));
	}
	seen.row[kind]++;
	seen.is_row_answered = false;
	seen.last_error = (uint8_t)kind;
	seen.last_error_us = seen.row_ended_us = now_us;
	update();
}

static void
query_succeeds(void)
{
	seen.errors_in_row = 0;
	seen.last_success_us = now_us;
	update();
}

static void
query_warns(void)
{
	seen.is_row_answered = true;
	seen.last_success_us = now_us;
	update();
}

static void
ping_fails(const char *failure)
{
	seen.pings_failed++;
	seen.ping_failed_us = now_us;
	seen.ping_failure = failure;
	update();
}

static void
ping_succeeds(void)
{
	seen.pings_failed = 0;
	seen.ping_answered_us = now_us;
	update();
}

static void
die_of_queries(void)
{
	for (unsigned i = 0; i < 4; i++) {
		query_fails(KARMALB_OUTCOME_CONNECT_FAILURES);
		now_us += 3 * MS;
	}
	ck_assert_int_eq(health.state, MIRROR_DEAD);
}

START_TEST(the_fourth_failure_in_a_row_kills)
{
	for (unsigned i = 0; i < 3; i++) {
		query_fails(KARMALB_OUTCOME_CONNECT_FAILURES);
		ck_assert_int_eq(health.state, MIRROR_UP);
		now_us += 3 * MS;
	}
	query_fails(KARMALB_OUTCOME_CONNECT_FAILURES);
	ck_assert_int_eq(health.state, MIRROR_DEAD);
	ck_assert_uint_eq(health.since_us, now_us);
	ck_assert_str_eq(health.evidence, "4 connects refused in 9 ms");
}
END_TEST

START_TEST(a_success_in_between_saves)
{
	for (unsigned i = 0; i < 20; i++) {
		for (unsigned k = 0; k < 3; k++)
			query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
		query_succeeds();
	}
	ck_assert_int_eq(health.state, MIRROR_UP);
}
END_TEST

START_TEST(evidence_names_every_kind)
{
	query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	query_fails(KARMALB_OUTCOME_CONNECT_TIMEOUTS);
	now_us += 3200 * MS;
	query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	ck_assert_str_eq(health.evidence, "3 queries unanswered, 1 connect timed out in 3.2 s");
}
END_TEST

START_TEST(evidence_without_kinds_names_the_last)
{
	seen.errors_in_row = 7;
	seen.last_error = KARMALB_OUTCOME_NETWORK_ERRORS;
	seen.last_error_us = now_us - 5;
	update();
	ck_assert_str_eq(
		health.evidence, "7 failures in a row, the last: answer cut off by a reset");
}
END_TEST

START_TEST(four_failed_pings_kill)
{
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(health.state, MIRROR_UP);
		now_us += S;
		ping_fails("connection refused");
	}
	ck_assert_int_eq(health.state, MIRROR_DEAD);
	ck_assert_str_eq(health.evidence, "ping: connection refused 4 times");
}
END_TEST

START_TEST(queries_and_pings_have_a_counter_each)
{
	for (unsigned i = 0; i < 3; i++) {
		query_fails(KARMALB_OUTCOME_CONNECT_FAILURES);
		now_us += MS;
		ping_fails("connection refused");
	}
	ck_assert_uint_eq(health_failures(&seen), 3);
	ck_assert_int_eq(health.state, MIRROR_UP);
}
END_TEST

START_TEST(a_ping_alone_never_clears_query_failures) /* D5, P5: ours */
{
	die_of_queries();
	for (unsigned i = 0; i < 100; i++) {
		now_us += S;
		ping_succeeds();
		ck_assert_int_eq(health.state, MIRROR_TRIAL);
	}
	ck_assert_uint_eq(health_failures(&seen), 4);
}
END_TEST

START_TEST(a_warning_does_not_count_as_a_failure) /* D6, ours: 3 */
{
	for (unsigned i = 0; i < 3; i++)
		query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	query_warns();
	ck_assert_uint_eq(health_failures(&seen), 3);
	ck_assert_int_eq(health.state, MIRROR_UP);
	query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	ck_assert_int_eq(health.state, MIRROR_DEAD);
}
END_TEST

START_TEST(a_mirror_that_always_warns_is_let_back)
{
	die_of_queries();
	now_us += S;
	ping_succeeds();
	now_us += S;
	query_warns();
	ck_assert_int_eq(health.state, MIRROR_UP);
	now_us += S;
	query_warns();
	ck_assert_int_eq(health.state, MIRROR_UP);
}
END_TEST

START_TEST(an_answered_query_ends_the_trial)
{
	die_of_queries();
	now_us += S;
	ping_succeeds();
	ck_assert_str_eq(health.evidence, "answers pings again");
	now_us += MS;
	query_succeeds();
	ck_assert_int_eq(health.state, MIRROR_UP);
}
END_TEST

START_TEST(a_ping_from_before_the_last_failure_is_no_sign_of_life)
{
	die_of_queries();
	seen.ping_answered_us = seen.last_error_us - 1;
	now_us += 100 * S;
	update();
	ck_assert_int_eq(health.state, MIRROR_DEAD);
	ck_assert_uint_eq(health_wake_us(&health, &seen, &rule), UINT64_MAX);
}
END_TEST

START_TEST(one_failure_ends_a_trial)
{
	die_of_queries();
	now_us += S;
	ping_succeeds();
	now_us += MS;
	query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	ck_assert_int_eq(health.state, MIRROR_DEAD);
	ck_assert_str_eq(health.evidence, "failed its trial: query unanswered");
}
END_TEST

START_TEST(a_ping_that_fails_ends_a_trial)
{
	die_of_queries();
	now_us += S;
	ping_succeeds();
	now_us += S;
	ping_fails("no answer in 1.0 s");
	ck_assert_int_eq(health.state, MIRROR_DEAD);
	ck_assert_str_eq(health.evidence, "failed its trial: ping: no answer in 1.0 s");
}
END_TEST

START_TEST(a_failure_from_before_the_trial_does_not_end_it)
{
	die_of_queries();
	now_us += S;
	ping_succeeds();
	seen.errors_in_row++;
	seen.last_error_us = health.since_us - 1;
	now_us += MS;
	ck_assert(!update());
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
}
END_TEST

/* A mirror that accepts connections and never answers: clients pay for fewer and fewer trials. */
START_TEST(every_failed_trial_doubles_the_wait_up_to_a_minute)
{
	uint64_t last_us = 0, expected_us = 0;

	die_of_queries();
	for (unsigned trial = 0; trial < 12; trial++) {
		uint64_t died_us = now_us;

		while (health.state == MIRROR_DEAD) {
			now_us += 100 * MS;
			ping_succeeds();
		}
		last_us = now_us - died_us;
		ck_assert_uint_ge(last_us, expected_us);
		ck_assert_uint_le(last_us, expected_us + 200 * MS);
		now_us += MS;
		query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
		ck_assert_int_eq(health.state, MIRROR_DEAD);
		expected_us = expected_us == 0 ? S : 2 * expected_us;
		if (expected_us > HEALTH_WAIT_MAX_US)
			expected_us = HEALTH_WAIT_MAX_US;
	}
	ck_assert_uint_ge(last_us, HEALTH_WAIT_MAX_US);

	while (health.state == MIRROR_DEAD) {
		now_us += S;
		ping_succeeds();
	}
	now_us += MS;
	query_succeeds();
	ck_assert_int_eq(health.state, MIRROR_UP);
	ck_assert_uint_eq(health.n_failed_trials, 0);
}
END_TEST

START_TEST(time_alone_may_begin_a_trial_that_was_put_off)
{
	die_of_queries();
	now_us += S;
	ping_succeeds();
	now_us += MS;
	query_fails(KARMALB_OUTCOME_QUERY_TIMEOUTS);
	now_us += 10 * MS;
	ping_succeeds();
	ck_assert_int_eq(health.state, MIRROR_DEAD);

	uint64_t wake_us = health_wake_us(&health, &seen, &rule);

	ck_assert_uint_eq(wake_us, health.since_us + S);
	now_us = wake_us - 1;
	ck_assert(!update());
	now_us = wake_us;
	ck_assert(update());
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
}
END_TEST

START_TEST(with_pings_off_a_quiet_period_leads_to_a_trial)
{
	rule.is_pinged = false;
	rule.wait_us = 60 * S;
	die_of_queries();

	uint64_t wake_us = health_wake_us(&health, &seen, &rule);

	ck_assert_uint_eq(wake_us, seen.last_error_us + 60 * S);
	now_us = wake_us - 1;
	ck_assert(!update());
	now_us = wake_us;
	ck_assert(update());
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
}
END_TEST

START_TEST(a_mirror_that_never_answers_passes_its_trial_without_a_failure)
{
	rule.is_pinged = false;
	rule.wait_us = rule.trial_us = 60 * S;
	die_of_queries();
	now_us += 60 * S;
	ck_assert(update());
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
	uint64_t wake_us = health_wake_us(&health, &seen, &rule);

	ck_assert_uint_eq(wake_us, health.since_us + 60 * S);
	now_us = wake_us - 1;
	ck_assert(!update());
	now_us = wake_us;
	ck_assert(update());
	ck_assert_int_eq(health.state, MIRROR_UP);
	ck_assert_str_eq(health.evidence, "no failure in its trial");
	now_us += S;
	ck_assert(!update()); /* the row from before is over, though no answer ended it */
	query_fails(KARMALB_OUTCOME_CONNECT_FAILURES);
	ck_assert_int_eq(health.state, MIRROR_DEAD);
	now_us += 60 * S;
	ck_assert(update());
	now_us += S;
	query_fails(KARMALB_OUTCOME_CONNECT_FAILURES);
	ck_assert_int_eq(health.state, MIRROR_DEAD); /* a trial still fails by one */
}
END_TEST

START_TEST(old_connections_that_answer_lead_to_a_trial)
{
	die_of_queries();
	now_us += MS;
	query_succeeds();
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
	ck_assert_str_eq(health.evidence, "answers queries again");
}
END_TEST

START_TEST(an_answer_on_one_listen_does_not_excuse_the_other)
{
	die_of_queries();
	now_us += MS;
	seen.last_success_us = now_us; /* errors_in_row is the highest of the slots: still 4 */
	ck_assert(!update());
	ck_assert_int_eq(health.state, MIRROR_DEAD);
}
END_TEST

START_TEST(an_answered_query_voids_failed_pings)
{
	for (unsigned i = 0; i < 3; i++) {
		now_us += S;
		ping_fails("connection refused");
	}
	now_us += S;
	query_succeeds();
	ck_assert_uint_eq(health_failures(&seen), 0);
}
END_TEST

START_TEST(a_mirror_without_traffic_stays_on_trial)
{
	for (unsigned i = 0; i < 4; i++)
		ping_fails("no route");
	now_us += S;
	ping_succeeds();
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
	for (unsigned i = 0; i < 1000; i++) {
		now_us += S;
		ping_succeeds();
	}
	ck_assert_int_eq(health.state, MIRROR_TRIAL);
	now_us += S;
	query_succeeds();
	ck_assert_int_eq(health.state, MIRROR_UP);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("health");
	TCase *tc = tcase_create("states");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, the_fourth_failure_in_a_row_kills);
	tcase_add_test(tc, a_success_in_between_saves);
	tcase_add_test(tc, evidence_names_every_kind);
	tcase_add_test(tc, evidence_without_kinds_names_the_last);
	tcase_add_test(tc, four_failed_pings_kill);
	tcase_add_test(tc, queries_and_pings_have_a_counter_each);
	tcase_add_test(tc, a_ping_alone_never_clears_query_failures);
	tcase_add_test(tc, a_warning_does_not_count_as_a_failure);
	tcase_add_test(tc, a_mirror_that_always_warns_is_let_back);
	tcase_add_test(tc, an_answered_query_ends_the_trial);
	tcase_add_test(tc, a_ping_from_before_the_last_failure_is_no_sign_of_life);
	tcase_add_test(tc, one_failure_ends_a_trial);
	tcase_add_test(tc, a_ping_that_fails_ends_a_trial);
	tcase_add_test(tc, a_failure_from_before_the_trial_does_not_end_it);
	tcase_add_test(tc, every_failed_trial_doubles_the_wait_up_to_a_minute);
	tcase_add_test(tc, time_alone_may_begin_a_trial_that_was_put_off);
	tcase_add_test(tc, with_pings_off_a_quiet_period_leads_to_a_trial);
	tcase_add_test(tc, a_mirror_that_never_answers_passes_its_trial_without_a_failure);
	tcase_add_test(tc, old_connections_that_answer_lead_to_a_trial);
	tcase_add_test(tc, an_answer_on_one_listen_does_not_excuse_the_other);
	tcase_add_test(tc, an_answered_query_voids_failed_pings);
	tcase_add_test(tc, a_mirror_without_traffic_stays_on_trial);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
