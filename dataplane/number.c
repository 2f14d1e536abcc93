/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads numbers.  Not strtoull(): that one skips blanks, takes signs and wraps. */
#include "number.h"

#include <string.h>

struct suffix {
	char letter;
	uint64_t factor;
};
static const struct suffix binary_suffixes[] = {{'K', UINT64_C(1) << 10}, {'M', UINT64_C(1) << 20},
	{'G', UINT64_C(1) << 30}, {'T', UINT64_C(1) << 40}, {0}};
static const struct suffix decimal_suffixes[] = {{'K', 1000}, {'M', 1000000}, {0}};

static int64_t
read_with_suffix(const char *text, const struct suffix *suffixes, uint64_t max);

int64_t
number_read(const char *text, const char *stop, uint64_t max)
{
	uint64_t n = 0;

	if (text == stop)
		return -1;
	for (; text < stop; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		n = 10 * n + (uint64_t)(*text - '0');
		if (n > max)
			return -1;
	}
	return (int64_t)n;
}

int64_t
number_read_size(const char *text, uint64_t max)
{
	return read_with_suffix(text, binary_suffixes, max);
}

int64_t
number_read_count(const char *text, uint64_t max)
{
	return read_with_suffix(text, decimal_suffixes, max);
}

static int64_t
read_with_suffix(const char *text, const struct suffix *suffixes, uint64_t max)
{
	const char *stop = text + strspn(text, "0123456789");
	uint64_t factor = *stop == '\0' ? 1 : 0;

	for (; suffixes->letter != 0; suffixes++)
		if (*stop == suffixes->letter && stop[1] == '\0')
			factor = suffixes->factor;
	int64_t n = factor ? number_read(text, stop, max / factor) : -1;

	return n < 0 ? -1 : n * (int64_t)factor;
}
