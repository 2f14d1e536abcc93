/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Karma of one mirror: what happened to it, in KARMA_BLOCKS blocks of one period each.  Pure: the
 * clock (CLOCK_MONOTONIC, us) is an argument.
 *
 * Block number = floor(now / period); block n lives in place n mod KARMA_BLOCKS and carries its
 * number, so that a place still holding an older block is recognised and not read.  All mirrors of
 * a service share their block borders.
 *
 * Two ways of reading, for two purposes.  Reports (and strategies that compare error rates) use the
 * half-full rule: in the first half of a block the one before counts as well.  Weights use
 * karma_block() on a block that is over, never a part of one: a window that overlaps the previous
 * decision feeds its effect back as if it were new.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#define KARMA_BLOCKS 15

struct karma_latency {
	uint64_t count;
	uint64_t sum_us;
	uint64_t max_us;
};

/* What was counted over some stretch of time: a block, several blocks, a life. */
struct karma_counts {
	uint64_t outcomes[KARMALB_N_OUTCOMES];
	uint64_t opened; /* connections given to the mirror */
	struct karma_latency connect;
	struct karma_latency query; /* answered queries only: failures and pings have no part in it
				     */
};

struct karma_block {
	uint64_t number;
	bool is_used; /* false: never written, 'number' means nothing */
	struct karma_counts counts;
	uint32_t histogram[KARMALB_HISTOGRAM_BUCKETS]; /* of counts.query */
};

/* About 12 kB. */
struct karma {
	uint64_t period_us;
	struct karma_block blocks[KARMA_BLOCKS];
};

/* Empty, for blocks of 'period_us' (>= 1). */
void
karma_init(struct karma *k, uint64_t period_us);

uint64_t
karma_block_number(uint64_t period_us, uint64_t now_us);

/*
 * Adds what happened between two totals of one slot to the block of the newer one's stamp.
 * 'before' NULL stands for all zeros.  A counter that ran backwards counts as unchanged, so nothing
 * ever becomes negative.
 */
void
karma_add(struct karma *k, const struct karmalb_slot_totals *before,
	const struct karmalb_slot_totals *after);

/* The block of that number, or NULL if nothing was counted in it or it is no longer kept. */
const struct karma_block *
karma_block(const struct karma *k, uint64_t number);

/* How many blocks a report over 'n_periods' (>= 1) reads, the current one included: the half-full
 * rule, in whole seconds as documented.  1 .. KARMA_BLOCKS. */
unsigned
karma_window(uint64_t period_us, uint64_t now_us, unsigned n_periods);

/* The sum over karma_window() blocks, going back from the current one. */
void
karma_report(
	const struct karma *k, uint64_t now_us, unsigned n_periods, struct karma_counts *report);

/*
 * The same for one period without the step at its half: the current block, and of the one before
 * the part that one period back from now still reaches.  'outcomes' has KARMALB_N_OUTCOMES places.
 */
void
karma_smooth(const struct karma *k, uint64_t now_us, double *outcomes);

/* All that one slot has counted since its instance began; adds to 'counts'. */
void
karma_add_life(struct karma_counts *counts, const struct karmalb_slot_totals *totals);

/* 0 without samples. */
double
karma_mean_us(const struct karma_latency *latency);

/* The 'part' (0 .. 1) quantile of a block's answer times, interpolated inside its bucket and never
 * above the maximum; 0 without samples. */
double
karma_quantile_us(const struct karma_block *block, double part);
