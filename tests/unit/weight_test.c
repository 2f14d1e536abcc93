/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * W1 .. W6 as documented.  Not here, because they describe other programs: W7 (formulas of Sphinx
 * 2.2.11, 2.3.3 and Manticore).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <karmalb/limits.h>

#include "weight.h"

#define TOLERANCE 1e-4

static const double quarters[4] = {0.25, 0.25, 0.25, 0.25};
static const double seed_ms[4] = {10, 5, 30, 3};
static const struct weight_rule damped = {
	.gain = 0.25, .forget = 0.1, .floor = 0.01, .step_max = WEIGHT_STEP_MAX};

/* Four equal mirrors that have 'shares' and answered 1000 queries of 'ms' each; 0: none. */
static void
make_pool(struct weight_mirror *pool, const double *shares, const double *ms)
{
	for (unsigned i = 0; i < 4; i++) {
		pool[i] = (struct weight_mirror){
			.configured = 0.25,
			.is_in_pool = true,
			.x = weight_x(shares[i], 0.25),
			.n_answers = ms[i] > 0 ? 1000 : 0,
			.answers_us = (uint64_t)(1000 * 1000 * ms[i]),
		};
	}
}

static void
assert_shares(const struct weight_mirror *pool, const double *expected)
{
	double sum = 0;

	for (unsigned i = 0; i < 4; i++) {
		ck_assert_double_eq_tol(pool[i].share, expected[i], TOLERANCE);
		ck_assert_double_eq_tol(
			weight_share(pool[i].x, pool[i].configured), pool[i].share, 1e-9);
		sum += pool[i].share;
	}
	ck_assert_double_eq_tol(sum, 1, 1e-12);
}

static const double w1[4] = {0.15, 0.30, 0.05, 0.50};
static const double w2[4] = {0.061644, 0.246575, 0.006849, 0.684932};
static const double w3[4] = {0.021704, 0.173633, 0.000804, 0.803859};

START_TEST(documented_rule_from_equal_shares) /* W1 */
{
	struct weight_mirror pool[4];

	make_pool(pool, quarters, seed_ms);
	ck_assert_double_eq_tol(
		weight_step(&weight_rule_documented, pool, 4), 7500, 1e-6); /* median of 5 and 10 */
	assert_shares(pool, w1);
}
END_TEST

START_TEST(documented_rule_accumulates) /* W2, W3 */
{
	struct weight_mirror pool[4];

	make_pool(pool, w1, seed_ms);
	weight_step(&weight_rule_documented, pool, 4);
	assert_shares(pool, w2);
	weight_step(&weight_rule_documented, pool, 4);
	assert_shares(pool, w3);
}
END_TEST

START_TEST(documented_rule_starts_from_the_old_shares) /* W4 */
{
	static const double ms[4] = {8, 6, 12, 6};
	static const double expected[4] = {0.12, 0.32, 0.026667, 0.533333};
	struct weight_mirror pool[4];

	make_pool(pool, w1, ms);
	weight_step(&weight_rule_documented, pool, 4);
	assert_shares(pool, expected);
}
END_TEST

START_TEST(documented_rule_leaves_equals_alone) /* W5 */
{
	static const double ms[4] = {7, 7, 7, 7};
	struct weight_mirror pool[4];

	make_pool(pool, w1, ms);
	weight_step(&weight_rule_documented, pool, 4);
	assert_shares(pool, w1);
}
END_TEST

START_TEST(floor_raises_fixes_and_rescales) /* W6 */
{
	static const double expected[4] = {0.061448, 0.245793, 0.01, 0.682759};
	const struct weight_rule rule = {.gain = 1, .floor = 0.01};
	struct weight_mirror pool[4];

	make_pool(pool, w1, seed_ms);
	weight_step(&rule, pool, 4);
	assert_shares(pool, expected);
}
END_TEST

START_TEST(default_rule_takes_a_quarter_of_the_step)
{
	struct weight_mirror pool[4];
	double expected[4], sum = 0;

	make_pool(pool, quarters, seed_ms);
	weight_step(&damped, pool, 4);
	for (unsigned i = 0; i < 4; i++)
		sum += expected[i] = pow(seed_ms[i], -0.25);
	for (unsigned i = 0; i < 4; i++)
		expected[i] /= sum;
	assert_shares(pool, expected);
}
END_TEST

