/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time, as both programs tell it: microseconds of CLOCK_MONOTONIC.  Both run on one host, so a
 * stamp made by one means the same to the other.  The wall clock is for people and for what is kept
 * on disk.  The only place with the factors in it.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define KARMALB_MILLISECOND UINT64_C(1000)
#define KARMALB_SECOND      (1000 * KARMALB_MILLISECOND)
#define KARMALB_MINUTE      (60 * KARMALB_SECOND)

/* Microseconds of CLOCK_MONOTONIC; a vDSO call, no syscall.  Any thread. */
static inline uint64_t
karmalb_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * KARMALB_SECOND + (uint64_t)ts.tv_nsec / 1000;
}

/* Microseconds since 1970, by CLOCK_REALTIME; somebody may set it.  Any thread. */
static inline uint64_t
karmalb_unix_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * KARMALB_SECOND + (uint64_t)ts.tv_nsec / 1000;
}
