/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a list of Check tests, and gives random tests a seed that is fixed and printed. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <check.h>

/*
 * Check writes its position into a file at every assertion that holds, to have it should the test
 * crash.  Tests here make millions; a failed assertion says where it stands all the same.
 */
#define _mark_point(file, line) ((void)0)

/* 'tests' ends with NULL.  Returns main()'s exit status. */
static inline int
suite_run(const char *name, const TTest *const *tests)
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *runner = srunner_create(suite);

	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	for (; *tests != NULL; tests++)
		tcase_add_test(tc, *tests);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SEED in the environment, or 1; printed, so that a failure can be had again. */
static inline uint64_t
suite_seed(void)
{
	const char *text = getenv("SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;

	printf("SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* xorshift64. */
static inline uint64_t
suite_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