static const struct weight_rule tuned = {.gain = WEIGHT_GAIN_MAX,
	.forget = 0.1,
	.step_max = WEIGHT_STEP_MAX,
	.trusted_samples = WEIGHT_TRUSTED_SAMPLES};

/* One period of a pool that finds its gain; returns it. */
static double
tuned_step(struct weight_rule *rule, struct weight_mirror *pool, const double *ms)
{
	for (unsigned i = 0; i < 4; i++) {
		pool[i].n_answers = 1000;
		pool[i].answers_us = (uint64_t)(1000 * 1000 * ms[i]);
	}
	rule->gain = weight_tuned_gain(rule, pool, 4);
	weight_step(rule, pool, 4);
	return rule->gain;
}

START_TEST(a_tuned_gain_begins_with_the_documented_step)
{
	struct weight_rule rule = tuned;
	struct weight_mirror pool[4];

	rule.step_max = 0; /* as at a start */
	make_pool(pool, quarters, seed_ms);
	ck_assert_double_eq(tuned_step(&rule, pool, seed_ms), 1);
	assert_shares(pool, w1);
	ck_assert_double_eq(tuned_step(&rule, pool, seed_ms), 1); /* nothing against it yet */
}
END_TEST

START_TEST(a_step_that_is_wanted_back_halves_the_gain)
{
	static const double swung_ms[4] = {3, 30, 5, 10};
	struct weight_rule rule = tuned;
	struct weight_mirror pool[4];

	make_pool(pool, quarters, seed_ms);
	tuned_step(&rule, pool, seed_ms);
	ck_assert_double_eq(tuned_step(&rule, pool, swung_ms), 0.5);
	ck_assert_double_eq(tuned_step(&rule, pool, seed_ms), 0.25);
	for (unsigned i = 0; i < 10; i++)
		tuned_step(&rule, pool, i % 2 == 0 ? swung_ms : seed_ms);
	ck_assert_double_eq(rule.gain, WEIGHT_GAIN_MIN);
}
END_TEST

START_TEST(a_step_that_drove_the_pool_apart_halves_the_gain)
{
	static const double apart_ms[4] = {10, 5, 90, 1}; /* further the same way */
	struct weight_rule rule = tuned;
	struct weight_mirror pool[4];

	make_pool(pool, quarters, seed_ms);
	tuned_step(&rule, pool, seed_ms);
	ck_assert_double_eq(tuned_step(&rule, pool, apart_ms), 0.5);
}
END_TEST

START_TEST(a_gain_grows_back_while_steps_prove_short)
{
	struct weight_rule rule = tuned;
	struct weight_mirror pool[4];

	rule.gain = WEIGHT_GAIN_MIN;
	make_pool(pool, quarters, seed_ms);
	ck_assert_double_eq(tuned_step(&rule, pool, seed_ms), WEIGHT_GAIN_MIN); /* no move yet */
	ck_assert_double_eq_tol(tuned_step(&rule, pool, seed_ms), 1.05 * WEIGHT_GAIN_MIN, 1e-12);
}
END_TEST

START_TEST(a_mirror_with_few_answers_moves_less)
{
	static const double ms[4] = {5, 5, 10, 10};
	struct weight_mirror pool[4];

	make_pool(pool, quarters, ms);
	pool[3].n_answers /= 50; /* 20 of them */
	pool[3].answers_us /= 50;
	weight_step(&tuned, pool, 4);
	ck_assert_double_eq_tol(pool[0].pulled, log(7.5 / 5), 1e-12);
	ck_assert_double_eq_tol(pool[2].pulled, log(7.5 / 10), 1e-12);
	ck_assert_double_eq_tol(pool[3].pulled, 0.2 * log(7.5 / 10), 1e-12);
	ck_assert_double_gt(pool[3].share, pool[2].share);
}
END_TEST

START_TEST(a_newcomer_does_not_lower_the_gain)
{
	static const double ms[4] = {10, 10.5, 9.5, 0}, joined_ms[4] = {10, 10.5, 9.5, 16};
	struct weight_rule rule = tuned;
	struct weight_mirror pool[4];

	rule.gain = 0.5;
	make_pool(pool, quarters, ms);
	pool[3].is_in_pool = false;
	tuned_step(&rule, pool, ms);
	pool[3].is_in_pool = true;
	ck_assert_double_ge(tuned_step(&rule, pool, joined_ms), 0.5);
}
END_TEST

