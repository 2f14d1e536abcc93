/* SPDX-License-Identifier: BSD-3-Clause */
/* H1 .. H10: the half-full window of the reports, as documented; the rest are our own promises. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <karmalb/clock.h>

#include "karma.h"

#define S KARMALB_SECOND

/* Cumulative totals that a test makes grow. */
static struct karmalb_slot_totals totals, filed;
static struct karma karma;

static void
set_up(void)
{
	memset(&totals, 0, sizeof(totals));
	memset(&filed, 0, sizeof(filed));
}

static void
count_answer(uint64_t latency_us)
{
	totals.outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES]++;
	totals.query.count++;
	totals.query.sum_us += latency_us;
	if (latency_us > totals.query.max_us)
		totals.query.max_us = latency_us;
	totals.query.histogram[karmalb_histogram_bucket(latency_us)]++;
}

/* Files what 'totals' gained since the last call of it under 'stamp_us'. */
static void
file_at(uint64_t stamp_us)
{
	totals.stamp_us = stamp_us;
	karma_add(&karma, &filed, &totals);
	filed = totals;
}

/* What a report over one period reads at offset o of a period of k seconds: blocks, seconds. */
static const struct {
	uint64_t k, o;
	unsigned n_blocks;
	uint64_t seconds;
} windows[] = {
	{60, 0, 2, 60},  /* H1 */
	{60, 29, 2, 89}, /* H2 */
	{60, 30, 1, 30}, /* H3 */
	{60, 59, 1, 59}, /* H4 */
	{3, 0, 2, 3},    /* H5 */
	{3, 1, 1, 1},    /* H5 */
	{1, 0, 1, 0},    /* H6 */
	{10, 4, 2, 14},  /* H7 */
	{10, 5, 1, 5},   /* H7 */
};

START_TEST(half_full_rule_chooses_the_window)
{
	uint64_t period_us = windows[_i].k * S;
	uint64_t now_us = 1000 * period_us + windows[_i].o * S;
	unsigned n_blocks = karma_window(period_us, now_us, 1);

	ck_assert_uint_eq(n_blocks, windows[_i].n_blocks);
	ck_assert_uint_eq(
		(n_blocks - 1) * windows[_i].k + now_us % period_us / S, windows[_i].seconds);
}
END_TEST

START_TEST(one_second_periods_always_read_one_block) /* H6 */
{
	for (uint64_t offset_us = 0; offset_us < S; offset_us += S / 16)
		ck_assert_uint_eq(karma_window(S, 77 * S + offset_us, 1), 1);
}
END_TEST

START_TEST(fifteen_periods_never_read_more_than_is_kept) /* H8 */
{
	ck_assert_uint_eq(karma_window(60 * S, 6000 * S, 15), 15);
	ck_assert_uint_eq(karma_window(60 * S, 6000 * S, 5), 6);
	ck_assert_uint_eq(karma_window(60 * S, 6030 * S, 5), 5);
}
END_TEST

START_TEST(a_block_15_periods_later_replaces_the_old_one) /* H9 */
{
	struct karma_counts report;

	karma_init(&karma, 60 * S);
	count_answer(5000);
	file_at(100 * 60 * S + 1);
	karma_report(&karma, 114 * 60 * S, 15, &report);
	ck_assert_uint_eq(report.query.count, 1);
	ck_assert_uint_eq(report.query.sum_us, 5000);

	karma_report(&karma, 115 * 60 * S, 15, &report);
	ck_assert_uint_eq(report.query.count, 0);

	count_answer(7000);
	file_at(115 * 60 * S + 1);
	ck_assert_ptr_null(karma_block(&karma, 100));
	ck_assert_uint_eq(karma_block(&karma, 115)->counts.query.count, 1);
	ck_assert_uint_eq(karma_block(&karma, 115)->counts.query.sum_us, 7000);
	karma_report(&karma, 115 * 60 * S, 15, &report);
	ck_assert_uint_eq(report.query.count, 1);
}
END_TEST

START_TEST(an_error_is_seen_until_the_next_half_period) /* H10 */
{
	struct karma_counts report;

	karma_init(&karma, 60 * S);
	totals.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES]++;
	file_at(6000 * S + 59 * S);
	for (uint64_t t = 59; t < 120; t++) {
		karma_report(&karma, 6000 * S + t * S, 1, &report);
		ck_assert_uint_eq(
			report.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES], t < 90 ? 1 : 0);
	}
}
END_TEST

START_TEST(a_report_adds_up_its_blocks)
{
	struct karma_counts report;

	karma_init(&karma, 10 * S);
	for (unsigned block = 0; block < 20; block++) {
		for (unsigned i = 0; i <= block; i++)
			count_answer(1000 * block);
		file_at((100 + block) * 10 * S + 9 * S);
	}
	karma_report(&karma, 119 * 10 * S + 9 * S, 5, &report);
	ck_assert_uint_eq(report.query.count, 16 + 17 + 18 + 19 + 20);
	ck_assert_uint_eq(report.query.max_us, 19000);
	ck_assert_uint_eq(
		report.query.sum_us, 1000 * (16 * 15 + 17 * 16 + 18 * 17 + 19 * 18 + 20 * 19));
}
END_TEST

