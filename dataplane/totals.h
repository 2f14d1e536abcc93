/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cumulative totals per mirror slot since the instance began, made from the workers' exact counters
 * and their samples, kept in the form in which they travel.  Pure; control thread only.
 *
 * errors_in_row counts in the order of observation: any failure adds one; an answer or a greeting
 * clears it; a finished handshake alone proves nothing and leaves it, and so does an answer that
 * carries a warning, though it moves last_success_us.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "sample.h"

struct totals;

/* NULL when out of memory.  About 3 kB per slot that is ever used. */
struct totals *
totals_create(void);

/* NULL is fine. */
void
totals_free(struct totals *t);

/* A slot that begins a new life: all zero, nothing to send. */
void
totals_reset(struct totals *t, uint16_t slot);

/* What one worker's ring gave, in order; used up by totals_add_samples(). */
struct totals_batch {
	const struct sample *samples;
	unsigned n_samples;
	/* Called when these are used up: gives the batch those that follow, or leaves it empty.
	 * NULL: there are no more. */
	void (*refill)(struct totals_batch *batch, void *arg);
	void *arg;
};

/*
 * Takes samples in until all batches are empty and stay so, merged by time of observation; none is
 * further from 'now_us' than 35 minutes.
 */
void
totals_add_samples(
	struct totals *t, struct totals_batch *batches, unsigned n_batches, uint64_t now_us);

/* One look at the workers' counters. */
struct totals_reading {
	const struct slot_counters *const *workers; /* per worker, its array indexed by slot */
	unsigned n_workers;
	uint64_t now_us;
	uint64_t stamp_us; /* counters and samples given before are complete up to this time */
};

/* Takes the counters of one slot in, summed over the workers. */
void
totals_add_counters(struct totals *t, uint16_t slot, const struct totals_reading *reading);

/*
 * Counts a connect failure that no worker saw: the mirror's next hop does not answer.  Added on top
 * of the workers' counters, so totals stay cumulative.
 */
void
totals_add_unreachable(struct totals *t, uint16_t slot, uint64_t now_us);

/* The totals of a slot as they travel; valid until the next call of any totals_add function. */
const struct karmalb_slot_totals *
totals_slot(const struct totals *t, uint16_t slot);

/* Something was observed since totals_clear_changed(), or a query is waiting and its age grows. */
bool
totals_is_changed(const struct totals *t, uint16_t slot);

/* As above, and some of the first errors of a row are among it: not to wait for the next round. */
bool
totals_is_urgent(const struct totals *t, uint16_t slot);

/* What was observed of 'slot' is going to be sent. */
void
totals_clear_changed(struct totals *t, uint16_t slot);

/* Some slot has become urgent since the last call. */
bool
totals_take_urgent(struct totals *t);
