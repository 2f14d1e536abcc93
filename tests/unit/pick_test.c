/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "pick.h"
#include "suite.h"

/* Probability, in 2^-32 of all columns together, that each slot is drawn. */
static void
mass_of(const struct table_alias *columns, unsigned n, uint64_t *mass, unsigned n_slots)
{
	for (unsigned i = 0; i < n_slots; i++)
		mass[i] = 0;
	for (unsigned i = 0; i < n; i++) {
		uint64_t own = columns[i].threshold == UINT32_MAX ? UINT64_C(1) << 32
								  : columns[i].threshold;

		ck_assert_uint_lt(columns[i].slot, n_slots);
		ck_assert_uint_lt(columns[i].alias, n_slots);
		mass[columns[i].slot] += own;
		mass[columns[i].alias] += (UINT64_C(1) << 32) - own;
	}
}

static void
check_shares(const struct pick_share *shares, unsigned n)
{
	struct table_alias columns[KARMALB_MIRRORS_MAX];
	uint64_t mass[KARMALB_MIRRORS_MAX];
	double sum = 0;
	unsigned n_positive = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += shares[i].share;
		n_positive += shares[i].share > 0;
	}
	unsigned n_columns = pick_build(columns, shares, n);

	ck_assert_uint_eq(n_columns, n_positive);
	mass_of(columns, n_columns, mass, n);
	for (unsigned i = 0; i < n; i++) {
		double expected = shares[i].share / sum;
		double got = (double)mass[i] / ((double)n_columns * 4294967296.0);

		ck_assert_double_le(fabs(got - expected), 2.0 / 4294967296.0);
		if (!(shares[i].share > 0))
			ck_assert_uint_eq(mass[i], 0);
	}
}

START_TEST(columns_hold_the_shares_exactly)
{
	uint64_t random = suite_seed();
	struct pick_share shares[KARMALB_MIRRORS_MAX];

	for (unsigned round = 0; round < 5000; round++) {
		unsigned n = 1 + suite_random(&random) % KARMALB_MIRRORS_MAX;

		for (unsigned i = 0; i < n; i++) {
			double u = (double)(suite_random(&random) >> 11) / 9007199254740992.0;

			shares[i].slot = (uint16_t)i;
			shares[i].share = round % 3 == 0 ? 1 : round % 3 == 1 ? u : exp(-30 * u);
			if (suite_random(&random) % 4 == 0)
				shares[i].share = 0;
		}
		shares[suite_random(&random) % n].share = 0.5;
		check_shares(shares, n);
	}
}
END_TEST

START_TEST(documented_shares_are_drawn)
{
	struct pick_share shares[] = {{0.15, 0}, {0.30, 1}, {0.05, 2}, {0.50, 3}};
	struct table_alias columns[4];
	uint64_t random = suite_seed();
	unsigned drawn[4] = {0}, n_draws = 4000000;
	unsigned n = pick_build(columns, shares, 4);

	check_shares(shares, 4);
	for (unsigned i = 0; i < n_draws; i++)
		drawn[pick_draw(columns, n, pick_random(&random))]++;
	for (unsigned i = 0; i < 4; i++) {
		double sigma = sqrt(shares[i].share * (1 - shares[i].share) / n_draws);

		ck_assert_double_le(fabs((double)drawn[i] / n_draws - shares[i].share), 5 * sigma);
	}
}
END_TEST

START_TEST(mirror_of_share_0_is_never_drawn)
{
	struct pick_share shares[] = {{0, 0}, {1e-9, 1}, {0, 2}, {1, 3}, {-0.0, 4}};
	struct table_alias columns[5];
	uint64_t random = suite_seed();
	unsigned n = pick_build(columns, shares, 5);

	ck_assert_uint_eq(n, 2);
	for (unsigned i = 0; i < 1000000; i++) {
		uint16_t slot = pick_draw(columns, n, pick_random(&random));

		ck_assert(slot == 1 || slot == 3);
	}
	/* The corners of the draw. */
	ck_assert(pick_draw(columns, n, 0) == 1 || pick_draw(columns, n, 0) == 3);
	ck_assert(pick_draw(columns, n, UINT64_MAX) == 1 || pick_draw(columns, n, UINT64_MAX) == 3);
}
END_TEST

START_TEST(order_is_kept_and_share_0_left_out)
{
	struct pick_share shares[] = {{0.5, 7}, {0, 1}, {0.1, 3}, {0.4, 2}};
	struct table_alias columns[4];

	ck_assert_uint_eq(pick_order(columns, shares, 4), 3);
	ck_assert_uint_eq(columns[0].slot, 7);
	ck_assert_uint_eq(columns[1].slot, 3);
	ck_assert_uint_eq(columns[2].slot, 2);
	ck_assert_uint_eq(pick_draw(columns, 3, UINT64_MAX), 2);
}
END_TEST

START_TEST(nothing_to_choose_from_gives_no_columns)
{
	struct pick_share shares[] = {{0, 0}, {0, 1}};
	struct table_alias columns[2];

	ck_assert_uint_eq(pick_build(columns, shares, 2), 0);
	ck_assert_uint_eq(pick_build(columns, shares, 0), 0);
}
END_TEST

START_TEST(only_mirror_is_always_drawn)
{
	struct pick_share shares[] = {{0.003, 9}};
	struct table_alias columns[1];

	ck_assert_uint_eq(pick_build(columns, shares, 1), 1);
	ck_assert_uint_eq(columns[0].threshold, UINT32_MAX);
	ck_assert_uint_eq(pick_draw(columns, 1, UINT64_MAX), 9);
	ck_assert_uint_eq(pick_draw(columns, 1, 0), 9);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {columns_hold_the_shares_exactly, documented_shares_are_drawn,
		mirror_of_share_0_is_never_drawn, order_is_kept_and_share_0_left_out,
		nothing_to_choose_from_gives_no_columns, only_mirror_is_always_drawn, NULL};

	return suite_run("pick", tests);
}
