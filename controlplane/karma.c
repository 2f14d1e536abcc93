/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Differences of cumulative totals, filed by period.  No clock, no I/O.  A block's maximum cannot
 * be read off two maxima of a whole life, so where the life's maximum did not move it is the upper
 * edge of the highest histogram bucket that did.
 */
#include "karma.h"

#include <string.h>

#include <karmalb/clock.h>

static uint64_t
grown_by(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static struct karma_block *
block_for(struct karma *k, uint64_t number)
{
	struct karma_block *b = &k->blocks[number % KARMA_BLOCKS];

	if (b->is_used && b->number == number)
		return b;
	memset(b, 0, sizeof(*b));
	b->number = number;
	b->is_used = true;
	return b;
}

/* The longest latency among those that came in between the two. */
static uint64_t
max_between(const struct karmalb_latency *before, const struct karmalb_latency *after)
{
	if (after->max_us > before->max_us)
		return after->max_us;
	for (unsigned i = KARMALB_HISTOGRAM_BUCKETS; i-- > 0;) {
		uint64_t edge_us = karmalb_histogram_edge_us(i + 1) - 1;

		if (after->histogram[i] > before->histogram[i])
			return edge_us < after->max_us ? edge_us : after->max_us;
	}
	return 0;
}

static void
latency_add(struct karma_latency *l, const struct karmalb_latency *before,
	const struct karmalb_latency *after)
{
	uint64_t max_us = max_between(before, after);

	l->count += grown_by(before->count, after->count);
	l->sum_us += grown_by(before->sum_us, after->sum_us);
	if (max_us > l->max_us)
		l->max_us = max_us;
}

static void
counts_add_between(struct karma_counts *c, const struct karmalb_slot_totals *before,
	const struct karmalb_slot_totals *after)
{
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		c->outcomes[i] += grown_by(before->outcomes[i], after->outcomes[i]);
	c->opened += grown_by(before->opened, after->opened);
	latency_add(&c->connect, &before->connect, &after->connect);
	latency_add(&c->query, &before->query, &after->query);
}

static void
latency_merge(struct karma_latency *l, const struct karma_latency *more)
{
	l->count += more->count;
	l->sum_us += more->sum_us;
	if (more->max_us > l->max_us)
		l->max_us = more->max_us;
}

static void
counts_merge(struct karma_counts *c, const struct karma_counts *more)
{
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		c->outcomes[i] += more->outcomes[i];
	c->opened += more->opened;
	latency_merge(&c->connect, &more->connect);
	latency_merge(&c->query, &more->query);
}

static const struct karmalb_slot_totals nothing;

void
karma_init(struct karma *k, uint64_t period_us)
{
	memset(k, 0, sizeof(*k));
	k->period_us = period_us;
}

uint64_t
karma_block_number(uint64_t period_us, uint64_t now_us)
{
	return now_us / period_us;
}

void
karma_add(struct karma *k, const struct karmalb_slot_totals *before,
	const struct karmalb_slot_totals *after)
{
	struct karma_block *b = block_for(k, karma_block_number(k->period_us, after->stamp_us));

	if (before == NULL)
		before = &nothing;
	counts_add_between(&b->counts, before, after);
	for (unsigned i = 0; i < KARMALB_HISTOGRAM_BUCKETS; i++)
		b->histogram[i] +=
			(uint32_t)grown_by(before->query.histogram[i], after->query.histogram[i]);
}

const struct karma_block *
karma_block(const struct karma *k, uint64_t number)
{
	const struct karma_block *b = &k->blocks[number % KARMA_BLOCKS];

	return b->is_used && b->number == number ? b : NULL;
}

unsigned
karma_window(uint64_t period_us, uint64_t now_us, unsigned n_periods)
{
	uint64_t half_us = period_us / 2 / KARMALB_SECOND * KARMALB_SECOND;
	unsigned n_blocks = n_periods;

	if (now_us % period_us < half_us)
		n_blocks++;
	return n_blocks < KARMA_BLOCKS ? n_blocks : KARMA_BLOCKS;
}

void
karma_report(
	const struct karma *k, uint64_t now_us, unsigned n_periods, struct karma_counts *report)
{
	uint64_t current = karma_block_number(k->period_us, now_us);
	unsigned n_blocks = karma_window(k->period_us, now_us, n_periods);

	memset(report, 0, sizeof(*report));
	for (unsigned i = 0; i < n_blocks && i <= current; i++) {
		const struct karma_block *b = karma_block(k, current - i);

		if (b != NULL)
			counts_merge(report, &b->counts);
	}
}

void
karma_smooth(const struct karma *k, uint64_t now_us, double *outcomes)
{
	uint64_t current = karma_block_number(k->period_us, now_us);
	double part = 1;

	memset(outcomes, 0, KARMALB_N_OUTCOMES * sizeof(outcomes[0]));
	for (unsigned i = 0; i < 2 && i <= current; i++) {
		const struct karma_block *b = karma_block(k, current - i);

		for (unsigned kind = 0; kind < KARMALB_N_OUTCOMES && b != NULL; kind++)
			outcomes[kind] += part * (double)b->counts.outcomes[kind];
		part = 1 - (double)(now_us % k->period_us) / (double)k->period_us;
	}
}

void
karma_add_life(struct karma_counts *counts, const struct karmalb_slot_totals *totals)
{
	counts_add_between(counts, &nothing, totals);
}

double
karma_mean_us(const struct karma_latency *latency)
{
	return latency->count > 0 ? (double)latency->sum_us / (double)latency->count : 0;
}

double
karma_quantile_us(const struct karma_block *block, double part)
{
	double rank = part * (double)block->counts.query.count;
	double seen = 0;

	for (unsigned i = 0; i < KARMALB_HISTOGRAM_BUCKETS; i++) {
		double n = block->histogram[i];

		if (n > 0 && seen + n >= rank) {
			double low = (double)karmalb_histogram_edge_us(i);
			double high = (double)karmalb_histogram_edge_us(i + 1);
			double at = low + (high - low) * (rank > seen ? (rank - seen) / n : 0);
			double max = (double)block->counts.query.max_us;

			return at < max ? at : max;
		}
		seen += n;
	}
	return (double)block->counts.query.max_us;
}