START_TEST(who_is_out_of_the_pool_has_no_say_in_the_gain)
{
	static const double swung_ms[4] = {10, 5, 30, 1000};
	struct weight_rule rule = tuned;
	struct weight_mirror pool[4];

	make_pool(pool, quarters, seed_ms);
	tuned_step(&rule, pool, seed_ms);
	pool[3].is_in_pool = false;
	ck_assert_double_eq(tuned_step(&rule, pool, swung_ms), 1);
	ck_assert_double_eq(pool[3].moved, 0);
	ck_assert_double_eq(pool[3].pulled, 0);
}
END_TEST

START_TEST(steady_latencies_settle_at_the_power_of_gain_over_forget)
{
	const struct weight_rule rule = {.gain = 0.25, .forget = 0.1};
	struct weight_mirror pool[4];
	double expected[4], sum = 0;

	make_pool(pool, quarters, seed_ms);
	for (unsigned i = 0; i < 300; i++)
		weight_step(&rule, pool, 4);
	for (unsigned i = 0; i < 4; i++)
		sum += expected[i] = pow(seed_ms[i], -0.25 / 0.1);
	for (unsigned i = 0; i < 4; i++)
		expected[i] /= sum;
	assert_shares(pool, expected);
}
END_TEST

START_TEST(a_healed_mirror_gets_its_share_back)
{
	static const double equal_ms[4] = {5, 5, 5, 5};
	static const double slow[4] = {0.33, 0.33, 0.33, 0.01};
	struct weight_mirror pool[4];

	make_pool(pool, slow, equal_ms);
	for (unsigned i = 0; i < 40; i++)
		weight_step(&damped, pool, 4);
	ck_assert_double_ge(pool[3].share, 0.24);
}
END_TEST

START_TEST(without_samples_a_mirror_drifts_to_its_configured_share)
{
	static const double no_third[4] = {5, 5, 0, 5};
	static const double shares[4] = {0.32, 0.32, 0.04, 0.32};
	struct weight_mirror pool[4];
	double last = 0.04;

	make_pool(pool, shares, no_third);
	for (unsigned i = 0; i < 60; i++) {
		weight_step(&damped, pool, 4);
		ck_assert_double_gt(pool[2].share, last);
		last = pool[2].share;
	}
	ck_assert_double_eq_tol(last, 0.25, 0.005);
}
END_TEST

START_TEST(documented_rule_keeps_the_share_of_a_mirror_without_samples)
{
	static const double no_third[4] = {5, 5, 0, 5};
	struct weight_mirror pool[4];

	make_pool(pool, w1, no_third);
	weight_step(&weight_rule_documented, pool, 4);
	assert_shares(pool, w1);
}
END_TEST

START_TEST(a_pool_without_samples_is_left_alone)
{
	static const double none[4] = {0, 0, 0, 0};
	struct weight_mirror pool[4], before[4];

	make_pool(pool, w1, none);
	memcpy(before, pool, sizeof(pool));
	ck_assert_double_eq(weight_step(&damped, pool, 4), 0);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_double_eq(pool[i].x, before[i].x);
}
END_TEST

START_TEST(no_share_moves_by_more_than_the_step_limit)
{
	static const double ms[4] = {0.1, 10, 10, 1000};
	const struct weight_rule rule = {.gain = 1, .step_max = WEIGHT_STEP_MAX};
	static const double before[4] = {0.001, 0.4, 0.4, 0.199};
	struct weight_mirror pool[4];

	make_pool(pool, before, ms);
	weight_step(&rule, pool, 4);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_double_le(pool[i].share, before[i] * WEIGHT_STEP_MAX * (1 + 1e-9));
		ck_assert_double_ge(pool[i].share, before[i] / WEIGHT_STEP_MAX * (1 - 1e-9));
	}
	ck_assert_double_eq_tol(pool[0].share, 0.008, 1e-9);
}
END_TEST

START_TEST(the_floor_leaves_large_pools_room_to_move)
{
	const struct weight_rule rule = {.gain = 1, .floor = 0.01};
	struct weight_mirror pool[100];

	memset(pool, 0, sizeof(pool));
	for (unsigned i = 0; i < 100; i++) {
		pool[i].configured = 0.01;
		pool[i].is_in_pool = true;
		pool[i].n_answers = 1;
		pool[i].answers_us = i < 50 ? 1000 : 100000;
	}
	weight_step(&rule, pool, 100);
	ck_assert_double_eq_tol(pool[0].share, 0.015, 1e-9);
	ck_assert_double_eq_tol(pool[99].share, 0.005, 1e-9);
}
END_TEST

