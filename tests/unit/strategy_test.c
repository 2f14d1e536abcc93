/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * D1 .. D4 and D7 (ours: evenly) as documented.  D5 and P5 (one ping clears; ours: it does not) and
 * D6 (warnings count; ours: 3) are in health_test.c, R1 in pipeline_test.c.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "strategy.h"

#define DEAD_AFTER 4

static const struct strategy_view defaults = {
	.trial_share = 0.01,
	.tolerance = 0.03,
	.max_dead = 1,
	.max_avoided = 0.5,
};
static struct strategy_view view;

static struct strategy_mirror mirrors[KARMALB_MIRRORS_MAX];
static struct strategy_share decided[KARMALB_MIRRORS_MAX];
static double shares[KARMALB_MIRRORS_MAX];

static const struct strategy *
strategy(const char *name)
{
	for (const struct strategy *s = strategies; s->name != NULL; s++) {
		if (strcmp(s->name, name) == 0)
			return s;
	}
	ck_abort_msg("no strategy %s", name);
}

/* Equal mirrors with that many failures in a row each, dead from DEAD_AFTER on. */
static void
make_mirrors(unsigned n, const uint32_t *failures)
{
	view = defaults;
	for (unsigned i = 0; i < n; i++) {
		mirrors[i] = (struct strategy_mirror){
			.configured = 1.0 / n,
			.weight = 1.0 / n,
			.ramp = 1,
			.failures = failures[i],
			.state = failures[i] >= DEAD_AFTER ? MIRROR_DEAD : MIRROR_UP,
		};
	}
}

static void
draw(const char *name, unsigned n)
{
	double sum = 0;

	view.n_mirrors = n;
	view.mirrors = mirrors;
	strategy(name)->shares(&view, decided);
	for (unsigned i = 0; i < n; i++) {
		shares[i] = decided[i].share;
		ck_assert_double_ge(shares[i], 0);
		sum += shares[i];
	}
	if (n > 0)
		ck_assert_double_eq_tol(sum, 1, 1e-12);
}

static const struct {
	uint32_t failures[3];
	double shares[3];
} candidates[] = {
	{{3, 3, 3}, {1 / 3.0, 1 / 3.0, 1 / 3.0}}, /* D1 */
	{{4, 0, 0}, {0, 0.5, 0.5}},               /* D2 */
	{{4, 9, 5}, {1, 0, 0}},                   /* D3 */
	{{5, 5, 9}, {0.5, 0.5, 0}},               /* D4 */
};

