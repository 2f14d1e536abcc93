/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control loop decides, and when. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "loop.h"
#include "observe.h"
#include "shares.h"
#include "why.h"

/* ---- whole blocks ---- */

START_TEST(the_first_whole_block_brings_the_first_reweighting)
{
	loop.now_us = loop_block_at(0, 4 * S);
	loop_begin(1);
	ck_assert_uint_eq(shares_reweight_due_us(loop.web, &loop.model->dataplane), UINT64_MAX);
	loop_connect_to(1, 0, NULL);
	ck_assert_uint_eq(
		shares_reweight_due_us(loop.web, &loop.model->dataplane), loop_block_at(2, 0));
	loop_tick_at(loop_block_at(0, 5 * S));
	loop_answer_like_the_seed(100);
	ck_assert(!loop_tick_at(loop_block_at(1, 0)));
	loop_assert_shares(loop_equal);

	loop.now_us = loop_block_at(1, 5 * S);
	loop_answer_like_the_seed(100);
	ck_assert(!loop_tick_at(loop_block_at(1, 9 * S)));
	ck_assert(loop_tick_at(loop_block_at(2, 0)));
	loop_assert_shares(loop_w1);
	ck_assert_uint_eq(loop.web->mirrors[0].step.block, LOOP_FIRST_BLOCK + 1);
	ck_assert_uint_eq(loop.web->mirrors[0].step.queries, 100);
	ck_assert_double_eq_tol(loop.web->mirrors[0].step.mean_us, 10000, 1e-9);
	ck_assert_double_eq(loop.web->mirrors[0].step.share_before, 0.25);
	ck_assert_double_eq_tol(loop.web->mirrors[0].step.share_after, 0.15, 1e-12);
	ck_assert(!loop_tick_at(loop_block_at(2, 1)));
}
END_TEST

START_TEST(a_late_tick_uses_the_last_block_only)
{
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop_tick_at(loop_block_at(1, 0));
	loop.now_us = loop_block_at(1, 5 * S);
	loop_answer_like_the_seed(100);
	loop.now_us = loop_block_at(2, 5 * S);
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		loop_answer(i, 0, 100, 5 * MS);
	ck_assert(loop_tick_at(loop_block_at(3, 5 * S)));
	loop_assert_shares(loop_equal);
	ck_assert_uint_eq(loop.web->mirrors[0].step.block, LOOP_FIRST_BLOCK + 2);
}
END_TEST

START_TEST(a_block_with_a_gap_in_it_moves_nothing)
{
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop_tick_at(loop_block_at(1, 0));
	loop.now_us = loop_block_at(1, 2 * S);
	loop_answer_like_the_seed(100);
	observe_closed(loop.model, "gone", loop.now_us);
	loop.now_us = loop_block_at(1, 3 * S);
	loop_connect_to(1, 5, loop_equal);
	ck_assert_uint_eq(
		shares_reweight_due_us(loop.web, &loop.model->dataplane), loop_block_at(3, 0));
	loop.now_us = loop_block_at(1, 8 * S);
	loop_answer_like_the_seed(100);
	ck_assert(!loop_tick_at(loop_block_at(2, 0)));
	loop_assert_shares(loop_equal);
	loop.now_us = loop_block_at(2, 5 * S);
	loop_answer_like_the_seed(100);
	ck_assert(loop_tick_at(loop_block_at(3, 0)));
	loop_assert_shares(loop_w1);
}
END_TEST

START_TEST(without_a_data_plane_nothing_is_reweighted)
{
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop.now_us = loop_block_at(0, 5 * S);
	loop_answer_like_the_seed(100);
	observe_closed(loop.model, "gone", loop_block_at(0, 9 * S));
	ck_assert(!loop_tick_at(loop_block_at(1, 0)));
	loop_assert_shares(loop_equal);
}
END_TEST

START_TEST(a_block_without_answers_is_no_reweighting)
{
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	for (unsigned i = 1; i < 5; i++)
		ck_assert(!loop_tick_at(loop_block_at(i, 0)));
	ck_assert_uint_eq(loop.web->reweighted_us, 0);
	loop_assert_shares(loop_equal);
}
END_TEST

START_TEST(only_the_first_step_is_without_limit)
{
	loop.service_conf.settings.karma_rule = KARMA_RULE_DAMPED;
	loop.service_conf.settings.karma_gain = 1;
	loop.service_conf.settings.karma_forget = 0;
	loop.service_conf.settings.karma_floor = 0;
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop.now_us = loop_block_at(0, 5 * S);
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		loop_answer(i, 0, 100, i == 0 ? 1000 * MS : 10 * MS);
	ck_assert(loop_tick_at(loop_block_at(1, 0)));
	ck_assert_double_eq_tol(loop.web->mirrors[0].share, 0.01 / 3.01, 1e-12);

	loop.now_us = loop_block_at(1, 5 * S);
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		loop_answer(i, 0, 100, i == 0 ? 1 * MS : 1000 * MS);
	ck_assert(loop_tick_at(loop_block_at(2, 0)));
	ck_assert_double_eq_tol(loop.web->mirrors[0].share, 8 * 0.01 / 3.01, 1e-12);
}
END_TEST