START_TEST(dead_mirrors_keep_their_x_and_return_to_the_share_they_left_with)
{
	struct weight_mirror pool[4];

	make_pool(pool, w1, seed_ms);
	pool[3].is_in_pool = false;

	double x = pool[3].x, sum = 0, others = 0;

	for (unsigned i = 0; i < 20; i++)
		weight_step(&damped, pool, 4);
	ck_assert_double_eq(pool[3].x, x);
	for (unsigned i = 0; i < 4; i++)
		sum += weight_share(pool[i].x, pool[i].configured);
	for (unsigned i = 0; i < 3; i++)
		others += pool[i].share;
	ck_assert_double_eq_tol(others, 1, 1e-9);
	ck_assert_double_eq_tol(weight_share(x, 0.25) / sum, w1[3], 1e-9);
}
END_TEST

START_TEST(a_dead_mirrors_latency_does_not_move_the_median)
{
	static const double ms[4] = {10, 10, 10, 0.01};
	struct weight_mirror pool[4];

	make_pool(pool, w1, ms);
	pool[3].is_in_pool = false;
	ck_assert_double_eq_tol(weight_step(&weight_rule_documented, pool, 4), 10000, 1e-6);
	ck_assert_double_eq_tol(pool[0].share, 0.3, 1e-9);
	ck_assert_double_eq_tol(pool[1].share, 0.6, 1e-9);
	ck_assert_double_eq_tol(pool[2].share, 0.1, 1e-9);
}
END_TEST

START_TEST(old_waiting_queries_count_at_their_age)
{
	static const double ms[4] = {5, 5, 5, 5};
	struct weight_rule rule = damped;
	struct weight_mirror pool[4];

	rule.is_waiting_counted = true;
	make_pool(pool, quarters, ms);
	pool[0].n_waiting = 1000;
	pool[0].waiting_us = 1000 * 1000 * 1000; /* a second each */
	pool[1].n_waiting = 1000;
	pool[1].waiting_us = 1000 * 1000; /* a millisecond each: just begun */
	weight_step(&rule, pool, 4);
	ck_assert_double_eq_tol(pool[0].latency_us, (5000 + 1000000) / 2.0, 1e-6);
	ck_assert_double_eq_tol(pool[1].latency_us, 5000, 1e-6);
	ck_assert_double_lt(pool[0].share, pool[1].share);

	make_pool(pool, quarters, ms);
	pool[0].n_waiting = 1000;
	pool[0].waiting_us = 1000 * 1000 * 1000;
	weight_step(&weight_rule_documented, pool, 4);
	assert_shares(pool, quarters);
}
END_TEST

START_TEST(a_mirror_that_only_keeps_waiting_loses)
{
	static const double ms[4] = {5, 5, 0, 5};
	struct weight_rule rule = damped;
	struct weight_mirror pool[4];

	rule.is_waiting_counted = true;
	make_pool(pool, quarters, ms);
	pool[2].n_waiting = 10;
	pool[2].waiting_us = 10 * 2000 * 1000;
	weight_step(&rule, pool, 4);
	ck_assert_double_eq_tol(pool[2].latency_us, 2000000, 1e-6);
	ck_assert_double_lt(pool[2].share, 0.1);
}
END_TEST

/* Whatever the latencies: sums, floor, step limit and order of the faster and the slower. */
START_TEST(properties_hold_for_random_pools)
{
	struct weight_mirror pool[KARMALB_MIRRORS_MAX];
	double before[KARMALB_MIRRORS_MAX];

	srand((unsigned)_i + 1);
	unsigned n = 1 + (unsigned)rand() % KARMALB_MIRRORS_MAX;
	double configured = 0;

	memset(pool, 0, sizeof(pool));
	for (unsigned i = 0; i < n; i++)
		configured += pool[i].configured = 1 + rand() % 10;
	for (unsigned i = 0; i < n; i++) {
		pool[i].configured /= configured;
		pool[i].is_in_pool = true;
	}
	for (unsigned round = 0; round < 30; round++) {
		struct weight_rule rule = damped;
		double sum = 0, mass = 0;

		rule.gain = rand() % 5 / 4.0;
		if (round == 0)
			rule.step_max = 0;
		for (unsigned i = 0; i < n; i++)
			mass += weight_share(pool[i].x, pool[i].configured);
		for (unsigned i = 0; i < n; i++) {
			before[i] = weight_share(pool[i].x, pool[i].configured) / mass;
			pool[i].n_answers = 1 + (unsigned)rand() % 1000;
			pool[i].answers_us =
				(uint64_t)(pool[i].n_answers * exp(16.0 * rand() / RAND_MAX));
		}
		weight_step(&rule, pool, n);
		for (unsigned i = 0; i < n; i++) {
			double low = fmin(rule.floor, pool[i].configured / 2);

			sum += pool[i].share;
			ck_assert(isfinite(pool[i].x));
			ck_assert_double_ge(pool[i].share, low * (1 - 1e-9));
			if (rule.step_max > 0) {
				ck_assert_double_le(pool[i].share, before[i] * 8 * (1 + 1e-9));
				ck_assert_double_ge(pool[i].share, before[i] / 8 * (1 - 1e-9));
			}
		}
		ck_assert_double_eq_tol(sum, 1, 1e-9);
	}
}
END_TEST

