/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quantities: durations, sizes, shares, numbers, CPU lists.  Pure; any thread.  Sentences here say
 * what was expected; the caller, who knows what the text was for, puts "name = text: " before them.
 */
#include "units.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <karmalb/clock.h>

#include "err.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit durations[] = {
	{"us", 1},
	{"ms", KARMALB_MILLISECOND},
	{"s", KARMALB_SECOND},
	{"m", KARMALB_MINUTE},
	{"h", 60 * KARMALB_MINUTE},
	{"d", 24 * 60 * KARMALB_MINUTE},
	{"w", 7 * 24 * 60 * KARMALB_MINUTE},
};

static const struct unit sizes[] = {
	{"", 1},
	{"K", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{"T", UINT64_C(1) << 40},
};

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

bool
units_take_digits(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	for (; isdigit((unsigned char)*p); p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	}
	if (p == *text)
		return false;
	*text = p;
	*value = v;
	return true;
}

/* Digits, at most one blank, then a unit out of 'units', or none when 'bare' is not 0. */
static bool
take_quantity(const char *text, const struct unit *units, unsigned n_units, uint64_t *value)
{
	uint64_t number;

	if (!units_take_digits(&text, &number))
		return false;
	if (*text == ' ' && text[1] != '\0')
		text++;
	for (unsigned i = 0; i < n_units; i++) {
		if (strcasecmp(text, units[i].name) == 0)
			return !__builtin_mul_overflow(number, units[i].factor, value);
	}
	return false;
}

/* In the largest unit that leaves an integer. */
static char *
format_quantity(uint64_t value, const struct unit *units, unsigned n_units, char *text, size_t size)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n_units; i++) {
		if (value % units[i].factor == 0)
			best = i;
	}
	snprintf(text, size, "%" PRIu64 "%s", value / units[best].factor, units[best].name);
	return text;
}

int
units_parse_duration(const char *text, uint64_t bare_us, uint64_t *us, struct err *err)
{
	const char *end = text;
	uint64_t number, value;

	if (units_take_digits(&end, &number) && *end == '\0' &&
		!__builtin_mul_overflow(number, bare_us, &value)) {
		*us = value;
		return 0;
	}
	if (!take_quantity(text, durations, N_OF(durations), &value))
		return err_set(
			err, "expected a whole number with one of the units us, ms, s, m, h, d, w");
	*us = value;
	return 0;
}

char *
units_format_duration(uint64_t us, char *text, size_t size)
{
	if (us == 0) {
		snprintf(text, size, "0s");
		return text;
	}
	/* Weeks are read, but nobody thinks in them: 14d. */
	return format_quantity(us, durations, N_OF(durations) - 1, text, size);
}

int
units_parse_size(const char *text, uint64_t *bytes, struct err *err)
{
	uint64_t value;

	if (!take_quantity(text, sizes, N_OF(sizes), &value))
		return err_set(
			err, "expected a whole number of bytes, or one with a suffix K, M, G or T");
	*bytes = value;
	return 0;
}

char *
units_format_size(uint64_t bytes, char *text, size_t size)
{
	return format_quantity(bytes, sizes, bytes == 0 ? 1 : N_OF(sizes), text, size);
}

int
units_parse_count(const char *text, uint64_t *count, struct err *err)
{
	uint64_t value;

	if (!units_take_digits(&text, &value) || *text != '\0')
		return err_set(err, "expected a whole number");
	*count = value;
	return 0;
}

/* strtod(), less its hexadecimal, infinite and blank-led notations; the end goes to '*end'. */
static bool
take_number(const char *text, double *number, const char **end)
{
	size_t length = strspn(text, "0123456789.eE+-");
	char *stop;

	if (length == 0)
		return false;
	*number = strtod(text, &stop);
	*end = stop;
	return stop != text && stop <= text + length && isfinite(*number);
}

int
units_parse_number(const char *text, double *number, struct err *err)
{
	const char *end;
	double value;

	if (!take_number(text, &value, &end) || *end != '\0')
		return err_set(err, "expected a number");
	*number = value;
	return 0;
}

/* 'number' with so few digits that it still reads back as itself once divided by 'divisor'; false:
 * there is no such text.  Without an exponent as far as people read numbers without one. */