START_TEST(a_tuned_gain_is_kept_from_period_to_period)
{
	char why[KARMALB_SENTENCE_MAX];

	loop.service_conf.settings.karma_rule = KARMA_RULE_DAMPED;
	loop.service_conf.settings.karma_gain = SETTING_WORD;
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	for (unsigned block = 0; block < 3; block++) {
		loop.now_us = loop_block_at(block, 5 * S);
		for (unsigned i = 0; i < LOOP_N_MIRRORS; i++) /* now this half is slow, now that */
			loop_answer(i, 0, 200, i % 2 == block % 2 ? 40 * MS : 10 * MS);
		ck_assert(loop_tick_at(loop_block_at(block + 1, 0)));
		ck_assert_double_eq(loop.web->gain, block == 0 ? 1 : block == 1 ? 0.5 : 0.25);
	}
	why_share(loop.web, &loop.web->mirrors[0], why, sizeof(why));
	ck_assert_str_eq(why, "40.0 ms against the pool's 25.0 ms median, gain 0.25");
}
END_TEST

START_TEST(a_gain_that_is_tuned_from_now_on_begins_at_one)
{
	loop.service_conf.settings.karma_rule = KARMA_RULE_DAMPED;
	loop.service_conf.settings.karma_gain = 0.02;
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	for (unsigned block = 0; block < 2; block++) {
		loop.now_us = loop_block_at(block, 5 * S);
		loop_answer_like_the_seed(1000);
		ck_assert(loop_tick_at(loop_block_at(block + 1, 0)));
		ck_assert_double_eq(loop.web->gain, block == 0 ? 0.02 : 1);
		loop.web->settings.karma_gain = SETTING_WORD;
	}
}
END_TEST

START_TEST(random_never_reweights)
{
	loop.service_conf.settings.ha_strategy = loop_strategy_index("random");
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	for (unsigned i = 1; i < 5; i++) {
		loop_answer_like_the_seed(100);
		ck_assert(!loop_tick_at(loop_block_at(i, 0)));
	}
	loop_assert_shares(loop_equal);
	ck_assert_uint_eq(shares_reweight_due_us(loop.web, &loop.model->dataplane), UINT64_MAX);
}
END_TEST

START_TEST(another_period_begins_its_blocks_anew)
{
	struct service_settings longer;

	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop.now_us = loop_block_at(0, 5 * S);
	loop_answer_like_the_seed(100);
	ck_assert(loop_tick_at(loop_block_at(1, 0)));
	longer = loop.web->settings;
	longer.ha_period_karma_s = 20;
	model_set_settings(loop.web, &longer, loop_block_at(1, 1 * S));
	loop_assert_shares(loop_w1);
	/* 1000 is even: block 1 lies in the 20 s block that began with block 0 */
	ck_assert_uint_eq(
		shares_reweight_due_us(loop.web, &loop.model->dataplane), loop_block_at(4, 0));
	loop.now_us = loop_block_at(1, 2 * S);
	loop_answer_like_the_seed(100);
	ck_assert(!loop_tick_at(loop_block_at(2, 0)));
	loop_assert_shares(loop_w1);
}
END_TEST

/* ---- taking over ---- */

START_TEST(shares_in_force_are_announced_again)
{
	loop_begin(1);
	loop_connect_to(1, 9, loop_w1);
	shares_adopt(loop.model, loop.now_us);
	loop_tick_at(loop.now_us);
	loop_assert_shares(loop_w1);
}
END_TEST

START_TEST(taken_over_shares_go_on_from_where_they_were)
{
	static const double w2[LOOP_N_MIRRORS] = {0.061643835616438353, 0.24657534246575341,
		0.0068493150684931503, 0.68493150684931503};

	loop_begin(1);
	loop_connect_to(1, 9, loop_w1);
	shares_adopt(loop.model, loop.now_us);
	loop.now_us += 5 * S;
	loop_answer_like_the_seed(100);
	ck_assert(loop_tick_at(loop_block_at(1, 0)));
	loop_assert_shares(w2);
}
END_TEST

