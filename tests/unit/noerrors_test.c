/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * N1 .. N6 as documented; then where we go beyond them: pings, the unknown, the cap.
 *
 * Not here: R2 to R4 (a connect is not tried again on another mirror in this version), C3, C4 and
 * C6 (the grammar of Manticore's agent lines, which our configuration does not have).
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "strategy.h"

static struct strategy_mirror mirrors[4];
static struct strategy_share decided[4];
static struct strategy_view view;

static const struct strategy *
noerrors(void)
{
	const struct strategy *s = strategies;

	while (strcmp(s->name, "noerrors") != 0)
		s++;
	return s;
}

/* Equal mirrors in the order of 'counts'; no trials, as the documented rule has none. */
static void
make_mirrors(unsigned n, const struct strategy_counts *counts)
{
	view = (struct strategy_view){
		.n_mirrors = n,
		.mirrors = mirrors,
		.tolerance = 0.03,
		.max_dead = 1,
		.max_avoided = 0.5,
	};
	for (unsigned i = 0; i < n; i++) {
		mirrors[i] = (struct strategy_mirror){
			.configured = 1.0 / n,
			.weight = 1.0 / n,
			.ramp = 1,
			.state = MIRROR_UP,
			.counts = counts[i],
		};
	}
}

static void
decide(void)
{
	double sum = 0;

	noerrors()->shares(&view, decided);
	for (unsigned i = 0; i < view.n_mirrors; i++)
		sum += decided[i].share;
	ck_assert_double_eq_tol(sum, 1, 1e-12);
}

static void
assert_shares(const double *expected)
{
	for (unsigned i = 0; i < view.n_mirrors; i++)
		ck_assert_double_eq_tol(decided[i].share, expected[i], 1e-12);
}

/* Criticals, warnings, successes of each mirror. */
static const struct {
	unsigned n;
	struct strategy_counts counts[3];
	double shares[3];
} vectors[] = {
	{3, {{3, 0, 97}, {0, 0, 100}, {4, 0, 96}}, {0.5, 0.5, 0}},   /* N1: 3 % is forgiven */
	{3, {{0, 5, 95}, {0, 0, 100}, {3, 0, 97}}, {0, 0.5, 0.5}},   /* N2 */
	{2, {{0, 0, 0}, {50, 0, 50}}, {0, 1}},                       /* N3 */
	{2, {{10, 0, 0}, {0, 0, 0}}, {0.5, 0.5}},                    /* N4: nobody has one */
	{2, {{2, 2, 96}, {0, 3, 97}}, {0, 1}},                       /* N5: by warnings */
	{3, {{10, 0, 90}, {20, 0, 80}, {10, 0, 90}}, {0.5, 0, 0.5}}, /* N6 */
};

START_TEST(the_documented_mirrors_are_chosen)
{
	make_mirrors(vectors[_i].n, vectors[_i].counts);
	decide();
	assert_shares(vectors[_i].shares);
}
END_TEST

START_TEST(equals_share_by_karma)
{
	make_mirrors(3, vectors[0].counts);
	mirrors[0].weight = 3;
	mirrors[1].weight = 1;
	decide();
	assert_shares((const double[]){0.75, 0.25, 0});
}
END_TEST

START_TEST(the_tolerance_is_a_setting)
{
	make_mirrors(3, vectors[5].counts); /* 10, 20, 10 % */
	view.tolerance = 0.2;
	decide();
	assert_shares((const double[]){1 / 3.0, 1 / 3.0, 1 / 3.0});
	view.tolerance = 0;
	make_mirrors(2, (const struct strategy_counts[]){{1, 0, 999}, {0, 0, 1000}});
	view.tolerance = 0;
	decide();
	assert_shares((const double[]){0, 1});
}
END_TEST

START_TEST(the_dead_take_no_part_whatever_their_rate)
{
	make_mirrors(2, (const struct strategy_counts[]){{4, 0, 9996}, {30, 0, 70}});
	mirrors[0].state = MIRROR_DEAD;
	mirrors[0].failures = 4;
	decide();
	assert_shares((const double[]){0, 1});
	ck_assert_int_eq(decided[0].role, STRATEGY_OUT);
}
END_TEST

START_TEST(all_dead_are_the_least_bad_evenly)
{
	make_mirrors(3, vectors[0].counts);
	for (unsigned i = 0; i < 3; i++) {
		mirrors[i].state = MIRROR_DEAD;
		mirrors[i].failures = i == 0 ? 9 : 4;
	}
	decide();
	assert_shares((const double[]){0, 0.5, 0.5});
}
END_TEST

START_TEST(a_ping_speaks_for_a_mirror_only_where_nothing_else_does)
{
	make_mirrors(2, vectors[2].counts); /* nothing known; 50 % errors */
	mirrors[0].is_answering = true;
	decide();
	assert_shares((const double[]){1, 0});
	mirrors[0].counts = (struct strategy_counts){60, 0, 40};
	decide();
	assert_shares((const double[]){0, 1});
}
END_TEST

START_TEST(nobody_starves)
{
	make_mirrors(4,
		(const struct strategy_counts[]){{0, 0, 0}, {0, 0, 100}, {0, 0, 100}, {0, 0, 0}});
	view.trial_share = 0.01;
	mirrors[3].is_answering = true;
	mirrors[3].was_avoided = true; /* its errors have left the window */
	decide();
	assert_shares((const double[]){0.01, 0.49, 0.49, 0.01});
	ck_assert_int_eq(decided[0].role, STRATEGY_TRIAL);
	ck_assert_int_eq(decided[3].role, STRATEGY_TRIAL);
	mirrors[3].counts.successes = 1; /* it answered in its trial */
	decide();
	ck_assert_int_eq(decided[3].role, STRATEGY_REGULAR);
}
END_TEST

START_TEST(at_most_the_capped_part_is_avoided)
{
	make_mirrors(4,
		(const struct strategy_counts[]){{5, 0, 95}, {6, 0, 94}, {7, 0, 93}, {8, 0, 92}});
	decide(); /* to the letter, 100 % would go to the first */
	assert_shares((const double[]){0.5, 0.5, 0, 0});
	view.max_avoided = 0.25;
	decide();
	assert_shares((const double[]){1 / 3.0, 1 / 3.0, 1 / 3.0, 0});
	view.max_avoided = 1;
	decide();
	assert_shares((const double[]){1, 0, 0, 0});
	view.max_avoided = 0;
	decide();
	assert_shares((const double[]){0.25, 0.25, 0.25, 0.25});
}
END_TEST

START_TEST(who_answers_nothing_is_avoided_in_spite_of_the_cap)
{
	make_mirrors(
		4, (const struct strategy_counts[]){{9, 0, 0}, {9, 0, 0}, {9, 0, 0}, {0, 0, 100}});
	view.max_avoided = 0.25;
	decide();
	assert_shares((const double[]){0, 0, 0, 1});
}
END_TEST

START_TEST(a_mirror_that_only_warns_is_no_failure)
{
	make_mirrors(2, (const struct strategy_counts[]){{0, 50, 0}, {20, 0, 80}});
	decide();
	assert_shares((const double[]){1, 0});
}
END_TEST

START_TEST(mirrors_on_trial_stay_on_trial)
{
	make_mirrors(3, (const struct strategy_counts[]){{0, 0, 0}, {0, 0, 9}, {0, 0, 9}});
	view.trial_share = 0.02;
	mirrors[0].state = MIRROR_TRIAL;
	decide();
	assert_shares((const double[]){0.02, 0.49, 0.49});
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("noerrors");
	TCase *tc = tcase_create("shares");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_loop_test(
		tc, the_documented_mirrors_are_chosen, 0, sizeof(vectors) / sizeof(vectors[0]));
	tcase_add_test(tc, equals_share_by_karma);
	tcase_add_test(tc, the_tolerance_is_a_setting);
	tcase_add_test(tc, the_dead_take_no_part_whatever_their_rate);
	tcase_add_test(tc, all_dead_are_the_least_bad_evenly);
	tcase_add_test(tc, a_ping_speaks_for_a_mirror_only_where_nothing_else_does);
	tcase_add_test(tc, nobody_starves);
	tcase_add_test(tc, at_most_the_capped_part_is_avoided);
	tcase_add_test(tc, who_answers_nothing_is_avoided_in_spite_of_the_cap);
	tcase_add_test(tc, a_mirror_that_only_warns_is_no_failure);
	tcase_add_test(tc, mirrors_on_trial_stay_on_trial);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