START_TEST(a_difference_goes_to_the_block_of_its_stamp)
{
	karma_init(&karma, 10 * S);
	count_answer(1000);
	file_at(1000 * S - 1);
	count_answer(2000);
	file_at(1000 * S);
	ck_assert_uint_eq(karma_block(&karma, 99)->counts.query.sum_us, 1000);
	ck_assert_uint_eq(karma_block(&karma, 100)->counts.query.sum_us, 2000);
	ck_assert_ptr_null(karma_block(&karma, 98));
	ck_assert_ptr_null(karma_block(&karma, 101));
}
END_TEST

START_TEST(repeated_totals_add_nothing)
{
	karma_init(&karma, 10 * S);
	count_answer(1000);
	file_at(1000 * S);
	file_at(1001 * S);
	file_at(1002 * S);
	ck_assert_uint_eq(karma_block(&karma, 100)->counts.query.count, 1);
	ck_assert_uint_eq(
		karma_block(&karma, 100)->counts.outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES], 1);
}
END_TEST

START_TEST(counters_that_ran_backwards_add_nothing)
{
	struct karmalb_slot_totals before, after;

	karma_init(&karma, 10 * S);
	for (unsigned i = 0; i < 5; i++)
		count_answer(1000);
	totals.opened = 9;
	before = totals;
	memset(&after, 0, sizeof(after));
	after.stamp_us = 1000 * S;
	karma_add(&karma, &before, &after);

	const struct karma_block *b = karma_block(&karma, 100);

	ck_assert_uint_eq(b->counts.query.count, 0);
	ck_assert_uint_eq(b->counts.query.sum_us, 0);
	ck_assert_uint_eq(b->counts.query.max_us, 0);
	ck_assert_uint_eq(b->counts.opened, 0);
	for (unsigned i = 0; i < KARMALB_HISTOGRAM_BUCKETS; i++)
		ck_assert_uint_eq(b->histogram[i], 0);
}
END_TEST

START_TEST(failures_have_no_part_in_the_mean)
{
	karma_init(&karma, 10 * S);
	count_answer(10000);
	count_answer(20000);
	totals.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES] += 1000;
	file_at(1000 * S);
	ck_assert_double_eq_tol(
		karma_mean_us(&karma_block(&karma, 100)->counts.query), 15000, 1e-9);
}
END_TEST

START_TEST(a_blocks_maximum_is_its_own_not_the_lifes)
{
	karma_init(&karma, 10 * S);
	count_answer(900000);
	file_at(1000 * S);
	count_answer(5000);
	file_at(1010 * S);
	ck_assert_uint_eq(karma_block(&karma, 100)->counts.query.max_us, 900000);

	uint64_t max_us = karma_block(&karma, 101)->counts.query.max_us;

	ck_assert_uint_ge(max_us, 5000);
	ck_assert_uint_le(max_us, 5000 + 5000 / 8);
}
END_TEST

/* Oracle: the sorted samples themselves. */
static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

START_TEST(quantiles_are_within_an_eighth_of_the_samples)
{
	enum {
		N = 5000
	};
	static uint64_t samples[N];

	srand(7);
	karma_init(&karma, 10 * S);
	for (unsigned i = 0; i < N; i++) {
		samples[i] = (uint64_t)(3000 * exp(2.0 * rand() / RAND_MAX));
		count_answer(samples[i]);
	}
	file_at(1000 * S);
	qsort(samples, N, sizeof(samples[0]), compare);
	for (unsigned percent = 1; percent <= 100; percent++) {
		double exact = (double)samples[N * percent / 100 - 1];
		double q = karma_quantile_us(karma_block(&karma, 100), percent / 100.0);

		ck_assert_double_le(fabs(q - exact), exact / 8);
		ck_assert_double_le(q, (double)samples[N - 1]);
	}
}
END_TEST

START_TEST(no_samples_make_no_numbers)
{
	struct karma_counts report;

	karma_init(&karma, 10 * S);
	karma_report(&karma, 5 * S, 15, &report);
	ck_assert_double_eq(karma_mean_us(&report.query), 0);
	file_at(1000 * S);
	ck_assert_double_eq(karma_quantile_us(karma_block(&karma, 100), 0.99), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("karma");
	TCase *tc = tcase_create("blocks");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_loop_test(
		tc, half_full_rule_chooses_the_window, 0, sizeof(windows) / sizeof(windows[0]));
	tcase_add_test(tc, one_second_periods_always_read_one_block);
	tcase_add_test(tc, fifteen_periods_never_read_more_than_is_kept);
	tcase_add_test(tc, a_block_15_periods_later_replaces_the_old_one);
	tcase_add_test(tc, an_error_is_seen_until_the_next_half_period);
	tcase_add_test(tc, a_report_adds_up_its_blocks);
	tcase_add_test(tc, a_difference_goes_to_the_block_of_its_stamp);
	tcase_add_test(tc, repeated_totals_add_nothing);
	tcase_add_test(tc, counters_that_ran_backwards_add_nothing);
	tcase_add_test(tc, failures_have_no_part_in_the_mean);
	tcase_add_test(tc, a_blocks_maximum_is_its_own_not_the_lifes);
	tcase_add_test(tc, quantiles_are_within_an_eighth_of_the_samples);
	tcase_add_test(tc, no_samples_make_no_numbers);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
