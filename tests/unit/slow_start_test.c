/* SPDX-License-Identifier: BSD-3-Clause */
/* Mirrors that come back or are let back, on the loop's moved clock: ramps, and noerrors' memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "history.h"
#include "loop.h"
#include "observe.h"
#include "render_prometheus.h"
#include "shares.h"
#include "status.h"

/* m4 dead, on trial, and up again as of now. */
static void
fall_and_rise(void)
{
	for (unsigned i = 0; i < 4; i++)
		loop_query_fails(3, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	loop_tick_at(loop.now_us + 1);
	ck_assert_double_eq(loop.web->mirrors[3].share, 0);
	loop.now_us += 1 * S;
	observe_ping_answered(&loop.web->mirrors[3], 100, loop.now_us);
	loop_tick_at(loop.now_us);
	loop.now_us += 1 * S;
	loop_answer(3, 0, 1, 3 * MS);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(loop.web->mirrors[3].health.state, MIRROR_UP);
}

static void
begin(const char *strategy, uint64_t slow_start_ms)
{
	loop.service_conf.settings.ha_strategy = loop_strategy_index(strategy);
	loop.service_conf.settings.slow_start_ms = slow_start_ms;
	loop.service_conf.settings.ha_period_karma_s = 60;
	loop.now_us = 1000 * 60 * S;
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop_tick_at(loop.now_us);
}

START_TEST(a_mirror_that_is_back_rises_by_tenths)
{
	struct model_mirror *m4;
	uint64_t up_us, at_us;

	begin("nodeads", 10000);
	m4 = &loop.web->mirrors[3];
	fall_and_rise();
	up_us = loop.now_us;
	for (unsigned tenth = 1; tenth <= 10; tenth++) {
		ck_assert_double_eq_tol(m4->share, 0.1 * tenth / (3 + 0.1 * tenth), 1e-12);
		if (tenth == 10)
			break;
		at_us = shares_wake_us(loop.web, &loop.model->dataplane);
		ck_assert_uint_eq(at_us, up_us + tenth * S);
		loop_tick_at(at_us - 1);
		ck_assert_double_eq_tol(m4->share, 0.1 * tenth / (3 + 0.1 * tenth), 1e-12);
		loop_tick_at(at_us);
	}
	loop_tick_at(loop.now_us + 1 * S);
	loop_assert_shares(loop_equal);
	ck_assert_uint_eq(m4->ramp_since_us, 0);
}
END_TEST

START_TEST(without_slow_start_a_mirror_is_back_at_once)
{
	begin("nodeads", 0);
	fall_and_rise();
	loop_assert_shares(loop_equal);
}
END_TEST

START_TEST(a_mirror_that_dies_again_leaves_its_ramp)
{
	begin("nodeads", 10000);
	fall_and_rise();
	loop_tick_at(loop.now_us + 5 * S);
	fall_and_rise();
	ck_assert_double_eq_tol(loop.web->mirrors[3].share, 0.1 / 3.1, 1e-12);
}
END_TEST

/* Every mirror answers 'n' times; of m4's, 'n_bad' are wrong instead. */
static void
answer(unsigned n, unsigned n_bad)
{
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		loop_answer(i, 0, n - (i == 3 ? n_bad : 0), 5 * MS);
	for (unsigned i = 0; i < n_bad; i++) {
		loop_query_fails(3, 0, KARMALB_OUTCOME_WRONG_REPLIES);
		loop_answer(3, 0, 1, 5 * MS); /* never many in a row: nobody dies */
	}
}

START_TEST(noerrors_avoids_until_the_errors_have_left_the_window)
{
	struct model_mirror *m4;
	uint64_t began_us;

	begin("noerrors", 10000);
	m4 = &loop.web->mirrors[3];
	began_us = loop.now_us;
	loop.now_us += 59 * S;
	answer(100, 10);
	loop_tick_at(loop.now_us);
	ck_assert_double_eq(m4->share, 0);
	ck_assert_int_eq(m4->role, STRATEGY_AVOIDED);

	loop.now_us = began_us + 61 * S; /* the others go on */
	for (unsigned i = 0; i < 3; i++)
		loop_answer(i, 0, 10, 5 * MS);
	loop_tick_at(began_us + 89 * S);
	ck_assert_double_eq(m4->share, 0);
	loop_tick_at(began_us + 90 * S); /* H10 */
	ck_assert_double_eq_tol(m4->share, 0.01, 1e-12);
	ck_assert_int_eq(m4->role, STRATEGY_TRIAL);

	loop_answer(3, 0, 1, 5 * MS);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(m4->role, STRATEGY_REGULAR);
	ck_assert_double_eq_tol(m4->share, 0.1 / 3.1, 1e-12);
	loop_tick_at(loop.now_us + 10 * S);
	loop_assert_shares(loop_equal);
}
END_TEST

/* Of all four mirrors, as Prometheus reads it. */
static void
assert_avoided_gauges(const char *wanted)
{
	struct status *status = status_take(loop.model, loop.now_us);
	char *text = NULL, values[LOOP_N_MIRRORS + 1] = "";
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	render_prometheus(out, status);
	fclose(out);
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++) {
		char line[80];
		const char *found;

		snprintf(line, sizeof(line),
			"\nkarmalb_mirror_avoided{service=\"web\",mirror=\"m%u\"} ", i + 1);
		found = strstr(text, line);
		ck_assert_msg(found != NULL, "lacks %s", line);
		found += strlen(line);
		ck_assert_int_eq(found[1], '\n');
		values[i] = found[0];
	}
	ck_assert_str_eq(values, wanted);
	free(text);
	status_free(status);
}