START_TEST(a_mirror_without_share_in_force_is_on_trial)
{
	static const double shares[LOOP_N_MIRRORS] = {0.3, 0.6, 0.1, 0};

	loop_begin(1);
	loop_connect_to(1, 9, shares);
	shares_adopt(loop.model, loop.now_us);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(loop.web->mirrors[3].health.state, MIRROR_TRIAL);
	ck_assert_double_eq_tol(loop.web->mirrors[3].share, 0.01, 1e-12);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(loop.web->mirrors[i].share, shares[i], 0.01);
	loop.now_us += 1 * S;
	loop_answer(3, 0, 1, 5 * MS);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(loop.web->mirrors[3].health.state, MIRROR_UP);
	ck_assert_double_eq_tol(loop.web->mirrors[3].share, 0.25, 1e-12);
}
END_TEST

START_TEST(a_mirror_found_dead_stays_dead)
{
	static const double shares[LOOP_N_MIRRORS] = {0.3, 0.6, 0.1, 0};

	loop.totals[3][0].errors_in_row = 17;
	loop.totals[3][0].last_error = KARMALB_OUTCOME_CONNECT_FAILURES;
	loop.totals[3][0].last_error_us = loop.now_us - 5 * S;
	loop_begin(1);
	loop_connect_to(1, 9, shares);
	shares_adopt(loop.model, loop.now_us);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(loop.web->mirrors[3].health.state, MIRROR_DEAD);
	loop_assert_shares(shares);
}
END_TEST

/* ---- health ---- */

