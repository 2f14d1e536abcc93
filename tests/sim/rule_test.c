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

/* As the settings' defaults make it. */
static const struct weight_rule damped = {.gain = 0.25,
	.forget = 0.1,
	.floor = 0.01,
	.step_max = WEIGHT_STEP_MAX,
	.is_waiting_counted = true};

static void
run(unsigned n_periods, const struct weight_rule *rule)
{
	while (n_periods-- > 0)
		pool_run_period(&pool, rule);
}

/* The largest factor by which any share departs from its fair part, over 'n_periods'. */
static double
worst_departure(unsigned n_periods, const struct weight_rule *rule)
{
	double worst = 1;

	for (unsigned k = 0; k < n_periods; k++) {
		pool_run_period(&pool, rule);
		for (unsigned i = 0; i < pool.n_mirrors; i++) {
			double ratio = pool_share(&pool, i) * pool.n_mirrors;

			worst = fmax(worst, fmax(ratio, 1 / ratio));
		}
	}
	return worst;
}

static const double loads[] = {0.3, 0.5, 0.75, 0.85};

START_TEST(equal_mirrors_stay_about_equal)
{
	pool_init(&pool, 10, loads[_i], 500);
	run(20, &damped);

	double worst = worst_departure(150, &damped);

	printf("load %.2f: worst departure from the fair share %.2f\n", loads[_i], worst);
	ck_assert_double_lt(worst, 2.5);
	ck_assert_double_lt(pool_mean_ms(&pool), 20);
}
END_TEST

START_TEST(few_samples_do_not_send_shares_adrift)
{
	pool_init(&pool, 10, 0.5, 20);
	ck_assert_double_lt(worst_departure(1000, &damped), 2.5);
}
END_TEST

/* Why there is another rule than the documented one, and that this pool is able to show it. */
START_TEST(the_documented_rule_collapses_where_the_default_does_not)
{
	pool_init(&pool, 10, 0.75, 100);
	run(60, &weight_rule_documented);

	double documented_ms = pool_mean_ms(&pool);

	pool_init(&pool, 10, 0.75, 100);
	run(60, &damped);

	double damped_ms = pool_mean_ms(&pool);

	printf("mean after 60 periods: documented %.1f ms, default %.1f ms\n", documented_ms,
		damped_ms);
	ck_assert_double_lt(damped_ms, 20);
	ck_assert_double_gt(documented_ms, 10 * damped_ms);
}
END_TEST

START_TEST(unequal_capacity_is_found)
{
	pool_init(&pool, 10, 0.75, 500);
	for (unsigned i = 0; i < 5; i++)
		pool.mirrors[i].service_ms = 20; /* half as fast: equal shares would overload it */
	pool.arrivals_per_ms *= 0.75;
	run(100, &damped);
	for (unsigned k = 0; k < 50; k++) {
		pool_run_period(&pool, &damped);
		ck_assert_double_lt(pool_mean_ms(&pool), 40);
	}
	for (unsigned i = 0; i < 5; i++)
		ck_assert_double_lt(pool_share(&pool, i), pool_share(&pool, i + 5));
}
END_TEST

START_TEST(a_mirror_that_slows_down_loses_and_heals_back)
{
	unsigned n_down = 0, n_back = 0;

	pool_init(&pool, 10, 0.6, 500);
	run(30, &damped);
	pool.mirrors[0].service_ms = 100;
	while (pool_share(&pool, 0) > 0.03 && n_down++ < 100)
		pool_run_period(&pool, &damped);
	run(30, &damped);
	ck_assert_double_lt(pool_share(&pool, 0), 0.03);

	pool.mirrors[0].service_ms = 10;
	while (pool_share(&pool, 0) < 0.05 && n_back++ < 100)
		pool_run_period(&pool, &damped);
	printf("10 times slower: below 3 %% after %u periods; healed: at half its part after %u\n",
		n_down, n_back);
	ck_assert_uint_le(n_down, 15);
	ck_assert_uint_le(n_back, 30);
}
END_TEST

START_TEST(the_share_never_falls_below_the_floor)
{
	pool_init(&pool, 4, 0.4, 200);
	pool.mirrors[3].service_ms = 2000;
	for (unsigned k = 0; k < 200; k++) {
		pool_run_period(&pool, &damped);
		ck_assert_double_ge(pool_share(&pool, 3), 0.01 * (1 - 1e-9));
	}
}
END_TEST

START_TEST(without_load_dependence_the_leak_ends_the_drift)
{
	double share;

	pool_init(&pool, 4, 0.05, 500);
	pool.mirrors[0].service_ms = 11; /* ten per cent, for ever */
	run(100, &damped);
	share = pool_share(&pool, 0);
	run(100, &damped);
	ck_assert_double_gt(pool_share(&pool, 0), 0.7 * share);
	ck_assert_double_gt(pool_share(&pool, 0), 0.15);
}
END_TEST

START_TEST(a_mirror_comes_back_from_death_with_its_share)
{
	pool_init(&pool, 4, 0.3, 500);
	pool.mirrors[3].service_ms = 5;
	run(100, &damped);

	double before = pool_share(&pool, 3);

	pool.mirrors[3].is_dead = true;
	run(50, &damped);
	ck_assert_double_eq(pool_share(&pool, 3), 0);
	pool.mirrors[3].is_dead = false;
	ck_assert_double_eq_tol(pool_share(&pool, 3), before, 1e-9);
}
END_TEST

/* One that accepts everything and answers nothing: no failure yet, no answer, only waiting. */
START_TEST(a_mirror_that_hangs_loses_before_its_queries_time_out)
{
	unsigned n = 0;

	pool_init(&pool, 10, 0.5, 500);
	run(30, &damped);
	pool.mirrors[0].service_ms = 1e6;
	while (pool_share(&pool, 0) > 0.03 && n++ < 100)
		pool_run_period(&pool, &damped);
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
	tcase_add_loop_test(
		tc, equal_mirrors_stay_about_equal, 0, sizeof(loads) / sizeof(loads[0]));
	tcase_add_test(tc, few_samples_do_not_send_shares_adrift);
	tcase_add_test(tc, the_documented_rule_collapses_where_the_default_does_not);
	tcase_add_test(tc, unequal_capacity_is_found);
	tcase_add_test(tc, a_mirror_that_slows_down_loses_and_heals_back);
	tcase_add_test(tc, the_share_never_falls_below_the_floor);
	tcase_add_test(tc, without_load_dependence_the_leak_ends_the_drift);
	tcase_add_test(tc, a_mirror_comes_back_from_death_with_its_share);
	tcase_add_test(tc, a_mirror_that_hangs_loses_before_its_queries_time_out);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