START_TEST(the_metric_of_an_avoided_mirror_is_1_until_it_is_let_back)
{
	begin("noerrors", 0);
	assert_avoided_gauges("0000");
	answer(100, 10);
	loop_tick_at(loop.now_us + 1);
	ck_assert_int_eq(loop.web->mirrors[3].role, STRATEGY_AVOIDED);
	assert_avoided_gauges("0001");
	for (unsigned k = 0; k < 4; k++) { /* its errors leave the window */
		loop.now_us += 60 * S;
		for (unsigned i = 0; i < 3; i++)
			loop_answer(i, 0, 10, 5 * MS);
		loop_tick_at(loop.now_us);
	}
	assert_avoided_gauges("0000");
}
END_TEST

START_TEST(events_tell_of_each_avoidance_whatever_the_log_leaves_out)
{
	struct log_limit *limit;
	uint64_t n_events;

	begin("noerrors", 0);
	limit = &loop.web->mirrors[3].log_limit;
	answer(100, 10);
	while (log_limit_allows(limit, loop.now_us + 1)) /* bounded by its burst */
		continue;
	n_events = history_count();
	loop_tick_at(loop.now_us + 1);
	ck_assert_int_eq(loop.web->mirrors[3].role, STRATEGY_AVOIDED);
	ck_assert_uint_eq(history_count(), n_events + 1);
	ck_assert_ptr_nonnull(
		strstr(history_after(n_events)->text, "mirror web/m4: avoided (10 errors"));
	ck_assert_uint_eq(limit->n_suppressed, 2); /* ours and its */
}
END_TEST

