/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The weight rule in a closed loop with a pool whose latency depends on the load that the rule
 * itself gives it.  Promises, not figures: bounds leave room for another seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <check.h>

#include "pool.h"

static struct pool pool;

/* As the settings' defaults make it, and karma_gain = "auto". */
static const struct weight_rule rules[] = {
	{.gain = 0.25,
		.forget = 0.1,
		.floor = 0.01,
		.step_max = WEIGHT_STEP_MAX,
		.is_waiting_counted = true},
	{.gain = WEIGHT_GAIN_MAX,
		.forget = 0.1,
		.floor = 0.01,
		.step_max = WEIGHT_STEP_MAX,
		.trusted_samples = WEIGHT_TRUSTED_SAMPLES,
		.is_waiting_counted = true},
};
static const char *const rule_names[] = {"0.25", "auto"};
#define N_RULES 2

/* The test's own, since one that tunes its gain changes. */
static struct weight_rule rule;

static void
begin(const struct weight_rule *with, unsigned n_mirrors, double load, double samples)
{
	rule = *with;
	pool_init(&pool, n_mirrors, load, samples);
}

static void
run(unsigned n_periods)
{
	while (n_periods-- > 0)
		pool_run_period(&pool, &rule);
}

/* The largest factor by which any share departs from its fair part, over 'n_periods'. */
static double
worst_departure(unsigned n_periods)
{
	double worst = 1;

	for (unsigned k = 0; k < n_periods; k++) {
		pool_run_period(&pool, &rule);
		for (unsigned i = 0; i < pool.n_mirrors; i++) {
			double ratio = pool_share(&pool, i) * pool.n_mirrors;

			worst = fmax(worst, fmax(ratio, 1 / ratio));
		}
	}
	return worst;
}

static const double loads[] = {0.3, 0.5, 0.75, 0.85};
#define N_LOADS 4

START_TEST(equal_mirrors_stay_about_equal)
{
	double load = loads[_i / N_RULES];

	begin(&rules[_i % N_RULES], 10, load, 500);
	run(20);

	double worst = worst_departure(150);

	printf("%s, load %.2f: worst departure from the fair share %.2f\n",
		rule_names[_i % N_RULES], load, worst);
	ck_assert_double_lt(worst, 2.5);
	ck_assert_double_lt(pool_mean_ms(&pool), 20);
}
END_TEST

/* Where the default swings: what a gain that finds itself is for. */
START_TEST(a_tuned_gain_holds_a_pool_near_its_capacity)
{
	double worst[N_RULES], mean_ms[N_RULES];

	for (unsigned i = 0; i < N_RULES; i++) {
		begin(&rules[i], 10, 0.92, 500);
		run(20);
		worst[i] = worst_departure(200);
		mean_ms[i] = pool_mean_ms(&pool);
		printf("%s, load 0.92: worst departure %.2f, mean %.1f ms\n", rule_names[i],
			worst[i], mean_ms[i]);
	}
	ck_assert_double_lt(worst[1], 2.5);
	ck_assert_double_lt(mean_ms[1], 60);
	ck_assert_double_gt(mean_ms[0], 5 * mean_ms[1]);
}
END_TEST

/* Latencies that do not depend on the load: each step proves right, none is cut. */
START_TEST(an_idle_pool_keeps_the_whole_gain_until_it_has_settled)
{
	begin(&rules[1], 4, 0.02, 2000);
	pool.mirrors[3].service_ms = 30;
	for (unsigned k = 0; k < 5; k++) {
		pool_run_period(&pool, &rule);
		ck_assert_double_eq(rule.gain, WEIGHT_GAIN_MAX);
	}
	ck_assert_double_lt(pool_share(&pool, 3), 0.03);
}
END_TEST

START_TEST(few_samples_do_not_send_shares_adrift)
{
	begin(&rules[_i], 10, 0.5, 20);
	ck_assert_double_lt(worst_departure(1000), 2.5);
}
END_TEST

/* Why there is another rule than the documented one, and that this pool is able to show it. */
START_TEST(the_documented_rule_collapses_where_others_do_not)
{
	begin(&weight_rule_documented, 10, 0.75, 100);
	run(60);

	double documented_ms = pool_mean_ms(&pool);

	begin(&rules[_i], 10, 0.75, 100);
	run(60);

	double mean_ms = pool_mean_ms(&pool);

	printf("mean after 60 periods: documented %.1f ms, %s %.1f ms\n", documented_ms,
		rule_names[_i], mean_ms);
	ck_assert_double_lt(mean_ms, 20);
	ck_assert_double_gt(documented_ms, 10 * mean_ms);
}
END_TEST