START_TEST(nodeads_draws_among_the_documented_candidates)
{
	make_mirrors(3, candidates[_i].failures);
	draw("nodeads", 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(shares[i], candidates[_i].shares[i], 1e-12);
}
END_TEST

START_TEST(weights_that_come_to_nothing_are_spread_evenly) /* D7 */
{
	static const double weights[3] = {100, 0, 0};

	make_mirrors(3, (const uint32_t[]){4, 0, 0});
	for (unsigned i = 0; i < 3; i++)
		mirrors[i].weight = weights[i];
	draw("nodeads", 3);
	ck_assert_double_eq(shares[0], 0);
	ck_assert_double_eq_tol(shares[1], 0.5, 1e-12);
	ck_assert_double_eq_tol(shares[2], 0.5, 1e-12);
	mirrors[1].state = MIRROR_TRIAL; /* nobody but the last to rely on */
	draw("nodeads", 3);
	ck_assert_double_eq_tol(shares[1] + shares[2], 1, 1e-12);
	ck_assert_double_gt(shares[2], 0.5);
	mirrors[2].state = MIRROR_TRIAL;
	draw("nodeads", 3);
	ck_assert_double_eq_tol(shares[1], 0.5, 1e-12);
	ck_assert_double_eq_tol(shares[2], 0.5, 1e-12);
}
END_TEST

START_TEST(all_dead_are_spread_evenly_whatever_their_weight)
{
	make_mirrors(3, (const uint32_t[]){4, 4, 4});
	mirrors[0].weight = 1e-12;
	mirrors[1].weight = 0.9;
	draw("nodeads", 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(shares[i], 1 / 3.0, 1e-12);
}
END_TEST

START_TEST(random_looks_at_configured_weights_only)
{
	make_mirrors(2, (const uint32_t[]){9, 0});
	mirrors[0].configured = 0.75;
	mirrors[1].configured = 0.25;
	mirrors[1].weight = 100;
	draw("random", 2);
	ck_assert_double_eq_tol(shares[0], 0.75, 1e-12);
	ck_assert_double_eq_tol(shares[1], 0.25, 1e-12);
}
END_TEST

START_TEST(nodeads_follows_karma)
{
	make_mirrors(3, (const uint32_t[]){0, 0, 7});
	mirrors[0].weight = 0.1;
	mirrors[1].weight = 0.3;
	mirrors[2].weight = 0.6;
	draw("nodeads", 3);
	ck_assert_double_eq_tol(shares[0], 0.25, 1e-12);
	ck_assert_double_eq_tol(shares[1], 0.75, 1e-12);
	ck_assert_double_eq(shares[2], 0);
}
END_TEST

START_TEST(a_trial_takes_a_small_share_from_all_alike)
{
	make_mirrors(3, (const uint32_t[]){0, 0, 7});
	mirrors[0].weight = 0.1;
	mirrors[1].weight = 0.3;
	mirrors[2].state = MIRROR_TRIAL;
	draw("nodeads", 3);
	ck_assert_double_eq_tol(shares[2], 0.01, 1e-12);
	ck_assert_double_eq_tol(shares[0], 0.99 * 0.25, 1e-12);
	ck_assert_double_eq_tol(shares[1], 0.99 * 0.75, 1e-12);
}
END_TEST

START_TEST(a_trial_never_takes_more_than_was_configured)
{
	static uint32_t failures[KARMALB_MIRRORS_MAX];

	make_mirrors(KARMALB_MIRRORS_MAX, failures);
	mirrors[5].state = MIRROR_TRIAL;
	draw("nodeads", KARMALB_MIRRORS_MAX);
	ck_assert_double_eq_tol(shares[5], 1.0 / KARMALB_MIRRORS_MAX, 1e-12);
}
END_TEST

START_TEST(trials_carry_load_when_most_of_the_pool_is_gone)
{
	make_mirrors(4, (const uint32_t[]){0, 4, 4, 4});
	mirrors[1].state = MIRROR_TRIAL;
	mirrors[2].state = MIRROR_TRIAL;
	draw("nodeads", 4);
	ck_assert_double_eq_tol(shares[0], 1 / 3.0, 1e-12);
	ck_assert_double_eq_tol(shares[1], 1 / 3.0, 1e-12);
	ck_assert_double_eq_tol(shares[2], 1 / 3.0, 1e-12);
	ck_assert_double_eq(shares[3], 0);
}
END_TEST

START_TEST(a_lone_trial_takes_everything)
{
	make_mirrors(2, (const uint32_t[]){4, 4});
	mirrors[1].state = MIRROR_TRIAL;
	draw("nodeads", 2);
	ck_assert_double_eq_tol(shares[1], 1, 1e-12);
}
END_TEST

START_TEST(roundrobin_looks_at_neither_weight_nor_health)
{
	make_mirrors(3, (const uint32_t[]){0, 4, 9});
	mirrors[0].configured = 0.8;
	draw("roundrobin", 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(shares[i], 1 / 3.0, 1e-12);
}
END_TEST

START_TEST(roundrobin_skips_the_dead_where_told_so)
{
	make_mirrors(3, (const uint32_t[]){0, 4, 9});
	view.is_dead_skipped = true;
	draw("roundrobin", 3);
	ck_assert_double_eq(shares[0], 1);
	make_mirrors(2, (const uint32_t[]){4, 9});
	view.is_dead_skipped = true;
	draw("roundrobin", 2); /* all dead: all keep their turn */
	ck_assert_double_eq_tol(shares[1], 0.5, 1e-12);
}
END_TEST

#define THREE_DEAD         \
	{                  \
		5, 9, 5, 0 \
	}
#define ALL_DEAD           \
	{                  \
		7, 4, 9, 4 \
	}

static const struct {
	double max_dead;
	uint32_t failures[4];
	double shares[4];
} caps[] = {
	{1, THREE_DEAD, {0, 0, 0, 1}},
	{0.75, THREE_DEAD, {0, 0, 0, 1}},
	{0.74, THREE_DEAD, {0.25 / 0.75, 0, 0.25 / 0.75, 0.25 / 0.75}}, /* two are equally bad */
	{0.3, THREE_DEAD, {0.25 / 0.75, 0, 0.25 / 0.75, 0.25 / 0.75}},
	{0.2, THREE_DEAD, {0.25, 0.25, 0.25, 0.25}},
	{0, THREE_DEAD, {0.25, 0.25, 0.25, 0.25}},
	{1, ALL_DEAD, {0, 0.5, 0, 0.5}},
	{0.5, ALL_DEAD, {0, 0.5, 0, 0.5}},
	{0.25, ALL_DEAD, {1 / 3.0, 1 / 3.0, 0, 1 / 3.0}},
	{0, ALL_DEAD, {0.25, 0.25, 0.25, 0.25}},
};

START_TEST(at_most_the_capped_part_goes_without_for_being_dead)
{
	static const char *const names[] = {"nodeads", "noerrors"};

	for (unsigned k = 0; k < 2; k++) {
		make_mirrors(4, caps[_i].failures);
		view.max_dead = caps[_i].max_dead;
		draw(names[k], 4);
		for (unsigned i = 0; i < 4; i++)
			ck_assert_double_eq_tol(shares[i], caps[_i].shares[i], 1e-12);
	}
}
END_TEST

START_TEST(the_dead_that_the_cap_keeps_in_go_on_by_weight)
{
	make_mirrors(4, (const uint32_t[])ALL_DEAD);
	mirrors[1].weight = 0.3;
	mirrors[3].weight = 0.1;
	view.max_dead = 0.5;
	draw("nodeads", 4);
	ck_assert_double_eq_tol(shares[1], 0.75, 1e-12);
	ck_assert_double_eq_tol(shares[3], 0.25, 1e-12);
	ck_assert_int_eq(decided[1].role, STRATEGY_REGULAR);
	ck_assert_int_eq(decided[0].role, STRATEGY_OUT);
}
END_TEST

START_TEST(a_ramp_gives_its_part_of_the_share)
{
	make_mirrors(4, (const uint32_t[4]){0});
	mirrors[3].ramp = 0.1;
	draw("nodeads", 4);
	ck_assert_double_eq_tol(shares[3], 0.1 / 3.1, 1e-12);
	ck_assert_double_eq_tol(shares[0], 1 / 3.1, 1e-12);
}
END_TEST

START_TEST(ramps_are_for_pools_that_can_do_without)
{
	make_mirrors(4, (const uint32_t[4]){0});
	for (unsigned i = 1; i < 4; i++)
		mirrors[i].ramp = 0.1;
	draw("nodeads", 4);
	ck_assert_double_eq_tol(shares[3], 0.25, 1e-12);
	for (unsigned i = 1; i < 4; i++)
		mirrors[i].is_joining = true; /* one alone did the work before them */
	draw("nodeads", 4);
	ck_assert_double_eq_tol(shares[3], 0.1 / 1.3, 1e-12);
	mirrors[0].ramp = 0.1;
	draw("nodeads", 4); /* all new */
	ck_assert_double_eq_tol(shares[3], 0.25, 1e-12);
}
END_TEST

START_TEST(a_service_without_mirrors_is_no_accident)
{
	for (const struct strategy *s = strategies; s->name != NULL; s++)
		draw(s->name, 0);
}
END_TEST

START_TEST(a_trial_is_at_least_the_floor)
{
	ck_assert_double_eq(strategy_trial_share(0), 0.01);
	ck_assert_double_eq(strategy_trial_share(0.05), 0.05);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("strategy");
	TCase *tc = tcase_create("shares");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_loop_test(tc, nodeads_draws_among_the_documented_candidates, 0,
		sizeof(candidates) / sizeof(candidates[0]));
	tcase_add_test(tc, weights_that_come_to_nothing_are_spread_evenly);
	tcase_add_test(tc, all_dead_are_spread_evenly_whatever_their_weight);
	tcase_add_test(tc, random_looks_at_configured_weights_only);
	tcase_add_test(tc, nodeads_follows_karma);
	tcase_add_test(tc, a_trial_takes_a_small_share_from_all_alike);
	tcase_add_test(tc, a_trial_never_takes_more_than_was_configured);
	tcase_add_test(tc, trials_carry_load_when_most_of_the_pool_is_gone);
	tcase_add_test(tc, a_lone_trial_takes_everything);
	tcase_add_test(tc, roundrobin_looks_at_neither_weight_nor_health);
	tcase_add_test(tc, roundrobin_skips_the_dead_where_told_so);
	tcase_add_loop_test(tc, at_most_the_capped_part_goes_without_for_being_dead, 0,
		sizeof(caps) / sizeof(caps[0]));
	tcase_add_test(tc, the_dead_that_the_cap_keeps_in_go_on_by_weight);
	tcase_add_test(tc, a_ramp_gives_its_part_of_the_share);
	tcase_add_test(tc, ramps_are_for_pools_that_can_do_without);
	tcase_add_test(tc, a_service_without_mirrors_is_no_accident);
	tcase_add_test(tc, a_trial_is_at_least_the_floor);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