static bool
format_shortest(double number, double divisor, char *text, size_t size)
{
	double magnitude = fabs(number);
	bool may_have_exponent = magnitude < 1e-4 || magnitude >= 1e15;
	bool is_exact = false;
	char shortest[32];

	for (int digits = 1; digits <= 17 && !is_exact; digits++) {
		snprintf(shortest, sizeof(shortest), "%.*g", digits, number);
		is_exact = (may_have_exponent || strchr(shortest, 'e') == NULL) &&
			   strtod(shortest, NULL) / divisor == number / divisor;
	}
	snprintf(text, size, "%s", shortest);
	return is_exact;
}

char *
units_format_number(double number, char *text, size_t size)
{
	format_shortest(number, 1, text, size);
	return text;
}

int
units_parse_share(const char *text, double *share, struct err *err)
{
	const char *end;
	double value;

	if (!take_number(text, &value, &end))
		return err_set(err, "expected a share such as \"1%%\" or 0.01");
	if (strcmp(end, "%") == 0 || strcmp(end, " %") == 0)
		value /= 100;
	else if (*end != '\0')
		return err_set(err, "expected a share such as \"1%%\" or 0.01");
	*share = value;
	return 0;
}

char *
units_format_share(double share, char *text, size_t size)
{
	if (share * 100 / 100 != share || !format_shortest(share * 100, 100, text, size))
		return units_format_number(share, text, size);
	strncat(text, "%", size - strlen(text) - 1);
	return text;
}

/* "2" or "2-5" at '*text', moved behind it. */
static int
take_cpu_range(const char **text, uint64_t *first, uint64_t *last, struct err *err)
{
	if (!units_take_digits(text, first))
		return err_set(
			err, "expected CPU numbers and ranges such as \"2-3,6\", or \"last\"");
	*last = *first;
	if (**text == '-') {
		(*text)++;
		if (!units_take_digits(text, last))
			return err_set(err, "expected a CPU number after '-'");
	}
	if (*last > UNITS_CPU_MAX)
		return err_set(err, "expected CPU numbers from 0 to %u", UNITS_CPU_MAX);
	if (*last < *first)
		return err_set(err, "expected a range to rise, as in \"%" PRIu64 "-%" PRIu64 "\"",
			*last, *first);
	return 0;
}

int
units_parse_cpus(const char *text, struct units_cpus *cpus, struct err *err)
{
	uint8_t is_set[UNITS_CPU_MAX + 1] = {0};
	struct units_cpus value = {0};

	if (strcmp(text, "last") == 0) {
		*cpus = value;
		return 0;
	}
	for (;;) {
		uint64_t first, last;

		if (take_cpu_range(&text, &first, &last, err) != 0)
			return -EINVAL;
		for (uint64_t cpu = first; cpu <= last; cpu++) {
			if (is_set[cpu])
				return err_set(err, "CPU %" PRIu64 " stands there twice", cpu);
			is_set[cpu] = 1;
		}
		if (*text == '\0')
			break;
		if (*text++ != ',')
			return err_set(err,
				"expected CPU numbers and ranges such as \"2-3,6\", or \"last\"");
	}
	for (unsigned cpu = 0; cpu <= UNITS_CPU_MAX; cpu++) {
		if (!is_set[cpu])
			continue;
		if (value.n_cpus == KARMALB_WORKERS_MAX)
			return err_set(err, "expected at most %u CPUs", KARMALB_WORKERS_MAX);
		value.cpus[value.n_cpus++] = (uint16_t)cpu;
	}
	*cpus = value;
	return 0;
}

char *
units_format_cpus(const struct units_cpus *cpus, char *text, size_t size)
{
	size_t n = 0;

	snprintf(text, size, "%s", cpus->n_cpus == 0 ? "last" : "");
	for (unsigned i = 0; i < cpus->n_cpus && n < size; i++) {
		unsigned first = cpus->cpus[i], last = first;

		while (i + 1 < cpus->n_cpus && cpus->cpus[i + 1] == last + 1) {
			last++;
			i++;
		}
		n += (size_t)snprintf(text + n, size - n, n > 0 ? ",%u" : "%u", first);
		if (last > first && n < size)
			n += (size_t)snprintf(text + n, size - n, "-%u", last);
	}
	return text;
}
