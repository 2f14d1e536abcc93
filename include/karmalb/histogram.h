/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency histogram, so that both programs bin alike: log-linear as in HdrHistogram, eight buckets
 * an octave, hence none wider than 12.5 % of its lower edge.  Buckets 0..7 hold 0..7 us each; above
 * that, bucket 8*(e-2) + q holds [2^e * (1 + q/8), 2^e * (1 + (q+1)/8)) us.  The last one holds all
 * that is longer than its edge (15.7 s).
 */
#pragma once

#include <stdint.h>

#define KARMALB_HISTOGRAM_BUCKETS 176

/* The bucket that 'us' falls into, 0 .. KARMALB_HISTOGRAM_BUCKETS - 1.  Pure. */
static inline unsigned
karmalb_histogram_bucket(uint64_t us)
{
	if (us < 8)
		return (unsigned)us;
	unsigned e = 63 - (unsigned)__builtin_clzll(us);
	unsigned bucket = 8 * (e - 2) + ((us >> (e - 3)) & 7);

	return bucket < KARMALB_HISTOGRAM_BUCKETS ? bucket : KARMALB_HISTOGRAM_BUCKETS - 1;
}

/* The lowest value of a bucket in us; 'bucket' may be KARMALB_HISTOGRAM_BUCKETS (one past).  Pure.
 */
static inline uint64_t
karmalb_histogram_edge_us(unsigned bucket)
{
	if (bucket < 8)
		return bucket;
	return (UINT64_C(8) + bucket % 8) << (bucket / 8 - 1);
}