START_TEST(between_equals_the_slower_never_gains)
{
	struct weight_mirror pool[4];
	double ms[4];

	srand((unsigned)_i + 100);
	for (unsigned i = 0; i < 4; i++)
		ms[i] = 1 + rand() % 1000;
	make_pool(pool, quarters, ms);
	for (unsigned round = 0; round < 20; round++) {
		weight_step(&damped, pool, 4);
		for (unsigned i = 0; i < 4; i++) {
			for (unsigned j = 0; j < 4; j++)
				ck_assert(ms[i] <= ms[j] ||
					  pool[i].share <= pool[j].share * (1 + 1e-9));
		}
	}
}
END_TEST

START_TEST(a_thousand_periods_of_the_documented_rule_stay_finite)
{
	struct weight_mirror pool[4];

	make_pool(pool, quarters, seed_ms);
	for (unsigned i = 0; i < 1000; i++)
		weight_step(&weight_rule_documented, pool, 4);
	ck_assert_double_eq_tol(pool[3].share, 1, 1e-9);
	for (unsigned i = 0; i < 4; i++)
		ck_assert(isfinite(pool[i].x));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("weight");
	TCase *tc = tcase_create("rule");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, documented_rule_from_equal_shares);
	tcase_add_test(tc, documented_rule_accumulates);
	tcase_add_test(tc, documented_rule_starts_from_the_old_shares);
	tcase_add_test(tc, documented_rule_leaves_equals_alone);
	tcase_add_test(tc, floor_raises_fixes_and_rescales);
	tcase_add_test(tc, default_rule_takes_a_quarter_of_the_step);
	tcase_add_test(tc, a_tuned_gain_begins_with_the_documented_step);
	tcase_add_test(tc, a_step_that_is_wanted_back_halves_the_gain);
	tcase_add_test(tc, a_step_that_drove_the_pool_apart_halves_the_gain);
	tcase_add_test(tc, a_gain_grows_back_while_steps_prove_short);
	tcase_add_test(tc, a_mirror_with_few_answers_moves_less);
	tcase_add_test(tc, a_newcomer_does_not_lower_the_gain);
	tcase_add_test(tc, who_is_out_of_the_pool_has_no_say_in_the_gain);
	tcase_add_test(tc, steady_latencies_settle_at_the_power_of_gain_over_forget);
	tcase_add_test(tc, a_healed_mirror_gets_its_share_back);
	tcase_add_test(tc, without_samples_a_mirror_drifts_to_its_configured_share);
	tcase_add_test(tc, documented_rule_keeps_the_share_of_a_mirror_without_samples);
	tcase_add_test(tc, a_pool_without_samples_is_left_alone);
	tcase_add_test(tc, no_share_moves_by_more_than_the_step_limit);
	tcase_add_test(tc, the_floor_leaves_large_pools_room_to_move);
	tcase_add_test(tc, dead_mirrors_keep_their_x_and_return_to_the_share_they_left_with);
	tcase_add_test(tc, a_dead_mirrors_latency_does_not_move_the_median);
	tcase_add_test(tc, old_waiting_queries_count_at_their_age);
	tcase_add_test(tc, a_mirror_that_only_keeps_waiting_loses);
	tcase_add_loop_test(tc, properties_hold_for_random_pools, 0, 20);
	tcase_add_loop_test(tc, between_equals_the_slower_never_gains, 0, 20);
	tcase_add_test(tc, a_thousand_periods_of_the_documented_rule_stay_finite);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
