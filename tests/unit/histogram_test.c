/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include <check.h>

#include <karmalb/histogram.h>

START_TEST(every_bucket_holds_exactly_its_edges)
{
	for (unsigned b = 0; b < KARMALB_HISTOGRAM_BUCKETS; b++) {
		ck_assert_uint_eq(karmalb_histogram_bucket(karmalb_histogram_edge_us(b)), b);
		ck_assert_uint_eq(
			karmalb_histogram_bucket(karmalb_histogram_edge_us(b + 1) - 1), b);
	}
}
END_TEST

START_TEST(no_bucket_is_wider_than_an_eighth)
{
	for (unsigned b = 8; b < KARMALB_HISTOGRAM_BUCKETS; b++) {
		uint64_t low = karmalb_histogram_edge_us(b);

		ck_assert_uint_le(8 * (karmalb_histogram_edge_us(b + 1) - low), low);
	}
}
END_TEST

START_TEST(what_is_too_long_lands_in_the_last_bucket)
{
	ck_assert_uint_eq(karmalb_histogram_bucket(UINT64_MAX), KARMALB_HISTOGRAM_BUCKETS - 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("histogram");
	TCase *tc = tcase_create("buckets");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, every_bucket_holds_exactly_its_edges);
	tcase_add_test(tc, no_bucket_is_wider_than_an_eighth);
	tcase_add_test(tc, what_is_too_long_lands_in_the_last_bucket);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
