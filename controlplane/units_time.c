/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments of the wall clock as text that means the same on every host.  Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <karmalb/clock.h>

#include "err.h"
#include "units.h"

#define TIME_SECONDS_MAX INT64_C(253402300799) /* the last one of the year 9999 */

/* As text has it, so that what is no day (the 31st of February) is found by not being it. */
static void
format(int64_t seconds, unsigned ms, char *text, size_t size)
{
	time_t at = seconds;
	char day[32];
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	if (ms > 0)
		snprintf(text, size, "%s.%03uZ", day, ms);
	else
		snprintf(text, size, "%sZ", day);
}

int
units_parse_time(const char *text, uint64_t *unix_us, struct err *err)
{
	struct tm tm = {0};
	char again[UNITS_TEXT_MAX];
	unsigned ms = 0;
	int64_t seconds;
	int used = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n.%3u%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used, &ms, &used) < 6)
		goto wrong;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	seconds = timegm(&tm);
	if (seconds < 0 || seconds > TIME_SECONDS_MAX)
		goto wrong;
	format(seconds, ms, again, sizeof(again));
	if (strcmp(text, again) != 0)
		goto wrong;
	*unix_us = (uint64_t)seconds * KARMALB_SECOND + ms * KARMALB_MILLISECOND;
	return 0;
wrong:
	return err_set(err, "expected a time in UTC such as 2026-11-30T04:30:00Z");
}

char *
units_format_time(uint64_t unix_us, char *text, size_t size)
{
	uint64_t seconds = unix_us / KARMALB_SECOND;

	if (seconds > (uint64_t)TIME_SECONDS_MAX)
		seconds = (uint64_t)TIME_SECONDS_MAX;
	format((int64_t)seconds, (unsigned)(unix_us / KARMALB_MILLISECOND % 1000), text, size);
	return text;
}