START_TEST(unequal_capacity_is_found)
{
	begin(&rules[_i], 10, 0.75, 500);
	for (unsigned i = 0; i < 5; i++)
		pool.mirrors[i].service_ms = 20; /* half as fast: equal shares would overload it */
	pool.arrivals_per_ms *= 0.75;
	run(100);
	for (unsigned k = 0; k < 50; k++) {
		pool_run_period(&pool, &rule);
		ck_assert_double_lt(pool_mean_ms(&pool), 40);
	}
	for (unsigned i = 0; i < 5; i++)
		ck_assert_double_lt(pool_share(&pool, i), pool_share(&pool, i + 5));
}
END_TEST

START_TEST(a_mirror_that_slows_down_loses_and_heals_back)
{
	unsigned n_down = 0, n_back = 0;

	begin(&rules[_i], 10, 0.6, 500);
	run(30);
	pool.mirrors[0].service_ms = 100;
	while (pool_share(&pool, 0) > 0.03 && n_down++ < 100)
		pool_run_period(&pool, &rule);
	run(30);
	ck_assert_double_lt(pool_share(&pool, 0), 0.03);

	pool.mirrors[0].service_ms = 10;
	while (pool_share(&pool, 0) < 0.05 && n_back++ < 100)
		pool_run_period(&pool, &rule);
	printf("10 times slower: below 3 %% after %u periods; healed: at half its part after %u\n",
		n_down, n_back);
	ck_assert_uint_le(n_down, 15);
	ck_assert_uint_le(n_back, 30);
}
END_TEST

START_TEST(the_share_never_falls_below_the_floor)
{
	begin(&rules[_i], 4, 0.4, 200);
	pool.mirrors[3].service_ms = 2000;
	for (unsigned k = 0; k < 200; k++) {
		pool_run_period(&pool, &rule);
		ck_assert_double_ge(pool_share(&pool, 3), 0.01 * (1 - 1e-9));
	}
}
END_TEST

START_TEST(without_load_dependence_the_leak_ends_the_drift)
{
	double share;

	begin(&rules[_i], 4, 0.05, 500);
	pool.mirrors[0].service_ms = 11; /* ten per cent, for ever */
	run(100);
	share = pool_share(&pool, 0);
	run(100);
	ck_assert_double_gt(pool_share(&pool, 0), 0.7 * share);
	ck_assert_double_gt(pool_share(&pool, 0), 0.15);
}
END_TEST

START_TEST(a_mirror_comes_back_from_death_with_its_share)
{
	begin(&rules[_i], 4, 0.3, 500);
	pool.mirrors[3].service_ms = 5;
	run(100);

	double before = pool_share(&pool, 3);

	pool.mirrors[3].is_dead = true;
	run(50);
	ck_assert_double_eq(pool_share(&pool, 3), 0);
	pool.mirrors[3].is_dead = false;
	ck_assert_double_eq_tol(pool_share(&pool, 3), before, 1e-9);
}
END_TEST

/* One that accepts everything and answers nothing: no failure yet, no answer, only waiting. */
START_TEST(a_mirror_that_hangs_loses_before_its_queries_time_out)
{
	unsigned n = 0;

	begin(&rules[_i], 10, 0.5, 500);
	run(30);
	pool.mirrors[0].service_ms = 1e6;
	while (pool_share(&pool, 0) > 0.03 && n++ < 100)
		pool_run_period(&pool, &rule);
	printf("hung: below 3 %% after %u periods\n", n);
	ck_assert_uint_le(n, 10);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("rule");
	TCase *tc = tcase_create("closed loop");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 20);
	tcase_add_loop_test(tc, equal_mirrors_stay_about_equal, 0, N_LOADS * N_RULES);
	tcase_add_test(tc, a_tuned_gain_holds_a_pool_near_its_capacity);
	tcase_add_test(tc, an_idle_pool_keeps_the_whole_gain_until_it_has_settled);
	tcase_add_loop_test(tc, few_samples_do_not_send_shares_adrift, 0, N_RULES);
	tcase_add_loop_test(tc, the_documented_rule_collapses_where_others_do_not, 0, N_RULES);
	tcase_add_loop_test(tc, unequal_capacity_is_found, 0, N_RULES);
	tcase_add_loop_test(tc, a_mirror_that_slows_down_loses_and_heals_back, 0, N_RULES);
	tcase_add_loop_test(tc, the_share_never_falls_below_the_floor, 0, N_RULES);
	tcase_add_loop_test(tc, without_load_dependence_the_leak_ends_the_drift, 0, N_RULES);
	tcase_add_loop_test(tc, a_mirror_comes_back_from_death_with_its_share, 0, N_RULES);
	tcase_add_loop_test(tc, a_mirror_that_hangs_loses_before_its_queries_time_out, 0, N_RULES);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