START_TEST(death_moves_shares_at_once_and_the_share_is_kept_for_the_return)
{
	static const double without_m4[LOOP_N_MIRRORS] = {0.3, 0.6, 0.1, 0};
	char why[KARMALB_SENTENCE_MAX];

	loop_begin(1);
	loop_connect_to(1, 9, loop_w1);
	shares_adopt(loop.model, loop.now_us);
	for (unsigned i = 0; i < 4; i++) {
		loop_tick_at(loop.now_us);
		loop_assert_shares(loop_w1);
		loop.now_us += 3 * MS;
		loop_query_fails(3, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	}
	loop_tick_at(loop.now_us);
	loop_assert_shares(without_m4);
	ck_assert_str_eq(why_share(loop.web, &loop.web->mirrors[3], why, sizeof(why)),
		"4 connects refused in 9 ms");

	loop.now_us += 1 * S;
	observe_ping_answered(&loop.web->mirrors[3], 100, loop.now_us);
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(loop.web->mirrors[3].health.state, MIRROR_TRIAL);
	ck_assert_double_eq_tol(loop.web->mirrors[3].share, 0.01, 1e-12);
	ck_assert_str_eq(why_share(loop.web, &loop.web->mirrors[3], why, sizeof(why)),
		"answers pings again, on trial at 1 %");
	loop.now_us += 1 * S;
	loop_answer(3, 0, 1, 3 * MS);
	loop_tick_at(loop.now_us);
	loop_assert_shares(loop_w1);
}
END_TEST

START_TEST(either_listen_can_kill_a_mirror)
{
	loop_begin(2);
	loop_connect_to(1, 0, NULL);
	for (unsigned i = 0; i < 4; i++) {
		loop.now_us += MS;
		loop_answer(2, 0, 1, 5 * MS);
		loop_query_fails(2, 1, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	}
	loop_tick_at(loop.now_us);
	ck_assert_int_eq(loop.web->mirrors[2].health.state, MIRROR_DEAD);
	ck_assert_double_eq(loop.web->mirrors[2].share, 0);
}
END_TEST

START_TEST(karma_sums_over_listens)
{
	loop_begin(2);
	loop_connect_to(1, 0, NULL);
	loop.now_us = loop_block_at(0, 5 * S);
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++) {
		loop_answer(i, 0, 30, 10 * MS);
		loop_answer(i, 1, 10, i == 0 ? 50 * MS : 10 * MS);
	}
	ck_assert(loop_tick_at(loop_block_at(1, 0)));
	ck_assert_uint_eq(loop.web->mirrors[0].step.queries, 40);
	ck_assert_double_eq_tol(loop.web->mirrors[0].step.mean_us, 20000, 1e-9);
	ck_assert_double_eq_tol(loop.web->mirrors[0].share, 1.0 / 7, 1e-12);
}
END_TEST

START_TEST(four_failed_pings_take_an_idle_mirror_out)
{
	char why[KARMALB_SENTENCE_MAX];

	loop_begin(1);
	for (unsigned i = 0; i < 4; i++) {
		loop.now_us += 1 * S;
		observe_ping_failed(&loop.web->mirrors[1], "connection refused", loop.now_us);
		loop_tick_at(loop.now_us);
	}
	ck_assert_double_eq(loop.web->mirrors[1].share, 0);
	ck_assert_str_eq(why_share(loop.web, &loop.web->mirrors[1], why, sizeof(why)),
		"ping: connection refused 4 times");
}
END_TEST

START_TEST(the_least_bad_are_told_from_those_that_the_cap_keeps_in)
{
	char why[KARMALB_SENTENCE_MAX];

	loop_begin(1);
	for (unsigned k = 0; k < 4; k++) {
		loop.now_us += 1 * S;
		for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
			observe_ping_failed(&loop.web->mirrors[i], "no answer", loop.now_us);
		loop_tick_at(loop.now_us);
	}
	loop_assert_shares(loop_equal);
	ck_assert_str_eq(why_share(loop.web, &loop.web->mirrors[1], why, sizeof(why)),
		"least bad of the dead: ping: no answer 4 times");
	loop.web->settings.max_dead_pct = 50;
	loop_tick_at(loop.now_us + 1);
	ck_assert_str_eq(why_share(loop.web, &loop.web->mirrors[1], why, sizeof(why)),
		"kept in by max_dead_pct = 50, though ping: no answer 4 times");
}
END_TEST

/* Nobody pings it, so no ping can tell that it is back. */
START_TEST(a_dead_mirror_of_udp_comes_back_by_time)
{
	for (unsigned i = 0; i < 2; i++) {
		bool is_one_way = i == 1;

		loop_tear_down();
		loop_set_up();
		loop.listens[0].protocol = IPPROTO_UDP;
		loop.service_conf.settings.udp_answers = !is_one_way;
		loop_begin(1);
		ck_assert(!model_is_pinged(loop.web));
		loop_connect_to(1, 9, loop_equal);
		shares_adopt(loop.model, loop.now_us);
		loop.now_us += S;
		for (unsigned k = 0; k < 4; k++)
			loop_query_fails(2, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
		loop_tick_at(loop.now_us);
		ck_assert_int_eq(loop.web->mirrors[2].health.state, MIRROR_DEAD);
		loop_tick_at(loop.now_us + LOOP_PERIOD_US + S);
		ck_assert_int_eq(loop.web->mirrors[2].health.state, MIRROR_TRIAL);
		if (is_one_way) { /* observed by nobody, so the trial's end alone wakes the loop */
			observe_closed(loop.model, "gone", loop.now_us);
			ck_assert_uint_eq(shares_wake_us(loop.web, &loop.model->dataplane),
				loop.now_us + LOOP_PERIOD_US);
		}
		loop_tick_at(loop.now_us + LOOP_PERIOD_US + S);
		ck_assert_int_eq(
			loop.web->mirrors[2].health.state, is_one_way ? MIRROR_UP : MIRROR_TRIAL);
	}
}
END_TEST

START_TEST(a_dead_mirror_has_no_say_in_the_pool)
{
	loop_begin(1);
	loop_connect_to(1, 9, loop_w1);
	shares_adopt(loop.model, loop.now_us);
	for (unsigned i = 0; i < 4; i++)
		loop_query_fails(3, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	loop.now_us += 5 * S;
	for (unsigned i = 0; i < 3; i++)
		loop_answer(i, 0, 100, 10 * MS);
	ck_assert(loop_tick_at(loop_block_at(1, 0)));
	ck_assert_double_eq_tol(loop.web->mirrors[1].share, 0.6, 1e-12);
	ck_assert_double_eq(loop.web->mirrors[3].share, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shares");
	TCase *tc = tcase_create("loop");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, loop_set_up, loop_tear_down);
	tcase_add_test(tc, the_first_whole_block_brings_the_first_reweighting);
	tcase_add_test(tc, a_late_tick_uses_the_last_block_only);
	tcase_add_test(tc, a_block_with_a_gap_in_it_moves_nothing);
	tcase_add_test(tc, without_a_data_plane_nothing_is_reweighted);
	tcase_add_test(tc, a_block_without_answers_is_no_reweighting);
	tcase_add_test(tc, only_the_first_step_is_without_limit);
	tcase_add_test(tc, a_tuned_gain_is_kept_from_period_to_period);
	tcase_add_test(tc, a_gain_that_is_tuned_from_now_on_begins_at_one);
	tcase_add_test(tc, random_never_reweights);
	tcase_add_test(tc, another_period_begins_its_blocks_anew);
	tcase_add_test(tc, shares_in_force_are_announced_again);
	tcase_add_test(tc, taken_over_shares_go_on_from_where_they_were);
	tcase_add_test(tc, a_mirror_without_share_in_force_is_on_trial);
	tcase_add_test(tc, a_mirror_found_dead_stays_dead);
	tcase_add_test(tc, death_moves_shares_at_once_and_the_share_is_kept_for_the_return);
	tcase_add_test(tc, either_listen_can_kill_a_mirror);
	tcase_add_test(tc, karma_sums_over_listens);
	tcase_add_test(tc, four_failed_pings_take_an_idle_mirror_out);
	tcase_add_test(tc, the_least_bad_are_told_from_those_that_the_cap_keeps_in);
	tcase_add_test(tc, a_dead_mirror_of_udp_comes_back_by_time);
	tcase_add_test(tc, a_dead_mirror_has_no_say_in_the_pool);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