/* loop_tick_at() sees to it that the loop comes to rest after each tick. */
START_TEST(a_mirror_avoided_on_its_ramp_begins_it_anew_when_let_back)
{
	struct model_mirror *m4;
	uint64_t began_us;

	begin("noerrors", 200000);
	m4 = &loop.web->mirrors[3];
	fall_and_rise();
	began_us = loop.now_us;
	answer(100, 10);
	loop_tick_at(began_us + 21 * S);
	ck_assert_int_eq(m4->role, STRATEGY_AVOIDED);
	ck_assert_uint_eq(m4->ramp_since_us, 0);
	for (unsigned i = 0; i < 4; i++)
		loop_query_fails(3, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	loop_tick_at(began_us + 22 * S);
	ck_assert_int_eq(m4->health.state, MIRROR_DEAD);
	loop.now_us += 1 * S;
	observe_ping_answered(m4, 100, loop.now_us);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(m4->health.state, MIRROR_TRIAL);
	loop.now_us += 1 * S;
	loop_answer(3, 0, 1, 5 * MS);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(m4->health.state, MIRROR_UP); /* and avoided as before */
	ck_assert_int_eq(m4->role, STRATEGY_AVOIDED);

	for (unsigned k = 0; k < 4; k++) { /* its errors leave the window */
		loop.now_us += 60 * S;
		for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
			loop_answer(i, 0, 100, 5 * MS);
		loop_tick_at(loop.now_us);
	}
	ck_assert_int_eq(m4->role, STRATEGY_REGULAR);
	ck_assert(!m4->was_avoided);
	ck_assert_uint_ne(m4->ramp_since_us, 0);
}
END_TEST

START_TEST(a_mirror_drained_on_its_ramp_wakes_nobody)
{
	struct model_mirror *m4;
	uint64_t up_us;

	begin("nodeads", 10000);
	m4 = &loop.web->mirrors[3];
	fall_and_rise();
	up_us = loop.now_us;
	m4->conf.state = SETTINGS_MIRROR_DRAIN;
	loop_tick_at(up_us + 1);
	ck_assert_uint_ne(shares_wake_us(loop.web, &loop.model->dataplane), up_us + 1 * S);
	m4->conf.state = SETTINGS_MIRROR_MAINTENANCE;
	loop_tick_at(up_us + 2);
	ck_assert_uint_ne(shares_wake_us(loop.web, &loop.model->dataplane), up_us + 1 * S);
}
END_TEST

START_TEST(the_smooth_window_forgets_evenly)
{
	struct karma *k;
	double outcomes[KARMALB_N_OUTCOMES];

	begin("noerrors", 0);
	k = &loop.web->mirrors[3].karma;
	loop.now_us += 30 * S;
	answer(100, 10);
	karma_smooth(k, 1000 * 60 * S + 59 * S, outcomes);
	ck_assert_double_eq(outcomes[KARMALB_OUTCOME_WRONG_REPLIES], 10);
	karma_smooth(k, 1001 * 60 * S, outcomes);
	ck_assert_double_eq(outcomes[KARMALB_OUTCOME_WRONG_REPLIES], 10);
	karma_smooth(k, 1001 * 60 * S + 15 * S, outcomes);
	ck_assert_double_eq_tol(outcomes[KARMALB_OUTCOME_WRONG_REPLIES], 7.5, 1e-9);
	karma_smooth(k, 1002 * 60 * S, outcomes);
	ck_assert_double_eq(outcomes[KARMALB_OUTCOME_WRONG_REPLIES], 0);
}
END_TEST

START_TEST(warnings_are_not_counted_twice)
{
	begin("noerrors", 0);
	loop.totals[0][0].outcomes[KARMALB_OUTCOME_WARNINGS] += 4;
	loop_answer(0, 0, 100, 5 * MS); /* of which 4 with a warning */
	for (unsigned i = 1; i < LOOP_N_MIRRORS; i++)
		loop_answer(i, 0, 100, 5 * MS);
	loop_tick_at(loop.now_us);
	ck_assert_double_eq(loop.web->mirrors[0].counts.warnings, 4);
	ck_assert_double_eq(loop.web->mirrors[0].counts.successes, 96);
	ck_assert_double_eq(loop.web->mirrors[0].share, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("slow_start");
	TCase *tc = tcase_create("loop");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, loop_set_up, loop_tear_down);
	tcase_add_test(tc, a_mirror_that_is_back_rises_by_tenths);
	tcase_add_test(tc, without_slow_start_a_mirror_is_back_at_once);
	tcase_add_test(tc, a_mirror_that_dies_again_leaves_its_ramp);
	tcase_add_test(tc, noerrors_avoids_until_the_errors_have_left_the_window);
	tcase_add_test(tc, the_metric_of_an_avoided_mirror_is_1_until_it_is_let_back);
	tcase_add_test(tc, events_tell_of_each_avoidance_whatever_the_log_leaves_out);
	tcase_add_test(tc, a_mirror_avoided_on_its_ramp_begins_it_anew_when_let_back);
	tcase_add_test(tc, a_mirror_drained_on_its_ramp_wakes_nobody);
	tcase_add_test(tc, the_smooth_window_forgets_evenly);
	tcase_add_test(tc, warnings_are_not_counted_twice);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
