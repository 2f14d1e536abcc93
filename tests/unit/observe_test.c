/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control loop sees, and what it shows. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "loop.h"
#include "observe.h"
#include "status.h"
#include "why.h"

/* ---- instances ---- */

START_TEST(totals_of_a_new_instance_begin_anew)
{
	struct karma_counts report;

	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop.now_us += 1 * S;
	loop_answer(0, 0, 1000, 10 * MS);
	observe_closed(loop.model, "gone", loop.now_us);
	memset(loop.totals, 0, sizeof(loop.totals));
	loop_connect_to(2, 0, NULL);
	loop.now_us += 1 * S;
	loop_answer(0, 0, 3, 10 * MS);
	karma_report(&loop.web->mirrors[0].karma, loop.now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 1003);
	ck_assert_uint_eq(model_opened(loop.web, &loop.web->mirrors[0]), 3);
}
END_TEST

START_TEST(what_happened_while_we_were_away_is_counted_once)
{
	struct karma_counts report;

	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop_answer(0, 0, 10, 10 * MS);
	observe_closed(loop.model, "gone", loop.now_us);
	loop.totals[0][0].query.count += 7;
	loop_connect_to(1, 3, loop_equal);
	loop_answer(0, 0, 1, 10 * MS);
	karma_report(&loop.web->mirrors[0].karma, loop.now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 18);
}
END_TEST

START_TEST(what_was_counted_before_we_started_is_no_karma_of_ours)
{
	struct karma_counts report;

	loop.totals[0][0].query.count = 5000;
	loop.totals[0][0].opened = 5000;
	loop_begin(1);
	loop_connect_to(1, 3, loop_equal);
	loop_answer(0, 0, 2, 10 * MS);
	karma_report(&loop.web->mirrors[0].karma, loop.now_us, 15, &report);
	ck_assert_uint_eq(report.query.count, 2);
	ck_assert_uint_eq(model_opened(loop.web, &loop.web->mirrors[0]), 5002);
}
END_TEST

START_TEST(a_slot_number_may_pass_to_another_mirror)
{
	struct karma_counts report;

	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop_answer(0, 0, 100, 10 * MS);

	/* mirror 1 gets mirror 0's number, in a new life */
	struct karmalb_slot message = {
		.listen = loop.listens[0],
		.address = config_mirror_endpoint(&loop.mirror_confs[1], &loop.listens[0]),
		.slot = loop_number_of(0, 0),
		.is_selected = 1,
	};
	observe_slot(loop.model, &message);
	memset(&loop.totals[0][0], 0, sizeof(loop.totals[0][0]));
	loop_answer(0, 0, 4, 20 * MS);
	karma_report(&loop.web->mirrors[1].karma, loop.now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 4);
	karma_report(&loop.web->mirrors[0].karma, loop.now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 100);
	loop_send_totals(1, 0); /* its old number is nobody's */
	ck_assert_uint_eq(model_opened(loop.web, &loop.web->mirrors[1]), 4);
}
END_TEST

/* ---- status ---- */

