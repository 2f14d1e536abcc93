/* SPDX-License-Identifier: BSD-3-Clause */
#include "checksum.h"
#include "suite.h"

/* By the book: 16-bit words in network order, carries added back at once. */
static uint16_t
sum_by_the_book(const uint8_t *bytes, size_t size)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < size; i++) {
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	return (uint16_t)sum;
}

static void
fill(uint8_t *bytes, size_t size, uint64_t *random)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)suite_random(random);
}

START_TEST(sum_is_that_of_rfc_1071)
{
	uint64_t random = suite_seed();
	uint8_t bytes[2048];

	for (unsigned n = 0; n < 20000; n++) {
		size_t size = suite_random(&random) % (n % 2 == 0 ? 64 : sizeof(bytes));

		fill(bytes, size, &random);
		ck_assert_uint_eq(__builtin_bswap16(checksum_fold(checksum_add(0, bytes, size))),
			sum_by_the_book(bytes, size));
	}
}
END_TEST

START_TEST(largest_sum_folds_right)
{
	static uint8_t bytes[65535];

	memset(bytes, 0xff, sizeof(bytes));
	ck_assert_uint_eq(__builtin_bswap16(checksum_fold(checksum_add(0, bytes, 65535))),
		sum_by_the_book(bytes, 65535));
	ck_assert_uint_eq(checksum_fold(UINT64_MAX), 0xffff);
	ck_assert_uint_eq(checksum_fold(0), 0);
}
END_TEST

START_TEST(update_equals_full_computation)
{
	uint64_t random = suite_seed();
	uint8_t bytes[40];

	for (unsigned n = 0; n < 200000; n++) {
		uint32_t at = suite_random(&random) % 10 * 4, before, after;

		fill(bytes, sizeof(bytes), &random);
		/* Words of all ones and all zeros are where one's complement trips. */
		if (n % 3 == 0)
			memset(&bytes[at], n % 2 == 0 ? 0xff : 0, 4);
		bytes[(at + 7) % 40] |= 1; /* no header is all zero */
		uint16_t checksum = (uint16_t)~checksum_fold(checksum_add(0, bytes, 40));

		memcpy(&before, &bytes[at], 4);
		after = n % 5 == 0 ? 0 : n % 5 == 1 ? UINT32_MAX : (uint32_t)suite_random(&random);
		memcpy(&bytes[at], &after, 4);
		ck_assert_uint_eq(checksum_update(checksum, checksum_change32(before, after)),
			(uint16_t)~checksum_fold(checksum_add(0, bytes, 40)));
	}
}
END_TEST

START_TEST(update_carries_an_error_through)
{
	uint8_t bytes[40] = {1, 2, 3, 4};
	uint16_t good = (uint16_t)~checksum_fold(checksum_add(0, bytes, 40));
	uint16_t bad = (uint16_t)(good + 1);
	uint64_t change = checksum_change32(0x04030201, 0xcafebabe);

	ck_assert_uint_ne(checksum_update(good, change), checksum_update(bad, change));
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {sum_is_that_of_rfc_1071, largest_sum_folds_right,
		update_equals_full_computation, update_carries_an_error_through, NULL};

	return suite_run("checksum", tests);
}
