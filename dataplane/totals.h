/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cumulative totals per mirror slot since the instance began, made from the workers' exact counters
 * and their samples, kept in the form in which they travel.  Pure; control thread only.
 *
 * errors_in_row counts in the order of observation: any failure adds one; an answer or a greeting
 * clears it; a finished handshake alone proves nothing and leaves it.
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

/*
 * Takes samples in.  'samples' is sorted in place by time of observation, so that rings of several
 * workers may be poured together; 'now_us' is later than all of them by less than 35 minutes.
 */
void
totals_add_samples(struct totals *t, struct sample *samples, unsigned n_samples, uint64_t now_us);

/*
 * Takes the counters of one slot in: 'workers' holds one pointer per worker.  'stamp_us': the time
 * up to which those counters and the samples given before are complete.
 */
void
totals_add_counters(struct totals *t, uint16_t slot, const struct slot_counters *const *workers,
	unsigned n_workers, uint64_t stamp_us);

/*
 * Counts a connect failure that no worker saw: the mirror's next hop does not answer.  Added on top
 * of the workers' counters, so totals stay cumulative.
 */
void
totals_add_unreachable(struct totals *t, uint16_t slot, uint64_t now_us);

/* The totals of a slot, header filled in; valid until the next call of any totals_add function. */
const struct karmalb_slot_totals *
totals_slot(const struct totals *t, uint16_t slot);

/* Something was observed since totals_clear_changed(). */
bool
totals_is_changed(const struct totals *t, uint16_t slot);

/* A mirror's row of errors began since totals_clear_changed(): to be sent at once. */
bool
totals_is_urgent(const struct totals *t);

void
totals_clear_changed(struct totals *t, uint16_t slot);
