/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that one thread writes while others read them: each value read is one that was there,
 * and nothing is said about the order of several.  As cheap as plain words.
 */
#pragma once

#include <stdint.h>

/* The one thread that writes.  'n' may be negative, as -1 or 0 - x. */
static inline void
counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline void
counter_add32(uint32_t *counter, uint32_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Any thread. */
static inline uint64_t
counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline uint32_t
counter_read32(const uint32_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}