START_TEST(status_shows_what_was_measured)
{
	char why[KARMALB_SENTENCE_MAX];
	struct status *st;

	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop.now_us = loop_block_at(0, 5 * S);
	loop_answer_like_the_seed(100);
	loop_tick_at(loop_block_at(1, 0));
	loop_query_fails(2, 0, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	st = status_take(loop.model, loop.now_us);
	ck_assert_ptr_nonnull(st);

	const struct status_service *s = status_find_service(st, "web");

	ck_assert_ptr_nonnull(s);
	ck_assert_ptr_null(status_find_service(st, "wep"));
	ck_assert_uint_eq(s->period, LOOP_FIRST_BLOCK + 1);
	ck_assert_uint_eq(s->total, 400);
	ck_assert_uint_eq(s->failed, 1);
	ck_assert_uint_gt(s->reweighted_at_unix_us, 0);
	ck_assert_uint_eq(s->next_reweight_unix_us - s->reweighted_at_unix_us, LOOP_PERIOD_US);
	ck_assert_uint_eq(s->mirrors[2].errors_in_row, 1);
	ck_assert_uint_eq(s->mirrors[2].n_answers, 100);
	ck_assert_double_eq_tol(s->mirrors[2].answer_mean_us, 30000, 1e-9);
	ck_assert_double_eq_tol(s->mirrors[2].answer_p99_us, 30000, 30000 / 8.0);
	ck_assert(!s->mirrors[2].is_answer_partial);
	ck_assert_uint_eq(
		s->mirrors[2].reports[0].outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES], 100);
	ck_assert_str_eq(s->mirrors[0].why, "10.0 ms against the pool's 7.5 ms median");
	ck_assert_str_eq(
		s->mirrors[0].why, why_share(loop.web, &loop.web->mirrors[0], why, sizeof(why)));

	/* a copy: what comes later does not reach it */
	loop_answer(2, 0, 1000, 1 * MS);
	ck_assert_uint_eq(s->mirrors[2].life.opened, 100);
	status_free(st);
}
END_TEST

START_TEST(traffic_and_histograms_are_summed_over_the_listens)
{
	struct status *st;

	loop_begin(2);
	loop_connect_to(1, 0, NULL);
	for (unsigned i = 0; i < 2; i++) {
		loop.totals[0][i].to_mirror_packets = 10 + i;
		loop.totals[0][i].to_client_bytes = 1000 + i;
	}
	loop_answer(0, 0, 7, 63);
	loop_answer(0, 0, 5, 64);
	loop_answer(0, 1, 3, 20 * S);
	st = status_take(loop.model, loop.now_us);
	ck_assert_ptr_nonnull(st);

	const struct status_traffic *t = &st->services[0].mirrors[0].traffic;

	ck_assert_uint_eq(t->to_mirror_packets, 21);
	ck_assert_uint_eq(t->to_client_bytes, 2001);
	ck_assert_uint_eq(t->query.sum_us, 7 * 63 + 5 * 64 + 3 * 20 * S);
	ck_assert_uint_eq(t->query.buckets[0], 7);
	ck_assert_uint_eq(t->query.buckets[1], 5);
	ck_assert_uint_eq(t->query.buckets[STATUS_HISTOGRAM_EDGES], 3);
	status_free(st);
}
END_TEST

START_TEST(rates_are_over_the_last_seconds)
{
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	for (unsigned i = 0; i < 100; i++) {
		loop.now_us += 100 * MS;
		loop_answer(0, 0, i < 50 ? 10 : 30, MS);
		model_sample_rates(loop.model, loop.now_us);
	}
	ck_assert_double_eq_tol(model_rate(loop.web, &loop.web->mirrors[0], loop.now_us), 300, 1);
	ck_assert_double_eq(model_rate(loop.web, &loop.web->mirrors[1], loop.now_us), 0);
	for (unsigned i = 0; i < 30; i++) {
		loop.now_us += 100 * MS;
		model_sample_rates(loop.model, loop.now_us);
	}
	ck_assert_double_eq(model_rate(loop.web, &loop.web->mirrors[0], loop.now_us), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("observe");
	TCase *tc = tcase_create("loop");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, loop_set_up, loop_tear_down);
	tcase_add_test(tc, totals_of_a_new_instance_begin_anew);
	tcase_add_test(tc, what_happened_while_we_were_away_is_counted_once);
	tcase_add_test(tc, what_was_counted_before_we_started_is_no_karma_of_ours);
	tcase_add_test(tc, a_slot_number_may_pass_to_another_mirror);
	tcase_add_test(tc, status_shows_what_was_measured);
	tcase_add_test(tc, traffic_and_histograms_are_summed_over_the_listens);
	tcase_add_test(tc, rates_are_over_the_last_seconds);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
